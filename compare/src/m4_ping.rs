//! Question: what does it cost a reclaimer to order its readers by signals instead of a barrier?
//!
//! Publish-on-ping (arXiv 2501.04250) lets readers write what they read into a place of their own, and publish that in a
//! signal handler, when a reclaimer asks. Its readers have the instructions of ours (`m1_read`): so the difference is
//! what the reclaimer pays. It sends a signal to each reader and waits until all have run their handler; ours calls
//! membarrier. Readers run and read without pause, or sleep in the kernel: a thread that sleeps has to be woken for its
//! handler, and a barrier leaves it alone. CPU time is that of all threads. Not measured: more readers than CPUs that run.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use uncontended_bench::{Bench, Block, Options, Place, Ratio};
use uncontended_sys::fork::thread_id;

use crate::rivals::reclaimers::*;

static ANSWERS: AtomicU32 = AtomicU32::new(0);

pub fn main(flags: &[String]) -> Result<(), String> {
    let options = Options::parse(flags.iter().cloned())?;
    let mut bench =
        Bench::new("m4_ping", "what does it cost to order readers by signals instead of a barrier")
            .places([Place::TwoCpus])
            .per("reclamation")
            .ratio(Ratio::Cpu)
            .baseline("ours, membarrier")
            .block(Duration::from_millis(2));
    for (running, sleeping) in [(1, 0), (0, 8), (1, 8)] {
        let readers = (running, sleeping);
        bench = bench
            .case(format!("{running} reading, {sleeping} asleep"))
            .subject("ours, membarrier", orders(readers, |_| heavy()))
            .subject("signals and their answers", orders(readers, ping));
    }
    crate::answer(bench, &options)
}

fn heavy() {
    uncontended_fence::heavy().expect("membarrier is not refused");
}

/// A signal to each reader; returns when all have answered.
fn ping(readers: &[u32]) {
    ANSWERS.store(0, SeqCst);
    for tid in readers {
        // SAFETY: the call receives numbers; the handler is installed.
        let sent = unsafe {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), *tid as libc::pid_t, libc::SIGUSR2)
        };
        assert_eq!(sent, 0, "{}", std::io::Error::last_os_error());
    }
    while ANSWERS.load(SeqCst) < readers.len() as u32 {
        std::thread::yield_now();
    }
}

/// Where a reader would publish: the answer comes after its earlier stores.
extern "C" fn answer(_: libc::c_int) {
    ANSWERS.fetch_add(1, SeqCst);
}

fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: all zeroes is a valid action, and the handler changes one atomic.
        let installed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = answer as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut())
        };
        assert_eq!(installed, 0, "{}", std::io::Error::last_os_error());
    });
}

fn orders(
    (running, sleeping): (usize, usize),
    order: fn(&[u32]),
) -> impl FnMut(&mut Block) + Send + 'static {
    move |block| {
        install();
        let (n, is_over) = (block.operations(), AtomicBool::new(false));
        let pinning = block.pinning().clone();
        std::thread::scope(|threads| {
            let (tids, known) = channel();
            let mut wakes: Vec<Sender<()>> = Vec::new();
            for _ in 0..running {
                let (tids, is_over, pinning) = (tids.clone(), &is_over, &pinning);
                threads.spawn(move || {
                    pinning.pin(1);
                    read(tids, is_over);
                });
            }
            for _ in 0..sleeping {
                let (wake, is_woken) = channel();
                wakes.push(wake);
                let tids = tids.clone();
                threads.spawn(move || sleep(tids, is_woken));
            }
            let readers: Vec<u32> = known.iter().take(running + sleeping).collect();
            block.measure(|| (0..n).for_each(|_| order(&readers)));
            is_over.store(true, Relaxed);
        });
    }
}

fn read(tids: Sender<u32>, is_over: &AtomicBool) {
    let cell = ByHand::<false>::new(1);
    tids.send(thread_id()).expect("the reclaimer waits for it");
    while !is_over.load(Relaxed) {
        assert_eq!(cell.read(), 1);
    }
}

fn sleep(tids: Sender<u32>, is_woken: Receiver<()>) {
    tids.send(thread_id()).expect("the reclaimer waits for it");
    // Until the other end is dropped.
    is_woken.recv().expect_err("nothing is sent");
}
