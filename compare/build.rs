//! Compiles our shims around rivals in C and C++ where their headers are on this machine: Concurrency Kit (`CK_INCLUDE`,
//! or Debian's libck-dev through pkg-config), Boost (`BOOST_INCLUDE`, or Debian's libboost-dev) and rigtorp's SPSCQueue
//! (`RIGTORP_INCLUDE`). Nothing of them is carried here; without them the benchmarks skip them with a line.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(ck)");
    println!("cargo::rustc-check-cfg=cfg(queues)");
    for variable in ["CK_INCLUDE", "CK_LIB", "BOOST_INCLUDE", "RIGTORP_INCLUDE"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rerun-if-changed=src/rivals");
    concurrency_kit();
    queues();
}

fn concurrency_kit() {
    let Some(include) = folder_of("ck_ec.h", "CK_INCLUDE", Some("ck")) else { return };
    let shim = cc::Build::new()
        .files(["src/rivals/concurrency_kit.c", "src/rivals/concurrency_kit_ring.c"])
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

/// Queues in C++.
fn queues() {
    let here = [
        ("WITH_BOOST", folder_of("boost/lockfree/spsc_queue.hpp", "BOOST_INCLUDE", None)),
        ("WITH_RIGTORP", folder_of("rigtorp/SPSCQueue.h", "RIGTORP_INCLUDE", None)),
    ];
    if here.iter().all(|(_, folder)| folder.is_none()) {
        return;
    }
    let mut shim = cc::Build::new();
    shim.cpp(true).std("c++17").file("src/rivals/queues.cpp").opt_level(3).cargo_warnings(false);
    for (name, folder) in here {
        if let Some(folder) = folder {
            shim.define(name, None).include(folder);
        }
    }
    if shim.try_compile("queues_shim").is_err() {
        println!(
            "cargo::warning=queues in C++ are there, but the shim does not compile; their rows are skipped"
        );
        return;
    }
    println!("cargo::rustc-cfg=queues");
}

/// The folder that has this header: of the variable, of pkg-config's package, or of the system.
fn folder_of(header: &str, variable: &str, package: Option<&str>) -> Option<PathBuf> {
    let given = std::env::var_os(variable).map(PathBuf::from);
    let told = package.and_then(|package| {
        let output =
            Command::new("pkg-config").args(["--variable=includedir", package]).output().ok()?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
    });
    let folders = [given, told, Some("/usr/include".into()), Some("/usr/local/include".into())];
    folders.into_iter().flatten().find(|folder| folder.join(header).exists())
}
