//! Any bytes are a log whose verdict can be recomputed, or a told error. After a valid head, so that the runs are met.
#![no_main]

#[path = "../../crates/cli/src/failure.rs"]
#[allow(dead_code)]
mod failure;

#[path = "../../crates/cli/src/decide"]
#[allow(dead_code)]
mod decide {
    pub(crate) mod dealing;
    pub(crate) mod guard;
    pub(crate) mod hypothesis;
    pub(crate) mod pairs;
    pub(crate) mod rates;
    pub(crate) mod ratio;
    pub(crate) mod record;
    pub(crate) mod trial;
    pub(crate) mod value;
    pub(crate) mod verdict;
}

use decide::hypothesis::Hypothesis;
use decide::record::{self, Stop};
use decide::trial::Trial;
use libfuzzer_sys::fuzz_target;

const HEADS: [&str; 2] = [
    r#"{"head":{"schema":"uncontended.verdict-log/1","hypothesis":{"kind":"slo","metric":"wall","unit":"ns","bound":{"side":"at-most","threshold":5.0},"rate":0.9,"or_below":null,"max_error":0.01,"method":"one-sided"},"seed":"1","warnings":[]}}"#,
    r#"{"head":{"schema":"uncontended.verdict-log/1","hypothesis":{"kind":"compare","metric":"wall","unit":"ns","claim":"no-worse","margin":0.02,"higher_is_better":false,"max_error":0.01,"block":1,"commands":["a","b","c"],"baseline":0,"ignore_failure":true},"seed":"1","warnings":[]}}"#,
];

fn judge(bytes: &[u8]) {
    let Ok(log) = record::read(bytes) else { return };
    // The budget of a permutation test is the log's own, and may be endless.
    if matches!(log.head.hypothesis, Hypothesis::Permute(_)) {
        return;
    }
    let Ok(mut trial) = Trial::new(&log.head.hypothesis) else { return };
    if log.runs.iter().try_for_each(|run| trial.push(run)).is_ok() {
        let verdict = trial.verdict(&log.head, Stop::LogCut);
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
