//! The list of mutants.
//!
//! # Contract
//! A file lists the mutants of a family, whose tests lie next to it:
//!
//! ```toml
//! cfg = "unc_model"          # how all of this file and their tests are compiled; plainly, if left out
//!
//! [[mutant]]
//! name = "spsc: publish is relaxed"
//! why = "…"                  # if the name does not say it
//! under = ["C11"]            # memory models, with `unc_model`; both, if left out: the tests have to fail under each
//! caught_by = ["model::one_slot_passes_all_in_order", "ring/model::…"]
//! file = "src/spsc/producer.rs"
//! from = 'tail.store(self.tail, Release);'
//! to = 'tail.store(self.tail, Relaxed);'
//! ```
//!
//! `caught_by` names tests of this crate, or of the crate before the slash; each of them has to fail. One that ends
//! with `under TSO` has to fail under that model alone. White space of `from` stands for any. A mutant that changes
//! several places has `edit = [{ from, to }, …]`, made one after the other, with a `file` of their own where they need
//! one.
//!
//! `[[kept]]` with `file`, `from` and `why` is for orderings that `--orderings` finds to be stronger than a test needs.

use serde::Deserialize;
use std::fmt;
use std::path::Path;

/// The `cfg` of tests that the checker explores.
const EXPLORED: &str = "unc_model";

/// A bug, and who finds it.
#[derive(Debug)]
pub(crate) struct Mutant {
    pub(crate) name: String,
    /// The file that lists it.
    pub(crate) listed_in: String,
    pub(crate) why: Option<String>,
    pub(crate) edits: Vec<Edit>,
    /// Each fails, alone.
    pub(crate) caught_by: Vec<Test>,
}

/// One place to change.
#[derive(Debug)]
pub(crate) struct Edit {
    /// From the workspace's root.
    pub(crate) file: String,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// A test function, and how it is compiled and run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Test {
    /// The crate's folder in `crates`.
    pub(crate) package: String,
    /// The file in its `tests`.
    pub(crate) binary: String,
    /// The function, with the modules it lies in.
    pub(crate) function: String,
    pub(crate) cfg: Option<String>,
    /// `UNC_MEMORY`, which `testkit::explored` reads.
    pub(crate) memory: Option<String>,
}

/// Orderings that no test needs, and that stay.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) listed_in: String,
    /// From the workspace's root.
    pub(crate) file: String,
    pub(crate) from: String,
    pub(crate) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cfg: Option<String>,
    #[serde(default)]
    mutant: Vec<Entry>,
    #[serde(default)]
    kept: Vec<KeptEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptEntry {
    file: String,
    from: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    why: Option<String>,
    under: Option<Vec<String>>,
    caught_by: Vec<String>,
    file: Option<String>,
    from: Option<String>,
    to: Option<String>,
    #[serde(default)]
    edit: Vec<Place>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    file: Option<String>,
    from: String,
    to: String,
}

/// All mutants of the workspace, file by file.
pub(crate) fn all(root: &Path) -> Result<Vec<Mutant>, String> {
    each(root, parse)
}

/// All orderings that are kept.
pub(crate) fn kept(root: &Path) -> Result<Vec<Kept>, String> {
    each(root, |package, path, text| {
        let file: File = toml::from_str(text).map_err(|error| format!("{path}: {error}"))?;
        let kept = file.kept.into_iter().map(|entry| Kept {
            listed_in: path.to_owned(),
            file: format!("crates/{package}/{}", entry.file),
            from: entry.from,
            why: entry.why,
        });
        Ok(kept.collect())
    })
}

/// What `read` finds in each file: given the crate, the path and the text.
fn each<T>(
    root: &Path,
    read: impl Fn(&str, &str, &str) -> Result<Vec<T>, String>,
) -> Result<Vec<T>, String> {
    let mut found = Vec::new();
    for package in names(&root.join("crates"))? {
        let folder = format!("crates/{package}/tests/mutants");
        if !root.join(&folder).is_dir() {
            continue;
        }
        for name in names(&root.join(&folder))? {
            let path = format!("{folder}/{name}");
            let text =
                std::fs::read_to_string(root.join(&path)).map_err(|e| format!("{path}: {e}"))?;
            found.extend(read(&package, &path, &text)?);
        }
    }
    Ok(found)
}

fn parse(package: &str, path: &str, text: &str) -> Result<Vec<Mutant>, String> {
    let file: File = toml::from_str(text).map_err(|error| format!("{path}: {error}"))?;
    let cfg = file.cfg.as_deref();
    let mutants = file.mutant.into_iter();
    mutants.map(|entry| entry.into_mutant(package, path, cfg)).collect()
}

