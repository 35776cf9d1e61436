//! The machine, and what it puts in doubt.

use crate::quota::Groups;
use crate::topic::Ends;
use crate::{Class, Plan, Row, Topic};
use serde::Serialize;
use std::path::Path;
use uncontended_bench::Cpu;
use uncontended_figures::text::several;
use uncontended_figures::{bytes, duration_f, given_percent};
use uncontended_sys::clock::monotonic_ns;
use uncontended_sys::host::Host;

pub(crate) const QUESTION: &str = "what is this machine, and what does it put in doubt";

/// The facts; what the kernel does not tell is none.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: Option<String>,
    /// CPUs that this process may use.
    pub cpus: usize,
    /// How many CPUs run at all; none if the kernel does not say.
    pub cpus_online: Option<usize>,
    /// Cores and packages of these.
    pub cores: usize,
    /// Packages (sockets) of these.
    pub packages: usize,
    /// Memory nodes.
    pub nodes: usize,
    /// Data and unified caches of the first CPU: level, size, and the CPUs that share it.
    pub caches: Vec<Cache>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// Whether the kernel runs under a hypervisor, as far as the processor tells.
    pub is_virtual: bool,
    /// The kernel's source of time.
    pub clock: Option<String>,
    /// What a reading of the clock takes.
    pub clock_ns: f64,
    /// The smallest step between two readings that differ.
    pub clock_step_ns: u64,
    /// The frequency governor.
    pub governor: Option<String>,
    /// The load average of the last minute.
    pub load: Option<f64>,
    /// The share of the CPUs' time since boot that the hypervisor took.
    pub stolen: Option<f64>,
    /// The CPU quota of this control group, in CPUs.
    pub quota: Option<f64>,
    /// How much of a second real-time threads may run, if the kernel limits them.
    pub real_time_share: Option<f64>,
    /// Whether a switch of threads resets the base of the segment GS, as kernels did before FSGSBASE.
    pub segment_is_reset: Option<bool>,
    /// Scheduling classes that are not permitted, with the reason.
    pub not_permitted: Vec<String>,
}

/// A cache.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Cache {
    /// Its level.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// How many CPUs share it.
    pub shared_by: usize,
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// What stands for a fact that is missing.
const NOT_SAID: &str = "the kernel does not say";

impl Machine {
    /// Reads them; the clock is measured for some milliseconds.
    #[must_use]
    pub fn read() -> Machine {
        let cpus = Cpu::allowed().unwrap_or_default();
        let distinct = |key: &dyn Fn(&Cpu) -> (usize, usize)| {
            cpus.iter().map(key).collect::<std::collections::BTreeSet<_>>().len()
        };
        let Host { processor, kernel, governor, load, .. } = Host::here();
        let (clock_ns, clock_step_ns) = clock();
        Machine {
            processor,
            cpus: cpus.len(),
            cpus_online: read("/sys/devices/system/cpu/online").as_deref().map(counted),
            cores: distinct(&|cpu| (cpu.package, cpu.core)),
            packages: distinct(&|cpu| (cpu.package, 0)),
            nodes: numbered("/sys/devices/system/node", "node").max(1),
            caches: caches(cpus.first().map_or(0, |cpu| cpu.number)),
            kernel,
            is_virtual: is_virtual(),
            clock: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            clock_ns,
            clock_step_ns,
            governor,
            load,
            stolen: stolen(),
            quota: Groups::own().quota(),
            real_time_share: real_time_share(),
            segment_is_reset: segment_is_reset(),
            not_permitted: Class::ALL
                .iter()
                .filter_map(|class| class.refusal().map(|why| format!("{class}: {why}")))
                .collect(),
        }
    }

