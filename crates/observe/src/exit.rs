//! The ends of processes that the program asks for.
//!
//! # Contract
//! [`note`] says in the record that the calling thread ends the process: at the end of `exit` or `main`, and before
//! `_exit`, `_Exit` and `quick_exit`. What else ends a process is not seen here: signals, which leave no time for it,
//! and system calls of the program's own. `unc` looks for those.
//! # Invariants
//! I1: a child made by `vfork` runs in its parent's memory, and its end is not its parent's: it has a process ID of its
//!     own. Where the kernel may not be asked for that, nothing is noted.
//! # Evidence
//! `tests/programs`: `ends.c`.

use crate::{host, image, kernel, local, sandbox};
use libc::c_int;
use uncontended_atomic::Ordering::Relaxed;

/// Notes that the calling thread ends the process.
pub(crate) fn note() {
    if let Some(process) = image::arena().and_then(image::process) {
        local::note_exit(process);
    }
}

/// The same of a call that a child made by `vfork` may make (I1).
fn note_if_own() {
    if sandbox::is_filtered() {
        return;
    }
    let process = image::arena().and_then(image::process);
    if process.is_some_and(|process| process.pid.load(Relaxed) == kernel::process_id()) {
        note();
    }
}

macro_rules! exits {
    ($($symbol:literal $function:ident $host:ident;)*) => { $(
        /// The C library's function of this name.
        #[unsafe(export_name = $symbol)]
        unsafe extern "C" fn $function(status: c_int) -> ! {
            note_if_own();
            // SAFETY: the program's own call (P1).
            unsafe { host::$host(status) }
        }
    )* };
}

exits! {
    "_exit" exit_now _exit;
    "_Exit" exit_now_of_c _exit;
    "quick_exit" quick_exit quick_exit;
}
