//! The list of steps. Whatever is added to CI is a line here.

use super::needs::{
    AARCH64, AARCH64_PROGRAMS, CARGO_FUZZ, DEBOOTSTRAP, I686, MDBOOK, MIRI, OLDEST, OTHER_TARGETS,
    REAL_PROGRAMS, RUST_SRC, SEMVER,
};
use super::step::{Step, step};
use std::path::Path;

/// All steps, in order: where time is short, the last ones are left out.
pub(crate) fn all(root: &Path) -> Result<Vec<Step>, String> {
    let mut steps = sources();
    steps.extend(users());
    steps.extend(interpreted().into_iter().map(Step::aside));
    steps.extend(fuzzed(root)?.into_iter().map(Step::aside));
    steps.extend(explored(root)?);
    // The observer has its assertions on there.
    steps.push(step("older and newer systems", 30, ".ci/systems").needs(&DEBOOTSTRAP));
    steps.extend(other_systems());
    steps.extend(other_processors());
    steps.extend(disturbed(root)?);
    steps.extend(compared(root)?);
    Ok(steps)
}

/// What the sources alone decide.
fn sources() -> Vec<Step> {
    // In a copy, since Cargo.lock is rewritten; a stable toolchain takes `-Z` only with RUSTC_BOOTSTRAP.
    const PROMISED: &str = r#"
here=$PWD folder=$(mktemp -d)
tar -c --exclude=./target --exclude='./*/target' . | tar -xC "$folder" && cd "$folder" &&
  RUSTC_BOOTSTRAP=1 cargo "+$(oldest)" update -Z direct-minimal-versions &&
  cargo "+$(oldest)" check --workspace --all-targets --target-dir "$here/target/oldest" && rm -r "$folder""#;
    const SEMVER_CHECKS: &str = r#"
release=$(git describe --tags --abbrev=0 --match 'v*') &&
  cargo semver-checks --baseline-rev "$release" --all-features -p uncontended -p uncontended-ring -p uncontended-wait \
    -p uncontended-fence -p uncontended-atomic -p uncontended-model -p uncontended-stats -p uncontended-trace"#;
    vec![
        step("tests (cargo test --workspace)", 25, "cargo test --workspace"),
        step("formatting", 2, "cargo fmt --all --check"),
        step("clippy", 10, "cargo clippy --workspace --all-targets -- -D warnings"),
        step(
            "clippy with all features",
            10,
            "cargo clippy --workspace --all-targets --all-features -- -D warnings",
        ),
        step(
            "clippy on rings that tasks wait for, without streams",
            3,
            "cargo clippy -p uncontended-ring --lib --features async -- -D warnings",
        ),
        step(
            "documentation",
            8,
            r#"RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features"#,
        ),
        step("the book", 2, "mdbook build docs").needs(&MDBOOK),
        step(
            "tasks that wait alongside threads",
            5,
            "cargo test -p uncontended-wait --features async",
        ),
        step("tidy", 3, "cargo run -q -p xtask -- tidy"),
        step("licences", 3, "cargo run -q -p xtask -- licences"),
        step("versions as semver has them", 15, SEMVER_CHECKS).needs(&SEMVER),
        step("the oldest toolchain and dependencies promised", 10, PROMISED)
            .needs(&OLDEST)
            .leaves(&["target/oldest"]),
    ]
}

/// What users do: run it, install it, observe real programs.
fn users() -> Vec<Step> {
    const RUN: &str = r#"
folder=$(mktemp -d)
seq 400000 | shuf --random-source=<(yes) > "$folder/lines"
cargo run -q --release -- run --no-history --json "$folder/run.json" -- sort --parallel=4 -S 4M "$folder/lines" > "$folder/observed" &&
  sort --parallel=4 -S 4M "$folder/lines" | cmp - "$folder/observed" &&
  grep -q '"uncontended.run/1"' "$folder/run.json" && rm -r "$folder""#;
    const INSTALL: &str = r#"
folder=$(mktemp -d)
cargo install -q --path crates/cli --root "$folder" --target-dir target &&
  (cd / && "$folder/bin/unc" run --no-history --quiet --json "$folder/run.json" -- sort --parallel=2 /etc/passwd >/dev/null) &&
  grep -q '"processes_observed": *1' "$folder/run.json" && rm -r "$folder""#;
    const PACKAGES: &str = "cargo package --workspace --exclude uncontended-testkit --exclude xtask --allow-dirty --no-verify --quiet";
    vec![
        step("the README's run command", 10, RUN),
        step("every crate makes a package", 3, PACKAGES),
        step("cargo install gives a working unc", 10, INSTALL),
        step(
            "real programs",
            12,
            "cargo test -p uncontended-cli --release --test real_programs --test real_databases -- --nocapture --test-threads=1",
        )
        .needs(&REAL_PROGRAMS),
    ]
}

