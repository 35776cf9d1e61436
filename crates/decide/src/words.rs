//! Splits a command line into words without a shell, and detects command lines that need one.
//!
//! # Contract
//! [`split`] follows the quoting rules of the POSIX shell (single quotes, double quotes, backslash) and nothing else;
//! it expands nothing. [`needs_shell`] errs on the side of yes, so a line that it accepts means the same without a
//! shell as with one.
//! # Sources
//! POSIX.1-2017, Shell Command Language, 2.2 Quoting.

/// The words of `line`.
///
/// # Errors
/// A quote that is never closed, or a backslash at the end.
pub fn split(line: &str) -> Result<Vec<String>, String> {
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

/// Words with a meaning only in a shell.
const BUILTINS: [&str; 35] = [
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "eval", "exec", "exit",
    "export", "fg", "for", "getopts", "hash", "if", "jobs", "read", "readonly", "return", "set",
    "shift", "source", "time", "times", "trap", "type", "ulimit", "umask", "unset", "until",
    "wait", "while",
];

/// Whether `line` uses anything beyond quoting that has a meaning in a shell.
pub fn needs_shell(line: &str) -> bool {
    if line.contains(|symbol| "|&;<>()$`*?[~#!{}\n".contains(symbol)) {
        return true;
    }
    let Ok(words) = split(line) else { return true };
    // An assignment before the command, or a word that names no file.
    words.first().is_none_or(|first| first.contains('=') || BUILTINS.contains(&first.as_str()))
}

/// `words` as one line that [`split`] and a shell read back as the same words.
pub fn join(words: &[String]) -> String {
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
