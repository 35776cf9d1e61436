//! What the checker has explored of the library's own code, as a page of the book.
//!
//! # Contract
//! `cargo xtask explored` runs every test file that is written for `--cfg unc_model`, and writes [`PAGE`]: for each
//! test and memory model, the executions and what bounded them. `UNC_DEPTH=full` explores each as far as it ever is. A
//! test that fails leaves the page as it was. `cargo xtask tidy` prints how many commits have changed the explored code
//! since.

use crate::ci::{exploring, test_files};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use uncontended_figures::whole;

/// Where the page lies.
const PAGE: &str = "docs/explored.md";

/// The models, as reports begin with them and as the page calls them.
const MODELS: [(&str, &str); 3] = [("C11", "C11"), ("Tso", "TSO"), ("Sc", "SC")];

/// What one test explored under one model, over all its scenarios.
#[derive(Debug, Default, PartialEq)]
struct Explored {
    executions: u64,
    /// Whether a scenario was cut short.
    begun: bool,
    /// The most rounds of waiting; 0 without a bound.
    rounds: u64,
}

/// By test and model.
type Tests = BTreeMap<String, BTreeMap<&'static str, Explored>>;

/// Explores everything, and writes the page.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let mut page = introduction(root)?;
    for (package, file) in test_files(root, "cfg(unc_model)")? {
        eprintln!("{package}: {file}");
        let tests = parse(&run(root, &package, &file)?);
        if tests.is_empty() {
            continue; // Its tests explore by themselves, and print nothing.
        }
        writeln!(page, "\n## `{package}`, tests/{file}.rs\n").expect("text takes all");
        page.push_str("| scenario | C11 | TSO | SC |\n|---|---|---|---|\n");
        for (test, models) in tests {
            let cells = MODELS.map(|(_, model)| models.get(model).map_or("".into(), cell));
            let name = test.replace('_', " ");
            writeln!(page, "| {name} | {} |", cells.join(" | ")).expect("text takes all");
        }
    }
    std::fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

