//! What do the daemon and the program in the kernel cost while a client always waits, and while none does? Figures of
//! README.md; as root.

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
#[path = "../tests/common/mod.rs"]
mod common;

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
fn main() {
    use std::time::Duration;
    use uncontended_barrierd::stamps::{Seen, Stamps};
    const WATCH: Duration = Duration::from_secs(5);

    let look = |daemon: &common::Running, watch| Stamps::look(&daemon.socket(), watch).unwrap();
    // The CPU times of the daemon and of the program, in nanoseconds.
    let costs = |seen: &Seen| {
        let runs = seen.cpus.iter().map(|cpu| cpu.runs).sum::<u64>();
        [seen.work.busy_ns, runs * seen.facts.program_ns.unwrap_or(0)]
    };
    let share = |before: &Seen, after: &Seen, divisor: usize| {
        let [busy, program] = [0, 1]
            .map(|nth| (costs(after)[nth] - costs(before)[nth]) as f64 / WATCH.as_nanos() as f64);
        [100.0 * busy, 100.0 * program / divisor as f64]
    };
    let Some(daemon) = common::Running::start("what_does_the_daemon_cost", None) else { return };
    let first = look(&daemon, Duration::ZERO);
    std::thread::sleep(WATCH);
    let idle = look(&daemon, Duration::ZERO);
    let mut busy = look(&daemon, WATCH);
    let cpus = busy.cpus.len();
    let [of_none, _] = share(&first, &idle, cpus);
    let [of_one, program] = share(&idle, &busy, cpus);
    busy.fences_ns.sort_unstable();
    let fences = busy.fences_ns.len();
    let ms = |nth: usize| busy.fences_ns[nth] as f64 / 1e6;
    println!("| | |\n|---|--:|");
    println!("| the program in the kernel, a run | {} ns |", busy.facts.program_ns.unwrap_or(0));
    println!("| the program, of a CPU's time | {program:.2} % |");
    println!("| the daemon, of a CPU, while a client always waits | {of_one:.2} % |");
    println!("| the daemon, of a CPU, while none waits | {of_none:.2} % |");
    println!(
        "| a fence: median, longest of {fences} | {:.1} ms, {:.1} ms |",
        ms(fences / 2),
        ms(fences - 1)
    );
}

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
)))]
fn main() {}
