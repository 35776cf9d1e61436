//! Chores of the workspace. `cargo xtask tidy` holds the rules of STYLE.md that a program can hold.
#![forbid(unsafe_code)]

mod tidy;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let chores: Vec<String> = std::env::args().skip(1).collect();
    match chores.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        _ => {
            eprintln!("usage: cargo xtask tidy");
            ExitCode::from(2)
        }
    }
}

/// Prints what is untidy, a line each, and fails if there is anything.
fn tidy() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    match tidy::check(root) {
        Ok(complaints) if complaints.is_empty() => {
            println!("tidy");
            ExitCode::SUCCESS
        }
        Ok(complaints) => {
            complaints.iter().for_each(|complaint| println!("{complaint}"));
            eprintln!("{} untidy places", complaints.len());
            ExitCode::FAILURE
        }
        Err(cause) => {
            eprintln!("xtask: {cause}");
            ExitCode::from(2)
        }
    }
}
