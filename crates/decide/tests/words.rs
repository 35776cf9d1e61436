//! Command lines as words.

use uncontended_decide::words::*;

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
    let words = ["a b", "it's", "", "$x", "plain-1.2", "\\", "\"", "ä"].map(String::from).to_vec();
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

/// A real shell serves as the oracle.
#[test]
fn a_line_has_the_words_that_the_shell_sees() {
    let alphabet: Vec<char> = "ab=-'\"\\ \t".chars().collect();
    let mut state = 3_u64;
    let (mut compared, mut refused) = (0, 0);
    for _ in 0..400 {
        let mut line = String::new();
        for _ in 0..8 {
            state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            line.push(alphabet[(state >> 33) as usize % alphabet.len()]);
        }
        // A shell accepts a backslash at the end, where we report that something is missing.
        if line.ends_with('\\') {
            continue;
        }
        let command = format!("printf '[%s]\\n' word {line}");
        let said = std::process::Command::new("sh").arg("-c").arg(command).output().unwrap();
        match split(&line) {
            Ok(words) => {
                let expected: String = ["word".to_string()]
                    .iter()
                    .chain(&words)
                    .map(|word| format!("[{word}]\n"))
                    .collect();
                assert_eq!(String::from_utf8_lossy(&said.stdout), expected, "{line}");
                compared += 1;
            }
            Err(_) => {
                assert!(!said.status.success(), "{line}");
                refused += 1;
            }
        }
    }
    assert!(compared > 50 && refused > 50, "{compared} {refused}");
}
