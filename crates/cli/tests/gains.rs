//! What `unc run` says that a change gains, against what `unc compare` measures.

use serde_json::Value;
use std::process::Command;
use uncontended_testkit::programs::Program;

/// Half of each hold of `hold_pace`, in programs with different holds, numbers of threads, and pauses between holds:
/// without a pause, threads barge in. The change shortens holds that no thread waits for, too: those of the last thread
/// left. They are known with `--all-holds` alone; without, a run of which much is such holds tells no gain.
#[test]
fn half_a_hold_gains_what_is_predicted_in_eighteen_of_twenty_programs() {
    const NAME: &str = "half_a_hold_gains_what_is_predicted_in_eighteen_of_twenty_programs";
    if !uncontended_testkit::all_of(NAME) {
        return;
    }
    let program = Program::compile("path", &["-O1", "-rdynamic"]);
    let mut inside = 0;
    for (ms, threads, gap) in [20, 30, 40, 50, 60]
        .into_iter()
        .flat_map(|ms| [(ms, 2, 0), (ms, 2, 1), (ms, 3, 0), (ms, 3, 1)])
    {
        let arguments = |ms: u32| format!("pace {ms} {threads} {gap}");
        let predicted = predicted(&program, &arguments(ms));
        let [least, most] = measured(&program, [&arguments(ms), &arguments(ms / 2)]);
        // Runs differ in their starts and ends, and the observed one is a little slower.
        let slack = 0.03;
        let is_inside = predicted[0] - slack <= most && least <= predicted[1] + slack;
        println!("{}: {predicted:.3?}, measured {least:.3} to {most:.3}", arguments(ms));
        inside += u32::from(is_inside);
    }
    assert!(inside >= 18, "{inside} of 20");
}

/// The least and the most that half of the holds gains, as shares of the run.
fn predicted(program: &Program, arguments: &str) -> [f64; 2] {
    let json = program.folder().file("run.json");
    let run = Command::new(env!("CARGO_BIN_EXE_unc"))
        .args(["run", "--quiet", "--no-history", "--all-holds", "--json", &json, "--"])
        .arg(program.path())
        .args(arguments.split(' '))
        .output()
        .expect("unc can be started");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let report = read(&json);
    let culprits = report["culprits"].as_array().expect("culprits").iter();
    let mut of =
        culprits.filter(|of| of["site"]["function"] == "hold_pace" && of["kind"] == "hold");
    let culprit = of.next().expect("its holds");
    let share = |field: &str| {
        let ns = culprit[field].as_f64();
        let ns = ns.unwrap_or_else(|| panic!("no {field}: {}", report["paths"]));
        ns / report["wall_ns"].as_f64().expect("a length")
    };
    let (gain, path) = (share("gain_at_most_ns"), share("path_ns"));
    [gain / 2.0, gain.min(path / 2.0)]
}

/// What the second run gains over the first one, as a share of it: the ends of the interval of the ratio.
fn measured(program: &Program, arguments: [&str; 2]) -> [f64; 2] {
    let json = program.folder().file("compare.json");
    let path = program.path().display();
    Command::new(env!("CARGO_BIN_EXE_unc"))
        .args(["compare", "--quiet", "--claim", "different", "--no-tail-guard", "--max-runs", "60"])
        .args(["--json", &json, "--"])
        .args(arguments.map(|arguments| format!("{path} {arguments}")))
        .output()
        .expect("unc can be started");
    let effect = &read(&json)["effect"];
    let end = |end: &str| 1.0 - effect[end].as_f64().unwrap_or_else(|| panic!("{effect}"));
    [end("high"), end("low")]
}

fn read(json: &str) -> Value {
    let text = std::fs::read_to_string(json).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}
