//! The CPUs that a thread may run on.
//!
//! # Invariants
//! I1: a CPU that is looked up in a set or added to it is below the size of the set.

use std::io;

/// The CPUs that the calling thread may run on, in ascending order.
///
/// # Errors
/// Those of `sched_getaffinity` (on a machine with more than 1,024 CPUs).
pub fn allowed() -> io::Result<Vec<usize>> {
    // SAFETY: all zeroes is the empty set (L5).
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer and the size are those of `set` (L2); 0 names the calling thread.
    match unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } {
        0 => {}
        _ => return Err(io::Error::last_os_error()),
    }
    let size = usize::try_from(libc::CPU_SETSIZE).unwrap_or(0);
    // SAFETY: I1, by the range.
    Ok((0..size).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

/// One more than the highest number that a CPU of this machine may have, plugged in or not; none if the kernel does not
/// say. There may be gaps in the numbers.
pub fn possible() -> Option<usize> {
    after_last(&std::fs::read_to_string("/sys/devices/system/cpu/possible").ok()?)
}

/// One more than the last number of a list such as `0-3,8-11`.
fn after_last(list: &str) -> Option<usize> {
    let last = list.trim().rsplit([',', '-']).next()?;
    last.parse::<usize>().ok()?.checked_add(1)
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// Those of `sched_setaffinity`: the CPU does not exist or is not allowed.
pub fn pin(cpu: usize) -> io::Result<()> {
    if i32::try_from(cpu).map_or(true, |cpu| cpu >= libc::CPU_SETSIZE) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: all zeroes is the empty set (L5).
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: I1, checked above.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the pointer and the size are those of `set` (L2); 0 names the calling thread.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The CPU on which the calling thread runs now, where that takes no system call: on x86-64. A filter of system calls
/// may kill a program for asking the kernel. Miri has no CPUs.
pub fn current() -> Option<u32> {
    if cfg!(all(target_arch = "x86_64", not(miri))) {
        // SAFETY: it takes no argument and yields a number (L1).
        u32::try_from(unsafe { libc::sched_getcpu() }).ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_number_counts_and_not_how_many_there_are() {
        for (list, end) in [("0\n", 1), ("0-1\n", 2), ("0-3,8-11", 12), ("0,2", 3)] {
            assert_eq!(after_last(list), Some(end), "{list}");
        }
        assert_eq!(
            [after_last(""), after_last("all"), after_last(&usize::MAX.to_string())],
            [None; 3]
        );
        let allowed = allowed().unwrap();
        assert!(possible().is_none_or(|end| allowed.iter().all(|&cpu| cpu < end)), "{allowed:?}");
    }

    #[test]
    fn a_pinned_thread_may_run_on_that_cpu_alone() {
        let before = allowed().unwrap();
        let last = *before.last().unwrap();
        let pinned = move || pin(last).and_then(|()| Ok((allowed()?, current())));
        let (after, cpu) = std::thread::spawn(pinned).join().unwrap().unwrap();
        assert_eq!(after, [last]);
        assert!(cpu.is_none_or(|cpu| cpu as usize == last), "{cpu:?}");
        assert_eq!(allowed().unwrap(), before, "other threads stay as they were");
        assert!(pin(1 << 20).is_err() && pin(usize::MAX).is_err());
    }
}
