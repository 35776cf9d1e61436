//! `--suite`: several properties with one error bound; and the pages with pictures.

mod decide;

use decide::{Folder, Said, unc};
use uncontended_decide::suite::Suite;

fn suite(folder: &Folder, text: &str, extra: &[&str]) -> Said {
    let path = folder.file("suite.toml");
    std::fs::write(&path, text).unwrap();
    let mut all = vec!["slo", "--suite", &path];
    all.extend(extra);
    unc(&all)
}

#[test]
fn the_error_of_a_suite_is_shared_and_its_worst_answer_counts() {
    let folder = Folder::new();
    let pairs = folder.file("pairs");
    std::fs::write(&pairs, "1 1\n".repeat(60)).unwrap();
    let good = format!(
        "max-error = 0.01\n\
         [[slo]]\nname = 'counts'\nrate = '98%'\ncounts = '4000/4000'\n\
         [[compare]]\nname = 'pairs'\nfrom = '{pairs}'\nmargin = '1%'\n\
         [[slo]]\nname = 'runs'\nat-most = '1h'\nrate = 0.6\ncommand = ['test', '-d', '/']\nenv = ['A=1', 'B=2']\n"
    );
    let said = suite(&folder, &good, &["--json", "-"]);
    assert_eq!(said.status, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(
        (&json["schema"], &json["verdict"]),
        (&"uncontended.verdict-suite/1".into(), &"yes".into())
    );
    assert_eq!((&json["max_error"], &json["correction"]), (&0.01.into(), &"bonferroni".into()));
    let properties = json["properties"].as_array().unwrap();
    let names: Vec<&str> = properties.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["counts", "pairs", "runs"], "in the order of the file");
    assert_eq!(
        properties[2]["runs"].as_array().map(Vec::len),
        properties[2]["n"].as_u64().map(|n| n as usize)
    );
    // One page and one text for the whole suite.
    let (page, text) = (folder.file("page.html"), folder.file("text.md"));
    assert_eq!(suite(&folder, &good, &["--quiet", "--html", &page, "--markdown", &text]).status, 0);
    let page = std::fs::read_to_string(page).unwrap();
    // The rate of each; the evidence of the runs and, at both ends, of the pairs; the values of both, and the ratios.
    assert_eq!(page.matches("class=\"figure").count(), 11);
    assert!(page.contains(">counts</h2>") && page.contains("<h2>The values: pairs</h2>"));
    let text = std::fs::read_to_string(text).unwrap();
    assert!(
        ["### counts\n", "### pairs\n", "### runs\n"].iter().all(|head| text.contains(head)),
        "{text}"
    );
    assert!(text.contains("is at most 1 %"), "{text}");
    for one in properties {
        let error = one["max_error"].as_f64().unwrap();
        assert!(error <= 0.01 / 3.0 && error > 0.003_33, "{error}");
    }
    // The bound on the command line overrides the file's.
    let said = suite(&folder, &good, &["--max-error", "5 %", "--json", "-"]);
    assert_eq!(said.json()["max_error"], 0.05);
    // Each further property only adds its own answer; the worst counts.
    let undecided = good.clone() + "[[slo]]\nrate = 0.9\ncounts = '1/1'\n";
    assert_eq!(suite(&folder, &undecided, &[]).status, 3);
    let refuted = undecided + "[[slo]]\nrate = 0.9\ncounts = '0/100'\n";
    assert_eq!(suite(&folder, &refuted, &[]).status, 1);
    let broken = refuted + "[[slo]]\nrate = 0.9\nat-most = '1s'\ncommand = '/nonexistent'\n";
    let said = suite(&folder, &broken, &[]);
    assert_eq!(said.status, 2);
    assert!(said.out.contains("6 properties"), "{}", said.out);
}

