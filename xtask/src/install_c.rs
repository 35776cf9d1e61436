//! The installation of the library for C and C++: the archive, headers, a pkg-config file, a CMake package, a man page.
//!
//! # Contract
//! `cargo xtask install-c --prefix DIR` builds the archive and copies it and the files of `crates/uncontended/include`
//! and `install` below `DIR`, with the version in place of `@VERSION@`. `man` finds the page by the name of each
//! function. The installed files find each other relative to where they are, so the tree can be moved.

use std::path::{Path, PathBuf};
use std::process::Command;

const USAGE: &str = "usage: cargo xtask install-c --prefix DIR";
const CRATE: &str = "crates/uncontended";

/// What is copied as it is or with the version in it, and where.
const FILES: [(&str, &str); 8] = [
    ("include/uncontended.h", "include"),
    ("include/uncontended_lib.h", "include"),
    ("include/uncontended.hpp", "include"),
    ("include/uncontended_many.hpp", "include"),
    ("install/uncontended.pc", "lib/pkgconfig"),
    ("install/uncontended-config.cmake", "lib/cmake/uncontended"),
    ("install/uncontended-config-version.cmake", "lib/cmake/uncontended"),
    ("install/uncontended.3", "share/man/man3"),
];

/// Installs as the arguments say.
pub(crate) fn main(root: &Path, arguments: &[String]) -> Result<(), String> {
    let [flag, prefix] = arguments else { return Err(USAGE.into()) };
    if flag != "--prefix" || prefix.is_empty() {
        return Err(USAGE.into());
    }
    let archive = build(root, &root.join("target"), &["--release"])?;
    for path in install(root, &archive, Path::new(prefix))? {
        println!("{}", path.display());
    }
    Ok(())
}

/// Builds the archive, and returns its path.
fn build(root: &Path, target: &Path, flags: &[&str]) -> Result<PathBuf, String> {
    let built = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["rustc", "--quiet", "-p", "uncontended", "--features", "c"])
        .args(["--crate-type", "staticlib", "--target-dir"])
        .arg(target)
        .args(flags)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let profile = if flags.contains(&"--release") { "release" } else { "debug" };
    match built.success() {
        true => Ok(target.join(profile).join("libuncontended.a")),
        false => Err("the library does not build".into()),
    }
}

/// Copies all files below `prefix`, and returns where they are.
fn install(root: &Path, archive: &Path, prefix: &Path) -> Result<Vec<PathBuf>, String> {
    let version = version(root)?;
    let place = |folder: &str, from: &Path| {
        let folder = prefix.join(folder);
        let why = |error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(why)?;
        Ok::<_, String>(folder.join(from.file_name().unwrap_or_default()))
    };
    let library = place("lib", archive)?;
    std::fs::copy(archive, &library).map_err(|why| format!("{}: {why}", library.display()))?;
    let mut installed = vec![library];
    for (from, folder) in FILES {
        let from = root.join(CRATE).join(from);
        let to = place(folder, &from)?;
        let text = std::fs::read_to_string(&from);
        let text = text.map_err(|why| format!("{}: {why}", from.display()))?;
        let written = std::fs::write(&to, text.replace("@VERSION@", &version));
        written.map_err(|why| format!("{}: {why}", to.display()))?;
        installed.push(to);
    }
    for function in functions(root)? {
        let to = prefix.join("share/man/man3").join(format!("{function}.3"));
        let written = std::fs::write(&to, ".so man3/uncontended.3\n");
        written.map_err(|why| format!("{}: {why}", to.display()))?;
    }
    Ok(installed)
}

/// The functions that the header declares.
fn functions(root: &Path) -> Result<Vec<String>, String> {
    let header = root.join(CRATE).join("include/uncontended_lib.h");
    let text = std::fs::read_to_string(&header);
    let text = text.map_err(|why| format!("{}: {why}", header.display()))?;
    let declared = text.lines().filter(|line| !line.starts_with([' ', '/', '#']));
    let name = |line: &str| {
        let (before, _) = line.split_once('(')?;
        before
            .split([' ', '*'])
            .next_back()
            .filter(|name| name.starts_with("unc_"))
            .map(str::to_owned)
    };
    Ok(declared.filter_map(name).collect())
}

