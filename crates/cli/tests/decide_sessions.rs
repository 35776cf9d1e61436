//! `unc record`, and `unc compare` with what it kept.

mod decide;

use decide::{Folder, Said, unc};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;
use uncontended_stats::Rng;
use uncontended_testkit::golden;

/// A command that counts its runs and prints a number that follows from the count, in no visible order: from 100 to
/// 109, times `factor`.
fn ticking(folder: &Folder, name: &str, factor: u32) -> String {
    let count = folder.file(name);
    format!(
        "n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) >{count}; echo $(((100 + n * n * 2654435 / 1000 % 10) * {factor}))"
    )
}

const METRIC: [&str; 2] = ["--metric", "regex:.+"];

fn record(log: &str, flags: &[&str], line: &str) -> Said {
    unc(&[&["record", "--quiet", "--log", log], &METRIC[..], flags, &["--", line]].concat())
}

fn compare(flags: &[&str], lines: &[&str]) -> Said {
    let flags = [&["compare", "--quiet"][..], flags].concat();
    unc(&if lines.is_empty() { flags } else { [&flags[..], &METRIC, &["--"], lines].concat() })
}

/// The lines of a log.
fn lines(log: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn runs_are_kept_without_a_question() {
    let folder = Folder::new();
    let log = folder.file("base.log");
    let control = ticking(&folder, "control", 1);
    let flags = ["--runs", "12", "--control", &control, "--warmup", "1"];
    let said = record(&log, &flags, &ticking(&folder, "own", 1));
    said.assert_status(0);
    assert!(
        said.out.starts_with("12 runs of '") && said.out.contains(" are kept in "),
        "{}",
        said.out
    );
    let kept = lines(&log);
    assert_eq!(kept.len(), 1 + 24 + 1);
    let head = &kept[0]["head"];
    assert_eq!(
        (&head["hypothesis"]["kind"], &head["hypothesis"]["control"]),
        (&"record".into(), &control.into())
    );
    assert!(head["machine"]["kernel"].is_string(), "{head}");
    let arms: Vec<u64> =
        kept[1..25].iter().map(|line| line["run"]["arm"].as_u64().unwrap_or(0)).collect();
    for pair in arms.chunks(2) {
        assert_eq!(pair.iter().sum::<u64>(), 1, "interleaved pair by pair: {arms:?}");
    }
    assert!(
        arms.chunks(2).any(|pair| pair[0] == 1) && arms.chunks(2).any(|pair| pair[0] == 0),
        "{arms:?}"
    );
    let again = unc(&["verdict", &log]);
    assert_eq!((again.status, again.out.lines().count()), (3, 5), "{}", again.out);
    assert!(
        again.out.starts_with("recorded: 12 runs of ") && again.out.contains("nothing was asked"),
        "{}",
        again.out
    );
    // A time alone limits them too; the wall time is the usual metric.
    let said = unc(&["record", "--quiet", "--for", "200ms", "-o", &log, "--", "true"]);
    said.assert_refused("exists, and a recording would replace it");
    let said = unc(&["record", "--quiet", "--force", "--for", "200ms", "-o", &log, "--", "true"]);
    said.assert_status(0);
    assert_eq!(lines(&log).last().unwrap()["end"]["stop"], "max-time");
}

#[test]
fn an_interrupt_keeps_the_runs_so_far() {
    let folder = Folder::new();
    let log = folder.file("base.log");
    let mut command = decide::command(&["record", "--quiet", "-o", &log, "--", "sleep 0.01"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let text = || std::fs::read_to_string(&log).unwrap_or_default();
    while text().lines().count() < 4 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (out, signal) = decide::interrupt(child);
    assert_eq!(signal, decide::TERMINATED);
    assert!(out.contains("are kept in"), "{out}");
    assert_eq!(lines(&log).last().unwrap()["end"]["stop"], "interrupted");
}

/// Without a control, nothing tells the machine from the candidate, whichever answer the runs give.
#[test]
fn sessions_alone_answer_nothing() {
    let folder = Folder::new();
    let (base, new, live) = (folder.file("base"), folder.file("new"), folder.file("live"));
    record(&base, &["--runs", "60"], &ticking(&folder, "a", 10)).assert_status(0);
    record(&new, &["--runs", "60"], &ticking(&folder, "b", 20)).assert_status(0);
    let logs = ["--baseline", &base, "--candidate", &new];
    let said = compare(&logs, &[]);
    said.assert_status(3);
    let words = [
        "but the reason is the candidate, or the machine between the sessions",
        "60 runs against 60",
        "--trust-sessions",
    ];
    words.iter().for_each(|words| assert!(said.out.contains(words), "{}", said.out));
    assert!(!said.out.contains("certain"), "{}", said.out);
    compare(&[&logs[..], &["--trust-sessions"]].concat(), &[]).assert_status(1);
    let json = compare(&[&logs[..], &["--json", "-"]].concat(), &[]).json();
    assert_eq!(
        (&json["verdict"], &json["sessions"]["told"], &json["relation"]),
        (&"undecided".into(), &"no".into(), &"unknown".into())
    );
    // A yes is worth as little.
    let backwards = ["--baseline", &new, "--candidate", &base];
    let said = compare(&backwards, &[]);
    said.assert_status(3);
    assert!(said.out.contains("may have changed between the sessions and hide"), "{}", said.out);
    compare(&[&backwards[..], &["--trust-sessions"]].concat(), &[]).assert_status(0);
    // The same with a candidate that runs now, whose verdict its log gives again.
    let now = ["--baseline", &base, "--log", &live, "--json", "-"];
    for (flag, status) in [(None, 3), (Some("--trust-sessions"), 1)] {
        let flags: Vec<&str> = now.into_iter().chain(flag).collect();
        let said = compare(&flags, &[&ticking(&folder, "c", 20)]);
        said.assert_status(status);
        let (first, again) =
            (said.json(), unc(&["verdict", &live, "--quiet", "--json", "-"]).json());
        for field in ["verdict", "effect", "sessions", "evidence", "n", "warnings", "stopped_by"] {
            assert_eq!(first[field], again[field], "{field}");
        }
        assert!(first["n"].as_u64() < Some(60), "it stops when the ratio is known: {first}");
    }
    let page = folder.file("page.html");
    compare(&[&logs[..], &["--html", &page]].concat(), &[]).assert_status(3);
    assert!(!std::fs::read_to_string(&page).unwrap().contains("Pairs"));
}

/// A machine that became twice as slow, as the control shows.
#[test]
fn a_control_takes_the_machine_out() {
    let folder = Folder::new();
    let (base, new) = (folder.file("base"), folder.file("new"));
    // The control is one command line, which the state of the machine slows.
    let slowed = format!("* $(cat {}))", folder.file("machine"));
    let control = ticking(&folder, "control", 1).replace("* 1)", &slowed);
    let machine = |factor: &str| std::fs::write(folder.file("machine"), factor).unwrap();
    machine("1");
    record(&base, &["--runs", "100", "--control", &control], &ticking(&folder, "a", 10))
        .assert_status(0);
    machine("2");
    let slow = ticking(&folder, "b", 20);
    let said = compare(&["--baseline", &base, "--margin", "10%", "--json", "-"], &[&slow]);
    said.assert_status(0);
    let json = said.json();
    let ratio = json["sessions"]["control"]["ratio"].as_f64().unwrap();
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
    let warning = "the machine changed between the sessions";
    assert!(json["warnings"].to_string().contains(warning), "{}", json["warnings"]);
    let said = compare(&["--baseline", &base, "--margin", "10%"], &[&slow]);
    assert!(said.out.contains("by the control '"), "{}", said.out);
    compare(&["--baseline", &base, "--margin", "10%"], &[&ticking(&folder, "c", 40)])
        .assert_status(1);
    record(&new, &["--runs", "100", "--control", &control], &slow).assert_status(0);
    compare(&["--baseline", &base, "--candidate", &new, "--margin", "10%"], &[]).assert_status(0);
    compare(&["--baseline", &base, "--candidate", &new, "--trust-sessions"], &[]).assert_status(1);
    let other = folder.file("other");
    record(&other, &["--runs", "20", "--control", "echo 3"], "echo 4").assert_status(0);
    compare(&["--baseline", &base, "--candidate", &other], &[])
        .assert_refused("different controls");
}

/// A log is as trusted as a script: what runs because of it is said before it runs, with nothing hidden.
#[test]
fn a_control_is_said_before_it_runs() {
    let folder = Folder::new();
    let base = folder.file("base");
    let control = "echo ran >&2; echo 3";
    record(&base, &["--runs", "30", "--control", control], "echo 5").assert_status(0);
    let against = |flags: &[&str]| {
        let flags = [&["--baseline", base.as_str(), "--show-output"], flags].concat();
        compare(&flags, &["echo 5"]).err
    };
    let notice = format!("Running the control in {base}: echo ran >&2; echo 3");
    let said = against(&[]);
    assert_eq!(said.lines().next(), Some(notice.as_str()), "{said}");
    assert!(said.lines().any(|line| line == "ran"), "{said}");
    assert_eq!(against(&["--trust-sessions"]), "", "it does not run");
    assert_eq!(compare(&["--baseline", &base, "--candidate", &base], &[]).err.find(&notice), None);
    let odd = std::fs::read_to_string(&base).unwrap();
    let odd = odd.replace("echo 3\"", "echo 3 \\u001b[8m # \\n\"");
    std::fs::write(&base, odd).unwrap();
    let said = against(&[]);
    assert_eq!(said.lines().next(), Some(format!(r"{notice} \u{{1b}}[8m # \n").as_str()), "{said}");
}

/// The metric is the recording's, unless another is given.
#[test]
fn a_log_says_what_is_measured() {
    let folder = Folder::new();
    let base = folder.file("base");
    record(&base, &["--runs", "30"], "echo 5").assert_status(0);
    let flags = ["compare", "--quiet", "--baseline", &base, "--margin", "1%", "--trust-sessions"];
    let against = |more: &[&str]| unc(&[&flags[..], more].concat());
    let said = against(&["--json", "-", "--", "echo 5"]);
    said.assert_status(0);
    assert_eq!(said.json()["hypothesis"]["metric"], "regex:.+");
    let p90 = against(&["--quantile", "p90", "--json", "-", "--", "echo 5"]).json();
    assert_eq!(p90["hypothesis"]["metric"], "regex:.+");
    against(&["--", "true"]).assert_refused("did not show the metric regex:.+");
    let values = folder.file("values");
    let slo =
        ["slo", "--quiet", "--at-most", "5", "--rate", "90%", "--from", "-", "--log", &values];
    decide::unc_reading(&slo, &"3\n".repeat(200)).assert_status(0);
    unc(&["compare", "--baseline", &values, "--", "true"])
        .assert_refused("has runs of the metric value, not of wall");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = Folder::new();
    let (base, cut, failed) = (folder.file("base"), folder.file("cut"), folder.file("failed"));
    record(&base, &["--runs", "30"], "echo 5").assert_status(0);
    let against =
        |flags: &[&str]| compare(&[&["--baseline", base.as_str()], flags].concat(), &["echo 5"]);
    against(&["--margin", "1%", "--trust-sessions"]).assert_status(0);
    unc(&["compare", "--baseline", &base, "--metric", "wall", "--", "true"])
        .assert_refused("has runs of the metric regex:.+, not of wall");
    compare(&["--baseline", &base], &["echo 5", "echo 6"]).assert_refused("2 commands for one log");
    compare(&["--baseline", &base, "--margin", "1%", "--trust-sessions"], &["echo", "5"])
        .assert_status(0);
    against(&["--block", "3"]).assert_refused("--block is about runs that alternate");
    against(&["--aa"]).assert_refused("is compared with one command or one log");
    against(&["--candidate", &base]).assert_status(2);
    compare(&["--baseline", &base, "--candidate", &base], &[])
        .assert_refused("both the baseline and the candidate");
    compare(&["--baseline", "1", "--trust-sessions"], &["echo 5", "echo 5"])
        .assert_refused("are about a recorded baseline");
    compare(&["--trust-sessions"], &["echo 5", "echo 5"]).assert_status(2);
    compare(&["--baseline", "nothing.log"], &["echo 5"]).assert_refused("nothing.log");
    record(&failed, &["--runs", "30", "-i"], "echo 5; exit 3").assert_status(0);
    compare(&["--baseline", &failed], &["echo 5"]).assert_refused("30 of its 30 runs failed");
    record(&failed, &["--runs", "30", "--force"], "echo 5; exit 3")
        .assert_refused("failed with status 3");
    assert_eq!(lines(&failed).len(), 32, "the earlier recording stays");
    let text = std::fs::read_to_string(&base).unwrap();
    let tries = |text: &str, words: &str| {
        std::fs::write(&cut, text).unwrap();
        compare(&["--baseline", &cut], &["echo 5"]).assert_refused(words);
        compare(&["--baseline", &base, "--candidate", &cut], &[]).assert_refused(words);
    };
    tries("", "there is nothing in it");
    tries("# not JSON", "line 1: not JSON");
    tries(&format!("{}\n", text.lines().next().unwrap()), "there is no run in it");
    let few: String = text.lines().take(4).map(|line| format!("{line}\n")).collect();
    tries(&few, "cannot decide this, even if all agree");
    // Whatever is cut off, the rest is read, or refused in one line.
    for end in (0..text.len()).step_by(97) {
        std::fs::write(&cut, &text[..end]).unwrap();
        let said = compare(&["--baseline", &base, "--candidate", &cut], &[]);
        assert!([2, 3].contains(&said.status), "{end}: {} {}", said.out, said.err);
        assert!(!said.err.contains("panic"), "{end}: {}", said.err);
    }
    let whole: String = text.lines().take(31).map(|line| format!("{line}\n")).collect();
    std::fs::write(&cut, whole).unwrap();
    let said = compare(&["--baseline", &base, "--candidate", &cut, "--trust-sessions"], &[]);
    assert!(said.status == 0 && said.out.contains("breaks off"), "{} {}", said.out, said.err);
}

#[test]
fn the_machines_are_compared() {
    let folder = Folder::new();
    let (base, other) = (folder.file("base"), folder.file("other"));
    record(&base, &["--runs", "30"], "echo 5").assert_status(0);
    let head = lines(&base)[0]["head"]["machine"]["kernel"].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(&base).unwrap();
    std::fs::write(&other, text.replace(&format!("\"kernel\":\"{head}\""), "\"kernel\":\"0.1\""))
        .unwrap();
    let said = compare(&["--baseline", &base, "--candidate", &other], &[]);
    let line = format!("warning: between the sessions, the kernel was {head}, and then 0.1");
    assert!(said.out.lines().any(|said| said == line), "{}", said.out);
}

/// What the flags set is kept, and a difference is said as one of the machine is.
#[test]
fn the_settings_are_compared() {
    let folder = Folder::new();
    let (base, other, dir) = (folder.file("base"), folder.file("other"), folder.file(""));
    let kept = |log: &str| lines(log)[0]["head"]["circumstances"].clone();
    let own = ["--runs", "30", "--env", "N=5", "--dir", &dir, "--input", "/dev/null", "-w", "1"];
    let around = ["--prepare", "true", "--shell", "/bin/sh", "--force"];
    record(&base, &[&own[..], &around].concat(), "echo $N").assert_status(0);
    let expected = serde_json::json!({"env": {"N": "5"}, "dir": dir, "input": "/dev/null", "shell": "/bin/sh", "prepare": ["true"], "warmup": 1});
    assert_eq!(kept(&base), expected);
    let warned = |said: &Said| -> Vec<String> {
        let lines = said.out.lines();
        let lines =
            lines.filter_map(|line| line.strip_prefix("warning: between the sessions, the "));
        lines.filter(|line| line.starts_with("setting")).map(str::to_owned).collect()
    };
    let said = compare(
        &[&["--baseline", &base, "--trust-sessions", "--env", "N=6"], &around[..4]].concat(),
        &["echo $N"],
    );
    let found = [
        "setting env N was '5', and then '6'".to_owned(),
        format!("setting dir was '{dir}', and then not given"),
        "setting input was '/dev/null', and then not given".to_owned(),
        "setting warmup was '1', and then not given".to_owned(),
    ];
    assert_eq!(warned(&said), found, "{}", said.out);
    // Two recordings; an older one, which knows none of it, differs in nothing.
    record(&other, &["--runs", "30"], "echo 5").assert_status(0);
    assert_eq!(kept(&other), serde_json::json!({}));
    let logs = ["--baseline", &base, "--candidate", &other];
    assert_eq!(warned(&compare(&logs, &[])).len(), 6);
    let text = std::fs::read_to_string(&other).unwrap();
    std::fs::write(&other, text.replace(",\"circumstances\":{}", "")).unwrap();
    assert_eq!(kept(&other), Value::Null);
    assert_eq!(warned(&compare(&logs, &[])), [""; 0]);
    // The control has a command of its own before it.
    let flags = ["--runs", "30", "--control", "echo 3", "--prepare", "true", "--prepare"];
    record(&base, &[&flags[..], &["echo", "--force"]].concat(), "echo 5").assert_status(0);
    let said = compare(&["--baseline", &base, "--prepare", "true"], &["echo 5"]);
    assert_eq!(warned(&said), ["setting prepare was 'true | echo', and then 'true'"]);
    let said =
        compare(&["--baseline", &base, "--prepare", "true", "--trust-sessions"], &["echo 5"]);
    assert_eq!(warned(&said), [""; 0]);
    let page = folder.file("page.html");
    unc(&["verdict", &base, "--html", &page]).assert_status(3);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<dt>settings</dt><dd>prepare: true | echo</dd>"), "{page}");
}

/// The texts, from logs with fixed values.
#[test]
fn the_texts() {
    let folder = Folder::new();
    let mut rng = Rng::new(17);
    let mut log = |name: &str, control: Option<&str>, factors: [f64; 2]| {
        let control = control.map_or(Value::Null, Value::from);
        let hypothesis = serde_json::json!({"kind": "record", "metric": "wall", "unit": "ns", "command": "./bench", "control": control, "ignore_failure": false});
        let head = serde_json::json!({"head": {"schema": "uncontended.verdict-log/1", "hypothesis": hypothesis, "seed": "1", "warnings": []}});
        let mut text = format!("{head}\n");
        let arms = if control.is_null() { 1 } else { 2 };
        for _ in 0..200 {
            for (arm, factor) in factors.into_iter().enumerate().take(arms) {
                let value = (factor * 1e6 * (1.0 + 0.05 * rng.unit())).round();
                let run = serde_json::json!({"run": {"arm": arm, "value": value, "outcome": "ok"}});
                text += &format!("{run}\n");
            }
        }
        text += "{\"end\":{\"stop\":\"max-runs\",\"verdict\":\"undecided\"}}\n";
        std::fs::write(folder.file(name), text).unwrap();
    };
    log("base.log", Some("./control"), [10.0, 3.0]);
    log("slow.log", None, [11.0, 3.0]);
    log("fast.log", None, [9.0, 3.0]);
    log("same.log", Some("./control"), [11.0, 3.3]);
    log("worse.log", Some("./control"), [11.0, 3.0]);
    let mut all = String::new();
    for (name, flags) in [
        ("slow.log", &[][..]),
        ("slow.log", &["--trust-sessions"][..]),
        ("fast.log", &[]),
        ("same.log", &["--margin", "5%"]),
        ("worse.log", &["--margin", "5%"]),
        ("worse.log", &["--quantile", "p90", "--margin", "5%"]),
    ] {
        let given = ["compare", "--quiet", "--baseline", "base.log", "--candidate", name];
        let given = [&given[..], flags].concat();
        let mut command = decide::command(&given);
        let said = decide::said(command.current_dir(folder.path()).output().unwrap());
        all += &format!("$ unc {}\n{}exit status {}\n\n", given.join(" "), said.out, said.status);
    }
    let kept = decide::said(
        decide::command(&["verdict", "base.log"]).current_dir(folder.path()).output().unwrap(),
    );
    all += &format!("$ unc verdict base.log\n{}exit status {}\n", kept.out, kept.status);
    golden(env!("CARGO_MANIFEST_DIR"), "sessions.txt", &all);
}
