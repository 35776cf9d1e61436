//! The library from C and C++: built as the header says, linked and run. Without a compiler, a test is skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// The static library, built once.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c");
    let built = Command::new(env!("CARGO"))
        .args(["rustc", "--quiet", "--offline", "-p", "uncontended", "--features", "c"])
        .args(["--crate-type", "staticlib", "--target-dir"])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.expect("cargo").success(), "the static library builds");
    target.join("debug/libuncontended.a")
});

/// The languages in which a program is compiled.
const C: [&str; 3] = ["-x", "c", "-std=gnu11"];
const CPP11: [&str; 3] = ["-x", "c++", "-std=c++11"];
const CPP17: [&str; 3] = ["-x", "c++", "-std=c++17"];

/// A compiler for the language, if there is one: `CC` or `CXX`, or what the system calls it.
fn compiler(language: [&str; 3]) -> Result<String, String> {
    let (variable, usual) = if language == C { ("CC", "cc") } else { ("CXX", "c++") };
    let name = std::env::var(variable).unwrap_or_else(|_| usual.into());
    match Command::new(&name).arg("--version").output() {
        Ok(_) => Ok(name),
        Err(error) => Err(format!("no compiler {name}: {error}")),
    }
}

/// What this build of the library wants defined, and the backend that it names.
const DEFINED: &[&str] = if cfg!(unc_portable) { &["-DUNC_PORTABLE"] } else { &[] };
const BACKEND: &str = if cfg!(unc_portable) { "full fences" } else { "membarrier" };

/// Compiles a program of `tests` and runs it. The error says why there is no compiler.
fn run(program: &str, language: [&str; 3]) -> Result<String, String> {
    let (binary, compiled) = compile(program, language, DEFINED)?;
    succeeded(&compiled);
    Ok(succeeded(&Command::new(&binary).output().expect("the program runs")))
}

/// Compiles a program of `tests` and links it with the library, and returns where it is and what the compiler said.
fn compile(
    program: &str,
    language: [&str; 3],
    defined: &[&str],
) -> Result<(PathBuf, Output), String> {
    let compiler = compiler(language)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = format!("{program}_{}{}", language[2], defined.concat());
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new(compiler)
        .args(language)
        .args(defined)
        .args(["-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(folder.join("include"))
        .arg("-o")
        .arg(&binary)
        .arg(folder.join("tests").join(program))
        .args(["-x", "none"])
        .arg(&*LIBRARY)
        .args(["-lgcc_s", "-lm", "-ldl"])
        .output()
        .expect("the compiler runs");
    Ok((binary, compiled))
}

/// What a successful command printed.
fn succeeded(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a program in each of the languages. Each run must print the backend.
fn run_in_each(test: &str, program: &str, languages: &[[&str; 3]]) {
    for &language in languages {
        match run(program, language) {
            Ok(printed) => assert!(printed.contains(BACKEND), "{printed}"),
            Err(reason) => uncontended_testkit::skip!(test, "{reason}"),
        }
    }
}

/// The increments of a program and the library's waiters agree on who pays for the fence, or the linker complains.
#[test]
fn a_program_is_not_linked_with_a_library_that_needs_other_fences() {
    let other = if cfg!(unc_portable) { &[][..] } else { &["-DUNC_PORTABLE"] };
    match compile("hand_over.c", C, other) {
        Ok((_, compiled)) => {
            assert!(!compiled.status.success(), "it links");
            let words = String::from_utf8_lossy(&compiled.stderr);
            assert!(words.contains("unc_event_count_wake"), "{words}");
        }
        Err(reason) => uncontended_testkit::skip!(
            "a_program_is_not_linked_with_a_library_that_needs_other_fences",
            "{reason}"
        ),
    }
}

#[test]
fn c_and_cpp_programs_hand_over() {
    run_in_each("c_and_cpp_programs_hand_over", "hand_over.c", &[C, CPP11]);
}

#[test]
fn elements_and_records_of_any_size() {
    run_in_each("elements_and_records_of_any_size", "elements.c", &[C, CPP11]);
}

#[test]
fn cpp_handles() {
    run_in_each("cpp_handles", "handles.cpp", &[CPP17]);
    run_in_each("cpp_handles", "many_handles.cpp", &[CPP17]);
}

#[test]
fn lanes_and_broadcasts() {
    run_in_each("lanes_and_broadcasts", "many_sides.c", &[C, CPP11]);
}

#[test]
fn records_between_processes() {
    run_in_each("records_between_processes", "processes.c", &[C, CPP11]);
}
