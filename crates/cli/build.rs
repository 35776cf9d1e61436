//! Builds the preloaded library that `unc` embeds.
//!
//! # Contract
//! For Linux on x86-64 and AArch64, sets `cfg(unc_full)` and leaves `observe.so` in `OUT_DIR`; for other systems, and
//! with `--cfg unc_portable`, does neither. A nested cargo compiles the crate `observe` as a static library, which this
//! script links with the C compiler: rustc gives every cdylib an anonymous version script, which cannot be combined
//! with the versioned names that `pthread_cond_*` needs.
//! # Invariants
//! I1: the nested cargo has its own target directory, so it never waits for a lock that the outer one holds.
//! I2: all profiles of the workspace share that directory, and none of the outer build's flags, wrappers or profile
//! reaches it: dev, test, release and clippy share one library. Only [`CHECKED`] does, for tests.
//! I3: the compiled sources are in this package: `observer/` has links to the sources of `observe` and of the crates
//! below it, which cargo packs as files. So `cargo install` builds the same library from a package as from a checkout.
//! I4: nothing is downloaded. The outer cargo has fetched the observer's dependencies, for `unc` itself.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The observer and the crates below it, with their dependencies (I3).
const CRATES: [(&str, &[&str]); 5] = [
    ("observe", &["gimli", "libc", "atomic", "events", "sys", "trace"]),
    ("events", &["atomic", "trace"]),
    ("trace", &["atomic"]),
    ("atomic", &["sys"]),
    ("sys", &["libc"]),
];

/// If this is set, the observer is built with its assertions.
const CHECKED: &str = "UNC_OBSERVER_CHECKED";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(unc_full)");
    if is_full() {
        println!("cargo::rustc-cfg=unc_full");
        build();
    }
}

/// Whether there is an observer for the system that is built for.
fn is_full() -> bool {
    let [system, processor] = ["OS", "ARCH"].map(|of| variable(&format!("CARGO_CFG_TARGET_{of}")));
    let is_known = system == "linux" && ["x86_64", "aarch64"].contains(&processor.as_str());
    is_known && env::var_os("CARGO_CFG_UNC_PORTABLE").is_none()
}

fn build() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let observer = here.join("observer");
    let folder = inner_target_folder(&out);
    let manifest = write_workspace(&observer, &folder.join("workspace"));
    // In a checkout, the versions that it names; in a package, those that the outer cargo fetched (I4).
    if let Ok(lock) = fs::read(here.join("../../Cargo.lock")) {
        write_if_new(&manifest.with_file_name("Cargo.lock"), &lock);
    }

    let archive_folder = compile(&manifest, &folder);
    link(
        &archive_folder.join("libuncontended_observe.a"),
        &observer.join("observe.map"),
        &out.join("observe.so"),
    );

    // Relative to this crate: two checkouts may share a target directory, and each must look at its own files.
    for file in sources(&archive_folder.join("libuncontended_observe.d")) {
        println!("cargo::rerun-if-changed={}", file.strip_prefix(&here).unwrap_or(&file).display());
    }
    println!("cargo::rerun-if-changed=observer/observe.map");
    println!("cargo::rerun-if-env-changed=CC");
    println!("cargo::rerun-if-env-changed={CHECKED}");
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

/// Writes a workspace of the crates in `observer`, and returns its manifest.
fn write_workspace(observer: &Path, folder: &Path) -> PathBuf {
    let names: Vec<&str> = CRATES.map(|(name, _)| name).to_vec();
    // A cancelled thread is unwound through our frames.
    let root = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {names:?}\n\
         [profile.release]\npanic = \"unwind\"\nlto = \"fat\"\ncodegen-units = 1\ndebug = false\n"
    );
    for (name, dependencies) in CRATES {
        let kind = if name == "observe" { "crate-type = [\"staticlib\"]\n" } else { "" };
        let features =
            if name == "atomic" { "[features]\ndefault = [\"std\"]\nstd = []\n" } else { "" };
        let version = variable("CARGO_PKG_VERSION");
        let mut text = format!(
            "[package]\nname = \"uncontended-{name}\"\nversion = \"{version}\"\nedition = \"2024\"\n\
             [lib]\npath = {:?}\n{kind}[lints.rust]\nunexpected_cfgs = \"allow\"\n{features}[dependencies]\n",
            observer.join(name).join("lib.rs")
        );
        for dependency in dependencies {
            let line = match *dependency {
                "libc" => "libc = \"0.2\"".to_owned(),
                "gimli" => {
                    "gimli = { version = \"0.34\", default-features = false, features = [\"read-core\"] }".to_owned()
                }
                ours => format!("uncontended-{ours} = {{ path = \"../{ours}\" }}"),
            };
            writeln!(text, "{line}").expect("text takes all");
        }
        write_if_new(&folder.join(name).join("Cargo.toml"), text.as_bytes());
    }
    let manifest = folder.join("Cargo.toml");
    write_if_new(&manifest, root.as_bytes());
    manifest
}

/// Writes a file unless it already has that content, since its date decides what to recompile. Atomic, because another
/// build may read it.
fn write_if_new(file: &Path, content: &[u8]) {
    if fs::read(file).is_ok_and(|there| there == content) {
        return;
    }
    let folder = file.parent().expect("files lie in folders");
    let partial = file.with_extension(std::process::id().to_string());
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&partial, content))
        .and_then(|()| fs::rename(&partial, file))
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
}

/// Compiles the observer and returns the directory of the archive.
fn compile(manifest: &Path, folder: &Path) -> PathBuf {
    let target = variable("TARGET");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(manifest.parent().expect("a manifest lies in a folder"));
    cargo.args(["build", "--quiet", "--offline", "--release", "--package", "uncontended-observe"]);
    cargo.args(["--target", &target, "--target-dir"]).arg(folder);
    cargo.env("CARGO_BUILD_BUILD_DIR", folder);
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
        // The nested cargo must not take this package's variables, or settings of profiles, for its own.
        let name = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_CFG_", "CARGO_FEATURE_", "CARGO_PROFILE_"]
            .iter()
            .any(|start| name.starts_with(start))
        {
            cargo.env_remove(name.as_ref());
        }
    }
    if env::var_os(CHECKED).is_some_and(|value| !value.is_empty()) {
        for check in ["DEBUG_ASSERTIONS", "OVERFLOW_CHECKS"] {
            cargo.env(format!("CARGO_PROFILE_RELEASE_{check}"), "true");
        }
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "the observer did not compile: {status}");
    folder.join(target).join("release")
}

fn link(archive: &Path, map: &Path, library: &Path) {
    let compiler =
        ["RUSTC_LINKER", "CC"].into_iter().find_map(env::var_os).unwrap_or_else(|| "cc".into());
    let mut linker = Command::new(&compiler);
    linker.args(["-shared", "-nodefaultlibs", "-o"]).arg(library);
    // One interposed symbol pulls in the object that has them all; of std, only what that needs.
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
        // Before glibc 2.34, threads and the loader's functions had separate libraries.
        "-lpthread",
        "-ldl",
        "-lc",
    ]);
    match linker.status() {
        Ok(status) => assert!(status.success(), "the observer did not link: {status}"),
        Err(error) => {
            panic!("cannot start the C compiler {compiler:?}, which links the observer: {error}")
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