/// The version of the library.
fn version(root: &Path) -> Result<String, String> {
    let packages = crate::metadata::packages(root, &["--no-deps", "--offline"])?;
    let ours = packages.iter().find(|package| package["name"] == "uncontended");
    let version = ours.and_then(|package| package["version"].as_str());
    version.map(str::to_owned).ok_or("cargo knows no version of uncontended".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_testkit::{Folder, skip};

    const CMAKE_LISTS: &str = "\
cmake_minimum_required(VERSION 3.10)
project(program LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(uncontended @VERSION@ REQUIRED)
add_executable(program handles.cpp)
target_link_libraries(program PRIVATE uncontended::uncontended)
";

    /// An installed tree. The archive is not optimised.
    fn installed() -> Folder {
        let (root, folder) = (crate::root(), Folder::new());
        let archive = build(root, &root.join("target/tmp/c"), &["--offline"]).expect("an archive");
        let files = install(root, &archive, &folder.path().join("tree")).expect("a prefix");
        assert_eq!(files.len(), 1 + FILES.len());
        assert!(files.iter().all(|file| file.is_file()));
        folder
    }

    #[test]
    fn each_function_has_its_man_page() {
        let functions = functions(crate::root()).expect("a header");
        assert!(functions.len() > 60, "{functions:?}");
        let folder = installed();
        for function in ["unc_ring_push", "unc_event_count_wait", "unc_broadcast_read"] {
            assert!(functions.iter().any(|name| name == function), "{function}: {functions:?}");
            let link = folder.path().join(format!("tree/share/man/man3/{function}.3"));
            let text = std::fs::read_to_string(link).expect("a page");
            assert_eq!(text, ".so man3/uncontended.3\n");
        }
    }

    /// What a command prints; none if there is no such command.
    fn printed(command: &mut Command) -> Option<String> {
        let output = command.output().ok()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let prints = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command:?}: {said}{prints}");
        Some(prints)
    }

    fn page() -> String {
        let page = crate::root().join(CRATE).join("install/uncontended.3");
        std::fs::read_to_string(page).expect("the man page")
    }

    #[test]
    fn pkg_config_builds_the_example_of_the_man_page() {
        let folder = installed();
        let packages = folder.path().join("tree/lib/pkgconfig");
        let mut asked = Command::new("pkg-config");
        asked.args(["--cflags", "--libs", "uncontended"]).env("PKG_CONFIG_PATH", &packages);
        let Some(flags) = printed(&mut asked) else {
            return skip!("pkg_config_builds_the_example_of_the_man_page", "no pkg-config");
        };
        let page = page();
        let example = page.split_once(".EX\n").and_then(|(_, rest)| rest.split_once(".EE"));
        let (example, _) = example.expect("an example");
        std::fs::write(folder.file("order.c"), example.replace("\\e", "\\")).expect("a file");
        let mut compiled = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
        compiled.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(folder.file("order"));
        compiled.arg(folder.file("order.c")).args(flags.split_whitespace());
        if printed(&mut compiled).is_none() {
            return skip!("pkg_config_builds_the_example_of_the_man_page", "no C compiler");
        }
        let sent = printed(&mut Command::new(folder.file("order"))).expect("the program");
        assert_eq!(sent, "1: 10\n2: 20\n3: 30\n");
    }

    #[test]
    fn cmake_finds_the_package() {
        let folder = installed();
        let root = crate::root();
        let lists = CMAKE_LISTS.replace("@VERSION@", &version(root).expect("a version"));
        std::fs::write(folder.file("CMakeLists.txt"), lists).expect("a file");
        for name in ["handles.cpp", "require.h"] {
            let from = root.join(CRATE).join("tests").join(name);
            std::fs::copy(from, folder.file(name)).expect("a file");
        }
        let mut configure = Command::new("cmake");
        configure.args(["-S", "."]).args(["-B", "build"]).current_dir(folder.path());
        configure.arg(format!("-DCMAKE_PREFIX_PATH={}", folder.file("tree")));
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        if Command::new(&compiler).arg("--version").output().is_err() {
            return skip!("cmake_finds_the_package", "no compiler {compiler}");
        }
        if printed(&mut configure).is_none() {
            return skip!("cmake_finds_the_package", "no cmake");
        }
        printed(Command::new("cmake").arg("--build").arg(folder.file("build"))).expect("cmake");
        let ran = printed(&mut Command::new(folder.file("build/program"))).expect("the program");
        assert!(ran.contains("membarrier"), "{ran}");
    }

    #[test]
    fn the_man_page_is_well_formed() {
        let path = crate::root().join(CRATE).join("install/uncontended.3");
        let mut groff = Command::new("groff");
        groff.args(["-man", "-ww", "-Tutf8", "-P-c"]).arg(&path);
        let Ok(output) = groff.output() else {
            return skip!("the_man_page_is_well_formed", "no groff");
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{said}");
    }

    #[test]
    fn the_man_page_names_every_function_and_status() {
        let (root, page) = (crate::root(), page());
        let header = root.join(CRATE).join("include/uncontended_lib.h");
        let header = std::fs::read_to_string(header).expect("the header");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words: Vec<&str> = page.split(|c: char| !is_name(c)).collect();
        let named = |name: &&str| words.contains(name);
        let mut found = 0;
        let code = header.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let starts = line.match_indices('(').map(|(at, _)| &line[..at]);
            let called = starts.filter_map(|before| before.rsplit(|c: char| !is_name(c)).next());
            let status =
                line.trim().split(' ').next().filter(|word| word.starts_with("UNC_STATUS_"));
            for name in called.filter(|name| name.starts_with("unc_")).chain(status) {
                assert!(named(&name), "the man page does not name {name}");
                found += 1;
            }
        }
        assert!(found > 70, "{found}");
    }
}
