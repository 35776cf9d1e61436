//! Which fence, from what was measured here.

use crate::Row;
use uncontended_figures::{count, duration_f};

/// What follows from the rows, in sentences.
pub(super) fn notes(rows: &[Row]) -> Vec<String> {
    let reader = |name: &str| {
        let mut readers = rows.iter().filter(|row| row.fence.is_none());
        readers.find(|row| row.name == name && row.role != "control")?.ns
    };
    let heavy = |name: &str| {
        let busy = |row: &&Row| row.fence.as_ref().is_some_and(|fence| fence.peers == "own");
        rows.iter().filter(busy).find(|row| row.name == name)?.ns
    };
    let mut notes = vec![
        "heavy fences are timed one by one, with a reading of the clock in each; interrupts are all calls of functions that the other CPUs took meanwhile, per fence".to_owned(),
    ];
    let timed = || rows.iter().filter_map(|row| row.fence.as_ref()?.timed.as_ref());
    let (left_out, blocks) =
        timed().fold((0, 0), |(out, all), it| (out + it.left_out, all + it.left_out + it.blocks));
    if left_out > 0 {
        notes.push(format!("{left_out} of {blocks} blocks are in no figure: the kernel counted too few interrupts in them, so the other threads did not run"));
    }
    if let (Some(light), Some(full), Some(barrier)) =
        (reader("light fence"), reader("SeqCst fence"), heavy("membarrier"))
        && full > light
    {
        let often = count((barrier / (full - light)).ceil() as u64);
        notes.push(format!("which fence: membarrier, where the light side runs at least {often} times as often as the heavy one (its {} over the {} that a full fence costs a reader more), or where the reader's time matters more; else full fences", duration_f(barrier), duration_f(full - light)));
    }
    if let Some(check_in) = heavy("check-ins") {
        notes.push(format!("which fence: check-ins, for threads with CPUs of their own that must not be interrupted; {} here, where they check in without pause", duration_f(check_in)));
    }
    if let (Some(one), Some(many)) = (heavy("membarrier"), heavy("membarrier, 16 tickets")) {
        notes.push(format!("which fence: tickets, where a thread has other work or many ask: 16 take {}, one takes {}", duration_f(many), duration_f(one)));
    }
    if let (Some(shootdown), Some(one)) = (heavy("mprotect"), heavy("membarrier"))
        && shootdown > one
    {
        notes.push("which fence: mprotect only where membarrier is forbidden: it takes longer, and no manual promises that it orders".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fences::{Fence, Percentile, Timed};

    fn heavy(name: &str, ns: f64) -> Row {
        let at = Percentile { ns, low: None, high: None };
        let timed = Timed {
            p50: at,
            p90: at,
            p99: at,
            p999: at,
            most_ns: ns,
            interrupts: 1.0,
            blocks: 1,
            left_out: 0,
            curve: Vec::new(),
        };
        let fence = Fence { peers: "own", light: "compiler fence", timed: Some(timed) };
        Row { name: name.to_owned(), ns: Some(ns), fence: Some(fence), ..Row::default() }
    }

    fn reader(name: &str, ns: f64) -> Row {
        Row { name: name.to_owned(), ns: Some(ns), ..Row::default() }
    }

    #[test]
    fn what_was_measured_is_weighed_and_the_rest_is_left_out() {
        assert_eq!(notes(&[]).len(), 1, "only how it was timed");
        let rows = [
            reader("light fence", 1.0),
            reader("SeqCst fence", 9.0),
            heavy("membarrier", 10_000.0),
            heavy("mprotect", 20_000.0),
        ];
        let said = notes(&rows);
        assert!(said[1].contains("at least 1,250 times as often"), "{said:?}");
        assert!(said[2].contains("mprotect only where"), "{said:?}");
        assert_eq!(said.len(), 3);
    }
}