/// The command that runs a test file with the checker. Optimising what is explored would take longer than exploring it.
pub(crate) fn exploring(package: &str, test: &str) -> String {
    const CARGO: &str = r#"RUSTFLAGS="--cfg unc_model" CARGO_TARGET_DIR=target/model cargo test --config profile.dev.package.uncontended-model.opt-level=3"#;
    format!("{CARGO} -p uncontended-{package} --test {test}")
}

/// The checker on our own code, then the bugs that these tests must find. Those test files alone: a crate's other tests
/// may rest on what the checker's stand-ins lack.
fn explored(root: &Path) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = test_files(root, "cfg(unc_model)")?
        .into_iter()
        .map(|(package, test)| {
            let name = format!("checker on the code of {package}: {test}");
            step(name, 10, exploring(&package, &test))
        })
        .collect();
    // Its tests have just passed as they are. All mutants would take half an hour.
    let mutants = step("mutants", 20, "cargo run -q -p xtask -- mutants --held --minutes 9");
    steps.push(mutants.leaves(&["target/mutants", "target/model"]));
    steps.push(step(
        "checker at depth",
        10,
        "UNC_DEPTH=tenth cargo test --release -p uncontended-model",
    ));
    Ok(steps)
}

/// Hand-offs under signals and faults; and with threads that stop at random before any of their steps, and always
/// sleep.
fn disturbed(root: &Path) -> Result<Vec<Step>, String> {
    const PAUSED: &str =
        r#"RUSTFLAGS="--cfg unc_pause" CARGO_TARGET_DIR=target/pause cargo test --release"#;
    let mut steps = vec![
        step(
            "a process killed after every instruction of a hand-over",
            6,
            "UNC_DEPTH=full cargo test --release -p uncontended-ring --test killed",
        ),
        step(
            "rings disturbed",
            8,
            "UNC_HAND_OFFS=100000 cargo test --release -p uncontended-ring --test faults -- --test-threads=1",
        ),
    ];
    for (package, test) in test_files(root, "cfg(unc_pause)")? {
        let script = format!("UNC_DEPTH=tenth {PAUSED} -p uncontended-{package} --test {test}");
        steps.push(step(format!("pauses between any two steps of {package}: {test}"), 10, script));
    }
    let faults = "-p uncontended-wait --test faults -- --nocapture --test-threads=1";
    steps.extend([
        step(
            "300,000 hand-offs under faults",
            10,
            format!("UNC_HAND_OFFS=300000 cargo test --release {faults}"),
        ),
        step(
            "300,000 hand-offs under faults, asleep",
            15,
            format!("UNC_HAND_OFFS=300000 {PAUSED} {faults}"),
        ),
        step(
            "membarrier refused, asleep",
            5,
            format!("UNC_DEPTH=full {PAUSED} -p uncontended-wait --test refused --test processes"),
        )
        .leaves(&["target/pause"]),
    ]);
    Ok(steps)
}

