//! `unc linearize` end to end: what it prints, its JSON, its exit statuses, and what it says of bad input.

mod common;

use common::{text, unc_reads};
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

fn unc(arguments: &[&str], input: &str) -> Output {
    unc_reads(&[&["linearize", "-"][..], arguments].concat(), input)
}

const OVERTAKEN: &str = r#"{"schema":"uncontended.operations/1","unit":"us"}
{"client":0,"op":"enqueue","value":5,"call":100,"return":180}
{"client":"w","op":"enqueue","value":7,"call":200,"return":260}
{"client":2,"op":"dequeue","call":250}
{"client":2,"return":300,"result":7}
{"client":2,"op":"enqueue","value":9,"call":350,"return":400}
"#;

#[test]
fn a_value_that_was_overtaken_is_told_in_words_and_drawn() {
    let output = unc(&["--spec", "queue"], OVERTAKEN);
    let expected = "\
NOT linearizable: 4 operations of 3 clients on a queue.

dequeue by client 2 returned 7 at 300 us, but 5 was enqueued before 7 (enqueue 5
had returned by 180 us; enqueue 7 was not called until 200 us) and 5 had not
been dequeued by then.

  client 0  |---|                     enqueue 5     line 2
  client 2               |---------|  dequeue -> 7  line 4
  client w           |--------|       enqueue 7     line 3
            0                   +200  time from 100 us, not to scale

This set is minimal: drop the timing and result of any one, and the rest is
linearizable.
Decided without search.
";
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_documents_keep_their_contract() {
    let output = unc(&["--spec", "queue", "--json", "-"], OVERTAKEN);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["schema"], "uncontended.linearize/1");
    assert_eq!((&document["verdict"], &document["operations"]), (&"no".into(), &4.into()));
    let core = &document["core"];
    assert_eq!(core["minimal"], true);
    let lines: Vec<_> = core["operations"].as_array().unwrap().iter().map(|o| &o["line"]).collect();
    assert_eq!(lines, [2, 3, 4]);
    let page = text(&unc(&["--spec", "queue", "--html", "-"], OVERTAKEN).stdout);
    assert!(
        page.contains("<svg class=\"operations\"")
            && page.contains("client 2: dequeue -&gt; 7 (line 4)"),
        "{page}"
    );
}

/// A verdict's exit status and its first line.
#[track_caller]
fn verdict(flags: &[&str], input: &str, status: i32, first: &str) {
    let output = unc(flags, input);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(status), "{said}{}", text(&output.stderr));
    assert!(said.lines().next().unwrap().starts_with(first), "{said}");
}

#[test]
fn every_structure_has_its_operations() {
    let stack = r#"{"client":1,"op":"push","value":"a","call":1,"return":2}
{"client":1,"op":"push","value":"b","call":3,"return":4}
{"client":2,"op":"pop","call":5,"return":6,"result":"RESULT"}"#;
    verdict(&["--spec", "stack"], &stack.replace("RESULT", "b"), 0, "Linearizable: 3 operations");
    verdict(&["--spec", "stack"], &stack.replace("RESULT", "a"), 1, "NOT linearizable");
    let said = text(&unc(&["--spec", "stack"], &stack.replace("RESULT", "a")).stdout);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = r#"returned "a" at 6 ns, but "b" was pushed on top of "a" (push "a" had returned by 2 ns; push "b" was not called until 3 ns) and "b" had not been popped by then."#;
    assert!(words.contains(reason), "{said}");
    let set = r#"{"client":1,"op":"insert","value":4,"call":1,"return":2,"result":true}
{"client":1,"op":"remove","value":4,"call":3,"return":4,"result":RESULT}
{"client":1,"op":"contains","value":4,"call":5,"return":6,"result":false}"#;
    verdict(&["--spec", "set"], &set.replace("RESULT", "true"), 0, "Linearizable");
    verdict(&["--spec", "set"], &set.replace("RESULT", "false"), 1, "NOT linearizable");
    let register = r#"{"client":1,"op":"cas","old":0,"new":4,"call":1,"return":2,"result":true}
{"client":1,"op":"write","value":5,"call":3}
{"client":2,"op":"read","call":5,"return":6,"result":4}"#;
    verdict(&["--spec", "register", "--initial", "0"], register, 0, "Linearizable");
    verdict(&["--spec", "register"], register, 1, "NOT linearizable");
    let map = r#"{"client":1,"op":"put","key":"k","value":4,"call":1,"return":2}
{"client":1,"op":"delete","key":"k","call":3,"return":4,"result":true}
{"client":2,"op":"get","key":"k","call":5,"return":6,"result":RESULT}
{"client":2,"op":"get","key":"other","call":7,"return":8,"result":null}"#;
    verdict(&["--spec", "map"], &map.replace("RESULT", "null"), 0, "Linearizable");
    verdict(&["--spec", "map"], &map.replace("RESULT", "4"), 1, "NOT linearizable");
    let full = r#"{"client":1,"op":"enqueue","value":1,"call":1,"return":2,"result":true}
{"client":1,"op":"enqueue","value":2,"call":3,"return":4,"result":false}"#;
    verdict(&["--spec", "queue", "--capacity", "1"], full, 0, "Linearizable");
    verdict(&["--spec", "queue", "--capacity", "2"], full, 1, "NOT linearizable");
}

