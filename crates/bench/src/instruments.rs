//! The sources of a measurement: the machine's clocks and counters, or a test's script.

use std::fmt;

pub use uncontended_sys::usage::Usage;
use uncontended_sys::{clock, usage};

/// CPU time of all CPUs since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Used by any process, in nanoseconds.
    pub busy_ns: u64,
    /// Taken by the hypervisor for other guests while something here wanted to run, in nanoseconds.
    pub stolen_ns: u64,
}

/// Clocks and counters. Their values only grow, and any thread may read them.
pub trait Instruments: Send + Sync + fmt::Debug {
    /// Wall time, in nanoseconds.
    fn wall_ns(&self) -> u64;
    /// Resource usage of this process.
    fn usage(&self) -> Usage;
    /// CPU time of the whole machine.
    fn host(&self) -> Host;
    /// Problems with the clock, each with its remedy.
    fn doubts(&self) -> Vec<String>;
}

/// The machine's own clocks and counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl Instruments for Machine {
    fn wall_ns(&self) -> u64 {
        clock::monotonic_ns()
    }

    fn usage(&self) -> Usage {
        usage::process()
    }

    fn host(&self) -> Host {
        std::fs::read_to_string("/proc/stat").map_or(Host::default(), |text| host(&text))
    }

    fn doubts(&self) -> Vec<String> {
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let kernels = std::fs::read_to_string(path).unwrap_or_default();
        doubts(clock::best(), kernels.trim())
    }
}

/// Parses the first line of `/proc/stat`: hundredths of a second since the start in user mode, at low priority, in the
/// kernel, idle, waiting for disks, in interrupts of two kinds, stolen.
fn host(text: &str) -> Host {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let ns = |fields: &[usize]| {
        fields.iter().filter_map(|&field| ticks.get(field)).sum::<u64>() * 10_000_000
    };
    Host { busy_ns: ns(&[0, 1, 2, 5, 6]), stolen_ns: ns(&[7]) }
}

/// The problems if ticks come from `best` and the kernel's clock from `kernels`.
fn doubts(best: clock::Source, kernels: &str) -> Vec<String> {
    let mut doubts = Vec::new();
    if best == clock::Source::Monotonic {
        doubts.push(
            "the processor does not promise an invariant time stamp counter, so times come from the kernel's clock; do not \
             trust figures read from the counter itself; measure on another machine"
                .to_owned(),
        );
    }
    if ["hpet", "acpi_pm", "jiffies", "refined-jiffies"].contains(&kernels) {
        doubts.push(format!(
            "the kernel's clock source is {kernels}, and reading it takes about a microsecond: write tsc or kvm-clock to \
             /sys/devices/system/clocksource/clocksource0/current_clocksource"
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_read() {
        let text = "cpu  10 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3 4\n";
        assert_eq!(host(text), Host { busy_ns: 73 * 10_000_000, stolen_ns: 80_000_000 });
        assert_eq!(host("nothing"), Host::default());
        assert!(Machine.host().busy_ns > 0);
    }

    #[test]
    fn clocks_are_doubted_for_a_reason() {
        assert!(doubts(clock::Source::Tsc, "kvm-clock").is_empty());
        assert!(doubts(clock::Source::Monotonic, "hpet").len() == 2);
    }
}