/// Miri, under both models of what references may do, and ThreadSanitizer.
fn interpreted() -> Vec<Step> {
    let miri = |package: &str, what: &str, leaks: &str, borrows: &str| {
        let model = if borrows.is_empty() { "stacked" } else { "tree" };
        step(
            format!("Miri on {package} ({model} borrows)"),
            40,
            format!(
                r#"MIRIFLAGS="-Zmiri-disable-isolation {leaks} {borrows}" cargo +nightly miri test -p {package} {what}"#
            ),
        )
        .needs(&MIRI)
    };
    const LEAKS: &str = "-Zmiri-ignore-leaks";
    const TREE: &str = "-Zmiri-tree-borrows";
    let mut steps = vec![
        miri("uncontended-atomic", "--lib", LEAKS, ""),
        miri("uncontended-trace", "--lib", LEAKS, ""),
        miri("uncontended-events", "--tests", LEAKS, ""),
        // No unsafe code is there, and in what it uses, one path; all of it would take twelve minutes.
        miri("uncontended-events", "--test events", LEAKS, TREE),
        miri("uncontended-reclaim", "--lib --test hazards --test epochs", LEAKS, ""),
        miri("uncontended-percpu", "--lib --test api", "", ""),
    ];
    for borrows in ["", TREE] {
        steps.push(miri("uncontended-ring", "--lib --test leaks", LEAKS, borrows));
        steps.push(miri("uncontended-fence", "--lib --tests", "", borrows));
        steps.push(miri("uncontended-wait", "--lib --tests", "", borrows));
        steps.push(miri(
            "uncontended-locks",
            "--lib --test api --test abuse --test stress --test stress_readers",
            LEAKS,
            borrows,
        ));
        steps.push(miri("uncontended", "--features c --lib", "", borrows));
    }
    let sanitized = "cargo +nightly test -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir target/tsan";
    steps.push(
        step(
            "ThreadSanitizer on waits, rings and locks",
            12,
            format!(
                r#"export RUSTFLAGS="-Zsanitizer=thread"
{sanitized} -p uncontended-wait --test sleepers --test event_counts --test tasks &&
  {sanitized} -p uncontended-ring --test conventions --test joints --test tasks --test departures &&
  {sanitized} -p uncontended-locks --test stress --test stress_readers"#
            ),
        )
        .needs(&RUST_SRC)
        .leaves(&["target/miri", "target/tsan"]),
    );
    steps
}

