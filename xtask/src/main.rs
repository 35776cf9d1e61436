//! Chores of the workspace. `cargo xtask tidy` holds the rules of STYLE.md.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    eprintln!("usage: cargo xtask tidy");
    std::process::ExitCode::from(2)
}
