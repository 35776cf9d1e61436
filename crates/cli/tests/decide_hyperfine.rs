//! For people who come from hyperfine: its flags, what those that cannot mean the same are answered with, its exports.

mod decide;

use decide::{Folder, unc};
use serde_json::Value;

#[test]
fn short_flags_mean_what_they_do_there() {
    let folder = Folder::new();
    let file = |name: &str| folder.file(name);
    let (made, json, log) = (file("made"), file("json"), file("log"));
    let note = |word: &str| format!("echo {word} >> {made}");
    let flags = ["compare", "--quiet", "--no-tail-guard", "--metric", "exit-status", "-w", "2"];
    let more = ["-M", "20", "-s", &note("setup"), "-p", &note("prepare"), "-C", &note("conclude")];
    let last = ["-c", &note("cleanup"), "-n", "one", "-n", "other", "--json", &json, "--log", &log];
    let said = unc(&[&flags[..], &more, &last, &["--", "true", "true 2"]].concat());
    said.assert_status(0);
    assert!(said.out.starts_with("yes: 'other' is not worse by more than 2 %"), "{}", said.out);
    let noted = std::fs::read_to_string(&made).unwrap();
    let count = |word: &str| noted.lines().filter(|line| *line == word).count();
    assert_eq!((count("setup"), count("cleanup")), (1, 1), "{noted}");
    let runs = std::fs::read_to_string(&log).unwrap().matches("\"run\"").count();
    assert_eq!(
        (count("prepare"), count("conclude")),
        (runs + 4, runs + 4),
        "2 of each are warm-up"
    );
    let told: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(told["hypothesis"]["commands"], serde_json::json!(["one", "other"]));
    assert_eq!(told["hypothesis"]["lines"], serde_json::json!(["true", "true 2"]));
    let scan = ["compare", "--quiet", "-M", "20", "-P", "n", "1", "5", "-D", "2", "--metric"];
    let said = unc(&[&scan[..], &["regex:[0-9]+", "--", "echo {n}"]].concat());
    assert!(said.out.contains("echo 3: no") && said.out.contains("echo 5: no"), "{}", said.out);
    assert!(said.out.contains("\nno: 2 no ('echo 3', 'echo 5'): is each"), "{}", said.out);
    let arms = ["echo 1   baseline", "echo 3   no", "echo 5   no"];
    assert!(arms.iter().all(|arm| said.out.contains(arm)), "{}", said.out);
    let list = ["compare", "--quiet", "-M", "20", "-L", "n", "2,1", "--metric", "regex:[0-9]+"];
    unc(&[&list[..], &["--no-tail-guard", "--", "echo {n}"]].concat()).assert_status(0);
}

#[test]
fn names_are_one_for_each_command() {
    let refused = |names: &[&str], words| {
        let names: Vec<&str> = names.iter().flat_map(|name| ["-n", name]).collect();
        unc(&[&["compare"], names.as_slice(), &["--", "true", "false"]].concat())
            .assert_refused(words);
    };
    refused(&["one"], "1 name for 2 commands");
    refused(&["one", "one"], "two commands are named 'one'");
}

#[test]
fn flags_that_cannot_mean_the_same_are_answered() {
    for (flag, words) in [
        ("-r", "how many runs it takes"),
        ("--runs", "--max-runs N (-M)"),
        ("-m", "stops as soon as the answer is certain"),
        ("--min-runs", "--max-runs N (-M)"),
        ("-u", "in the unit that fits it"),
        ("--reference", "--baseline N"),
        ("--output", "--show-output"),
        ("--style", "--quiet"),
        ("--sort", "in the order"),
    ] {
        unc(&["compare", flag, "5", "--", "true", "true"]).assert_refused(words);
    }
}

#[test]
fn exports_have_the_form_of_hyperfine() {
    let folder = Folder::new();
    let kinds = ["json", "csv", "markdown", "asciidoc"];
    let files = kinds.map(|kind| (format!("--export-{kind}"), folder.file(kind)));
    let flags: Vec<&str> =
        files.iter().flat_map(|(flag, file)| [flag.as_str(), file.as_str()]).collect();
    let ask = ["compare", "--quiet", "-M", "14", "--no-tail-guard", "--margin", "50%"];
    let said = unc(&[&ask[..], &flags, &["--", "sleep 0.01", "echo 'a,b' | sleep 0.05"]].concat());
    // On a busy machine, 14 pairs may not be enough for an answer.
    assert_ne!(said.status, 2, "{}", said.err);
    let [json, csv, markdown, asciidoc] =
        files.map(|(_, file)| std::fs::read_to_string(file).unwrap());
    let json: Value = serde_json::from_str(&json).unwrap();
    let [one, other] = [0, 1].map(|at| &json["results"][at]);
    assert_eq!(one["command"], "sleep 0.01");
    let number = |of: &Value, key: &str| of[key].as_f64().unwrap();
    for (arm, least) in [(one, 0.01), (other, 0.05)] {
        let times: Vec<f64> =
            arm["times"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((number(arm, "mean") - mean).abs() < 1e-9 && mean >= least, "{arm}");
        assert!(times.iter().all(|time| (number(arm, "min")..=number(arm, "max")).contains(time)));
        assert!(number(arm, "stddev") >= 0.0 && number(arm, "median") >= least);
        assert!(number(arm, "user") < mean && number(arm, "system") < mean, "{arm}");
        for key in ["memory_usage_byte", "exit_codes"] {
            assert_eq!(arm[key].as_array().unwrap().len(), times.len(), "{key}");
        }
        assert!(arm["exit_codes"].as_array().unwrap().iter().all(|code| code == 0));
    }
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "command,mean,stddev,median,user,system,min,max");
    assert!(lines[2].starts_with("\"echo 'a,b' | sleep 0.05\",0.0"), "{csv}");
    let rows: Vec<&str> = markdown.lines().collect();
    assert_eq!(rows[0], "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |");
    assert!(
        rows[2].starts_with("| `sleep 0.01` | ") && rows[2].ends_with("| 1.00 |"),
        "{markdown}"
    );
    assert!(rows[3].starts_with("| `echo 'a,b' \\| sleep 0.05` | "), "{markdown}");
    assert!(asciidoc.starts_with("[cols=\"<,>,>,>,>\"]\n|===\n| Command\n"), "{asciidoc}");
    assert!(asciidoc.ends_with("|===\n") && asciidoc.contains("\n| `sleep 0.01`\n"), "{asciidoc}");
    // Of a single command, and never to the place of another output.
    let file = folder.file("slo");
    let slo = ["slo", "--quiet", "--rate", "50%", "--at-most", "10s", "--export-json", &file];
    unc(&[&slo[..], &["--", "sleep 0.01"]].concat()).assert_status(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["results"][0]["command"], "sleep 0.01");
    unc(&[&slo[..], &["--json", &file, "--", "true"]].concat()).assert_refused(&file);
}
