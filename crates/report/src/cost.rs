//! What observing cost the program, in words.

use crate::run::RunReport;
use uncontended_figures as figures;

/// From this share of the CPU time on, the program that was observed is another one than the program itself.
const MUCH: f64 = 0.25;
/// From this share on, it is said of all locks.
const LEAST: f64 = 0.01;

/// What is said of a share that is no more than an estimate: near the whole, its digits mean nothing.
const NEARLY_ALL: f64 = 0.9;

fn of_time(share: f64) -> String {
    match share > NEARLY_ALL {
        true => "nearly all".to_owned(),
        false => figures::percent(share),
    }
}

/// The cost of one lock, and of all, if that is much; without a full stop.
pub(crate) fn of_locks(report: &RunReport) -> String {
    let observer = &report.observer;
    if report.coverage.processes_observed == 0 {
        return "The observer was in no process, and added nothing".to_owned();
    }
    let Some(cost) = observer.cost_ns_per_pair else {
        return "The observer's cost was not measured".to_owned();
    };
    let one = figures::duration_f(cost.max(0.0));
    let one = format!("Observing added {one} to an uncontended lock and unlock");
    let all = observer.cost_ns.zip(observer.cpu_share).filter(|&(_, share)| share >= LEAST);
    all.map_or_else(
        || one.clone(),
        |(all, share)| {
            let (all, share) = (figures::duration(all), of_time(share));
            format!("{one}: an estimated {all} in all, {share} of the CPU time")
        },
    )
}

/// That observing cost so much that the figures may be of the observer, too, if it did; without a full stop.
pub(crate) fn warning(report: &RunReport) -> Option<String> {
    let share = report.observer.cpu_share.filter(|&share| share >= MUCH)?;
    Some(format!(
        "Observing took {} of the CPU time, by an estimate: threads take locks so often that the shares of waits and \
         holds may differ without it; decide by times of the program alone (`unc compare`)",
        of_time(share)
    ))
}
