//! The clock behind every recorded time: ticks of the processor's counter where it is reliable, otherwise of the
//! kernel's clock.
//!
//! # Contract
//! [`ticks`] never goes backwards on one CPU; between CPUs it does by no more than their counters differ, which code
//! that takes differences must allow for. A counter is used only if the processor states that it runs at a constant
//! rate in all power states.
//! # Invariants
//! I1: every processor of the architecture has the instruction, and Linux lets programs use it.
//! # Sources
//! Intel SDM volume 3, 18.17 (invariant TSC: CPUID 80000007H, EDX bit 8); Arm ARM, CNTVCT_EL0.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The source of ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Source {
    /// The x86 time stamp counter.
    Tsc = 1,
    /// AArch64's virtual counter.
    Cntvct = 2,
    /// `clock_gettime(CLOCK_MONOTONIC)`; a tick is a nanosecond.
    Monotonic = 3,
}

/// 1 if the processor's counter must not be used.
static SLOW: AtomicU32 = AtomicU32::new(0);

/// The best reliable source on this machine.
pub fn best() -> Source {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: I1; newer toolchains declare it safe.
        #[allow(unused_unsafe)]
        let cpuid = |leaf| unsafe { std::arch::x86_64::__cpuid(leaf) };
        if cpuid(0x8000_0000).eax >= 0x8000_0007 && cpuid(0x8000_0007).edx & (1 << 8) != 0 {
            Source::Tsc
        } else {
            Source::Monotonic
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        Source::Cntvct
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        Source::Monotonic
    }
}

/// Makes [`ticks`] use `source` from now on in this process.
pub fn select(source: Source) {
    SLOW.store(u32::from(source == Source::Monotonic), Relaxed);
}

/// The current time in ticks of the selected source. The default is [`best`]; x86 processors without an invariant
/// counter need [`select`].
#[inline(always)]
pub fn ticks() -> u64 {
    if SLOW.load(Relaxed) != 0 {
        return monotonic_ns();
    }
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: I1.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: I1; it touches neither memory nor flags.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
        };
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        monotonic_ns()
    }
}

/// The kernel's monotonic clock in nanoseconds.
#[cfg(unix)]
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a pointer to `now` (L2).
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds since the first call in this process, and never 0.
#[cfg(not(unix))]
pub fn monotonic_ns() -> u64 {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let first = FIRST.get_or_init(std::time::Instant::now);
    first.elapsed().as_nanos() as u64 + 1
}

/// A point in time on both clocks: two that are far apart give the length of a tick.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Ticks of the selected source.
    pub ticks: u64,
    /// Nanoseconds of the kernel's clock.
    pub ns: u64,
}

impl Moment {
    /// The current time: the closest of several pairs of readings.
    pub fn now() -> Self {
        let reading = || {
            let (before, ns, after) = (ticks(), monotonic_ns(), ticks());
            (
                after.saturating_sub(before),
                Moment { ticks: before + after.saturating_sub(before) / 2, ns },
            )
        };
        let closest = (0..8).map(|_| reading()).min_by_key(|(apart, _)| *apart);
        closest.map_or(Moment { ticks: 0, ns: 0 }, |(_, moment)| moment)
    }

    /// Nanoseconds per tick between this point and a later one; 1 if no tick passed.
    pub fn tick_ns(self, later: Moment) -> f64 {
        let ticks = later.ticks.saturating_sub(self.ticks);
        if ticks == 0 { 1.0 } else { later.ns.saturating_sub(self.ns) as f64 / ticks as f64 }
    }
}

/// The smallest difference, in ticks, between two successive readings.
pub fn step_ticks() -> u64 {
    let differences = (0..1000).map(|_| {
        let first = ticks();
        ticks().saturating_sub(first)
    });
    differences.filter(|&difference| difference > 0).min().unwrap_or(1)
}

/// How often the kernel's timer interrupts a CPU that runs programs: the step of its coarse clock.
#[cfg(target_os = "linux")]
pub fn tick_ns() -> u64 {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer (L2).
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_nanoseconds_agree() {
        let first = Moment::now();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let second = Moment::now();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let third = Moment::now();
        let ratio = first.tick_ns(second) / second.tick_ns(third);
        assert!((0.99..1.01).contains(&ratio), "{ratio}");
        assert!(step_ticks() > 0);
    }
}
