//! What this process has used so far: CPU time and context switches of all its threads, dead ones included.
//!
//! # Contract
//! Figures only grow. A thread that runs on another CPU at that moment is counted up to its last scheduler tick (a few
//! milliseconds); one that sleeps or has ended is counted exactly.
//! # Sources
//! clock_getres(2) (`CLOCK_PROCESS_CPUTIME_ID`), getrusage(2).

/// Used by all threads of the process since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time, in user and system mode, in nanoseconds.
    pub cpu_ns: u64,
    /// Switches because a thread slept.
    pub voluntary: u64,
    /// Switches because a thread was made to give way.
    pub involuntary: u64,
}

/// What was used until now; zeros where the kernel gives none.
pub fn process() -> Usage {
    let mut cpu = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a pointer to `cpu` (L2).
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut cpu) };
    // SAFETY: zeroed (L5).
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a pointer to `usage` (L2).
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    Usage {
        cpu_ns: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64,
        voluntary: usage.ru_nvcsw as u64,
        involuntary: usage.ru_nivcsw as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::process;

    #[test]
    fn sleeping_is_a_voluntary_switch_and_work_takes_cpu_time() {
        let before = process();
        std::thread::sleep(std::time::Duration::from_millis(1));
        let slept = process();
        assert!(slept.voluntary > before.voluntary && slept.involuntary >= before.involuntary);
        let mut rounds = 0u64;
        while process().cpu_ns == slept.cpu_ns {
            rounds = std::hint::black_box(rounds + 1);
        }
        assert!(process().cpu_ns > slept.cpu_ns);
    }
}
