//! Tasks that are polled again without a wakeup, by a thread that lives as long as there are such.

use super::wake_each;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// Tasks to poll again without a wakeup.
struct Soon {
    tasks: Vec<Waker>,
    has_thread: bool,
}

static SOON: Mutex<Soon> = Mutex::new(Soon { tasks: Vec::new(), has_thread: false });

fn soon() -> MutexGuard<'static, Soon> {
    SOON.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn poll_again_soon(task: Waker) {
    let mut soon = soon();
    soon.tasks.push(task);
    if !soon.has_thread {
        soon.has_thread = std::thread::Builder::new().spawn(poll_all_again).is_ok();
    }
    if !soon.has_thread {
        // No thread could be started: poll them at once.
        let tasks = std::mem::take(&mut soon.tasks);
        drop(soon);
        let _ = wake_each(tasks);
    }
}

fn poll_all_again() {
    loop {
        std::thread::sleep(Duration::from_millis(4));
        let tasks = {
            let mut soon = soon();
            soon.has_thread = !soon.tasks.is_empty();
            std::mem::take(&mut soon.tasks)
        };
        if tasks.is_empty() {
            return;
        }
        let _ = wake_each(tasks);
    }
}
