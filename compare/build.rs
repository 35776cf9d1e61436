//! Compiles our shim around Concurrency Kit's event count where its headers are on this machine (`CK_INCLUDE`, or
//! Debian's libck-dev through pkg-config). Nothing of it is carried here; without it the benchmarks skip it with a
//! line.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(ck)");
    println!("cargo::rerun-if-env-changed=CK_INCLUDE");
    println!("cargo::rerun-if-env-changed=CK_LIB");
    println!("cargo::rerun-if-changed=src/rivals/concurrency_kit.c");
    let Some(include) = headers() else { return };
    let shim = cc::Build::new()
        .file("src/rivals/concurrency_kit.c")
        .include(include)
        .opt_level(3)
        .cargo_warnings(false)
        .try_compile("concurrency_kit_shim");
    if shim.is_err() {
        println!(
            "cargo::warning=ck_ec.h is there, but the shim does not compile; its rows are skipped"
        );
        return;
    }
    if let Some(folder) = std::env::var_os("CK_LIB") {
        println!("cargo::rustc-link-search={}", Path::new(&folder).display());
    }
    println!("cargo::rustc-link-lib=ck");
    println!("cargo::rustc-cfg=ck");
}

/// The folder that has `ck_ec.h`.
fn headers() -> Option<PathBuf> {
    let given = std::env::var_os("CK_INCLUDE").map(PathBuf::from);
    let told = || {
        let output =
            Command::new("pkg-config").args(["--variable=includedir", "ck"]).output().ok()?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
    };
    let folders = [given, told(), Some("/usr/include".into()), Some("/usr/local/include".into())];
    folders.into_iter().flatten().find(|folder| folder.join("ck_ec.h").exists())
}