    /// What of the rest it puts in doubt, each with a remedy.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let cpus = self.cpus as f64;
        if let Some(quota) = self.quota.filter(|&quota| quota < cpus) {
            doubts.push(format!(
                "a control group limits this process to {} of {}: when it is used up, all threads stand still until the next period, and waits and idle times show that; measure without the quota",
                uncontended_figures::number(quota),
                several(self.cpus as u64, "CPU", "CPUs")
            ));
        }
        if let Some(load) = self.load.filter(|&load| load > cpus / 2.0) {
            doubts.push(format!(
                "the load is {}: other programs take part in every figure; measure when the machine is idle",
                uncontended_figures::number(load)
            ));
        }
        if let Some(stolen) = self.stolen.filter(|&stolen| stolen > 0.01) {
            doubts.push(format!(
                "the hypervisor has taken {} of the CPUs' time since boot: the longest times are also its doing",
                given_percent((stolen * 1000.0).round() / 1000.0)
            ));
        }
        if self.is_virtual {
            doubts.push("a virtual machine: a wakeup on another CPU and a page that moves cost more than on the same processor itself".to_owned());
        }
        if self.governor.as_deref().is_some_and(|governor| governor != "performance") {
            doubts.push(format!(
                "the frequency governor is {}: the CPUs' speed changes with their work; set performance",
                self.governor.as_deref().unwrap_or_default()
            ));
        }
        if self
            .clock
            .as_deref()
            .is_some_and(|clock| !matches!(clock, "tsc" | "kvm-clock" | "arch_sys_counter"))
        {
            doubts.push(format!(
                "the kernel's clock is {}, which is slow to read",
                self.clock.as_deref().unwrap_or_default()
            ));
        }
        if self.cpus == 1 {
            doubts.push(
                "one CPU: threads take turns, and nothing is contended at one instant".to_owned(),
            );
        }
        doubts
    }

    /// How many CPUs this process may use, and of how many, if there are more.
    fn allowed_cpus(&self) -> String {
        match self.cpus_online {
            Some(online) if online > self.cpus => format!("{} of {online} allowed", self.cpus),
            _ => self.cpus.to_string(),
        }
    }

    /// The facts in words, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let or_unknown =
            |text: &Option<String>| text.clone().unwrap_or_else(|| NOT_SAID.to_owned());
        let mut lines = vec![
            ("processor", or_unknown(&self.processor)),
            (
                "CPUs",
                format!(
                    "{}, on {} of {}, {}",
                    self.allowed_cpus(),
                    several(self.cores as u64, "core", "cores"),
                    several(self.packages as u64, "package", "packages"),
                    several(self.nodes as u64, "memory node", "memory nodes")
                ),
            ),
        ];
        let cache = |cache: &Cache| {
            format!(
                "L{} {} for {}",
                cache.level,
                bytes(cache.bytes),
                several(cache.shared_by as u64, "CPU", "CPUs")
            )
        };
        if !self.caches.is_empty() {
            lines.push(("caches", self.caches.iter().map(cache).collect::<Vec<_>>().join(", ")));
        }
        lines.push(("kernel", or_unknown(&self.kernel)));
        lines.push((
            "clock",
            format!(
                "{}; a reading takes {}, the smallest step is {}",
                or_unknown(&self.clock),
                duration_f(self.clock_ns),
                duration_f(self.clock_step_ns as f64)
            ),
        ));
        lines.push(("governor", or_unknown(&self.governor)));
        if let Some(load) = self.load {
            lines.push(("load", uncontended_figures::number(load)));
        }
        if let Some(stolen) = self.stolen {
            let share = uncontended_figures::percent(stolen);
            let what = format!("{share} of the CPU time since boot, taken by the host");
            lines.push(("stolen", what));
        }
        if let Some(share) = self.real_time_share {
            let share = given_percent(share);
            let what = format!("real-time threads may use at most {share} of each period");
            lines.push(("real time", what));
        }
        if let Some(is_reset) = self.segment_is_reset {
            let what = if is_reset {
                "the kernel resets the GS register when it switches threads, so a thread can tell that it was switched out"
            } else {
                "the kernel keeps the GS register when it switches threads, so a thread cannot tell by it that it was switched out"
            };
            lines.push(("segments", what.to_owned()));
        }
        for why in &self.not_permitted {
            lines.push(("not permitted", why.clone()));
        }
        lines
    }
}

#[cfg(target_arch = "x86_64")]
fn segment_is_reset() -> Option<bool> {
    uncontended_sys::segment::is_reset_by_a_switch()
}

#[cfg(not(target_arch = "x86_64"))]
fn segment_is_reset() -> Option<bool> {
    None
}

/// Whether the processor says that it is a hypervisor's.
fn is_virtual() -> bool {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    flags.next().is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The topic: facts, as the machine's part of the report, and doubts.
pub(crate) fn measure(_: &Plan) -> Topic {
    let mut topic = Topic::left_out("machine", QUESTION, "");
    let machine = Machine::read();
    topic.stopped_by = "read";
    topic.not_measured.clear();
    topic.warnings = machine.doubts();
    topic.rows = vec![Row {
        name: "a reading of the clock".to_owned(),
        threads: 1,
        role: "subject",
        ns: Some(machine.clock_ns),
        ..Row::default()
    }];
    topic
}

/// What a reading takes, the least of some rounds, and the smallest step.
fn clock() -> (f64, u64) {
    const READINGS: u32 = 2_000;
    let round = || {
        let start = monotonic_ns();
        let last = (0..READINGS).fold(start, |_, _| std::hint::black_box(monotonic_ns()));
        (last - start) as f64 / f64::from(READINGS)
    };
    let takes = (0..5).map(|_| round()).fold(f64::INFINITY, f64::min);
    let mut step = u64::MAX;
    let mut last = monotonic_ns();
    for _ in 0..READINGS {
        let now = monotonic_ns();
        if now > last {
            step = step.min(now - last);
        }
        last = now;
    }
    (takes, if step == u64::MAX { 0 } else { step })
}

/// What a reading takes: the interval of the median over rounds.
pub(crate) fn clock_ends() -> Ends {
    const READINGS: u32 = 200;
    let round = |_| {
        let start = monotonic_ns();
        let last = (0..READINGS).fold(start, |_, _| std::hint::black_box(monotonic_ns()));
        (last - start) as f64 / f64::from(READINGS)
    };
    Ends::of(&(0..200).map(round).collect::<Vec<_>>())
}

/// How many entries of a folder have this name and a number.
fn numbered(folder: &str, prefix: &str) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u32>().is_ok()))
        .count()
}

