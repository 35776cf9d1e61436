//! Bad input: a clear line, exit 2, no verdict.

mod decide;

use decide::{Folder, unc, unc_reading};

#[test]
fn rates_and_errors_outside_their_range() {
    for rate in ["0", "1", "-1", "1.5", "100%", "nan", "inf", "", "high"] {
        let flag = format!("--rate={rate}");
        unc(&["slo", &flag, "--counts", "1/2"]).assert_refused("--rate");
    }
    for error in ["0", "1", "-0.1", "nan"] {
        let flag = format!("--max-error={error}");
        unc(&["slo", "--rate", ".9", &flag, "--counts", "1/2"]).assert_refused("--max-error");
    }
    unc(&["slo", "--rate", ".9", "--or-below", ".95", "--counts", "1/2"])
        .assert_refused("is not below");
    unc(&["slo", "--rate", ".9", "--or-below", ".9", "--counts", "1/2"])
        .assert_refused("is not below");
    unc(&["slo", "--counts", "1/2"]).assert_refused("--rate");
}

#[test]
fn counts_that_cannot_be() {
    for counts in ["3/2", "1", "1/", "/2", "-1/2", "a/b", "1.5/2", "1/9007199254740993"] {
        let flag = format!("--counts={counts}");
        unc(&["slo", "--rate", ".9", &flag]).assert_refused("");
    }
    unc(&["slo", "--rate", ".9", "--counts", "0/0"]).assert_refused("there were no trials");
}

#[test]
fn files_that_cannot_be_written_are_found_before_anything_runs() {
    let folder = Folder::new();
    let (ran, wanted) = (folder.file("ran"), folder.file("no/such/folder"));
    let command = format!("touch {ran}");
    for flag in ["--json", "--markdown", "--html"] {
        unc(&["slo", "--rate", ".9", "--at-most", "1h", flag, &wanted, "--", &command])
            .assert_refused("cannot be written");
        unc(&["compare", flag, &wanted, "--", &command, &command])
            .assert_refused("cannot be written");
    }
    assert!(!std::path::Path::new(&ran).exists());
}

#[test]
fn streams_without_numbers() {
    let slo = ["slo", "--quiet", "--rate", ".9", "--at-most", "5ms", "--from", "-"];
    unc_reading(&slo, "").assert_refused("standard input: there are no values");
    unc_reading(&slo, "1\n\n2\n").assert_refused("line 2");
    unc_reading(&slo, "1\nnan\n").assert_refused("line 2: 'nan' is not a number");
    unc_reading(&slo, "inf\n").assert_refused("line 1");
    unc_reading(&slo, "1\n2\nthree\n").assert_refused("line 3");
    unc_reading(&slo, "3MiB\n").assert_refused("is not a time");
    unc_reading(&slo, &"1".repeat(10_000)).assert_refused("line 1: the line is too long");
    unc_reading(&slo, "1\n2 3\n").assert_refused("line 2: 2 values; one value a line is expected");
    unc_reading(&slo, "5 ms 6 ms\n").assert_refused("line 1: 2 values; one value a line");
    unc_reading(&slo, "5 parsecs\n").assert_refused("unknown unit 'parsecs'");
    unc_reading(&slo, "1\n2").assert_status(3);
    unc_reading(&slo, "1\n2\r\n").assert_status(3);
    unc(&["slo", "--rate", ".9", "--at-most", "5", "--from", "/nonexistent"])
        .assert_refused("/nonexistent");
    let compare = ["compare", "--quiet", "--from", "-"];
    unc_reading(&compare, "").assert_refused("there are no values");
    unc_reading(&compare, "1 2\n1\n").assert_refused("line 2: '1' is not two values");
    unc_reading(&compare, "1 2 3\n").assert_refused("line 1");
    unc_reading(&compare, "1 nan\n").assert_refused("line 1");
    unc_reading(&compare, "1ms 2MiB\n").assert_refused("different units");
    unc_reading(&compare, "1 -2\n").assert_refused("below zero");
}

