//! Ratchets: what a new rule finds in old code, counted by crate. A count may only fall.
//!
//! # Contract
//! `xtask/ratchet.txt` holds `rule crate count`, a line each; what is not there is zero. More than that fails tidy,
//! with every place of that crate, new and old, since nothing tells them apart. `cargo xtask ratchet` writes lower
//! counts down.

use super::source::Source;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

const FILE: &str = "xtask/ratchet.txt";
const HEAD: &str = "# What rules still find in old code: rule, crate, count. Counts may only fall: `cargo xtask ratchet` lowers them.\n";

/// One place that a rule has found.
#[derive(Debug)]
pub(crate) struct Finding {
    /// The crate, or the folder or page at the root.
    part: String,
    text: String,
}

impl Finding {
    pub(crate) fn new(source: &Source, line: usize, text: impl fmt::Display) -> Self {
        let text = format!("{}:{line}: {text}", source.path);
        Finding { part: source.crate_folder().to_owned(), text }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What each rule found.
type Found = [(&'static str, Vec<Finding>)];
/// How many places are allowed, or there, by rule and part.
type Counts = BTreeMap<(String, String), usize>;

/// Complaints about counts that rose, and a line for each rule that has something left.
pub(crate) fn compare(root: &Path, found: &Found) -> Result<(Vec<String>, Vec<String>), String> {
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
    let allowed = parse(&text)?;
    let mut complaints = Vec::new();
    for ((rule, part), &now) in &count(found) {
        let limit = allowed.get(&(rule.clone(), part.clone())).copied().unwrap_or(0);
        if now > limit {
            let places = found.iter().filter(|(name, _)| name == rule).flat_map(|(_, all)| all);
            let places = places.filter(|finding| finding.part == *part);
            complaints.extend(places.map(Finding::to_string));
            complaints.push(format!("{part}: {now} under the rule {rule}, at most {limit}"));
        }
    }
    let left = found.iter().filter(|(_, all)| !all.is_empty());
    Ok((complaints, left.map(|(rule, all)| format!("{rule} {}", all.len())).collect()))
}

/// Writes the counts down where they are lower than what is allowed.
pub(crate) fn lower(root: &Path, found: &Found) -> Result<(), String> {
    let path = root.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{FILE}: {e}"))?;
    let mut counts = parse(&text)?;
    let now = count(found);
    counts.retain(|of, allowed| {
        *allowed = now.get(of).copied().unwrap_or(0).min(*allowed);
        *allowed > 0
    });
    let lines = counts.iter().map(|((rule, part), count)| format!("{rule} {part} {count}\n"));
    std::fs::write(&path, HEAD.to_owned() + &lines.collect::<String>())
        .map_err(|error| format!("{FILE}: {error}"))
}

fn count(found: &Found) -> Counts {
    let mut counts = Counts::new();
    for (rule, all) in found {
        for finding in all {
            *counts.entry(((*rule).to_owned(), finding.part.clone())).or_default() += 1;
        }
    }
    counts
}

fn parse(text: &str) -> Result<Counts, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let malformed = || format!("{FILE}: not `rule crate count`: {line}");
            let [rule, part, count] = words[..] else { return Err(malformed()) };
            let count = count.parse().map_err(|_| malformed())?;
            Ok(((rule.to_owned(), part.to_owned()), count))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(places: usize) -> Vec<(&'static str, Vec<Finding>)> {
        let source = Source::new("crates/x/src/a.rs", "");
        vec![("rule", (0..places).map(|at| Finding::new(&source, at + 1, "wrong")).collect())]
    }

    #[test]
    fn a_count_may_fall_and_not_rise() {
        let folder = uncontended_testkit::Folder::new();
        let root = folder.path();
        std::fs::create_dir(root.join("xtask")).unwrap();
        std::fs::write(root.join(FILE), "# head\nrule crates/x 2\nrule crates/gone 1\n").unwrap();
        let (complaints, left) = compare(root, &found(2)).unwrap();
        assert!(complaints.is_empty());
        assert_eq!(left, ["rule 2"]);
        let (complaints, _) = compare(root, &found(3)).unwrap();
        assert_eq!(complaints.len(), 4);
        assert_eq!(complaints[3], "crates/x: 3 under the rule rule, at most 2");
        lower(root, &found(1)).unwrap();
        lower(root, &found(5)).unwrap();
        let text = std::fs::read_to_string(root.join(FILE)).unwrap();
        assert_eq!(text, format!("{HEAD}rule crates/x 1\n"));
        assert!(parse("rule crates/x many").is_err());
    }
}