/// How old the page is, if it is: the commits since then that changed the explored code.
pub(crate) fn age(root: &Path) -> Result<Option<String>, String> {
    let page = std::fs::read_to_string(root.join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    let (commit, folders) = written_at(&page).ok_or(format!("{PAGE} names no commit"))?;
    let mut git = Command::new("git");
    git.current_dir(root).args(["rev-list", "--count", &format!("{commit}..HEAD"), "--"]);
    let Ok(commits) = output(git.args(folders).stderr(Stdio::null())) else {
        return Ok(Some(format!("{PAGE} is of commit {commit}, which is not in this history")));
    };
    let commits = commits.trim();
    let since =
        format!("{PAGE} is of commit {commit}; {commits} since then changed the explored code");
    Ok((commits != "0").then_some(since))
}

/// The commit that wrote the page, and the folders of the code that it is about.
fn written_at(page: &str) -> Option<(&str, Vec<String>)> {
    let commit = page.split_once("at commit ")?.1.split_once('.')?.0;
    let crates = page.lines().filter_map(|line| line.strip_prefix("## `")?.split_once('`'));
    let crates = crates.map(|(name, _)| name).chain(["atomic", "model"]);
    Some((commit, crates.map(|name| format!("crates/{name}/src")).collect()))
}

fn introduction(root: &Path) -> Result<String, String> {
    let mut git = Command::new("git");
    git.args(["rev-parse", "--short=8", "HEAD"]).current_dir(root).stderr(Stdio::inherit());
    let commit = output(&mut git)?;
    Ok(format!(
        "# What the checker has explored\n\n\
         The number of executions of each scenario of the library's own code that the [checker](checking_your_own_code.md)\n\
         has explored; none was wrong. \"k rounds\": loops that wait are followed for k rounds without effect. \"the first n\":\n\
         the scenario has more executions than a test can explore, and nothing is claimed about the rest. The same tests find\n\
         every bug of `crates/*/tests/mutants` (`cargo xtask mutants`).\n\n\
         `UNC_DEPTH=full cargo xtask explored` wrote this page, at commit {}.\n",
        commit.trim()
    ))
}

/// What the test file prints.
fn run(root: &Path, package: &str, file: &str) -> Result<String, String> {
    let script = format!("{} -- --nocapture --test-threads=1", exploring(package, file));
    output(Command::new("bash").args(["-c", &script]).current_dir(root).stderr(Stdio::inherit()))
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{command:?} failed:\n{text}")) }
}

/// Reads the lines `test NAME ... ` and, on the same line or later ones, `MODEL: REPORT`.
fn parse(text: &str) -> Tests {
    let mut tests = Tests::new();
    let mut name = String::new();
    for mut line in text.lines() {
        if let Some((test, rest)) = line.strip_prefix("test ").and_then(|l| l.split_once(" ... ")) {
            name = test.to_owned();
            line = rest;
        }
        let Some((model, report)) = MODELS.iter().find_map(|(printed, model)| {
            Some((*model, line.strip_prefix(printed)?.strip_prefix(": ")?))
        }) else {
            continue;
        };
        let explored = tests.entry(name.clone()).or_default().entry(model).or_default();
        let number = |after: &str| number_after(report, after);
        explored.begun |= report.starts_with("unknown");
        let only = report.contains("in its only execution").then_some(1);
        let all = only.or_else(|| number("in all ")).or_else(|| number("after "));
        explored.executions += all.unwrap_or(0);
        explored.rounds = explored.rounds.max(number("at most ").unwrap_or(0));
    }
    tests
}

/// The number that follows these words.
fn number_after(text: &str, words: &str) -> Option<u64> {
    let rest = text.split_once(words)?.1;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn cell(explored: &Explored) -> String {
    let executions = whole(explored.executions);
    let rounds = match explored.rounds {
        0 => String::new(),
        1 => ", 1 round".into(),
        k => format!(", {k} rounds"),
    };
    let begun = if explored.begun { "the first " } else { "" };
    format!("{begun}{executions}{rounds}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_ages_with_each_commit_that_changes_explored_code() {
        let folder = uncontended_testkit::Folder::new();
        let commit = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
            let commit = "git add . && git -c user.name=a -c user.email=a@b commit -qm a";
            output(Command::new("bash").args(["-c", commit]).current_dir(folder.path())).unwrap();
        };
        output(Command::new("git").args(["init", "-q"]).current_dir(folder.path())).unwrap();
        commit("crates/ring/src/lib.rs", "1");
        let page = introduction(folder.path()).unwrap() + "\n## `ring`, tests/model.rs\n";
        commit(PAGE, &page);
        commit("crates/ring/README.md", "1");
        assert_eq!(age(folder.path()), Ok(None));
        commit("crates/ring/src/lib.rs", "2");
        commit("crates/model/src/lib.rs", "1");
        let old = age(folder.path()).unwrap().unwrap();
        assert!(old.ends_with("; 2 since then changed the explored code"), "{old}");
        commit(PAGE, "at commit 0123abcd.");
        let lost = age(folder.path()).unwrap().unwrap();
        assert!(lost.ends_with("0123abcd, which is not in this history"), "{lost}");
    }

    #[test]
    fn reports_are_summed_for_each_test_and_model() {
        let printed = "running 2 tests\n\
            test a_b ... C11: holds in all 4512 executions (314 blocked explorations)\n\
            Tso: holds in all 160 executions with at most 1 rounds of waiting, 1100 reads forced\n\
            C11: holds in all 8 executions (2 blocked explorations)\n\
            C11: holds in its only execution with at most 1 round of waiting (0 blocked explorations)\nok\n\
            test c ... SKIPPED c: all but the first 10 executions\n\
            Sc: unknown after 10 executions: more than 10 executions; 2.6 % of the search\nok\n";
        let tests = parse(printed);
        assert_eq!(cell(&tests["a_b"]["C11"]), "4,521, 1 round");
        assert_eq!(cell(&tests["a_b"]["TSO"]), "160, 1 round");
        assert_eq!(cell(&tests["c"]["SC"]), "the first 10");
        assert_eq!(tests.len(), 2);
    }
}
