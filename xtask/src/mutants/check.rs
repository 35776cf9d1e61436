//! What tidy checks of mutants: anchors that stand once, names that are unique, tests that are there, edges that have
//! one.

use super::edges;
use super::edit::{apply, places};
use super::list::{self, Mutant, Test};
use crate::tidy::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Complaints about the lists of mutants.
pub(crate) fn check(root: &Path, sources: &[Source]) -> Result<Vec<String>, String> {
    let texts: BTreeMap<&str, &Source> =
        sources.iter().map(|source| (source.path.as_str(), source)).collect();
    let (mutants, kept) = (list::all(root)?, list::kept(root)?);
    let mut complaints = complaints(&mutants, &texts);
    let edits = mutants.iter().flat_map(|mutant| &mutant.edits);
    let changed = edits.map(|edit| (edit.file.as_str(), edit.from.as_str()));
    let changes: Vec<_> =
        changed.chain(kept.iter().map(|k| (k.file.as_str(), k.from.as_str()))).collect();
    complaints.extend(edges::check(sources, &changes));
    for kept in kept {
        let found = texts
            .get(kept.file.as_str())
            .map_or(0, |source| places(&source.text, &kept.from).len());
        if found != 1 {
            let from = kept.from.trim();
            complaints.push(format!(
                "{}: kept: stands {found} times in {}: `{from}`",
                kept.listed_in, kept.file
            ));
        }
    }
    Ok(complaints)
}

fn complaints(mutants: &[Mutant], sources: &BTreeMap<&str, &Source>) -> Vec<String> {
    let (mut names, mut complaints) = (BTreeSet::new(), Vec::new());
    for mutant in mutants {
        let mut complain = |what: String| {
            complaints.push(format!("{}: mutant `{}`: {what}", mutant.listed_in, mutant.name));
        };
        if !names.insert(&mutant.name) {
            complain("another one has this name".into());
        }
        let read = |file: &str| match sources.get(file) {
            Some(source) => Ok(source.text.clone()),
            None => Err(format!("no file {file}")),
        };
        if let Err(why) = apply(&mutant.edits, read) {
            complain(why);
        }
        for test in mutant.caught_by.iter().filter(|test| !is_there(test, sources)) {
            complain(format!("no test {}/{}::{}", test.package, test.binary, test.function));
        }
    }
    complaints.dedup();
    complaints
}

fn is_there(test: &Test, sources: &BTreeMap<&str, &Source>) -> bool {
    let path = format!("crates/{}/tests/{}.rs", test.package, test.binary);
    let syntax = sources.get(path.as_str()).and_then(|source| source.syntax.as_ref().ok());
    let modules: Vec<&str> = test.function.split("::").collect();
    syntax.is_some_and(|file| has_test(&file.items, &modules))
}

/// Whether there is a test of that path among these items.
fn has_test(items: &[syn::Item], path: &[&str]) -> bool {
    items.iter().any(|item| match (item, path) {
        (syn::Item::Fn(function), [name]) => {
            function.sig.ident == name
                && function.attrs.iter().any(|attribute| attribute.path().is_ident("test"))
        }
        (syn::Item::Mod(module), [name, rest @ ..]) => {
            let inside = module.content.as_ref();
            module.ident == name && inside.is_some_and(|(_, items)| has_test(items, rest))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::list::Edit;

    fn mutant(name: &str, from: &str, function: &str) -> Mutant {
        let edit = Edit { file: "crates/x/src/a.rs".into(), from: from.into(), to: String::new() };
        let test = Test {
            package: "x".into(),
            binary: "t".into(),
            function: function.into(),
            cfg: None,
            memory: None,
        };
        let listed_in = "crates/x/tests/mutants/a.toml".into();
        Mutant { name: name.into(), listed_in, why: None, edits: vec![edit], caught_by: vec![test] }
    }

    #[test]
    fn an_anchor_a_name_and_a_test_that_are_wrong_are_told() {
        let source = Source::new("crates/x/src/a.rs", "fn a() { ring(); ring(); once(); }\n");
        let tests = "#[test]\nfn one() {}\nmod m { #[test] fn two() {} fn helper() {} }\n";
        let tests = Source::new("crates/x/tests/t.rs", tests);
        let sources = BTreeMap::from([(source.path.as_str(), &source), (&tests.path, &tests)]);
        let told = |mutants: &[Mutant]| complaints(mutants, &sources);
        assert!(
            told(&[mutant("a", "once();", "one"), mutant("b", "once();", "m::two")]).is_empty()
        );
        let twice = told(&[mutant("a", "ring();", "one")]);
        assert_eq!(
            twice,
            [
                "crates/x/tests/mutants/a.toml: mutant `a`: stands 2 times in crates/x/src/a.rs: `ring();`"
            ]
        );
        for (function, what) in
            [("two", "no test x/t::two"), ("m::helper", "no test x/t::m::helper")]
        {
            assert!(told(&[mutant("a", "once();", function)])[0].ends_with(what));
        }
        let both = told(&[mutant("a", "once();", "one"), mutant("a", "once();", "one")]);
        assert!(both[0].ends_with("another one has this name"));
    }
}
