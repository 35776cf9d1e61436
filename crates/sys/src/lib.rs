//! System calls and machine instructions, each behind the smallest interface that its users need.
//!
//! Starting and following a program: [`inherited`], [`process`], [`signals`]. Memory that a program shares with its
//! observer: [`memfd`]; system calls from its process: [`kernel`]. What observing costs:
//! [`pair_cost`]. Time: [`clock`]. A word of each thread: [`tls`]. What the kernel sees of a program: [`perf`],
//! [`tracefs`]. Locks of a program's own: [`annotate`]. Measuring a command: [`supervise`], [`interrupts`]; oneself:
//! [`usage`].
//! A barrier on all threads: [`membarrier`]; sleeping on a word: [`futex`]; forbidding a system call: [`filter`]. Cache
//! lines in time: [`prefetch`].
//! Where a thread runs: [`affinity`]; machine code made at run time: [`code`].
//!
//! # Contracts of the C library and the kernel
//! SAFETY comments cite them; invariants of one module (`I1`) stand in its header.
//!
//! L1: a call that is given numbers and descriptors alone touches no memory of ours, and runs none of our code.
//! L2: a pointer that a call is given is null, where that means "none", or points to memory of the type and size that
//! the call takes, which lives until it returns; the call keeps no pointer.
//! L3: a new mapping at an address of the kernel's choice, and its removal by its owner, change no other memory.
//! L4: a descriptor that a call has just returned belongs to nobody else.
//! L5: the C structures used here are plain numbers: all zeroes is a value of each.
//! L6: what a call says that it wrote is initialised when it has succeeded.
//! L7: a name or path that a call is given ends in NUL, an array of them in a null pointer.
//! L8: what programs are compiled against stays: a mutex begins with its lock word, a link map with the module's bias
//! and name.
//! L9: a function that is handed over to be called back has the type that is demanded, and stays loaded.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Floor 0: below `atomic`.

pub mod affinity;
pub mod annotate;
pub mod clock;
pub mod code;
pub mod filter;
pub mod futex;
pub mod inherited;
pub mod interrupts;
pub mod kernel;
pub mod membarrier;
pub mod memfd;
pub mod pair_cost;
pub mod perf;
pub mod prefetch;
pub mod process;
pub mod signals;
pub mod supervise;
pub mod tls;
pub mod tracefs;
pub mod usage;
