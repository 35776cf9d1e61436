//! Chores of the workspace. `cargo xtask ci` checks all that must hold; `tidy` holds the rules of STYLE.md, `licences`
//! those of the licences; `mutants` seeds bugs that tests must find; `header` writes the C header of the library,
//! `install-c` installs it, `explored` writes the page of what the checker has explored; `skips` lists the tests that
//! were skipped.
#![forbid(unsafe_code)]

mod ci;
mod coverage;
mod explored;
mod header;
mod install_c;
mod licences;
mod metadata;
mod mutants;
mod skips;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let chores: Vec<String> = std::env::args().skip(1).collect();
    match chores.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => {
            match explored::age(root()) {
                Ok(age) => age.into_iter().for_each(|age| println!("note: {age}")),
                Err(why) => println!("note: {why}"),
            }
            report("tidy", tidy::check(root()))
        }
        ["licences"] => report("licences", licences::check(root())),
        ["explored"] => report("explored", explored::write(root()).map(|()| Vec::new())),
        ["header"] => report("header", header::write(root()).map(|()| Vec::new())),
        ["install-c", ..] => match install_c::main(root(), &chores[1..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => {
                eprintln!("xtask: {cause}");
                ExitCode::from(2)
            }
        },
        ["ci", ..] => ci::main(root(), &chores[1..]),
        ["mutants", ..] => mutants::main(root(), &chores[1..]),
        ["coverage", ..] => {
            report("coverage", coverage::print(root(), &chores[1..]).map(|()| Vec::new()))
        }
        ["skips"] => {
            skips::print(root());
            ExitCode::SUCCESS
        }
        ["skips", "--forget"] => {
            skips::forget(root());
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!(
                "usage: cargo xtask ci [WORD] [--list] | mutants [WORD] [--list] [--held] [--orderings CRATE] | coverage [CRATE...] | explored | tidy | licences | header | install-c --prefix DIR | skips [--forget]"
            );
            ExitCode::from(2)
        }
    }
}

/// The workspace's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Prints the complaints of one chore, a line each, and fails if there are any.
fn report(chore: &str, outcome: Result<Vec<String>, String>) -> ExitCode {
    match outcome {
        Ok(complaints) if complaints.is_empty() => {
            println!("{chore}: nothing to complain about");
            ExitCode::SUCCESS
        }
        Ok(complaints) => {
            complaints.iter().for_each(|complaint| println!("{complaint}"));
            eprintln!("{chore}: {} complaints", complaints.len());
            ExitCode::FAILURE
        }
        Err(cause) => {
            eprintln!("xtask: {cause}");
            ExitCode::from(2)
        }
    }
}
