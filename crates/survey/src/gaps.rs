//! Gaps in what a CPU does for a thread that only reads the clock, and what the kernel counted meanwhile.
//!
//! # Contract
//! [`watch`] reads the clock on one CPU until a time. Two readings that are further apart than a threshold are a gap:
//! the CPU did something else. A window of readings ends with the first gap, at which counters are read and compared
//! with those at its start, so what rose, rose in the window that the gap ended. While counters are read, only
//! preemption is noticed: a reading with an involuntary switch is a gap, of its length without that of the shortest
//! reading. Other gaps are not seen then; the time watched says so.
//!
//! Causes, the first that applies: `throttling` (an involuntary switch of this thread, and a control group with a quota
//! stood still for at least half of the gap), `preemption` (an involuntary switch otherwise: exact), `steal` (the
//! kernel's count of it rose, in hundredths of a second, and the gap lasts a millisecond or more), `interrupt` and
//! `softirq` (of this CPU: their count rose), `unknown`: nothing that the kernel counts rose. A hypervisor that takes
//! the CPU without telling, and the firmware, are unknown.
//! # Sources
//! proc(5): /proc/interrupts, /proc/softirqs, /proc/stat; getrusage(2). The method is that of sysjitter and of the
//! kernel's osnoise tracer.

use crate::quota::{Groups, Throttled};
use serde::Serialize;
use uncontended_sys::clock::monotonic_ns;
use uncontended_sys::{affinity, usage};

/// A window without a gap ends after this.
const WINDOW_NS: u64 = 10_000_000;
/// The kernel counts steal in ticks of ten milliseconds: no shorter gap than this is blamed on it.
const STEAL_NS: u64 = 1_000_000;
/// The most gaps that are kept of a CPU.
const MOST: usize = 200_000;

/// What a gap is due to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A control group had used up its quota.
    Throttling,
    /// Another thread ran.
    Preemption,
    /// The hypervisor ran something else.
    Steal,
    /// A device or another CPU interrupted.
    Interrupt,
    /// The kernel did deferred work.
    Softirq,
    /// Nothing that the kernel counts rose.
    Unknown,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 6] = [
        Cause::Throttling,
        Cause::Preemption,
        Cause::Steal,
        Cause::Interrupt,
        Cause::Softirq,
        Cause::Unknown,
    ];

    /// Its name.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Cause::Throttling => "throttling",
            Cause::Preemption => "preemption",
            Cause::Steal => "steal",
            Cause::Interrupt => "interrupt",
            Cause::Softirq => "softirq",
            Cause::Unknown => "unknown",
        }
    }
}

/// A gap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gap {
    /// The last reading before it, on the monotonic clock.
    pub(crate) from_ns: u64,
    /// How long it lasted.
    pub(crate) ns: u64,
    pub(crate) by: Cause,
    /// What rose in its window: interrupts by their names, softirqs by theirs.
    pub(crate) seen: Vec<String>,
}

/// What was seen on a CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub(crate) watched_ns: u64,
    pub(crate) readings: u64,
    /// At most [`MOST`] gaps, in their order.
    pub(crate) gaps: Vec<Gap>,
}

impl Watched {
    fn add(&mut self, gap: Gap) {
        if self.gaps.len() < MOST {
            self.gaps.push(gap);
        }
    }
}

/// Counters of a CPU.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counters {
    interrupts: Vec<(String, u64)>,
    softirqs: Vec<(String, u64)>,
    steal: u64,
    throttled: Throttled,
}

impl Counters {
    /// Of this CPU, and of groups with a quota.
    fn read(cpu: usize, groups: &Groups) -> Counters {
        let text =
            |name: &str| std::fs::read_to_string(format!("/proc/{name}")).unwrap_or_default();
        Counters {
            interrupts: column(&text("interrupts"), cpu),
            softirqs: column(&text("softirqs"), cpu),
            steal: steal(&text("stat"), cpu),
            throttled: groups.throttled(),
        }
    }

    /// The names of what rose since `before`.
    fn risen(now: &[(String, u64)], before: &[(String, u64)]) -> Vec<String> {
        let earlier = |name: &str| before.iter().find(|(own, _)| own == name).map_or(0, |it| it.1);
        let rose = now.iter().filter(|(name, count)| *count > earlier(name));
        rose.map(|(name, _)| name.clone()).collect()
    }
}

/// A CPU's column of a table of counts: names, with the device's for a numbered interrupt.
fn column(text: &str, cpu: usize) -> Vec<(String, u64)> {
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let Some(at) = heads.iter().position(|head| *head == format!("CPU{cpu}")) else {
        return Vec::new();
    };
    let entry = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let name = name.trim();
        let count = rest.split_whitespace().nth(at)?.parse().ok()?;
        let device = rest.split_whitespace().skip(heads.len()).last();
        let is_numbered = name.bytes().all(|byte| byte.is_ascii_digit());
        let shown = device.filter(|_| is_numbered).unwrap_or(name);
        Some((shown.to_owned(), count))
    };
    lines.filter_map(entry).collect()
}

