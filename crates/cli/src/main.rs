//! The workbench `unc`: one module per command; this file only names them.
//!
//! `cfg(unc_full)`, which `build.rs` sets, means that all of them are there: on Linux on x86-64 and AArch64. Elsewhere,
//! [`mod@commands`] has what stands for those that watch programs.
#![forbid(unsafe_code)]

#[cfg(unc_full)]
mod attach;
mod commands;
mod console;
mod deliver;
mod emit;
mod files;
mod github;
mod limits;
mod memory;
mod output;
#[cfg(unc_full)]
mod run;
mod settings;
mod symbols;
mod view;

use std::process::ExitCode;
use uncontended_sys::limits::{Heap, survive_file_size, with_stack};

/// The stack of every command, in bytes.
const STACK: usize = 2 << 20;

#[global_allocator]
static HEAP: Heap = Heap;

fn main() -> ExitCode {
    let _ = survive_file_size(); // Without it, a report that is too large ends this process.
    with_stack(STACK, commands::execute).unwrap_or_else(|error| {
        console::complain(&limits::could_not("start a thread", &error));
        ExitCode::from(125)
    })
}
