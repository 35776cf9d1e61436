//! Executing other programs: noted in the record, so that a program in which the observer does not begin is known.
//!
//! # Contract
//! A process that executes a file is noted before the call, and the note is withdrawn if the call returns. What is
//! spawned is noted after the call, which tells its process. Of `execl` and its like, `system` and `popen`, nothing is
//! noted.
//! # Invariants
//! I1: in a child made by `vfork`, which runs in its parent's memory, only the record changes, by atomics.

use crate::host::{self, Words};
use crate::{image, module};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::layout::Process;

/// Runs `call`, which executes `path` and returns only if it cannot.
fn executing(path: *const c_char, call: impl FnOnce() -> c_int) -> c_int {
    let note = announce(path);
    if let Some(note) = note {
        note.pid.store(image::process_id(), Relaxed);
    }
    let failed = call();
    if let Some(note) = note {
        note.pid.store(0, Relaxed);
    }
    failed
}

/// Runs `call`, which writes the process that executes `path` to the place that it gets.
fn spawning(pid: *mut c_int, path: *const c_char, call: impl FnOnce(*mut c_int) -> c_int) -> c_int {
    // The number that the call tells is of no use to `unc` there.
    let is_in_namespace =
        image::arena().and_then(image::process).is_some_and(image::is_in_namespace);
    let note = if is_in_namespace { None } else { announce(path) };
    let mut child = 0;
    let failed = call(&raw mut child);
    if failed == 0 {
        if let Some(note) = note {
            note.pid.store(child as u32, Relaxed);
        }
        if !pid.is_null() {
            // SAFETY: the program's own place for it (P1, P2).
            unsafe { pid.write(child) };
        }
    }
    failed
}

fn announce(path: *const c_char) -> Option<&'static Process> {
    // SAFETY: the program's own text (P1, P2).
    let path = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) });
    let is_own = path == Some(c"/proc/self/exe");
    image::announce(if is_own { module::program() } else { path })
}

macro_rules! executes {
    ($($name:ident($($argument:ident: $type:ty),*) $path:expr;)*) => { $(
        /// The C library's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the program's own call (P1).
            executing($path, || unsafe { host::$name($($argument),*) })
        }
    )* };
}

executes! {
    execve(path: *const c_char, words: *const Words, environment: *const Words) path;
    execv(path: *const c_char, words: *const Words) path;
    execvp(path: *const c_char, words: *const Words) path;
    execvpe(path: *const c_char, words: *const Words, environment: *const Words) path;
    fexecve(file: c_int, words: *const Words, environment: *const Words) std::ptr::null();
}

macro_rules! spawns {
    ($($name:ident)*) => { $(
        /// The C library's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            pid: *mut c_int,
            path: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            words: *const Words,
            environment: *const Words,
        ) -> c_int {
            // SAFETY: the program's own call (P1), with a place of ours for the process.
            spawning(pid, path, |child| unsafe {
                host::$name(child, path, actions, attributes, words, environment)
            })
        }
    )* };
}

spawns! { posix_spawn posix_spawnp }
