//! A daemon in the test's own process.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::PathBuf;
use std::thread::JoinHandle;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicBool};
use uncontended_barrierd::{Daemon, Options, Refusal};
use uncontended_testkit::{Folder, skip};

/// A daemon that serves until this is dropped.
pub(crate) struct Running {
    pub(crate) folder: Folder,
    is_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Refusal>>>,
}

impl Running {
    /// A daemon at a socket of its own; nothing where the kernel does not let us.
    pub(crate) fn start(test: &str, cpus: Option<Vec<usize>>) -> Option<Running> {
        let folder = Folder::new();
        let daemon = match Daemon::start(&Options { socket: folder.path().join("socket"), cpus }) {
            Ok(daemon) => daemon,
            Err(refusal) => {
                skip!(test, "no daemon here: {refusal}");
                return None;
            }
        };
        let is_ended = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_ended);
        let thread = std::thread::spawn(move || daemon.run(|| told.load(Relaxed), |_| {}));
        Some(Running { folder, is_ended, thread: Some(thread) })
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub(crate) fn end(&mut self) {
        self.is_ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
