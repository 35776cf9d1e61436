//! The workbench `unc`: one module per command; this file only names them.
#![forbid(unsafe_code)]

mod attach;
mod commands;
mod console;
mod deliver;
mod emit;
mod files;
mod memory;
mod run;
mod settings;
mod symbols;
mod view;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::execute()
}