/// Without membarrier and futexes, and without an observer: first on Linux, built so, then what the compiler says for
/// other systems. And a processor of 32 bits.
fn other_systems() -> Vec<Step> {
    const PORTABLE: &str = r#"RUSTFLAGS="--cfg unc_portable" CARGO_TARGET_DIR=target/portable cargo test --lib --tests"#;
    const CHECKED: &str = r#"
export RUSTFLAGS="-D warnings" CARGO_TARGET_DIR=target/other
for target in $OTHER_TARGETS; do
  cargo check --target "$target" -p uncontended -p uncontended-model -p uncontended-trace || exit 1
done
for target in $WORKBENCH_TARGETS; do cargo check --target "$target" -p uncontended-cli || exit 1; done
cargo check --target "$BARE_TARGET" -p uncontended-ring --no-default-features || exit 1
[ "$(cargo tree --target "$BARE_TARGET" -p uncontended-ring --no-default-features -e normal --prefix none | wc -l)" = 2 ]"#;
    const LAPTOP: &str = r#"
folder=$(mktemp -d)
cargo run -q -- run --no-history --quiet --trace "$folder/run.unc" -- sort --parallel=2 Cargo.lock >/dev/null &&
  cargo run -q -- report "$folder/run.unc" --json "$folder/server.json" || exit 1
export RUSTFLAGS="--cfg unc_portable" CARGO_TARGET_DIR=target/portable
cargo test -p uncontended-cli --test elsewhere &&
  cargo run -q -- report "$folder/run.unc" --json "$folder/laptop.json" && cmp "$folder"/*.json && rm -r "$folder""#;
    const WAITING: &str = "-p uncontended-fence -p uncontended-wait -p uncontended-ring";
    const I686_TESTS: &str =
        "cargo test --target i686-unknown-linux-gnu --target-dir target/other --lib --tests";
    vec![
        step(
            "waits and rings without membarrier and futexes",
            12,
            format!(
                "{PORTABLE} -p uncontended-sys -p uncontended-atomic -p uncontended-reclaim {WAITING} && {PORTABLE} -p uncontended --test c_library"
            ),
        ),
        step("unc without an observer reads a trace", 12, LAPTOP).leaves(&["target/portable"]),
        step("other systems and processors", 15, CHECKED).needs(&OTHER_TARGETS),
        step(
            "waits and rings on 32 bits",
            12,
            format!("{I686_TESTS} -p uncontended-reclaim {WAITING}"),
        )
        .needs(&I686)
        .leaves(&["target/other"]),
    ]
}

/// AArch64, emulated.
fn other_processors() -> Vec<Step> {
    const CARGO: &str = r#"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
export UNC_EMULATED=1
emulated() { cargo "$1" --target aarch64-unknown-linux-gnu "${@:2}"; }
"#;
    let libraries: String = [
        "sys", "stats", "model", "atomic", "trace", "events", "fence", "percpu", "wait", "locks",
        "ring", "reclaim", "bench",
    ]
    .map(|package| format!(" -p uncontended-{package}"))
    .concat();
    let emulated = |name: &str, limit_min, arguments: &str| {
        step(name, limit_min, format!("{CARGO}emulated {arguments}")).needs(&AARCH64)
    };
    vec![
        emulated("AArch64 under qemu", 15, &format!("test --lib{libraries}")),
        emulated(
            "AArch64 under qemu: fences and waits with real threads",
            20,
            "test -p uncontended-fence -p uncontended-wait --tests",
        ),
        step("AArch64 under qemu: the ground truth", 20, ".ci/aarch64")
            .needs(&AARCH64_PROGRAMS)
            .leaves(&["target/aarch64-unknown-linux-gnu"]),
    ]
}

/// Each fuzzer for a short time.
fn fuzzed(root: &Path) -> Result<Vec<Step>, String> {
    let targets = stems(root, "fuzz/fuzz_targets")?.into_iter();
    Ok(targets
        .map(|target| {
            let script = format!(
                "cargo +nightly fuzz run {target} -- -max_total_time=10 -rss_limit_mb=4096"
            );
            step(format!("fuzz {target}"), 10, script).needs(&CARGO_FUZZ)
        })
        .collect())
}

/// Benchmarks against rivals, too short for figures: that everything arrives, in full and in order, with each of them.
fn compared(root: &Path) -> Result<Vec<Step>, String> {
    let is_question = |name: &String| {
        let bytes = name.as_bytes();
        matches!(bytes, [b'u' | b'r' | b'm' | b'p', b'0'..=b'9', b'_' | b'0'..=b'9', ..])
    };
    let build = "cargo build --release --manifest-path compare/Cargo.toml";
    let executors = "cargo test --release --manifest-path compare/Cargo.toml";
    let mut steps = vec![step("compare builds", 10, build), step("tokio and smol", 10, executors)];
    for question in stems(root, "compare/src")?.into_iter().filter(is_question) {
        let case = if question == "r1_stream" { " --case 1024" } else { "" };
        let script = format!("compare/target/release/compare {question} --seconds 1 --quiet{case}");
        steps.push(step(format!("compare {question}"), 4, script));
    }
    Ok(steps)
}

/// The crate and name of every test file that holds this text.
pub(crate) fn test_files(root: &Path, text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for package in entries(root, "crates")? {
        let folder = format!("crates/{package}/tests");
        if !root.join(&folder).is_dir() {
            continue;
        }
        for test in stems(root, &folder)? {
            let path = root.join(&folder).join(format!("{test}.rs"));
            let held =
                std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            if held.contains(text) {
                found.push((package.clone(), test));
            }
        }
    }
    Ok(found)
}

/// The names of a folder's Rust files, without their ending.
fn stems(root: &Path, folder: &str) -> Result<Vec<String>, String> {
    let names = entries(root, folder)?;
    Ok(names.iter().filter_map(|name| name.strip_suffix(".rs")).map(str::to_owned).collect())
}

/// The names in a folder, in order.
fn entries(root: &Path, folder: &str) -> Result<Vec<String>, String> {
    let failed = |error: std::io::Error| format!("{folder}: {error}");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join(folder)).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_script_is_bash() {
        let steps = all(crate::root()).unwrap();
        let mut names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
        for step in &steps {
            let read = std::process::Command::new("bash").args(["-n", "-c", &step.script]).status();
            assert!(read.unwrap().success(), "{}: {}", step.name, step.script);
        }
    }

    #[test]
    fn what_the_tree_holds_becomes_steps() {
        let steps = all(crate::root()).unwrap();
        let has = |name: &str| steps.iter().any(|step| step.name.starts_with(name));
        assert!(
            has("checker on the code of ring")
                && has("mutants")
                && has("pauses between any two steps of wait")
        );
        assert!(has("fuzz record") && has("compare u1_publish") && !has("compare main"));
    }
}