/// The ticks that the hypervisor took from a CPU.
fn steal(text: &str, cpu: usize) -> u64 {
    let head = format!("cpu{cpu} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&head));
    line.and_then(|line| line.split_whitespace().nth(7)?.parse().ok()).unwrap_or(0)
}

/// What a gap is due to, and what rose meanwhile.
fn cause(ns: u64, switched: bool, before: &Counters, after: &Counters) -> (Cause, Vec<String>) {
    let mut seen = Counters::risen(&after.interrupts, &before.interrupts);
    let interrupts = seen.len();
    seen.extend(Counters::risen(&after.softirqs, &before.softirqs));
    let throttled = after.throttled.since(before.throttled);
    let by = match () {
        () if switched && throttled.explains(ns) => Cause::Throttling,
        () if switched => Cause::Preemption,
        () if after.steal > before.steal && ns >= STEAL_NS => Cause::Steal,
        () if interrupts > 0 => Cause::Interrupt,
        () if !seen.is_empty() => Cause::Softirq,
        () => Cause::Unknown,
    };
    (by, seen)
}

/// Reads the clock on a CPU until `end`, or until `is_over`, asked after each window.
///
/// # Errors
/// Why the thread cannot be on that CPU.
pub(crate) fn watch(
    cpu: usize,
    threshold_ns: u64,
    end: u64,
    is_over: fn() -> bool,
) -> Result<Watched, String> {
    affinity::pin(cpu).map_err(|error| format!("a thread cannot be on this CPU: {error}"))?;
    let groups = Groups::own().limited();
    let mut all = Watched { gaps: Vec::with_capacity(1024), ..Watched::default() };
    // The first window meets code and memory for the first time.
    window(threshold_ns, monotonic_ns() + WINDOW_NS / 10);
    let (mut shortest, mut before) = (u64::MAX, Counters::default());
    for _ in 0..3 {
        let start = monotonic_ns();
        before = Counters::read(cpu, &groups);
        shortest = shortest.min(monotonic_ns() - start);
    }
    let mut switches = usage::thread().involuntary;
    while monotonic_ns() < end && !is_over() {
        let seen = window(threshold_ns, end.min(monotonic_ns() + WINDOW_NS));
        let until_gap = usage::thread().involuntary;
        let mut after = Counters::read(cpu, &groups);
        let until_read = usage::thread().involuntary;
        all.readings += seen.readings;
        all.watched_ns += seen.until - seen.from;
        let ns = seen.until - seen.last;
        if ns >= threshold_ns {
            let (by, names) = cause(ns, until_gap > switches, &before, &after);
            all.add(Gap { from_ns: seen.last, ns, by, seen: names });
        }
        let took = monotonic_ns() - seen.until;
        shortest = shortest.min(took);
        let lost = took - shortest;
        if until_read > until_gap && lost >= threshold_ns {
            all.watched_ns += lost;
            after.throttled = groups.throttled();
            let by = match after.throttled.since(before.throttled).explains(lost) {
                true => Cause::Throttling,
                false => Cause::Preemption,
            };
            all.add(Gap { from_ns: seen.until, ns: lost, by, seen: Vec::new() });
        }
        (before, switches) = (after, until_read);
    }
    Ok(all)
}

/// A window: its first reading, and its last two.
#[derive(Clone, Copy)]
struct Window {
    from: u64,
    last: u64,
    until: u64,
    readings: u64,
}

/// Reads the clock until two readings are far apart, or until `end`.
fn window(threshold_ns: u64, end: u64) -> Window {
    let from = monotonic_ns();
    let mut seen = Window { from, last: from, until: from, readings: 1 };
    while seen.until - seen.last < threshold_ns && seen.until < end {
        seen.last = seen.until;
        seen.until = monotonic_ns();
        seen.readings += 1;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;
    use uncontended_testkit::skip;

    const INTERRUPTS: &str = "           CPU0       CPU2       \n 24:          1          5  IO-APIC   5-edge      ACPI:Ged\n\
        LOC:    3988787    4217259   Local timer interrupts\nERR:          0\n";

    #[test]
    fn a_column_is_that_of_its_cpu_with_the_names_of_devices() {
        let named = |cpu| column(INTERRUPTS, cpu);
        assert_eq!(named(2), [("ACPI:Ged".to_owned(), 5), ("LOC".to_owned(), 4_217_259)]);
        assert_eq!(named(0)[2], ("ERR".to_owned(), 0));
        assert_eq!((named(1), column("", 0)), (Vec::new(), Vec::new()));
        assert_eq!(steal("cpu  1 2\ncpu1 0 0 0 0 0 0 0 7 0 0\ncpu11 0 0 0 0 0 0 0 9 0\n", 1), 7);
        assert_eq!(steal("cpu 1", 0), 0);
    }

    #[test]
    fn a_gap_is_blamed_on_the_first_cause_that_applies_or_on_none() {
        let counters = |interrupt: u64, softirq: u64, steal: u64| Counters {
            interrupts: vec![("LOC".to_owned(), interrupt), ("RES".to_owned(), 4)],
            softirqs: vec![("TIMER".to_owned(), softirq)],
            steal,
            throttled: Throttled { periods: 7, ns: 100 },
        };
        let before = counters(1, 1, 1);
        let of = |ns, switched, after: Counters| cause(ns, switched, &before, &after);
        let all = vec!["LOC".to_owned(), "TIMER".to_owned()];
        assert_eq!(of(5_000_000, true, counters(2, 2, 2)), (Cause::Preemption, all.clone()));
        // The group stood still for 4 ms: that is most of a gap of 5 ms, and not of one of 50 ms.
        let throttled = Throttled { periods: 8, ns: 4_000_100 };
        let stopped = Counters { throttled, ..counters(2, 2, 2) };
        assert_eq!(of(5_000_000, true, stopped.clone()).0, Cause::Throttling);
        assert_eq!(of(50_000_000, true, stopped.clone()).0, Cause::Preemption);
        assert_eq!(of(5_000_000, false, stopped).0, Cause::Steal, "this thread ran");
        assert_eq!(of(5_000_000, false, counters(2, 2, 2)), (Cause::Steal, all.clone()));
        assert_eq!(of(50_000, false, counters(2, 2, 2)), (Cause::Interrupt, all));
        assert_eq!(
            of(50_000, false, counters(1, 2, 1)),
            (Cause::Softirq, vec!["TIMER".to_owned()])
        );
        assert_eq!(of(5_000_000, false, before.clone()), (Cause::Unknown, Vec::new()));
    }

    /// Runs `planted` on the CPU that is watched; returns when it ran, and what was seen.
    fn with_planted<T: Send>(planted: impl FnOnce() -> T + Send) -> (T, Watched) {
        let cpu = affinity::allowed().unwrap()[0];
        let end = monotonic_ns() + 1_000_000_000;
        std::thread::scope(|scope| {
            let watching = scope.spawn(move || watch(cpu, 1_000, end, || false).unwrap());
            let planting = scope.spawn(move || {
                affinity::pin(cpu).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(100));
                planted()
            });
            (planting.join().unwrap(), watching.join().unwrap())
        })
    }

    /// Keeps the CPU for this long.
    fn burn(ns: u64) -> (u64, u64) {
        let from = monotonic_ns();
        while monotonic_ns() < from + ns {}
        (from, monotonic_ns())
    }

    #[test]
    fn a_thread_of_higher_priority_is_a_gap_by_preemption() {
        if let Some(why) = Class::Fifo.refusal() {
            return skip!("a_thread_of_higher_priority_is_a_gap_by_preemption", "{why}");
        }
        let (planted, seen) = with_planted(|| {
            Class::Fifo.enter().unwrap();
            let pause = || std::thread::sleep(std::time::Duration::from_millis(15));
            (0..10).map(|_| (pause(), burn(5_000_000)).1).collect::<Vec<_>>()
        });
        let end = seen.gaps.last().map_or(0, |gap| gap.from_ns + gap.ns);
        let planted: Vec<(u64, u64)> = planted.into_iter().filter(|it| it.1 < end).collect();
        // A gap during a reading of counters begins before the thread was stopped, and is shorter by a reading.
        let covering = |&(from, until): &(u64, u64)| {
            let common =
                |gap: &&Gap| until.min(gap.from_ns + gap.ns).saturating_sub(from.max(gap.from_ns));
            seen.gaps.iter().find(|gap| common(gap) >= (until - from) * 9 / 10)
        };
        let found: Vec<&Gap> = planted.iter().filter_map(covering).collect();
        assert!(
            planted.len() >= 5 && found.len() * 10 >= planted.len() * 8,
            "{found:?} of {planted:?}: {:?}",
            seen.gaps
        );
        assert!(found.iter().all(|gap| gap.by == Cause::Preemption), "{found:?}");
    }

    #[test]
    fn a_thread_of_the_same_priority_takes_turns_and_every_turn_is_a_gap() {
        let ((from, until), seen) = with_planted(|| burn(60_000_000));
        let within = |gap: &&Gap| gap.from_ns < until && gap.from_ns + gap.ns > from;
        let lost: u64 = seen
            .gaps
            .iter()
            .filter(within)
            .filter(|gap| gap.by == Cause::Preemption)
            .map(|gap| gap.ns)
            .sum();
        assert!(lost > (until - from) / 10, "{lost} of {}: {:?}", until - from, seen.gaps);
        let is_apart = |pair: &[Gap]| pair[0].from_ns + pair[0].ns <= pair[1].from_ns;
        assert!(seen.gaps.windows(2).all(is_apart), "in their order, none within another");
        let gaps: u64 = seen.gaps.iter().map(|gap| gap.ns).sum();
        assert!(
            seen.readings > 1_000 && gaps < seen.watched_ns,
            "a gap is a part of what was watched"
        );
    }
}
