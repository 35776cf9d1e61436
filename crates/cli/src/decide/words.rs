//! Splitting a command line into words without a shell, and telling which command lines need one.
//!
//! # Contract
//! [`split`] follows the quoting rules of the POSIX shell (single quotes, double quotes, backslash) and nothing else: no
//! expansion happens. [`needs_shell`] errs on the side of yes, so that a line that it lets pass means the same without a
//! shell as with one.
//! # Sources
//! POSIX.1-2017, Shell Command Language, 2.2 Quoting.

/// The words of `line`.
///
/// # Errors
/// A quote that is never closed, or a backslash at the end.
pub(crate) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut symbols = line.chars();
    let unclosed = |quote: char| format!("the quote {quote} in '{line}' is never closed");
    while let Some(symbol) = symbols.next() {
        match symbol {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match symbols.next().ok_or_else(|| unclosed('\''))? {
                        '\'' => break,
                        other => word.push(other),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match symbols.next().ok_or_else(|| unclosed('"'))? {
                        '"' => break,
                        '\\' => match symbols.next().ok_or_else(|| unclosed('"'))? {
                            '\n' => {}
                            special @ ('$' | '`' | '"' | '\\') => word.push(special),
                            other => word.extend(['\\', other]),
                        },
                        other => word.push(other),
                    }
                }
            }
            '\\' => match symbols.next() {
                Some('\n') => {}
                Some(other) => word.get_or_insert_default().push(other),
                None => return Err(format!("'{line}' ends in a backslash")),
            },
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Words that only a shell knows.
const BUILTINS: [&str; 35] = [
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "eval", "exec", "exit",
    "export", "fg", "for", "getopts", "hash", "if", "jobs", "read", "readonly", "return", "set",
    "shift", "source", "time", "times", "trap", "type", "ulimit", "umask", "unset", "until",
    "wait", "while",
];

/// Whether `line` uses anything that a shell gives a meaning beyond quoting.
pub(crate) fn needs_shell(line: &str) -> bool {
    if line.contains(|symbol| "|&;<>()$`*?[~#!{}\n".contains(symbol)) {
        return true;
    }
    let Ok(words) = split(line) else { return true };
    // An assignment before the command, or a word that names no file.
    words.first().is_none_or(|first| first.contains('=') || BUILTINS.contains(&first.as_str()))
}

/// `words` as one line that [`split`] and a shell read back as the same words.
pub(crate) fn join(words: &[String]) -> String {
    let plain = |symbol: char| symbol.is_ascii_alphanumeric() || "_-./:,+=@%".contains(symbol);
    let quoted: Vec<String> = words
        .iter()
        .map(|word| match !word.is_empty() && word.chars().all(plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        })
        .collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_that_of_the_shell() {
        let words = |line| split(line).unwrap();
        assert_eq!(words("a  b\tc"), ["a", "b", "c"]);
        assert_eq!(words(r#"a 'b "c' "d 'e""#), ["a", "b \"c", "d 'e"]);
        assert_eq!(words(r#""\$x \n" \' ''"#), [r"$x \n", "'", ""]);
        assert_eq!(words(r"a\ b'c'd"), ["a bcd"]);
        assert!(words("").is_empty());
        assert!(split("'a").is_err());
        assert!(split(r#""a\"#).is_err());
        assert!(split("a\\").is_err());
    }

    #[test]
    fn a_shell_is_asked_only_where_it_matters() {
        for line in ["a | b", "X=1 a", "cd /", "echo $HOME", "a; b", "ls *.c", "exit 3", "", "'a"] {
            assert!(needs_shell(line), "{line}");
        }
        for line in ["sleep 1", "./a --b=c 'd e'", "/usr/bin/env true"] {
            assert!(!needs_shell(line), "{line}");
        }
    }

    #[test]
    fn joined_words_split_into_themselves() {
        let words =
            ["a b", "it's", "", "$x", "plain-1.2", "\\", "\"", "ä"].map(String::from).to_vec();
        assert_eq!(split(&join(&words)).unwrap(), words);
    }

    #[test]
    fn any_line_is_answered() {
        let alphabet: Vec<char> = "ab'\"\\ $\n\u{e4}=".chars().collect();
        let mut state = 7_u64;
        for _ in 0..100_000 {
            let mut line = String::new();
            for _ in 0..9 {
                state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
                line.push(alphabet[(state >> 33) as usize % alphabet.len()]);
            }
            if let Ok(words) = split(&line) {
                assert_eq!(split(&join(&words)).unwrap(), words);
            }
            let _ = needs_shell(&line);
        }
    }
}