#[test]
fn questions_without_a_property_or_a_subject() {
    unc(&["slo", "--rate", ".9", "--", "true"]).assert_refused("--at-most");
    unc(&["slo", "--rate", ".9", "--at-most", "5ms"]).assert_refused("there is nothing to judge");
    unc(&["slo", "--rate", ".9", "--at-most", "5", "--", "true"])
        .assert_refused("the threshold of wall is not a time");
    unc(&["slo", "--rate", ".9", "--at-most", "5ms", "--metric", "max-rss", "--", "true"])
        .assert_refused("is not a size");
    unc(&["slo", "--rate", ".9", "--at-most", "5ms", "--at-least", "1ms", "--", "true"])
        .assert_refused("cannot be used");
    unc(&["slo", "--rate", ".9", "--at-most", "5 parsecs", "--", "true"])
        .assert_refused("unknown unit 'parsecs'; use ns, us, ms, s, m or h for a time");
    unc(&["compare", "--", "true"]).assert_refused("there is nothing to compare");
    unc(&["compare", "--baseline", "3", "--", "true", "true"])
        .assert_refused("--baseline 3 of 2 commands");
    unc(&["compare", "--aa", "--", "true", "true"]).assert_refused("--aa takes one command");
    unc(&["compare", "--margin", "-1", "--", "true", "true"]).assert_refused("is not a margin");
    for (flag, path) in [("--dir", "/nonexistent"), ("--input", "/nonexistent")] {
        let all = ["slo", "--rate", ".9", "--at-most", "5ms", flag, path, "--", "true"];
        unc(&all).assert_refused(&format!("{flag} {path}: "));
    }
    unc(&["compare", "--margin=-1%", "--", "true", "true"]).assert_refused("--margin");
    unc(&["compare", "--parameter-list", "n", "1,2", "--", "true"])
        .assert_refused("no command contains {n}");
}

#[test]
fn arguments_without_quotes_are_told_apart() {
    let said = unc(&["compare", "--", "/bin/sleep", "0.1", "/bin/sleep", "0.2"]);
    said.assert_refused("these are 4 commands: '/bin/sleep', '0.1', '/bin/sleep', '0.2'");
    assert!(said.err.contains("quote each command together"), "{}", said.err);
    // Neither two commands nor three programs are mistaken for arguments.
    unc(&["compare", "--", "true", "no-such-program"]).assert_refused("was not found");
    let three = unc(&[
        "compare",
        "--quiet",
        "--max-runs",
        "50",
        "--margin",
        "90%",
        "--",
        "true",
        "true",
        "true",
    ]);
    assert_ne!(three.status, 2, "{}", three.err);
}

#[test]
fn times_and_sizes_are_not_negative() {
    for value in ["-5ms", "-1 MiB"] {
        unc(&["slo", "--rate", ".9", "--at-most", value, "--", "true"])
            .assert_refused("is negative");
    }
    unc_reading(&["slo", "--quiet", "--rate", ".9", "--at-most", "5ms", "--from", "-"], "4\n-1\n")
        .assert_refused("line 2: '-1' is negative");
}

#[test]
fn commands_that_cannot_be_measured() {
    let slo = |line: &str, metric: &str| {
        unc(&["slo", "--quiet", "--rate", ".9", "--at-most", "5s", "--metric", metric, "--", line])
    };
    slo("/nonexistent/program", "wall").assert_refused("'/nonexistent/program' was not found");
    slo("/dev/null", "wall").assert_refused("'/dev/null' cannot be executed");
    slo("nonexistent-program | cat; exit 127", "wall").assert_refused("was not found (status 127)");
    slo("echo nothing", "regex:took (.*)").assert_refused("did not show the metric");
    slo("echo took 5MiB", "regex:took (.*)").assert_refused("a different unit");
    slo("", "wall").assert_refused("a command is empty");
    unc(&["slo", "--rate", ".9", "--at-most", "5s", "--shell", "none", "--", "echo 'unclosed"])
        .assert_refused("is never closed");
    slo("true", "speed").assert_refused("unknown metric 'speed'");
    slo("true", "regex:(").assert_refused("'('");
    unc(&["compare", "--", "true", "false"]).assert_refused("'false' failed with status 1");
    unc(&["compare", "--timeout", "10ms", "--", "sleep 5", "true"])
        .assert_refused("took longer than --timeout");
}

