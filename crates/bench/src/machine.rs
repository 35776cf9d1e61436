//! Facts about the machine, shown above every table.

use std::time::Duration;

use uncontended_sys::clock::Moment;

use crate::report::Facts;

/// Reads them; the length of a tick is measured over 20 ms.
pub(crate) fn facts(cpus: usize) -> Facts {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let named = |field: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(field))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let first = Moment::now();
    std::thread::sleep(Duration::from_millis(20));
    Facts {
        processor: named("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cpus,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        load: read("/proc/loadavg").split(' ').next().and_then(|word| word.parse().ok()),
        tick_ns: first.tick_ns(Moment::now()),
    }
}
