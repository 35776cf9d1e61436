//! Places in a source, found by their text.

use super::list::Edit;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where `from` stands in a text. White space of `from` stands for any white space.
pub(crate) fn places(text: &str, from: &str) -> Vec<Range<usize>> {
    let words: Vec<&str> = from.split_whitespace().collect();
    let Some(first) = words.first() else { return Vec::new() };
    let starts = text.match_indices(first).map(|(at, _)| at);
    starts.filter_map(|at| Some(at..end(text, at, &words)?)).collect()
}

/// Where the words end that begin at `at`, one after the other.
fn end(text: &str, at: usize, words: &[&str]) -> Option<usize> {
    let mut rest = &text[at..];
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            let trimmed = rest.trim_start();
            if trimmed.len() == rest.len() {
                return None;
            }
            rest = trimmed;
        }
        rest = rest.strip_prefix(word)?;
    }
    Some(text.len() - rest.len())
}

/// The files that these edits change, as they are then; or why one edit can't be made after those before it. `read`
/// gives the text of a file.
pub(crate) fn apply(
    edits: &[Edit],
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<BTreeMap<&str, String>, String> {
    let mut texts = BTreeMap::new();
    for Edit { file, from, to } in edits {
        let text = texts.remove(file.as_str()).map_or_else(|| read(file), Ok)?;
        let found = places(&text, from);
        let [place] = &found[..] else {
            return Err(format!("stands {} times in {file}: `{}`", found.len(), from.trim()));
        };
        let (before, after) = (&text[..place.start], &text[place.end..]);
        texts.insert(file.as_str(), format!("{before}{to}{after}"));
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn a() {\n    tail.store(1);\n    ring();\n}\nfn b() {\n    ring();\n}\n";

    #[test]
    fn white_space_is_any_and_nothing_else_is() {
        assert_eq!(places(TEXT, "ring();").len(), 2);
        assert_eq!(places(TEXT, "tail.store(1); ring();").len(), 1);
        assert_eq!(places(TEXT, "  tail.store(1);\n\n  ring();  ").len(), 1);
        assert!(places(TEXT, "tail.store( 1);").is_empty() && places(TEXT, " ").is_empty());
        assert!(places(TEXT, "ta il").is_empty());
    }

    fn applied(edits: &[(&str, &str)]) -> Result<String, String> {
        let edit = |&(from, to): &(&str, &str)| Edit {
            file: "src/a.rs".to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        };
        let edits: Vec<Edit> = edits.iter().map(edit).collect();
        apply(&edits, |_| Ok(TEXT.to_owned())).map(|mut texts| texts.remove("src/a.rs").unwrap())
    }

    #[test]
    fn an_edit_is_made_at_the_only_place() {
        let text = applied(&[("tail.store(1);", "gone();")]).unwrap();
        assert!(text.contains("{\n    gone();\n    ring();\n}"));
        let twice = applied(&[("ring();", "")]).unwrap_err();
        assert_eq!(twice, "stands 2 times in src/a.rs: `ring();`");
        assert!(applied(&[("bell();", "")]).unwrap_err().starts_with("stands 0 times"));
    }

    #[test]
    fn edits_are_made_one_after_the_other() {
        let text = applied(&[("tail.store(1); ring();", "one();"), ("ring();", "two();")]).unwrap();
        assert!(text.contains("one();") && text.contains("two();") && !text.contains("ring();"));
    }
}
