//! What the other CPUs do while heavy fences are timed.

use std::fmt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicBool, spin_loop};
use uncontended_fence::Quiescent;
use uncontended_sys::affinity;

/// The threads of [`Peers::Own`], which check in as fast as they can.
pub(super) static CHECKING_IN: Quiescent = Quiescent::new();

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Peers {
    /// As idle as the machine is.
    Idle,
    /// Each runs a thread of this process.
    Own,
    /// Each runs another process.
    Other,
}

impl Peers {
    pub(super) const ALL: [Peers; 3] = [Peers::Idle, Peers::Own, Peers::Other];

    pub(super) fn key(self) -> &'static str {
        match self {
            Peers::Idle => "idle",
            Peers::Own => "own",
            Peers::Other => "other",
        }
    }

    /// In words, by its key.
    pub(super) fn said(key: &str) -> &'static str {
        match key {
            "idle" => "idle",
            "own" => "busy with this process",
            _ => "busy with another process",
        }
    }
}

impl fmt::Display for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Peers::said(self.key()))
    }
}

/// The threads or processes on the other CPUs, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Crew {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    processes: Vec<Child>,
}

impl Crew {
    /// Starts them, one on each of these CPUs.
    pub(super) fn start(peers: Peers, cpus: &[usize]) -> Result<Crew, String> {
        let mut crew = Crew::default();
        for &cpu in cpus {
            match peers {
                Peers::Idle => {}
                Peers::Own => crew.threads.push(spinning(cpu, &crew.is_over)),
                Peers::Other => crew.processes.push(process(cpu)?),
            }
        }
        std::thread::sleep(super::SETTLE);
        Ok(crew)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn spinning(cpu: usize, is_over: &Arc<AtomicBool>) -> JoinHandle<()> {
    let is_over = Arc::clone(is_over);
    std::thread::spawn(move || {
        let _ = affinity::pin(cpu);
        let member = CHECKING_IN.register();
        while !is_over.load(Relaxed) {
            member.check_in();
            spin_loop();
        }
    })
}

/// Runs until the process that started it has ended, if that does not end it before.
const SPIN: &str = "while kill -0 $PPID; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done";

/// A process that only runs, on the CPU of the thread that starts it.
fn process(cpu: usize) -> Result<Child, String> {
    let start = move || {
        affinity::pin(cpu)?;
        let mut shell = Command::new("sh");
        shell.args(["-c", SPIN]);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    let started = std::thread::spawn(start).join().expect("it does not panic");
    started.map_err(|error| format!("sh cannot be started: {error}"))
}
