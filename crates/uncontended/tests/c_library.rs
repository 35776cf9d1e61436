//! The library from C and C++: built as the header says, linked and run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the static library and returns its path.
fn library() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c");
    let built = Command::new(env!("CARGO"))
        .args(["rustc", "--quiet", "--offline", "-p", "uncontended", "--features", "c"])
        .args(["--crate-type", "staticlib", "--target-dir"])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.expect("cargo").success(), "the static library builds");
    target.join("debug/libuncontended.a")
}

/// Compiles the program with `compiler`, runs it, and returns its output; `None` if there is no such compiler.
fn printed(compiler: &str, language: &[&str], library: &Path) -> Option<String> {
    Command::new(compiler).arg("--version").output().ok()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = format!("hand_over_{}", language[1]);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new(compiler)
        .args(language)
        .args(["-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(folder.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(folder.join("tests/hand_over.c"))
        .args(["-x", "none"])
        .arg(library)
        .args(["-lgcc_s", "-lm", "-ldl"])
        .output()
        .expect("the compiler runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).output().expect("the program runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
fn c_and_cpp_programs_hand_over() {
    let library = library();
    let c = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let from_c = printed(&c, &["-x", "c", "-std=gnu11"], &library).expect("a C compiler");
    assert!(from_c.contains("membarrier"), "{from_c}");
    let cpp = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    match printed(&cpp, &["-x", "c++", "-std=c++11"], &library) {
        Some(from_cpp) => assert_eq!(from_cpp, from_c),
        None => uncontended_testkit::skip!("c_and_cpp_programs_hand_over", "there is no {cpp}"),
    }
}
