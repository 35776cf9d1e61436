//! Any bytes are a log whose verdict can be recomputed, or a reported error. A valid head is put before them, so that
//! the runs are reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_decide::record::{self, Stop};
use uncontended_decide::{Question, trial};

const HEADS: [&str; 4] = [
    r#"{"head":{"schema":"uncontended.verdict-log/1","hypothesis":{"kind":"slo","metric":"wall","unit":"ns","bound":{"side":"at-most","threshold":5.0},"rate":0.9,"or_below":null,"max_error":0.01,"method":"one-sided"},"seed":"1","warnings":[]}}"#,
    r#"{"head":{"schema":"uncontended.verdict-log/1","hypothesis":{"kind":"compare","metric":"wall","unit":"ns","claim":"no-worse","margin":0.02,"higher_is_better":false,"max_error":0.01,"block":1,"commands":["a","b","c"],"baseline":0,"ignore_failure":true},"seed":"1","warnings":[]}}"#,
    r#"{"head":{"schema":"uncontended.verdict-log/1","hypothesis":{"kind":"compare","metric":"wall","unit":"ns","claim":"no-worse","margin":0.02,"higher_is_better":false,"max_error":0.01,"block":1,"commands":["a","b"],"baseline":0,"ignore_failure":true,"sessions":{"trusted":false,"control":"c"}},"seed":"1","warnings":[],"machine":{"cpus":2}}}"#,
    r#"{"head":{"schema":"uncontended.verdict-log/1","hypothesis":{"kind":"record","metric":"wall","unit":"ns","command":"a","control":"c","ignore_failure":true},"seed":"1","warnings":[]}}"#,
];

fn judge(bytes: &[u8]) {
    let Ok(log) = record::read(bytes) else { return };
    // The log sets the budget of a permutation test, which may be endless.
    if matches!(log.head.hypothesis, Question::Permute(_)) {
        return;
    }
    let Ok(mut trial) = log.head.hypothesis.asked().trial(None) else { return };
    if log.runs.iter().try_for_each(|run| trial.push(run)).is_ok() {
        let verdict = trial::verdict(trial.as_ref(), &log.head, Stop::LogCut);
        assert!(verdict.finding.successes <= verdict.finding.n);
        let [low, high] = verdict.finding.interval;
        assert!((0.0..=1.0).contains(&low) && low <= high && high <= 1.0);
    }
}

fuzz_target!(|bytes: &[u8]| {
    judge(bytes);
    for head in HEADS {
        judge(&[head.as_bytes(), b"\n", bytes].concat());
    }
});
