//! Tasks that are polled again without a wakeup, by a thread that lives as long as there are such.
//!
//! # State
//! The thread is of the process that started it: a child that was forked has none and starts its own with its next
//! task. It may have inherited the lock while the thread held it, so no task waits for the lock.

use super::{discard, wake_each};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Waker;
use std::time::Duration;

/// Tasks to poll again without a wakeup.
struct Soon {
    tasks: Vec<Waker>,
    /// The process whose thread polls them; 0 without one.
    thread_of: u32,
}

static SOON: Mutex<Soon> = Mutex::new(Soon { tasks: Vec::new(), thread_of: 0 });

pub(super) fn poll_again_soon(task: Waker) {
    let left = match SOON.try_lock() {
        Ok(soon) => add(soon, task),
        Err(TryLockError::Poisoned(soon)) => add(soon.into_inner(), task),
        // Polled at once, it asks again.
        Err(TryLockError::WouldBlock) => vec![task],
    };
    wake_all(left);
}

/// Leaves the task to the thread. Returns the tasks that are to be polled at once, because no thread could be started.
fn add(mut soon: MutexGuard<'_, Soon>, task: Waker) -> Vec<Waker> {
    soon.tasks.push(task);
    let me = std::process::id();
    if soon.thread_of != me {
        let is_started = std::thread::Builder::new().spawn(poll_all_again).is_ok();
        soon.thread_of = if is_started { me } else { 0 };
    }
    if soon.thread_of == 0 { std::mem::take(&mut soon.tasks) } else { Vec::new() }
}

fn poll_all_again() {
    loop {
        std::thread::sleep(Duration::from_millis(4));
        let tasks = {
            let mut soon = SOON.lock().unwrap_or_else(PoisonError::into_inner);
            if soon.tasks.is_empty() {
                soon.thread_of = 0;
                return;
            }
            std::mem::take(&mut soon.tasks)
        };
        wake_all(tasks);
    }
}

/// Wakes all of them. The thread survives wakers that panic.
fn wake_all(tasks: Vec<Waker>) {
    if let Err(panic) = wake_each(tasks) {
        discard(panic);
    }
}
