//! Links: a page's relative links lead to files, and the book's summary names every page under `docs/` once. What a
//! crate includes lies in its folder, so that it compiles from its package: a link to a page of the book does, too.

use super::complaint;
use super::source::Source;
use std::path::{Component, Path, PathBuf};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Complaints about the pages, each a path from the root and its text.
pub(crate) fn check(root: &Path, pages: &[Source]) -> Vec<String> {
    let mut complaints: Vec<String> =
        pages.iter().flat_map(|page| dead_links(root, page)).collect();
    if let Some(summary) = pages.iter().find(|page| page.path == SUMMARY) {
        complaints.extend(unlisted(summary, pages));
    }
    complaints
}

/// Links to files that are not there.
fn dead_links(root: &Path, page: &Source) -> Vec<String> {
    let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
    let mut complaints = Vec::new();
    for (line, target) in targets(&page.text) {
        if !root.join(plain(&folder.join(target))).exists() {
            complaints.push(complaint(page, line, format!("nothing is at this link: {target}")));
        }
    }
    complaints
}

/// Pages of the book that its summary does not name.
fn unlisted(summary: &Source, pages: &[Source]) -> Vec<String> {
    let listed: Vec<PathBuf> =
        targets(&summary.text).map(|(_, target)| plain(&Path::new("docs").join(target))).collect();
    let of_the_book = |page: &&Source| page.path.starts_with("docs/") && page.path != SUMMARY;
    let missing = |page: &&Source| !listed.contains(&PathBuf::from(&page.path));
    let missing = pages.iter().filter(of_the_book).filter(missing);
    missing.map(|page| complaint(page, 1, format!("{SUMMARY} does not name this page"))).collect()
}

/// Files of other folders that a crate's source includes; `cargo package` would leave them out.
pub(crate) fn included(source: &Source) -> Vec<String> {
    let folder = Path::new(&source.path).parent().unwrap_or(Path::new(""));
    let is_outside =
        |target: &&str| !plain(&folder.join(target)).starts_with(source.crate_folder());
    let lines = source.text.lines().enumerate();
    lines
        .filter_map(|(at, line)| {
            let rest =
                line.split_once("include_str!(\"").or(line.split_once("include_bytes!(\""))?.1;
            let target = rest.split('"').next().filter(is_outside)?;
            let what =
                format!("{target} is not in the crate's package: link to it in the crate's folder");
            Some(complaint(source, at + 1, what))
        })
        .collect()
}

/// Line and target of every relative link, without its fragment; code blocks hold none.
fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with("    ")
    });
    lines.flat_map(|(at, line)| {
        line.split("](").skip(1).filter_map(move |rest| {
            let target = rest.split(')').next()?.split('#').next()?;
            let is_relative = !target.is_empty() && !target.contains(':');
            is_relative.then_some((at + 1, target))
        })
    })
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pages: &[(&str, &str)]) -> Vec<String> {
        let pages: Vec<Source> =
            pages.iter().map(|(path, text)| Source::new(*path, *text)).collect();
        super::check(crate::root(), &pages)
    }

    #[test]
    fn a_link_leads_from_its_page_to_a_file() {
        let text = "[a](decide.md#tails), [b](../README.md), [c](https://example.org), [d](#here)";
        assert_eq!(check(&[("docs/json.md", text)]), Vec::<String>::new());
        let complaints = check(&[("docs/json.md", "first\n[a](gone.md) and [b](../gone)")]);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert!(complaints[0].starts_with("docs/json.md:2: "), "{complaints:?}");
    }

    #[test]
    fn what_a_crate_includes_is_in_its_package() {
        let check = |path: &str, code: &str| included(&Source::new(path, code)).len();
        let outside = "#[doc = include_str!(\"../../../docs/json.md\")]\nmod book {}\n";
        assert_eq!(check("crates/model/src/lib.rs", outside), 1);
        assert_eq!(
            check("crates/model/tests/a.rs", &outside.replace("../../..", "../../other")),
            1
        );
        assert_eq!(check("crates/model/src/lib.rs", &outside.replace("../../..", "..")), 0);
    }

    #[test]
    fn code_holds_no_links() {
        let text = "```\nx[i](gone)\n```\n\n    y[i](gone)\n";
        assert_eq!(check(&[("docs/json.md", text)]), Vec::<String>::new());
    }

    #[test]
    fn the_summary_names_every_page() {
        let summary = (SUMMARY, "- [JSON](json.md)");
        assert_eq!(check(&[summary, ("docs/json.md", "")]), Vec::<String>::new());
        assert_eq!(check(&[summary, ("docs/decide.md", "")]).len(), 1);
    }
}