fn caches(cpu: usize) -> Vec<Cache> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
    let cache = |index: usize| {
        let part = |file: &str| read(format!("{folder}/index{index}/{file}"));
        if part("type")? == "Instruction" {
            return None;
        }
        let kib: u64 = part("size")?.strip_suffix('K')?.parse().ok()?;
        let shared_by = part("shared_cpu_list").map_or(1, |list| counted(&list));
        Some(Cache { level: part("level")?.parse().ok()?, bytes: kib * 1024, shared_by })
    };
    (0..8).filter_map(cache).collect()
}

/// How many CPUs a list such as `0-3,8` has.
fn counted(list: &str) -> usize {
    let part = |part: &str| match part.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
            Some(last.checked_sub(first)? + 1)
        }
        None => part.parse::<usize>().ok().map(|_| 1),
    };
    list.split(',').filter_map(part).sum::<usize>().max(1)
}

/// The share of all CPUs' time that the hypervisor took.
fn stolen() -> Option<f64> {
    let stat = read("/proc/stat")?;
    let fields: Vec<f64> = stat
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    let all: f64 = fields.iter().take(8).sum();
    Some(fields.get(7)? / all).filter(|share| share.is_finite())
}

/// How much of each period real-time threads may run; none if they may take all of it.
fn real_time_share() -> Option<f64> {
    let number = |file: &str| read(format!("/proc/sys/kernel/{file}"))?.parse::<f64>().ok();
    let (runs, period) = (number("sched_rt_runtime_us")?, number("sched_rt_period_us")?);
    (runs >= 0.0).then_some(runs / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_is_counted() {
        assert_eq!(["0", "0-3", "0-3,8", "0,2,4-5"].map(counted), [1, 4, 5, 4]);
        assert_eq!(counted("nonsense"), 1, "at least the CPU itself");
    }

    #[test]
    fn facts_are_sentences_and_a_missing_one_is_said_to_be() {
        let machine = Machine {
            cpus: 1,
            cpus_online: Some(2),
            cores: 1,
            packages: 1,
            nodes: 1,
            stolen: Some(0.0005),
            real_time_share: Some(0.95),
            segment_is_reset: Some(false),
            ..Machine::default()
        };
        let of = |machine: &Machine, name| {
            let lines = machine.lines();
            lines.into_iter().find(|(own, _)| *own == name).map(|(_, fact)| fact).unwrap()
        };
        assert_eq!(of(&machine, "CPUs"), "1 of 2 allowed, on 1 core of 1 package, 1 memory node");
        assert_eq!(of(&machine, "governor"), "the kernel does not say");
        let stolen = of(&machine, "stolen");
        assert!(stolen.ends_with("% of the CPU time since boot, taken by the host"), "{stolen}");
        let share = of(&machine, "real time");
        assert_eq!(share, "real-time threads may use at most 95 % of each period");
        assert!(of(&machine, "segments").contains("cannot tell"));
        for cpus_online in [None, Some(1)] {
            let whole = Machine { cpus_online, ..machine.clone() };
            assert!(of(&whole, "CPUs").starts_with("1, on 1 core"));
        }
    }

    #[test]
    fn a_machine_says_what_it_puts_in_doubt() {
        let quiet = Machine { cpus: 8, load: Some(0.1), stolen: Some(0.0), ..Machine::default() };
        assert_eq!(quiet.doubts(), Vec::<String>::new());
        let doubted = Machine {
            quota: Some(2.0),
            load: Some(7.0),
            stolen: Some(0.05),
            is_virtual: true,
            governor: Some("powersave".to_owned()),
            clock: Some("hpet".to_owned()),
            ..quiet
        };
        let doubts = doubted.doubts();
        assert_eq!(doubts.len(), 6, "{doubts:?}");
        assert!(
            doubts[0].starts_with("a control group limits this process to 2.00 of 8 CPUs"),
            "{doubts:?}"
        );
    }
}
