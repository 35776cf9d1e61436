//! Public items that only tests use.
//!
//! # Contract
//! In a crate that only our own crates use, every public item is named once more in code that ships, or in a benchmark,
//! an example or `compare`. Deprecated names are left alone; so are the crates that other people use: their interface
//! is a promise of its own.

use super::{complaint, source::Source};
use std::collections::HashMap;

/// The crates that only this workspace uses.
const OWN: [&str; 9] =
    ["bench", "decide", "events", "figures", "machine", "report", "stats", "sys", "trace"];
/// What stands between `pub` and the name.
const KEYWORDS: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "union"];

/// Complaints about public items that nothing but tests names.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let mut times: HashMap<&str, u32> = HashMap::new();
    for (_, line) in sources.iter().flat_map(used) {
        words(line).for_each(|word| *times.entry(word).or_default() += 1);
    }
    let own = sources.iter().filter(|source| source.ships() && is_own(source));
    own.flat_map(|source| {
        let lines = used(source).filter(|(at, _)| !is_deprecated(source, *at));
        let items = lines.filter_map(|(at, line)| Some((at, item(line)?)));
        let unused = items.filter(|(_, name)| times.get(name).is_none_or(|&times| times < 2));
        unused
            .map(|(at, name)| complaint(source, at + 1, format!("nothing but tests uses {name}")))
            .collect::<Vec<_>>()
    })
    .collect()
}

fn is_own(source: &Source) -> bool {
    OWN.iter().any(|name| source.crate_folder() == format!("crates/{name}"))
}

/// The lines of code that count as uses, with their index.
fn used(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let folders = ["/benches/", "examples/", "compare/"];
    let is_user = folders.iter().any(|folder| source.path.contains(folder));
    let lines = source.code.iter().enumerate().map(|(at, line)| (at, line.as_str()));
    lines.filter(move |(at, _)| is_user || source.line_ships(at + 1))
}

/// The name that a line declares as public.
fn item(line: &str) -> Option<&str> {
    let mut rest = words(line.trim_start().strip_prefix("pub ")?);
    let modifiers = ["const", "unsafe", "async", "extern"];
    let mut word = rest.next()?;
    while modifiers.contains(&word) {
        let next = rest.next()?;
        if !KEYWORDS.contains(&next) && !modifiers.contains(&next) {
            return (word == "const").then_some(next);
        }
        word = next;
    }
    KEYWORDS.contains(&word).then(|| rest.next()).flatten()
}

fn is_deprecated(source: &Source, at: usize) -> bool {
    let above = source.code[..at].iter().rev();
    let mut attributes = above.take_while(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line.ends_with([',', ']']) || line == ")]"
    });
    attributes.any(|line| line.contains("#[deprecated"))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_only_tests_use_is_named() {
        let text = "pub fn used() {}\npub const unsafe fn unused() {}\npub const LIMIT: u8 = 1;\n\
                    #[deprecated(note = \"x\")]\npub type Old = u8;\npub(crate) fn inner() { used() }\n\
                    #[cfg(test)]\nmod tests { fn t() { unused(); LIMIT; Old; } }\n";
        let sources = [
            Source::new("crates/events/src/a.rs", text),
            Source::new("crates/events/tests/t.rs", "fn t() { unused(); LIMIT; }"),
        ];
        let here = "crates/events/src/a.rs";
        let wanted = [
            format!("{here}:2: nothing but tests uses unused"),
            format!("{here}:3: nothing but tests uses LIMIT"),
        ];
        assert_eq!(check(&sources), wanted);
        let bench = Source::new("crates/events/benches/b.rs", "fn b() { unused(); LIMIT }");
        assert_eq!(check(&[Source::new(here, text), bench]), [""; 0]);
        assert_eq!(check(&[Source::new("crates/ring/src/a.rs", "pub fn offered() {}")]), [""; 0]);
    }
}