#[test]
fn a_suite_is_checked_before_anything_runs() {
    let folder = Folder::new();
    let ran = folder.file("ran");
    let first = format!("[[slo]]\nat-most = '1h'\nrate = 0.6\ncommand = 'touch {ran}'\n");
    for (text, words) in [
        ("[[slo]]\nrate = 1.5\ncounts = '1/2'\n", "outside (0, 1)"),
        ("[[slo]]\nrate = 0.9\ncounts = '1/2'\nspeed = 3\n", "unknown key 'speed'"),
        ("[[slo]]\nmax-error = 0.1\n", "belongs to the whole suite"),
        ("[[race]]\n", "unknown field `race`"),
        ("[slo]\nrate = 0.5\n", "line 5"),
        ("rate = 0.5\n[[\n", "line 5"),
        ("[[compare]]\ncommands = [['a']]\naa = {}\n", "aa"),
    ] {
        let said = suite(&folder, &(first.clone() + text), &[]);
        assert_eq!((said.status, said.out.as_str()), (2, ""), "{text}: {}", said.err);
        let lower = said.err.to_lowercase();
        assert!(lower.contains(words) || said.err.contains(words), "{text}: {}", said.err);
    }
    for flags in
        [&["--log", "x"][..], &["--max-runs", "9"], &["--metric", "user"], &["--rate", ".9"]]
    {
        suite(&folder, &first, flags).assert_refused("cannot be used with");
    }
    suite(&folder, "", &[]).assert_refused("there is no property in it");
    suite(&folder, "max-error = 2.0\n[[slo]]\n", &[]).assert_refused("outside (0, 1)");
    assert!(!std::path::Path::new(&ran).exists(), "nothing may run");
}

/// A file that two properties would write, or that one writes and another reads.
#[test]
fn no_file_serves_two_properties() {
    let folder = Folder::new();
    let ran = folder.file("ran");
    let first = format!("[[slo]]\nat-most = '1h'\nrate = 0.6\ncommand = 'touch {ran}'\n");
    let file = folder.file("values");
    std::fs::write(&file, "1\n2\n3\n").unwrap();
    let kept = format!("{first}log = '{file}'\n");
    let second = "[[slo]]\nname = 'second'\nat-most = 9\nrate = 0.6\n";
    for (text, flags, words) in [
        (
            format!("{kept}{second}command = 'true'\nlog = '{file}'\n"),
            &[][..],
            "the log of 'slo 1' and the log of 'second' both name",
        ),
        (
            format!("{kept}{second}from = '{file}'\n"),
            &[],
            "'from' of 'second' and the log of 'slo 1' both name",
        ),
        (
            format!("{kept}{second}command = 'true'\ninput = '{file}'\n"),
            &[],
            "'input' of 'second' and the log of 'slo 1' both name",
        ),
        (
            format!("{kept}[[compare]]\ncommands = 'true'\nbaseline = '{file}'\n"),
            &[],
            "'baseline' of 'compare 2' and the log of 'slo 1' both name",
        ),
        (
            format!("{kept}[[permute]]\nvalues = ['x', '{file}']\n"),
            &[],
            "'values' of 'permute 2' and the log of 'slo 1' both name",
        ),
        (kept.clone(), &["--html", &file], "--html and the log of 'slo 1' both name"),
        (
            format!("{second}from = '{file}'\n"),
            &["--json", &file],
            "'from' of 'second' and --json both name",
        ),
        (
            format!("{first}log = '{}'\n", folder.file("suite.toml")),
            &[],
            "--suite and the log of 'slo 1' both name",
        ),
    ] {
        suite(&folder, &text, flags).assert_refused(words);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n2\n3\n", "{text}");
    }
    assert!(!std::path::Path::new(&ran).exists(), "nothing may run");
}

