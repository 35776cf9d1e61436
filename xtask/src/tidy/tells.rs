//! Tells: phrases that read as translated, and what a merge left behind. Subject first, plain verbs, short sentences.

use super::{complaint, source::Source};

/// A phrase, what to write instead, and what it is allowed in.
struct Tell {
    phrase: &'static str,
    instead: &'static str,
    allowed: &'static [&'static str],
}

const fn tell(phrase: &'static str, instead: &'static str) -> Tell {
    Tell { phrase, instead, allowed: &[] }
}

/// In lower case; at word boundaries.
const TELLS: [Tell; 55] = [
    tell("but for", "except for"),
    tell("is had", "somebody has it"),
    tell("was had", "somebody had it"),
    tell("be had", "get it"),
    tell("mend", "fix"),
    tell("mends", "fixes"),
    tell("mended", "fixed"),
    tell("beside", "next to, alongside, with"),
    tell("whosoever", "anyone who"),
    tell("so as to", "to"),
    tell("so many", "this many, `n`"),
    tell("in vain", "without success; failed"),
    tell("inside of", "inside"),
    tell("outside of", "outside"),
    tell("whom", "name the thread"),
    tell("of one's own", "of your own, of its own"),
    tell("stranger", "an observed program, untrusted input"),
    tell("stranger's", "the observed program's, untrusted"),
    tell("nap", "a sleep, a bounded sleep"),
    tell("naps", "sleeps, bounded sleeps"),
    tell("goes on", "continues"),
    tell("makes good", "repairs"),
    tell("those who", "threads that, callers that"),
    tell("one who", "a thread that, a side that"),
    tell("who wait", "that wait"),
    tell("who sleep", "that sleep"),
    tell("the very code", "this code"),
    tell("in the place of", "instead of, overwriting"),
    tell("up to where", "how far"),
    tell("comes upon", "finds"),
    tell("than there is", "than available"),
    tell("as was checked", "as checked above"),
    tell("how things stand", "the reason, the state"),
    Tell {
        phrase: "nobody",
        instead: "no thread, no process, no caller",
        allowed: &["holder::nobody", "    nobody,", "\"nobody\""],
    },
    tell("for ever", "forever"),
    tell("wake-up", "wakeup"),
    tell("wake-ups", "wakeups"),
    tell("whoever", "the thread that, the caller that"),
    tell("somebody", "a thread, a user"),
    tell("anybody", "any thread, any user"),
    tell("anew", "again"),
    tell("is told", "learns, is reported"),
    tell("are told", "learn, are reported"),
    tell("answers with", "returns"),
    tell("comes to its end", "ends"),
    tell("lets itself", "can be"),
    tell("upon each other", "in a row"),
    tell("held against", "compared with, checked against"),
    tell("hold against", "compare with, check against"),
    tell("told error", "reported error"),
    tell("answers so", "returns this"),
    tell("without harm", "safely"),
    tell("as it likes", "without limit"),
    tell("what came of", "the result"),
    Tell {
        phrase: "is no",
        instead: "is not a",
        allowed: &[
            "there is no",
            "is no longer",
            "is no more",
            "is no less",
            "is no later",
            "is no need",
            "is no room",
        ],
    },
];

/// The tells in our sources and in the pages.
pub(crate) fn check(sources: &[Source], pages: &[Source]) -> Vec<String> {
    let is_list = |source: &&Source| source.path == "xtask/src/tidy/tells.rs";
    let ours = sources.iter().filter(|source| source.is_ours() && !is_list(source));
    ours.chain(pages).flat_map(in_text).collect()
}

fn in_text(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    let mut before = String::new();
    for (at, line) in source.text.lines().enumerate() {
        let lower = line.to_lowercase();
        let joined = format!("{} {}", before.trim_end(), without_comment(&lower));
        let is_here = |tell: &&Tell| {
            let across = tell.phrase.contains(' ') && holds(&joined, tell) && !holds(&before, tell);
            holds(&lower, tell) || across
        };
        for tell in TELLS.iter().filter(is_here) {
            let text = format!("`{}` reads as translated: {}", tell.phrase, tell.instead);
            findings.push(complaint(source, at + 1, text));
        }
        if ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark)) {
            findings.push(complaint(source, at + 1, "a mark of a merge that conflicted"));
        }
        if begins_with_who(line) {
            let text = "a sentence about `Who …`: name its subject (the sleeper, a caller that)";
            findings.push(complaint(source, at + 1, text));
        }
        before = lower;
    }
    findings
}

/// A line without what marks it as a comment.
fn without_comment(line: &str) -> &str {
    line.trim_start().trim_start_matches(['/', '!', '#', '>', '*']).trim_start()
}

/// Whether the phrase stands somewhere outside of what is allowed.
fn holds(lower: &str, tell: &Tell) -> bool {
    let without = tell.allowed.iter().fold(lower.to_owned(), |text, fine| text.replace(fine, "-"));
    without.match_indices(tell.phrase).any(|(at, found)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        !without[..at].ends_with(is_word) && !without[at + found.len()..].starts_with(is_word)
    })
}

/// Whether a sentence that is not a question has "Who" as its subject.
fn begins_with_who(line: &str) -> bool {
    let starts = line.match_indices("Who ").filter(|(at, _)| {
        let before = line[..*at].trim_end();
        before.is_empty() || before.ends_with(['.', '!', '/', ':', '-'])
    });
    starts.into_iter().any(|(at, _)| {
        let sentence = line[at..].split_inclusive(['.', '?']).next().unwrap_or_default();
        !sentence.ends_with('?')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        in_text(&Source::new("crates/x/src/a.rs", text)).len()
    }

    #[test]
    fn tells_are_found_at_word_boundaries() {
        assert_eq!(count("all of them but for one\n/// Mend it, or say so."), 2);
        assert_eq!(count("besides, this is recommended; nothing but forks"), 0);
        assert_eq!(count("'parsecs' is no unit"), 1);
        assert_eq!(count("there is no unit, and it is no longer needed"), 0);
        assert_eq!(count("Nobody sleeps here."), 1);
        assert_eq!(count("Holder::Nobody => \"nobody\""), 0);
        assert_eq!(count("//! The loop goes\n//! on without limit."), 1);
        assert_eq!(count("/// The loop goes on.\n/// It ends."), 1);
    }

    #[test]
    fn marks_of_a_conflict_are_found() {
        assert_eq!(count("<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main"), 2);
        assert_eq!(count("=======\n<<<<<<<, >>>>>>> in a line"), 0);
    }

    #[test]
    fn who_may_ask_and_not_be_a_subject() {
        assert_eq!(count("//! Who sleeps pays for being woken."), 1);
        assert_eq!(count("// It is so. Who waits, sees it."), 1);
        assert_eq!(count("/// Who holds the lock?\n// A thread who waits. WHO."), 0);
    }
}
