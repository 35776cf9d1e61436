//! Untrusted text from the observed program, made safe and made to fit.
//!
//! # Contract
//! Names of threads, functions and files are untrusted: control characters in them (which could control the reader's
//! terminal) and characters that reorder text are shown as `\u{fffd}`. Widths are those of the text on a terminal.
//! # Sources
//! Unicode UAX #9 (bidirectional controls); "Trojan Source", Boucher and Anderson, 2021.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` on one line, without characters that control a terminal or reorder text.
#[must_use]
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// `text` on one line with nothing hidden: what controls a terminal or reorders text is shown as an escape, such as
/// `\n`.
#[must_use]
pub fn escaped(text: &str) -> String {
    let shown = |c: char| match steers(c) {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The width of `text` on a terminal, in columns.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// The start of `text` that fits into `columns`, with an ellipsis if something is cut.
#[must_use]
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut head = head(text, columns.saturating_sub(1)).to_owned();
    if columns > 0 {
        head.push('…');
    }
    head
}

/// Like [`fit`], but of a text that ends with a file and line (`push queue.c:12`), the rest is cut first: the line says
/// where to look.
///
/// ```
/// use uncontended_figures::text::fit_place;
/// assert_eq!(fit_place("push_to_the_queue queue.c:12", 20), "push_to_… queue.c:12");
/// assert_eq!(fit_place("push_to_the_queue libqueue.so", 20), "push_to_the_queue l…");
/// ```
#[must_use]
pub fn fit_place(text: &str, columns: usize) -> String {
    /// Less of the rest tells nothing.
    const LEAST: usize = 6;
    let of_line = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    let is_place = |word: &str| word.rsplit_once(':').is_some_and(|(_, line)| of_line(line));
    let cut = || {
        let (rest, place) = text.rsplit_once(' ').filter(|(_, place)| is_place(place))?;
        let room = columns.checked_sub(width(place) + 1).filter(|&room| room >= LEAST)?;
        Some(format!("{} {place}", fit(rest, room)))
    };
    if width(text) <= columns {
        text.to_owned()
    } else {
        cut().unwrap_or_else(|| fit(text, columns))
    }
}

/// The one of `words` that was probably meant by `typed`: that with the fewest characters to insert, remove or replace,
/// if these are at most half of those typed. Upper and lower case are the same.
///
/// ```
/// use uncontended_figures::text::closest;
/// assert_eq!(closest("comand", ["command", "colour"]), Some("command"));
/// assert_eq!(closest("x", ["command", "colour"]), None);
/// ```
#[must_use]
pub fn closest<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = words.into_iter().map(|word| (edits(typed, word), word));
    let near = near.filter(|(edits, _)| edits * 2 <= typed.chars().count()).min();
    near.map(|(_, word)| word)
}

/// Levenshtein's distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A number of things with their name: exact, and in the singular if there is one.
///
/// ```
/// use uncontended_figures::text::several;
/// assert_eq!([1, 0, 1200].map(|pairs| several(pairs, "pair", "pairs")), ["1 pair", "0 pairs", "1,200 pairs"]);
/// ```
#[must_use]
pub fn several(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", crate::whole(number), if number == 1 { one } else { many })
}

/// `text` with ASCII in place of the signs that this workbench prints itself, for a locale without UTF-8. Each takes as
/// many columns as before, but a `…` that stands alone.
///
/// ```
/// use uncontended_figures::text::ascii;
/// assert_eq!(ascii("  … 3 more · 12.0 µs\nlong_nam… ← main.rs:1"), "  ... 3 more - 12.0 us\nlong_nam~ < main.rs:1");
/// ```
#[must_use]
pub fn ascii(text: &str) -> String {
    let text = text.replace(" … ", " ... ");
    let plain = |sign: char| match sign {
        '…' => '~',
        '─' | '–' | '−' | '·' => '-',
        '│' => '|',
        '├' | '└' => '+',
        '×' => 'x',
        '÷' => '/',
        'µ' => 'u',
        '←' | '≤' => '<',
        '→' | '≥' => '>',
        sign => sign,
    };
    text.chars().map(plain).collect()
}

/// `text` in lines of at most `columns`, as far as its words allow. The first line begins with `first`; the others are
/// indented to the same column. Each line ends in a line feed.
#[must_use]
pub fn wrap(text: &str, first: &str, columns: usize) -> String {
    let indent = width(first);
    let (mut lines, mut used) = (first.to_owned(), indent);
    for word in text.split_whitespace() {
        if used > indent && used + 1 + width(word) > columns {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > indent {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += width(word);
    }
    lines.push('\n');
    lines
}

/// The first `most` of `names`, and how many of all `count` those leave out: `a, b and 4 more`.
#[must_use]
pub fn some_of(names: &[String], count: usize, most: usize) -> String {
    let shown = &names[..names.len().min(most)];
    match count.saturating_sub(shown.len()) {
        _ if shown.is_empty() => count.to_string(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn head(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_control_the_terminal() {
        assert_eq!(clean("\x1b[2Jrm\r\n\u{202e}x"), "\u{fffd}[2Jrm\u{fffd}\u{fffd}\u{fffd}x");
        assert_eq!(clean("Übergröße 線程"), "Übergröße 線程");
    }

    #[test]
    fn an_escape_hides_nothing() {
        assert_eq!(escaped("\x1b[2Jrm\r\n\u{202e}x"), r"\u{1b}[2Jrm\r\n\u{202e}x");
        assert_eq!(escaped(r#"echo "Übergröße" '\n'"#), r#"echo "Übergröße" '\n'"#);
    }

    #[test]
    fn words_are_wrapped_under_the_first() {
        assert_eq!(wrap("one two  three", "- ", 9), "- one two\n  three\n");
        assert_eq!(wrap("", "- ", 9), "- \n");
    }

    #[test]
    fn a_list_is_cut_with_the_number_left_out() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(some_of(&names, 3, 3), "a, b, c");
        assert_eq!(some_of(&names, 7, 2), "a, b and 5 more");
        assert_eq!(some_of(&[], 4, 2), "4");
    }

    #[test]
    fn fits_count_columns_and_not_bytes() {
        assert_eq!(fit("queue_insert", 8), "queue_i…");
        assert_eq!(fit("線程線程", 5), "線程…");
        assert_eq!((fit("abc", 3), fit("abc", 0)), ("abc".to_owned(), String::new()));
    }
}