#[test]
fn pages_have_their_pictures_and_need_nothing_from_elsewhere() {
    let folder = Folder::new();
    let html = folder.file("page.html");
    let pictures = |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        let at = all.iter().position(|word| *word == "--").unwrap_or(all.len());
        all.splice(at..at, ["--quiet", "--html", &html]);
        let said = unc(&all);
        assert_ne!(said.status, 2, "{}", said.err);
        let page = std::fs::read_to_string(&html).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
        for outside in ["src=\"http", "href=\"http", "url(", "@import"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(!page.contains("<b>hostile"), "what came from outside is escaped");
        page.matches("class=\"figure").count()
    };
    // The rate alone; the rate, the evidence and the values twice; and in compare two thresholds and the ratios.
    assert_eq!(pictures(&["slo", "--rate", ".98", "--counts", "3972/4000"]), 1);
    assert_eq!(pictures(&["slo", "--at-most", "1h", "--rate", "60%", "--", "true"]), 4);
    assert_eq!(pictures(&["compare", "--max-runs", "20", "--", "true", "true '<b>hostile'"]), 6);
    let values = folder.file("values");
    std::fs::write(&values, "1\n2\n3\n").unwrap();
    assert_eq!(pictures(&["permute", &values, &values]), 3);
}

#[test]
fn markdown_has_a_table_of_findings_and_one_of_values() {
    let folder = Folder::new();
    let path = folder.file("verdict.md");
    unc(&["compare", "--quiet", "--max-runs", "20", "--markdown", &path, "--", "true", "true a"]);
    let text = std::fs::read_to_string(&path).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    // The finding, and the values of both commands.
    assert_eq!(rows.len(), 3 + 4, "{text}");
    let cells =
        |rows: &[&str], count: usize| rows.iter().all(|row| row.matches('|').count() == count + 1);
    assert!(cells(&rows[..3], 6) && cells(&rows[3..], 11), "{text}");
    assert!(rows[2].starts_with("| `true a` | "), "{text}");
}

/// In a step of GitHub Actions: an annotation and a section of the summary, whatever the answer.
#[test]
fn a_step_of_github_actions_is_told() {
    let folder = Folder::new();
    let summary = folder.file("summary.md");
    std::fs::write(&summary, "before\n").unwrap();
    let ask = |arguments: &[&str]| {
        let mut asked = decide::command(arguments);
        decide::said(asked.env("GITHUB_STEP_SUMMARY", &summary).output().unwrap())
    };
    let slo = ["slo", "--quiet", "--github", "--rate", "50%", "--at-most", "1h", "--", "true"];
    let yes = ask(&slo);
    yes.assert_status(0);
    assert!(
        yes.out.contains("\n::notice title=unc::yes: the rate is at least 50 %25; "),
        "{}",
        yes.out
    );
    let missing = ask(&["compare", "--quiet", "--github", "--", "/no/such/program", "true"]);
    assert_eq!(missing.status, 2);
    assert!(missing.out.starts_with("::error title=unc::'/no/such/program' "), "{}", missing.out);
    let text = std::fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n**yes** is the wall time"), "{text}");
    assert!(text.contains("\n**error** '/no/such/program' "), "{text}");
    let elsewhere = decide::command(&slo).env_remove("GITHUB_STEP_SUMMARY").output().unwrap();
    let elsewhere = decide::said(elsewhere);
    assert_eq!(elsewhere.status, 2);
    assert!(elsewhere.err.contains("GITHUB_STEP_SUMMARY is not set"), "{}", elsewhere.err);
}

