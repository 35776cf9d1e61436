//! Where the observer starts, in a program just loaded and in a forked child, and where the program ends.

use crate::{exit, host, image, joined, local, module, sharing, slept};

/// The constructor: runs before the program's own code.
extern "C" fn begin() {
    #[cfg(debug_assertions)]
    crate::checked::prepare();
    host::prepare();
    #[cfg(target_arch = "x86_64")]
    host::old::prepare();
    if image::open().is_some() {
        module::prepare();
        sharing::prepare();
        slept::prepare();
        joined::prepare();
        let _ = image::arena().and_then(image::process); // Records at least that the image ran.
        local::prepare();
        // SAFETY: a handler of the type, in a library that is never unloaded (L9).
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// The destructor: runs in the thread that calls `exit` or returns from `main`.
extern "C" fn end() {
    exit::note();
}

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// In a forked child: the record starts empty, under a new entry.
extern "C" fn forked() {
    image::begin_anew();
    local::forked();
}