#[test]
fn a_budget_too_small_ever_to_decide_is_refused_before_any_run() {
    let folder = Folder::new();
    let ran = folder.file("ran");
    let touch = format!("touch {ran}");
    let slo = |most: &str| {
        unc(&[
            "slo",
            "--rate",
            ".9",
            "--or-below",
            ".5",
            "--at-most",
            "5s",
            "--max-runs",
            most,
            "--",
            &touch,
        ])
    };
    let said = slo("3");
    said.assert_refused("3 runs cannot decide this: it takes at least ");
    let fewest = said.err.split("at least ").nth(1).unwrap().split(',').next().unwrap().to_string();
    unc(&["compare", "--max-runs", "13", "--", &touch, &touch])
        .assert_refused("it takes at least 14");
    assert!(!std::path::Path::new(&ran).exists(), "nothing may run");
    // The stated number is the minimum: it is accepted, and one less is not.
    assert_ne!(slo(&fewest).status, 2);
    let less = (fewest.parse::<u64>().unwrap() - 1).to_string();
    slo(&less).assert_refused("cannot decide");
}

#[test]
fn a_failure_is_told_in_json_too() {
    let folder = Folder::new();
    let json = folder.file("json");
    unc(&["slo", "--rate", ".9", "--at-most", "5s", "--json", &json, "--", "/nonexistent"])
        .assert_refused("not found");
    let told: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(
        (&told["schema"], &told["verdict"]),
        (&"uncontended.verdict/1".into(), &"error".into())
    );
    assert!(told["error"].as_str().unwrap().contains("not found"));
    // Flags that do not parse are reported there too, if JSON was requested.
    for (arguments, words) in [
        (&["slo", "--rate", "2", "--json", &json][..], "--rate"),
        (
            &["compare", &format!("--json={json}"), "--margin", "x", "--", "true", "true"],
            "--margin",
        ),
        (&["permute", "--json", &json], "<A>"),
        (&["slo", "--json", &json, "--suite", "/nonexistent"], "/nonexistent"),
        (&["power", "slo", "--rate", "2", "--json", &json], "--rate"),
        (&["power", "compare", "--ratio", "0", "--spread", "1%", "--json", &json], "0"),
    ] {
        std::fs::remove_file(&json).unwrap();
        unc(arguments).assert_refused(words);
        let told: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        assert_eq!(told["verdict"], "error", "{arguments:?}");
        assert!(told["error"].as_str().unwrap().contains(words), "{told}");
    }
    // Everything after -- belongs to the command.
    unc(&["slo", "--rate", "2", "--", "true", "--json", &folder.file("none")])
        .assert_refused("--rate");
    assert!(!std::path::Path::new(&folder.file("none")).exists());
}

#[test]
fn outputs_that_cannot_be_are_refused_before_the_trial() {
    let folder = Folder::new();
    let (ran, file) = (folder.file("ran"), folder.file("out"));
    let command = format!("touch {ran}");
    let slo = |outputs: &[&str]| {
        let slo = ["slo", "--quiet", "--rate", ".9", "--at-most", "5s"];
        unc(&[&slo[..], outputs, &["--", &command]].concat())
    };
    slo(&["--json", &file, "--html", &file]).assert_refused("--json and --html both name ");
    slo(&["--markdown", &file, "--log", &file]).assert_refused("--markdown and --log both name ");
    slo(&["--html", "-", "--markdown", "-"]).assert_refused("--markdown and --html both name -");
    slo(&["--html", "."]).assert_refused(". cannot be written");
    slo(&["--log", "-"]).assert_refused("--log - is refused");
    let values = folder.file("values");
    std::fs::write(&values, "1\n2\n").unwrap();
    unc(&["permute", &values, &values, "--log", "-"]).assert_refused("--log - is refused");
    assert!(!std::path::Path::new(&ran).exists(), "nothing may run");
}

#[test]
fn files_of_another_kind() {
    let folder = Folder::new();
    let written = |name: &str, text: &str| {
        std::fs::write(folder.file(name), text).expect("a folder of ours");
        folder.file(name)
    };
    let text = written("text", "hello\n");
    unc(&["verdict", &text]).assert_refused("text: line 1: not JSON: expected value, at column 1");
    let other = written("other", "{\"a\":1}\n");
    unc(&["verdict", &other])
        .assert_refused("other: line 1: not a line of a log: unknown variant `a`");
    let place = folder.file(".");
    for line in [
        &["verdict", &place][..],
        &["litmus", &place],
        &["permute", &place, &place],
        &["slo", "--suite", &place],
        &["linearize", &place, "--spec", "queue"],
    ] {
        unc(line).assert_refused("cannot be read: ");
    }
}