/// A run that fails costs a suite only what it would have said later.
#[test]
fn a_failed_run_in_a_suite_leaves_what_was_known() {
    let folder = Folder::new();
    let count = folder.file("count");
    std::fs::write(&count, "").unwrap();
    // It fails the sixth time.
    let failing = format!(r#"n=$(wc -c < {count}); printf x >> {count}; echo 3; [ "$n" -lt 5 ]"#);
    let text = format!(
        "[[compare]]\nname = 'breaks'\nseed = '3'\nmetric = 'regex:[0-9]+'\n\
         commands = ['echo 3', \"\"\"{failing}\"\"\"]\n\
         [[slo]]\nname = 'stays'\nrate = '98%'\ncounts = '4000/4000'\n"
    );
    let json = folder.file("json");
    let said = suite(&folder, &text, &["--quiet", "--json", &json]);
    assert_eq!(said.status, 2, "{}", said.err);
    assert!(said.out.contains("So far, undecided"), "{}", said.out);
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let (breaks, stays) = (&told["properties"][0], &told["properties"][1]);
    assert_eq!(
        (&breaks["verdict"], &breaks["so_far"]["n"]),
        (&"error".into(), &5.into()),
        "{told}"
    );
    assert_eq!(stays["verdict"], "yes");
}

/// The script of the composite action, run as GitHub runs it.
#[test]
fn the_action_passes_and_fails_as_it_is_told() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let action = std::fs::read_to_string(format!("{root}/action.yml")).unwrap();
    let script = action.rsplit_once("      run: |\n").unwrap().1;
    assert!(script.contains("compare --github"), "{script}");
    let folder = Folder::new();
    let bin = folder.path().join("unc/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_unc"), bin.join("unc")).unwrap();
    let step = |candidate: &str, options: &str, undecided: &str| {
        let mut bash = std::process::Command::new("bash");
        bash.args(["-e", "-o", "pipefail", "-c", script]).env("RUNNER_TEMP", folder.path());
        bash.env("GITHUB_STEP_SUMMARY", folder.path().join("summary"));
        let named = [("BASELINE", "echo 2"), ("CANDIDATE", candidate), ("MARGIN", "3%")];
        bash.envs(named).env("MAX_TIME", "1m").env("OPTIONS", options).env("UNDECIDED", undecided);
        decide::said(bash.output().unwrap())
    };
    let metric = "--metric regex:[0-9]+ --no-tail-guard";
    step("echo 1", metric, "fail").assert_status(0);
    step("echo 3", metric, "pass").assert_status(1);
    // Slower and faster by turns, so that nothing is certain within so few runs.
    let open = format!("{metric} --max-runs 14");
    let turns =
        format!("d={}; n=$(ls $d | wc -l); touch $d/$n; echo $((1 + n % 3))", folder.file("turns"));
    std::fs::create_dir(folder.path().join("turns")).unwrap();
    step(&turns, &open, "pass").assert_status(0);
    step(&turns, &open, "fail").assert_status(3);
}

/// The example and the keys of the documentation are those that a suite takes, and its help names them.
#[test]
fn the_keys_of_a_suite_are_documented() {
    let page = std::fs::read_to_string("../../docs/decide.md").unwrap();
    let (_, section) = page.split_once("## Several at once").unwrap();
    let (_, example) = section.split_once("```toml\n").unwrap();
    let (example, text) = example.split_once("```").unwrap();
    let kinds = ["[[slo]]", "[[compare]]", "[[permute]]"];
    kinds.iter().for_each(|kind| assert!(example.contains(kind), "{kind} has no example"));
    let read = Suite::parse(example, None).unwrap();
    assert_eq!(read.properties.len(), 3);
    let (text, _) = text.split_once("\n## ").unwrap();
    let own = text.lines().find(|line| line.starts_with("- `[[permute]]`: ")).unwrap();
    let keys: Vec<&str> = own.split('`').skip(3).step_by(2).collect();
    let given = |key: &str| match key {
        "values" => r#"["a", "b"]"#.to_owned(),
        "two-sided" => "true".to_owned(),
        "shift" => r#""2 ms""#.to_owned(),
        "scale" => "2".to_owned(),
        "level" => "0.05".to_owned(),
        "or-below" => "0.01".to_owned(),
        "max-runs" | "seed" => "100000".to_owned(),
        "max-time" => r#""1 s""#.to_owned(),
        _ => r#""median""#.to_owned(),
    };
    let table: String = keys.iter().map(|key| format!("{key} = {}\n", given(key))).collect();
    Suite::parse(&format!("[[permute]]\n{table}"), None).unwrap();
    assert_eq!(keys.len(), 11, "{keys:?}");
    for command in ["slo", "compare"] {
        let help = unc(&[command, "--help"]).out;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("values (the files of `[[permute]]`)"), "{help}");
    }
}