#[test]
fn equal_times_order_nothing_and_that_is_said() {
    let tied = r#"{"client":1,"op":"write","value":1,"call":1,"return":5}
{"client":1,"op":"read","call":5,"return":6,"result":null}"#;
    let output = unc(&["--spec", "register"], tied);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout).replace('\n', " ");
    assert!(said.contains("1 operation was called at the very time"), "{said}");
}

/// Values that go in at once, and one that comes out and never went in: every order of them is a state. The bound keeps
/// shortcuts away.
fn hard() -> String {
    let put = |client: u32| {
        format!(r#"{{"client":{client},"op":"enqueue","value":{client},"call":1,"return":50}}"#)
    };
    let lines: Vec<String> = (0..14).map(put).collect();
    lines.join("\n") + "\n" + r#"{"client":0,"op":"dequeue","call":60,"return":70,"result":77}"#
}

const BOUNDED: [&str; 4] = ["--spec", "queue", "--capacity", "99"];

#[test]
fn a_limit_is_neither_yes_nor_no() {
    let history = hard();
    let memory = [&BOUNDED[..], &["--max-memory", "1MiB"]].concat();
    verdict(&memory, &history, 3, "Undecided, since it takes more than --max-memory 1 MiB");
    let time = [&BOUNDED[..], &["--max-time", "100ms"]].concat();
    verdict(&time, &history, 3, "Undecided, since it takes longer than --max-time 100 ms");
    let help = text(&unc(&["--help"], "").stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[default: 8GiB, or half of what the machine"), "{help}");
}

#[test]
fn an_interrupt_is_neither_yes_nor_no() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unc"))
        .args(["linearize", "-"])
        .args(BOUNDED)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("unc starts");
    child.stdin.take().unwrap().write_all(hard().as_bytes()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).starts_with("Undecided, since it was interrupted"), "{output:?}");
}

/// Bad input: exit status 2, with these words.
#[track_caller]
fn refused(spec: &str, input: &str, words: &[&str]) {
    let output = unc(&["--spec", spec], input);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
}

const DONE: &str = r#"{"client":1,"op":"enqueue","value":1,"call":10,"return":20}"#;

#[test]
fn lines_that_cannot_be_read_are_told_with_cause_and_remedy() {
    let with = |line: &str| format!("{DONE}\n{line}\n");
    refused("queue", &with(r#"{"client":1,"op":"enq"#), &["line 2", "not closed", "cut off"]);
    refused("queue", &with(r#"{"client":1,"op":"enqueue""#), &["line 2", "ends too early"]);
    refused("queue", &with("nonsense"), &["line 2", "column 1", "JSON"]);
    refused("queue", &with("[1]"), &["line 2", "array", "one object per line"]);
    refused("queue", &with("{}"), &["line 2", "\"client\" is missing"]);
    refused("queue", &with(r#"{"client":1,"client":2}"#), &["line 2", "duplicate field `client`"]);
    refused("queue", &with(r#"{"client":1,"colour":2}"#), &["line 2", "colour"]);
    refused(
        "queue",
        &with(r#"{"client":1,"op":"push","value":1,"call":30}"#),
        &["unknown operation \"push\"", "enqueue, dequeue"],
    );
    refused("queue", &with(r#"{"client":1,"op":"enqueue","call":30}"#), &["\"value\" is missing"]);
    refused(
        "queue",
        &with(r#"{"client":1,"op":"dequeue","call":30,"return":40}"#),
        &["\"result\" is missing"],
    );
    refused(
        "queue",
        &with(r#"{"client":1,"op":"enqueue","value":2,"call":30,"return":40,"result":false}"#),
        &["--capacity"],
    );
    refused(
        "queue",
        &with(r#"{"client":1,"op":"dequeue","call":30,"result":1}"#),
        &["\"return\" is missing"],
    );
    refused("queue", &with(r#"{"client":1,"op":"dequeue"}"#), &["\"call\" is missing"]);
    refused("queue", &with(r#"{"client":1,"call":30}"#), &["\"op\" is missing"]);
    refused("queue", &with(r#"{"client":1}"#), &["\"op\" and \"return\" are both missing"]);
    refused("queue", &with(r#"{"client":true,"op":"dequeue","call":30}"#), &["not a client"]);
    refused("queue", &with(r#"{"schema":"uncontended.operations/1"}"#), &["line 2", "first line"]);
    refused("queue", r#"{"schema":"uncontended.operations/9"}"#, &["unknown schema"]);
    refused("queue", r#"{"schema":"uncontended.operations/1","unit":"min"}"#, &["unknown unit"]);
    refused("queue", "", &["the file has no operations"]);
    refused("queue", "\n\n", &["the file has no operations"]);
    refused("queue", &format!("{{\"client\":\"{}\"", "x".repeat(2 << 20)), &["longer than 1 MiB"]);
    refused("queue", &with("{\"client\":\"\u{0}\"}"), &["line 2"]);
    refused(
        "set",
        r#"{"client":1,"op":"insert","value":1,"call":1,"return":2}"#,
        &["true or false"],
    );
    refused(
        "map",
        r#"{"client":1,"op":"get","call":1,"return":2,"result":1}"#,
        &["\"key\" is missing"],
    );
}

#[test]
fn histories_that_contradict_themselves_are_refused() {
    let with = |lines: &str| format!("{DONE}\n{lines}\n");
    let open = r#"{"client":1,"op":"dequeue","call":30}"#;
    refused(
        "queue",
        &with(&format!("{open}\n{open}")),
        &["line 3", "call of line 2", "a new client"],
    );
    refused(
        "queue",
        &with(r#"{"client":1,"return":30,"result":1}"#),
        &["line 2", "returns without a call"],
    );
    refused(
        "queue",
        &with(r#"{"client":1,"op":"dequeue","call":15,"return":30,"result":1}"#),
        &["time goes back"],
    );
    refused(
        "queue",
        &with(r#"{"client":1,"op":"dequeue","call":50,"return":30,"result":1}"#),
        &["time goes back"],
    );
    let id = r#"{"id":4,"client":1,"op":"dequeue","call":30}"#;
    refused("queue", &format!("{id}\n{id}"), &["line 2"]);
    let closed = r#"{"id":4,"client":1,"return":40,"result":null}"#;
    refused(
        "queue",
        &format!("{id}\n{closed}\n{id}"),
        &["line 3", "id 4 is already used in line 1"],
    );
    refused("queue", &format!("{id}\n{closed}\n{closed}"), &["line 3", "id 4", "called in line 1"]);
    let unknown = closed.replace('4', "7");
    refused("queue", &format!("{id}\n{unknown}"), &["line 2", "id 7", "was never called"]);
    let other = r#"{"id":4,"client":2,"return":40,"result":null}"#;
    refused("queue", &format!("{id}\n{other}"), &["another client returns from it"]);
}

#[test]
fn values_that_are_no_values_are_refused() {
    let with = |value: &str| {
        format!("{DONE}\n{{\"client\":1,\"op\":\"enqueue\",\"value\":{value},\"call\":30}}\n")
    };
    refused("queue", &with("\"a\""), &["line 2", "\"a\" among values of another type"]);
    refused("queue", &with("18446744073709551615"), &["line 2", "64 bits", "string"]);
    refused("queue", &with("123456789012345678901234567890"), &["64 bits", "string"]);
    refused("queue", &with("1.5"), &["64 bits"]);
    refused("queue", &with("null"), &["null is not one of the values"]);
    refused("queue", &with("[1]"), &["line 2"]);
    let at = |time: &str| format!("{{\"client\":1,\"op\":\"dequeue\",\"call\":{time}}}\n");
    refused("queue", &at("-5"), &["-5 is not a time"]);
    refused("queue", &at("\"noon\""), &["not a time"]);
    for time in ["1.5", "1e9", "9223372036854775808", "99999999999999999999", "true"] {
        refused("queue", &at(time), &["is not a time", "whole numbers below 2^63"]);
    }
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    let refused = |flags: &[&str], words: &str| {
        let output = unc(flags, DONE);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    };
    refused(&["--spec", "set", "--capacity", "3"], "only to queues and stacks");
    refused(&["--spec", "queue", "--initial", "3"], "only to registers");
    refused(&["--spec", "queue", "--max-memory", "3s"], "not a size");
    refused(&["--spec", "queue", "--json", "-", "--html", "-"], "both name -");
    refused(&["--spec", "bag"], "invalid value");
    refused(&[], "--spec");
    let output = Command::new(env!("CARGO_BIN_EXE_unc"))
        .args(["linearize", "/no/such/file", "--spec", "queue"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/no/such/file cannot be read"));
    let folder = Command::new(env!("CARGO_BIN_EXE_unc"))
        .args(["linearize", "/tmp", "--spec", "queue"])
        .output()
        .unwrap();
    assert_eq!(folder.status.code(), Some(2));
    let said = text(&folder.stderr);
    assert!(said.contains("is a directory") && said.contains("name a history"), "{said}");
}

#[test]
fn no_file_is_written_over_another() {
    let folder = uncontended_testkit::Folder::new();
    let at = |name: &str| folder.file(name);
    let (history, link, hard, out) = (at("h.jsonl"), at("link"), at("hard"), at("o"));
    std::fs::write(&history, OVERTAKEN).unwrap();
    std::os::unix::fs::symlink(&history, &link).unwrap();
    std::fs::hard_link(&history, &hard).unwrap();
    let refused = |arguments: &[&str], words: &str| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_unc")).args(arguments).output().expect("unc starts");
        let said = text(&output.stderr);
        let status = if arguments[0] == "run" { 125 } else { 2 };
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains(words) && said.lines().count() == 2, "{words:?} is not in {said}");
    };
    // What is thrown away may be thrown away twice.
    let lost =
        ["linearize", &history, "--spec", "queue", "--json", "/dev/null", "--html", "/dev/null"];
    let output = Command::new(env!("CARGO_BIN_EXE_unc")).args(lost).output().expect("unc starts");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let roundabout = at("../") + folder.path().file_name().unwrap().to_str().unwrap() + "/o";
    for same in [&history, &link, &hard] {
        for flag in ["--json", "--html"] {
            let words = format!("FILE and {flag} both name {same}");
            refused(&["linearize", &history, "--spec", "queue", flag, same], &words);
        }
    }
    let both = ["linearize", &history, "--spec", "queue", "--json", &out, "--html", &roundabout];
    refused(&both, "--json and --html both name");
    let nowhere = at("no/such");
    let unwritable = ["linearize", "/no/such", "--spec", "queue", "--html", &nowhere];
    refused(&unwritable, "cannot be written");
    refused(
        &["slo", "--at-most", "1", "--from", &history, "--json", &history],
        "--from and --json",
    );
    refused(&["slo", "--json", &out, "--html", &roundabout, "true"], "--json and --html");
    refused(&["slo", "--suite", &history, "--html", &link], "--suite and --html");
    refused(&["compare", "--from", &history, "--markdown", &link], "--from and --markdown");
    refused(&["verdict", &history, "--json", &history], "LOG and --json");
    refused(&["permute", &history, &history, "--json", &history], "A and --json");
    refused(&["report", &history, "--json", &link], "TRACE and --json");
    refused(&["report", &history, "--html", &out, "--folded", &roundabout], "--html and --folded");
    refused(&["run", "--json", &out, "--html", &roundabout, "true"], "--json and --html");
    let input = std::fs::File::open(&history).unwrap();
    let redirected = Command::new(env!("CARGO_BIN_EXE_unc"))
        .args(["linearize", "-", "--spec", "queue", "--json", &history])
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!(redirected.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&history).unwrap(), OVERTAKEN);
}

#[test]
fn values_that_begin_with_a_hyphen_are_values() {
    let register = r#"{"client":1,"op":"read","call":5,"return":6,"result":-1}"#;
    verdict(&["--spec", "register", "--initial", "-1"], register, 0, "Linearizable");
    let refused = |arguments: &[&str], words: &str| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_unc")).args(arguments).output().expect("unc starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && !said.contains("'-- "), "{words:?} is not in {said}");
    };
    refused(&["linearize", "-", "--spec", "queue", "--max-time", "-1s"], "'-1s'");
    refused(&["linearize", "-", "--spec", "queue", "--max-memory", "-1MiB"], "'-1MiB'");
    refused(&["linearize", "-", "--spec", "queue", "--capacity", "-1"], "'-1'");
    refused(&["compare", "--margin", "-3%", "true", "true"], "'-3%'");
    refused(&["compare", "--max-time", "-1s", "true", "true"], "'-1s'");
    refused(&["compare", "--block", "-1", "true", "true"], "'-1'");
    refused(&["power", "slo", "--rate", "98%", "--at", "-1"], "'-1'");
    refused(&["power", "compare", "--ratio", "-1", "--spread", "5%"], "-1");
    refused(&["power", "compare", "--ratio", "0.9", "--spread", "-5%"], "'-5%'");
    refused(&["power", "permute", "--size", "-1", "--shift", "1"], "'-1'");
    refused(&["slo", "--rate", "98%", "--counts", "-1/4"], "-1/4");
    refused(&["slo", "--rate", "-3%", "--counts", "1/4"], "'-3%'");
    refused(&["slo", "--rate", "98%", "--max-runs", "-3", "--at-most", "1s", "true"], "'-3'");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    verdict(&["--spec", "queue"], &format!("\u{feff}{DONE}"), 0, "Linearizable");
}

#[test]
fn a_value_that_nobody_wrote_is_told_with_the_flag_for_the_start() {
    let said = |flags: &[&str], input: &str| {
        let output = unc(&[&["--spec", "register"], flags].concat(), input);
        assert_eq!(output.status.code(), Some(1));
        text(&output.stdout).replace('\n', " ")
    };
    let read = r#"{"client":1,"op":"read","call":5,"return":6,"result":0}
{"client":1,"op":"write","value":0,"call":7,"return":8}"#;
    let expected = "read by client 1 returned 0 at 6 ns, but no write of 0 was called by then, and the register \
                    held nothing at the start (if it held something: --initial 0).";
    assert!(said(&[], read).contains(expected), "{}", said(&[], read));
    let other = said(&["--initial", "-3"], read);
    assert!(other.contains("and the register held -3 at the start."), "{other}");
    let cas = r#"{"client":1,"op":"cas","old":0,"new":4,"call":1,"return":2,"result":true}"#;
    assert!(said(&[], cas).contains("no write of 0 was called by then"), "{}", said(&[], cas));
    let name = read.replace(":0", r#":"a b""#);
    assert!(said(&[], &name).contains(r#"--initial '"a b"')"#), "{}", said(&[], &name));
}

/// An exchange that could have written what was read, but never could begin; one that could not have.
const DOTTED: &str = r#"{"client":10,"op":"cas","old":1,"new":3,"call":1000005}
{"client":9,"op":"cas","old":1,"new":2,"call":1000006}
{"client":2,"op":"read","call":1000007,"return":1000009,"result":3}"#;

#[test]
fn what_may_have_taken_effect_is_dotted_if_it_could_matter() {
    let output = unc(&["--spec", "register"], DOTTED);
    let said = text(&output.stdout);
    let bars = "
  client 2       |---|     read -> 3   line 3
  client 10  |..........>  cas 1 to 3  line 1
";
    assert!(said.contains(bars), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let notes = "Dotted: 1 more operation that may or may not have taken effect after it was called; it explains \
                 nothing. Not drawn: 1 operation that may or may not have taken effect, and cannot help.";
    assert!(words.contains(notes), "{said}");
    let both = DOTTED.replace(r#""new":2"#, r#""new":3"#);
    let said = text(&unc(&["--spec", "register"], &both).stdout);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let notes = "Dotted: 2 more operations that may or may not have taken effect after they were called; none of \
                 them explains it.";
    assert!(words.contains(notes) && !words.contains("Not drawn"), "{said}");
    assert!(said.contains("1000009 ns"), "{said}");
    let json = unc(&["--spec", "register", "--json", "-"], DOTTED);
    let document: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(document["core"]["operations"][0]["call"], 1000005);
    assert!(document["core"]["reason"].as_str().unwrap().contains("at 1000009 ns"));
    let page = text(&unc(&["--spec", "register", "--html", "-"], DOTTED).stdout);
    assert_eq!(page.matches("<g class=\"faint\">").count(), 1, "{page}");
    assert!(
        page.contains(".operations .faint rect{fill:none;")
            && page.contains("stroke-dasharray:2 4")
    );
}
