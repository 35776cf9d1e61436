//! Builds the preloaded library, so that `unc` can carry it inside itself.
//!
//! # Contract
//! Leaves `observe.so` in `OUT_DIR`. The crate `observe` is compiled as a static library by a cargo of its own and
//! linked here with the C compiler, because rustc gives every cdylib an anonymous version script, which cannot be
//! combined with the versioned names that `pthread_cond_*` needs.
//! # Invariants
//! I1: the inner cargo has a target folder of its own, so that it never waits for a lock that the outer one holds.
//! I2: that folder is one for all profiles of the workspace, and nothing of the outer build's flags, wrappers or
//! profile reaches it: dev, test, release and clippy share one library.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let root =
        here.join("../..").canonicalize().expect("crates/cli lies two folders below the workspace");
    let observe = root.join("crates/observe");
    let target = variable("TARGET");

    let archive_folder = compile(&observe, &root, &target, &inner_target_folder(&out));
    link(
        &archive_folder.join("libuncontended_observe.a"),
        &observe.join("observe.map"),
        &out.join("observe.so"),
    );

    // Relative to this crate: two checkouts may share a target folder, and each must look at its own files.
    for file in sources(&archive_folder.join("libuncontended_observe.d")) {
        let file = file.strip_prefix(&root).unwrap_or(&file);
        println!("cargo::rerun-if-changed={}", Path::new("../..").join(file).display());
    }
    for file in
        ["Cargo.toml", "Cargo.lock", "crates/observe/Cargo.toml", "crates/observe/observe.map"]
    {
        println!("cargo::rerun-if-changed=../../{file}");
    }
    println!("cargo::rerun-if-env-changed=CC");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

/// `<target>/observer` next to `<target>/<profile>/build`, whichever profile is being built (I2).
fn inner_target_folder(out: &Path) -> PathBuf {
    let build = out.ancestors().find(|folder| folder.ends_with("build"));
    match build.and_then(|build| build.parent()?.parent()) {
        Some(target) => target.join("observer"),
        None => out.join("observer"),
    }
}

/// Compiles the crate in `observe` and answers with the folder of the archive.
fn compile(observe: &Path, root: &Path, target: &str, folder: &Path) -> PathBuf {
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(root).args([
        "build",
        "--quiet",
        "--lib",
        "--profile",
        "observe",
        "--target",
        target,
    ]);
    cargo.arg("--manifest-path").arg(observe.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(folder).env("CARGO_BUILD_BUILD_DIR", folder);
    let foreign = [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_TARGET_DIR",
    ];
    for name in foreign {
        cargo.env_remove(name);
    }
    for (name, _) in env::vars_os() {
        // The inner cargo must not take this package's facts, nor settings of profiles, for its own.
        let name = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_CFG_", "CARGO_FEATURE_", "CARGO_PROFILE_"]
            .iter()
            .any(|start| name.starts_with(start))
        {
            cargo.env_remove(name.as_ref());
        }
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "the observer did not compile: {status}");
    folder.join(target).join("observe")
}

fn link(archive: &Path, map: &Path, library: &Path) {
    let compiler =
        ["RUSTC_LINKER", "CC"].into_iter().find_map(env::var_os).unwrap_or_else(|| "cc".into());
    let mut linker = Command::new(&compiler);
    linker.args(["-shared", "-nodefaultlibs", "-o"]).arg(library);
    // One interposed symbol brings in the object that has all of them; of std, only what that needs.
    linker.arg("-Wl,-u,pthread_mutex_lock").arg(archive);
    linker.arg(format!("-Wl,--version-script={}", map.display()));
    linker.args([
        "-Wl,--gc-sections",
        "-Wl,-z,defs",
        "-Wl,-z,now",
        "-Wl,-z,relro",
        "-Wl,--as-needed",
    ]);
    linker.args([
        "-Wl,--hash-style=gnu",
        "-Wl,--build-id=none",
        "-Wl,--strip-all",
        "-Wl,-soname,libuncontended_observe.so",
        "-lgcc_eh",
        "-lgcc",
        // Before glibc 2.34, threads and the loader's functions had libraries of their own.
        "-lpthread",
        "-ldl",
        "-lc",
    ]);
    match linker.status() {
        Ok(status) => assert!(status.success(), "the observer did not link: {status}"),
        Err(error) => {
            panic!("the C compiler {compiler:?} links the observer and cannot be started: {error}")
        }
    }
}

/// The source files of the archive, from the list that cargo writes next to it.
fn sources(list: &Path) -> Vec<PathBuf> {
    let text =
        fs::read_to_string(list).expect("cargo writes a list of sources next to the archive");
    let files = text.split_once(": ").map_or("", |(_, files)| files);
    let unescaped = files.trim_end().replace("\\ ", "\0");
    unescaped
        .split(' ')
        .filter(|file| !file.is_empty())
        .map(|file| file.replace('\0', " ").into())
        .collect()
}
