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
    listed("possible")?.last()?.checked_add(1)
}

/// The CPUs that the kernel lists under this name: `possible`, `online`, `nohz_full`. None if it has no such list.
pub fn listed(name: &str) -> Option<Vec<usize>> {
    let path = std::path::Path::new("/sys/devices/system/cpu").join(name);
    parse(&std::fs::read_to_string(path).ok()?)
}

/// The most CPUs that Linux can be built for.
const MOST: usize = 8_192;

/// The CPUs of a list such as `0-3,8`, in ascending order. None for anything else.
pub fn parse(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |digits: &str| digits.trim().parse::<usize>().ok();
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
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
    fn lists_are_read() {
        assert_eq!(parse("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("5,1-2,2"), Some(vec![1, 2, 5]));
        for odd in ["", "a", "3-1", "1-", "-1", "1,,2", "0-99999999999999999999", "0-8192"] {
            assert_eq!(parse(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn the_highest_number_counts_and_not_how_many_there_are() {
        let allowed = allowed().unwrap();
        assert!(possible().is_none_or(|end| allowed.iter().all(|&cpu| cpu < end)), "{allowed:?}");
        if let (Some(possible), Some(online)) = (listed("possible"), listed("online")) {
            assert!(online.iter().all(|cpu| possible.contains(cpu)), "{online:?} {possible:?}");
        }
        assert_eq!(listed("no-such-list"), None);
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
