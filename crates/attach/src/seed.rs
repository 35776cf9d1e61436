//! Waits that were in progress when we came, and stacks of those in progress when we leave.
//!
//! # Contract
//! Both come from what the kernel says of a blocked thread; it stays blocked meanwhile. If it returns between
//! two looks, its entry is removed, or not believed at the return (`programs::exit`).
//! # Sources
//! proc(5), `/proc/PID/task/TID/syscall`: number, six arguments, stack pointer, instruction.

use crate::programs::{StackTop, Tables, wait};
use std::fs;
use std::os::unix::fs::FileExt as _;

const FUTEX: u64 = 202;
const FUTEX_WAITV: u64 = 449;
const FUTEX_WAIT: u64 = 455;
const WAITS: [u64; 5] = [0, 6, 9, 11, 13];

/// A blocked futex call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    address: u64,
    operation: u64,
    value: u64,
    stack: u64,
    instruction: u64,
}

impl Call {
    /// What the thread waits in, if it is a futex.
    pub(crate) fn of(pid: u32, tid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
        let first_word = |array: u64| {
            let mut address = [0; 8];
            let memory = memory(pid, tid)?;
            memory.read_exact_at(&mut address, array.checked_add(8)?).ok()?;
            Some(u64::from_le_bytes(address))
        };
        Self::parse(&text, first_word)
    }

    /// As the programs in the kernel note it.
    fn parse(text: &str, first_word: impl FnOnce(u64) -> Option<u64>) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace();
        let number: u64 = fields.next()?.parse().ok()?;
        let rest = fields.map(|field| u64::from_str_radix(field.trim_start_matches("0x"), 16));
        let rest: Vec<u64> = rest.collect::<Result<_, _>>().ok()?;
        let &[first, second, third, _, _, _, stack, instruction] = &rest[..] else {
            return None;
        };
        let (address, operation, value) = match number {
            FUTEX if WAITS.contains(&(second & 0x7f)) => {
                (first, second, third & u64::from(u32::MAX))
            }
            FUTEX_WAIT => (first, second, 0),
            FUTEX_WAITV => (first_word(first)?, first, 0),
            _ => return None,
        };
        Some(Call { address, operation, value, stack, instruction })
    }

    /// Whether it is that wait.
    pub(crate) fn is(&self, address: u64, operation: u64) -> bool {
        (self.address, self.operation) == (address, operation)
    }

    /// Its stack. The frame pointer is not known.
    pub(crate) fn top(&self, pid: u32, tid: u32) -> Option<StackTop> {
        let memory = memory(pid, tid)?;
        let mut bytes = vec![0; crate::programs::STACK_BYTES];
        let read = memory.read_at(&mut bytes, self.stack).ok()?;
        bytes.truncate(read);
        Some(StackTop { process: pid, registers: [self.instruction, self.stack, 0], bytes })
    }
}

/// The memory of a process, of which the thread `tid` lives.
fn memory(pid: u32, tid: u32) -> Option<fs::File> {
    fs::File::open(format!("/proc/{pid}/task/{tid}/mem")).ok()
}

/// The threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// What the process itself calls the thread `tid`: its number in their PID namespace.
pub(crate) fn own_number(pid: u32, tid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let innermost = numbers.and_then(|numbers| numbers.split_ascii_whitespace().last());
    innermost.and_then(|number| number.parse().ok()).unwrap_or(tid)
}

/// The name of a thread.
pub(crate) fn name(pid: u32, tid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// The arguments of a process. Programs that change what is shown of them leave several empty ones at the end.
pub(crate) fn command(pid: u32) -> Vec<String> {
    let words = fs::read(format!("/proc/{}/cmdline", living(pid))).unwrap_or_default();
    let words = words.strip_suffix(b"\0").unwrap_or(&words);
    let named = words.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let words = if words.len() > named + 1 { &words[..named] } else { words };
    let words = words.split(|&byte| byte == 0);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Notes the threads that live, from `now_ns` on.
pub(crate) fn met(tables: &Tables, pid: u32, now_ns: u64) {
    for tid in threads(pid) {
        tables.meet(pid, tid, now_ns);
        // Its end may have come before that. The first one stays, but does not live.
        let is_there = || std::path::Path::new(&format!("/proc/{pid}/task/{tid}")).exists();
        let has_ended = if tid == pid { !lives(tid) } else { !is_there() };
        if has_ended {
            tables.miss(pid, tid, now_ns);
        }
    }
}

/// Whether a process runs: one that has ended, but has not been reaped, does not.
pub(crate) fn runs(pid: u32) -> bool {
    lives(living(pid))
}

/// The thread of a process by whose number its files and memory are found: its first one or, if that has ended,
/// another one.
pub(crate) fn living(pid: u32) -> u32 {
    let others = || threads(pid).into_iter().find(|&tid| lives(tid));
    if lives(pid) { pid } else { others().unwrap_or(pid) }
}

fn lives(tid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{tid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().filter(|_| !stat.is_empty());
    state.is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Notes the waits in progress, from `now_ns` on.
pub(crate) fn waiting(tables: &Tables, pid: u32, now_ns: u64) {
    for tid in threads(pid) {
        let Some(call) = Call::of(pid, tid) else { continue };
        let mut entry = [0; wait::BYTES];
        for (place, value) in [
            (wait::ADDRESS, call.address),
            (wait::SINCE, now_ns),
            (wait::OPERATION, call.operation),
            (wait::VALUE, call.value | u64::from(pid) << 32), // And the process.
        ] {
            let place = usize::from(place.unsigned_abs());
            entry[place..place + 8].copy_from_slice(&value.to_le_bytes());
        }
        let key = tid.to_le_bytes();
        // If it has an entry, its thread has made one since, which is newer.
        if tables.threads.set(&key, &entry, true) && Call::of(pid, tid) != Some(call) {
            tables.threads.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_for_futexes_are_calls() {
        let text = "202 0x7f01 0x80 0x2 0x0 0x0 0x0 0x7ffd00 0x7f5500\n";
        let (stack, instruction) = (0x7ffd00, 0x7f5500);
        let call = Call { address: 0x7f01, operation: 0x80, value: 2, stack, instruction };
        let parse = |text| Call::parse(text, |array| (array == 0x9000).then_some(0x7f02));
        assert_eq!(parse(text), Some(call));
        assert_eq!(parse("202 0x7f01 0x81 0x1 0x0 0x0 0x0 0x7ffd00 0x7f5500"), None);
        assert_eq!(parse("0 0x0 0x80 0x2 0x0 0x0 0x0 0x7ffd00 0x7f5500"), None);
        assert_eq!(parse("running"), None);
        assert_eq!(parse("-1 0x7ffd00 0x7f5500"), None);
        let of_one = Call { operation: 5, value: 0, ..call };
        assert_eq!(parse("455 0x7f01 0x5 0xf 0x82 0x0 0x0 0x7ffd00 0x7f5500"), Some(of_one));
        let of_several = Call { address: 0x7f02, operation: 0x9000, value: 0, ..call };
        assert_eq!(parse("449 0x9000 0x2 0x0 0x0 0x1 0x0 0x7ffd00 0x7f5500"), Some(of_several));
        assert_eq!(parse("449 0x8000 0x2 0x0 0x0 0x1 0x0 0x7ffd00 0x7f5500"), None);
    }
}