impl Entry {
    fn into_mutant(self, package: &str, path: &str, cfg: Option<&str>) -> Result<Mutant, String> {
        let wrong = |what: &str| format!("{path}: {}: {what}", self.name);
        let mut edits = Vec::new();
        let single = self.from.clone().zip(self.to.clone()).map(|(from, to)| (None, from, to));
        let several = self.edit.iter();
        let several = several.map(|e| (e.file.clone(), e.from.clone(), e.to.clone()));
        for (file, from, to) in single.into_iter().chain(several) {
            let file = file.or_else(|| self.file.clone()).ok_or_else(|| wrong("no `file`"))?;
            edits.push(Edit { file: format!("crates/{package}/{file}"), from, to });
        }
        if edits.is_empty() || self.from.is_some() != self.to.is_some() {
            return Err(wrong("neither `from` and `to` nor `edit`"));
        }
        let mut caught_by = Vec::new();
        for line in &self.caught_by {
            let (test, under) = match line.split_once(" under ") {
                Some((test, model)) => (test, vec![Some(model.to_owned())]),
                None => (line.as_str(), self.models(cfg)),
            };
            if cfg != Some(EXPLORED) && under != [None] {
                return Err(wrong("memory models without `unc_model`"));
            }
            let (package, name) = test.split_once('/').unwrap_or((package, test));
            let named = name.split_once("::");
            let (binary, function) =
                named.ok_or_else(|| wrong(&format!("`{test}` is not `binary::test`")))?;
            caught_by.extend(under.into_iter().map(|memory| Test {
                package: package.to_owned(),
                binary: binary.to_owned(),
                function: function.to_owned(),
                cfg: cfg.map(str::to_owned),
                memory,
            }));
        }
        if caught_by.is_empty() {
            return Err(wrong("nothing in `caught_by`"));
        }
        let listed_in = path.to_owned();
        Ok(Mutant { name: self.name, listed_in, why: self.why, edits, caught_by })
    }

    /// The memory models under which its tests have to fail, if nothing else is said of one.
    fn models(&self, cfg: Option<&str>) -> Vec<Option<String>> {
        match &self.under {
            Some(under) => under.iter().cloned().map(Some).collect(),
            None if cfg == Some(EXPLORED) => ["C11", "TSO"].map(|name| Some(name.into())).into(),
            None => vec![None],
        }
    }
}

fn names(folder: &Path) -> Result<Vec<String>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

impl Mutant {
    /// Its name, for a file's.
    pub(crate) fn slug(&self) -> String {
        self.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect()
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        self.why.iter().try_for_each(|why| write!(f, " ({why})"))?;
        self.caught_by.iter().try_for_each(|test| write!(f, "\n    {test}"))
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}::{}", self.package, self.binary, self.function)?;
        self.cfg.iter().try_for_each(|cfg| write!(f, ", {cfg}"))?;
        self.memory.iter().try_for_each(|memory| write!(f, ", {memory}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/x/tests/mutants/a.toml";

    #[test]
    fn one_edit_or_several_and_every_test_under_every_model() {
        let one = "cfg = 'unc_model'\n[[mutant]]\nname = 'n'\ncaught_by = ['a::t', 'y/b::m::t under TSO']\n\
                   file = 'src/a.rs'\nfrom = 'f'\nto = 't'\n";
        let [mutant] = &parse("x", PATH, one).unwrap()[..] else { panic!() };
        assert_eq!(mutant.edits[0].file, "crates/x/src/a.rs");
        let tests: Vec<String> = mutant.caught_by.iter().map(Test::to_string).collect();
        assert_eq!(tests[..2], ["x/a::t, unc_model, C11", "x/a::t, unc_model, TSO"]);
        assert_eq!(tests[2..], ["y/b::m::t, unc_model, TSO"]);
        let two = "[[mutant]]\nname = 'n'\ncaught_by = ['a::t']\nfile = 'src/a.rs'\n\
                   edit = [{ from = 'f', to = 't' }, { file = 'src/b.rs', from = 'g', to = '' }]\n";
        let [mutant] = &parse("x", PATH, two).unwrap()[..] else { panic!() };
        assert_eq!(mutant.edits[1].file, "crates/x/src/b.rs");
        assert_eq!(mutant.caught_by[0].to_string(), "x/a::t");
    }

    #[test]
    fn what_is_missing_is_said() {
        let error = |entry: &str| {
            let text = format!("[[mutant]]\nname = 'the name'\n{entry}");
            parse("x", PATH, &text).unwrap_err()
        };
        let tests = "caught_by = ['a::t']\n";
        assert!(error(tests).contains("the name: neither"));
        assert!(error(&format!("{tests}from = 'f'\nto = 't'")).contains("no `file`"));
        assert!(error("caught_by = []\nfile = 'a'\nfrom = 'f'\nto = 't'").contains("nothing in"));
        assert!(error("caught_by = ['t']\nfile = 'a'\nfrom = 'f'\nto = 't'").contains("binary::"));
        assert!(error(&format!("{tests}form = 'f'")).contains("unknown field"));
        let edit = "file = 'a'\nfrom = 'f'\nto = 't'";
        assert!(
            error(&format!("caught_by = ['a::t under TSO']\n{edit}")).contains("memory models")
        );
    }
}
