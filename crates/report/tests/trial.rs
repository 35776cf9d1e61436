//! What a shell and `unc compare` make of the command that tests a change: what the program and its load were.

mod common;

use common::*;
use std::process::Command;
use uncontended_decide::runner::{Launch, Prepared};
use uncontended_decide::scan::{Parameter, expand};
use uncontended_decide::words;
use uncontended_figures::text::clean;
use uncontended_report::facts::LoadFacts;
use uncontended_report::findings::{find, tried_by};
use uncontended_report::run::RunReport;

/// Characters that a shell, `printf`, `unc compare` or a terminal reads in a way of its own.
const ODD: &str = "a '\"$`\\!%#,&;(){}~*=\n\t\u{e9}\u{202e}\u{1b}";

/// A run of this command about which there is a finding.
fn advised(command: &[&str], load: Option<[&str; 2]>) -> RunReport {
    let mut report = run(command);
    report.wall_ns = 400 * MS;
    report.processes =
        vec![process(1, vec![contended(&[60 * MS; 5], &[], &[50 * MS; 40])], vec![])];
    report.findings = find(&report);
    report.load = load.map(|[command, ready]| LoadFacts {
        command: command.to_owned(),
        ready: Some(ready.to_owned()),
        exit_status: 0,
        begun_ns: 0,
        ended_ns: MS,
    });
    report
}

/// The command lines that `unc compare` has to compare.
fn compared(report: &RunReport) -> Vec<String> {
    let command = tried_by(report).expect("advice").command;
    assert_eq!(clean(&command), command, "nothing that a terminal obeys");
    let words = words_of(&format!("unc() {{ printf '%s\\0' \"$@\"; }}; {command}"));
    let at = words.iter().position(|word| word == "--").expect("commands");
    let lists: Vec<Parameter> = match words.iter().position(|word| word == "--parameter-list") {
        Some(list) => vec![Parameter::list(&words[list + 1], &words[list + 2]).unwrap()],
        None => vec![],
    };
    expand(&words[at + 1..], &lists).unwrap()
}

/// The words, each with a NUL at its end, that a shell prints for this script.
fn words_of(script: &str) -> Vec<String> {
    let output = Command::new("sh").args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn the_program_is_started_with_its_own_arguments() {
    let odd: Vec<char> = ODD.chars().collect();
    let mut state = 7u64;
    let mut below = |most: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let mut all: Vec<Vec<String>> = vec![
        vec!["./my program".to_owned()],
        vec!["python3".to_owned(), "-c".to_owned(), "\nprint('a', \"b\")\n".to_owned()],
        vec!["./p".to_owned(), "x".repeat(1500)],
    ];
    for _ in 0..100 {
        let words =
            (0..1 + below(3)).map(|_| (0..below(6)).map(|_| odd[below(odd.len())]).collect());
        all.push(["printf".to_owned()].into_iter().chain(words).collect());
    }
    for argv in all {
        let command: Vec<&str> = argv.iter().map(String::as_str).collect();
        let [line, changed] = &compared(&advised(&command, None))[..] else { panic!("two") };
        assert_eq!(changed, "CHANGED");
        assert_eq!(words::split(line).unwrap(), argv, "{line}");
        assert_eq!(words_of(&format!("set -- {line}; printf '%s\\0' \"$@\"")), argv, "{line}");
        let loaded = compared(&advised(&command, Some(["./client 'a b'", "nc -z ::1 9"])));
        assert!(loaded[0].starts_with(&format!("{line} & ")), "{} {line}", loaded[0]);
        assert!(loaded[1].starts_with("CHANGED & "), "{}", loaded[1]);
    }
}

/// Loads and questions with quotes, comments, ends of lines and parentheses.
#[test]
fn the_load_does_what_it_did() {
    for load in [
        "printf %s 'a  b'; exit 3",
        "printf '%s|' \"it's\" '$HOME' \"$0\" '!' a,b {program}",
        "printf 1 # 2)",
        "cat <<END\na 'b'\nEND",
        "(printf 1); (exit 4)",
        r"printf 'a\tb' \",
        "exec printf '\u{202e}\u{1b}'",
    ] {
        let expected = Command::new("sh").args(["-c", load]).output().unwrap();
        for program in ["./server", "./server,2"] {
            let report = advised(&[program], Some([load, "test 'a b' = \"a b\" # is it?"]));
            let [first, changed] = &compared(&report)[..] else { panic!("two") };
            let rest = changed.strip_prefix("CHANGED").unwrap();
            assert_eq!(first.strip_prefix(program), Some(rest));
            let prepared = Prepared::from_line(&format!("true{rest}"), &Launch::default()).unwrap();
            let [shell, arguments @ ..] = prepared.words() else { panic!("a shell") };
            let output = Command::new(shell).args(arguments).output().unwrap();
            assert_eq!(output.status.code(), expected.status.code(), "{rest}: {output:?}");
            let [was, is] = [&expected, &output].map(|of| String::from_utf8_lossy(&of.stdout));
            // It is another shell's.
            assert_eq!(is.replace("/bin/sh", "sh"), was.replace("/bin/sh", "sh"), "{rest}");
        }
    }
}

#[test]
fn what_is_too_long_or_not_text_is_left_to_scripts() {
    let scripts = ["./SCRIPT", "./CHANGED"];
    for odd in ["x".repeat(2000), "\u{fffd}".to_owned()] {
        let report = advised(&["./p", &odd], None);
        assert_eq!(compared(&report), scripts);
        assert!(tried_by(&report).unwrap().introduction.contains("two scripts"));
    }
    assert_eq!(compared(&advised(&["./p"], Some([&"x".repeat(2000), "true"]))), scripts);
}
