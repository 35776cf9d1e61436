//! Resource usage of this process so far: CPU time and context switches of all its threads, including those that have
//! ended.
//!
//! # Contract
//! The values only grow. A thread that is running on another CPU is counted up to its last scheduler tick (a few
//! milliseconds); one that sleeps or has ended is counted exactly.
//! # Sources
//! clock_getres(2) (`CLOCK_PROCESS_CPUTIME_ID`), getrusage(2).

/// Resource usage of all threads of the process since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user and kernel mode, in nanoseconds.
    pub cpu_ns: u64,
    /// Voluntary context switches: a thread slept.
    pub voluntary: u64,
    /// Involuntary context switches: a thread was preempted.
    pub involuntary: u64,
}

/// The usage until now; zeros where the kernel does not report it.
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

/// The usage of the calling thread until now; zeros where the kernel does not report it.
#[cfg(target_os = "linux")]
pub fn thread() -> Usage {
    // SAFETY: zeroed (L5).
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a pointer to `usage` (L2).
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Usage {
        cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
        voluntary: usage.ru_nvcsw as u64,
        involuntary: usage.ru_nivcsw as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::process;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_has_its_own_usage() {
        let before = super::thread();
        let other = || {
            std::thread::sleep(std::time::Duration::from_millis(1));
            super::thread().voluntary
        };
        assert!(std::thread::spawn(other).join().unwrap() > 0);
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(super::thread().voluntary > before.voluntary);
        assert!(super::thread().cpu_ns <= process().cpu_ns, "a part of the whole");
    }

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
