//! The sections as instructions of x86-64.
//!
//! # Contract
//! A section begins by storing the address of its descriptor into the thread's area, and lies between labels 3 and 4,
//! the instruction before 4 being its commit. The kernel restarts it at label 6, its beginning, behind an instruction
//! that does nothing and whose operand is the signature: so unwinders find the function there. A thread that leaves it
//! by another way leaves nothing behind. It contains no call and no system call.
//!
//! Under `--cfg unc_pause` a section waits right before its commit, so that most signals and many preemptions abort it,
//! and counts how often it was aborted.
//!
//! # Invariants
//! I1: that of the parent module, about the cells.
//! I2: [`AREA`] is the offset that the C library gives, set before the first cell exists; while it is 0, a section that
//!     is not on a cell is not begun. Each thread has its area there; in one that is not registered, the number of the
//!     CPU is negative, so it is not below [`CPUS`].
//! I3: a section writes only what its caller owns before its commit, which is its only store to shared memory, an
//!     aligned one of 8 bytes. Its inputs stay as they are, so that it can start again.
//! I4: descriptors and the code that they name are in the program's file and never change; a library with this code
//!     must not be unloaded.
//! I5: the four bytes before an abort address are the signature that glibc registers threads with.
//! # Sources
//! Linux include/uapi/linux/rseq.h; librseq, rseq-x86-bits.h; M. Desnoyers, the rseq(2) manual page.

use super::{End, Link, Popped};
use crate::backend::Why;
use std::arch::asm;
use std::io::ErrorKind;
use std::mem::offset_of;
use std::ptr::NonNull;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, CachePadded};
use uncontended_sys::rseq::{self, Absent};
use uncontended_sys::{affinity, membarrier};

/// The offset of a thread's area from its thread pointer.
static AREA: AtomicIsize = AtomicIsize::new(0);
/// How many cells for CPUs a structure has.
static CPUS: AtomicU32 = AtomicU32::new(0);

/// Linux is built for at most as many.
const MOST_CPUS: usize = 8_192;

/// The sections find a CPU's cell by a shift of its number.
const _: () = assert!(size_of::<CachePadded<AtomicU64>>() == 1 << 7);
const _: () = assert!(offset_of!(Link, next) == 0 && offset_of!(Link, depth) == 8);

/// The number of CPUs that have cells. Several threads may ask at once; those that find one find the same.
pub(crate) fn decide() -> Result<u32, Why> {
    let area = rseq::offset().map_err(|absent| match absent {
        Absent::Library => Why::Library,
        Absent::Static => Why::Static,
        Absent::TurnedOff => Why::TurnedOff,
        Absent::Kernel => Why::Kernel,
        Absent::Forbidden => Why::Forbidden,
        Absent::Small => Why::Small,
        Absent::Flags => Why::Flags,
    })?;
    membarrier::register_restarts().map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Why::BarrierForbidden,
        _ => Why::Barrier,
    })?;
    let last_allowed = || affinity::allowed().ok()?.last().map(|last| last + 1);
    let cpus = affinity::possible().or_else(last_allowed).ok_or(Why::Cpus)?.min(MOST_CPUS) as u32;
    AREA.store(area, Relaxed);
    // Another thread may have found another number: the first counts.
    Ok(CPUS.compare_exchange(0, cpus, Relaxed, Relaxed).map_or_else(|first| first, |_| cpus))
}

/// Restarts the sections that run on the CPU now, or on all. What their threads did before is visible after.
pub(crate) fn restart(cpu: Option<u32>) -> Result<(), i32> {
    // A child of a fork may not be registered yet.
    membarrier::restart(cpu)
        .or_else(|_| membarrier::register_restarts().and_then(|()| membarrier::restart(cpu)))
        .map_err(|error| error.raw_os_error().unwrap_or(0))
}

#[cfg(unc_pause)]
macro_rules! delay {
    () => {
        ".rept 64\npause\n.endr"
    };
}
#[cfg(not(unc_pause))]
macro_rules! delay {
    () => {
        ""
    };
}

#[cfg(unc_pause)]
macro_rules! count_abort {
    () => {
        "lock inc qword ptr [rip + uncontended_percpu_aborts]"
    };
}
#[cfg(unc_pause)]
macro_rules! skip_count {
    () => {
        "jmp 2f"
    };
}
#[cfg(not(unc_pause))]
macro_rules! skip_count {
    () => {
        ""
    };
}
#[cfg(not(unc_pause))]
macro_rules! count_abort {
    () => {
        ""
    };
}

/// How many sections were aborted so far.
#[cfg(unc_pause)]
pub fn aborts() -> u64 {
    #[unsafe(no_mangle)]
    #[allow(non_upper_case_globals)]
    static uncontended_percpu_aborts: AtomicU64 = AtomicU64::new(0);
    uncontended_percpu_aborts.load(Relaxed)
}

/// A section: its steps, its commit, and the operands of both. `{t}` is free for the steps.
macro_rules! section {
    ([$($step:literal),*], commit $commit:literal, $($operands:tt)*) => {
        asm!(
            skip_count!(),
            ".byte 0x0f, 0x1f, 0x80", // nop dword ptr [rax + the signature]
            ".long 0x53053053",
            "6:",
            count_abort!(),
            "2:",
            "lea {t}, [rip + 5f]",
            "mov qword ptr fs:[{area} + 8], {t}",
            "3:",
            $($step,)*
            delay!(),
            $commit,
            "4:",
            ".pushsection .data.rel.ro.uncontended_rseq, \"aw\", @progbits",
            ".balign 32",
            "5:",
            ".long 0, 0",
            ".quad 3b, 4b - 3b, 6b",
            ".popsection",
            t = out(reg) _,
            area = in(reg) AREA.load(Relaxed),
            $($operands)*
        )
    };
}

/// A section on the CPU's own cell, whose address `{t}` is.
macro_rules! on_own_cell {
    ([$($step:literal),*], commit $commit:literal, elsewhere $elsewhere:literal, $($operands:tt)*) => {
        section!(
            [
                "mov {t:e}, dword ptr fs:[{area} + 4]",
                "cmp {t:e}, {cpus:e}",
                $elsewhere,
                "shl {t}, 7",
                "add {t}, {cells}"
                $(, $step)*
            ],
            commit $commit,
            cpus = in(reg) CPUS.load(Relaxed),
            $($operands)*
        )
    };
}

/// The number of the CPU that the thread is on, which may change at once; high if the thread is not registered.
#[inline(always)]
pub(crate) fn cpu() -> u32 {
    let cpu: u32;
    // SAFETY: reads the thread's own area (I2).
    unsafe {
        asm!(
            "mov {cpu:e}, dword ptr fs:[{area} + 4]",
            cpu = out(reg) cpu,
            area = in(reg) AREA.load(Relaxed),
            options(nostack, readonly, preserves_flags)
        );
    }
    cpu
}

/// Adds one to the CPU's cell. An instruction with a constant and one register for the address: processors that
/// forward stores to loads without delay do so for that form.
///
/// # Safety
/// I1.
#[inline(always)]
pub(crate) unsafe fn increment(cells: NonNull<CachePadded<AtomicU64>>) -> End {
    // SAFETY: I1, I2; one store (I3); I4, I5.
    unsafe {
        on_own_cell!(
            [], commit "inc qword ptr [{t}]", elsewhere "jae {elsewhere}",
            cells = in(reg) cells.as_ptr(), elsewhere = label { return End::Elsewhere },
            options(nostack)
        );
    }
    End::Committed
}

/// Adds `n` to the CPU's cell.
///
/// # Safety
/// I1.
#[inline(always)]
pub(crate) unsafe fn add(cells: NonNull<CachePadded<AtomicU64>>, n: u64) -> End {
    // SAFETY: I1, I2; one store (I3); I4, I5.
    unsafe {
        on_own_cell!(
            [], commit "add qword ptr [{t}], {n}", elsewhere "jae {elsewhere}",
            cells = in(reg) cells.as_ptr(), n = in(reg) n,
            elsewhere = label { return End::Elsewhere }, options(nostack)
        );
    }
    End::Committed
}

/// Stores `new` if the word is `expected` and the thread is on that CPU.
///
/// # Safety
/// The word lives, and sections of that CPU alone change it from `expected`.
#[inline(always)]
pub(crate) unsafe fn compare_and_store(word: &AtomicU64, cpu: u32, expected: u64, new: u64) -> End {
    // SAFETY: a word that lives; I2; one store (I3); I4, I5.
    unsafe {
        section!(
            [
                "cmp {cpu:e}, dword ptr fs:[{area} + 4]",
                "jne {elsewhere}",
                "cmp {expected}, qword ptr [{word}]",
                "jne {differs}"
            ],
            commit "mov qword ptr [{word}], {new}",
            cpu = in(reg) cpu, word = in(reg) word.as_ptr(), expected = in(reg) expected,
            new = in(reg) new, elsewhere = label { return End::Elsewhere },
            differs = label { return End::Differs }, options(nostack)
        );
    }
    End::Committed
}

/// Stores `value` into `word` if `owner` is `claim`, on whatever CPU.
///
/// # Safety
/// Both words live.
#[inline(always)]
pub(crate) unsafe fn store_if(owner: &AtomicU64, claim: u64, word: &AtomicU64, value: u64) -> End {
    // SAFETY: words that live; I2; one store (I3); I4, I5.
    unsafe {
        section!(
            [
                "cmp dword ptr fs:[{area} + 4], 0",
                "jl {elsewhere}",
                "cmp {claim}, qword ptr [{owner}]",
                "jne {differs}"
            ],
            commit "mov qword ptr [{word}], {value}",
            owner = in(reg) owner.as_ptr(), claim = in(reg) claim, word = in(reg) word.as_ptr(),
            value = in(reg) value, elsewhere = label { return End::Elsewhere },
            differs = label { return End::Differs }, options(nostack)
        );
    }
    End::Committed
}

/// Puts a node before the list of the CPU, unless the list has `most` nodes already. The end tells whether the node is
/// still the caller's: it is, unless it was committed.
///
/// # Safety
/// I1; the node lives and is the caller's.
#[inline(always)]
pub(crate) unsafe fn push(
    cells: NonNull<CachePadded<AtomicPtr<Link>>>,
    node: NonNull<Link>,
    most: usize,
) -> End {
    // SAFETY: I1, I2; before the commit only the caller's own node is written (I3); the head is locked, null,
    // or a node that lives until the section is restarted; I4, I5.
    unsafe {
        on_own_cell!(
            [
                "mov {head}, qword ptr [{t}]",
                "xor {depth:e}, {depth:e}",
                "cmp {head}, 1",
                "jb 7f",
                "je {elsewhere}",
                "mov {depth}, qword ptr [{head} + 8]",
                "7:",
                "cmp {depth}, {most}",
                "jae {full}",
                "inc {depth}",
                "mov qword ptr [{node} + 8], {depth}",
                "mov qword ptr [{node}], {head}"
            ],
            commit "mov qword ptr [{t}], {node}",
            elsewhere "jae {elsewhere}",
            cells = in(reg) cells.as_ptr(), node = in(reg) node.as_ptr(), most = in(reg) most,
            head = out(reg) _, depth = out(reg) _, elsewhere = label { return End::Elsewhere },
            full = label { return End::Full }, options(nostack)
        );
    }
    End::Committed
}

/// Takes the first node of the CPU's list.
///
/// # Safety
/// I1.
#[inline(always)]
pub(crate) unsafe fn pop(cells: NonNull<CachePadded<AtomicPtr<Link>>>) -> Popped {
    let head: *mut Link;
    // SAFETY: I1, I2; one store (I3); the head is locked, null, or a node that lives until the section is restarted;
    // I4, I5. A jump to label 4 leaves the section behind its commit.
    unsafe {
        on_own_cell!(
            [
                "mov {head}, qword ptr [{t}]",
                "cmp {head}, 1",
                "jbe 4f",
                "mov {next}, qword ptr [{head}]"
            ],
            commit "mov qword ptr [{t}], {next}",
            elsewhere "mov {head:e}, 1\njae 4f",
            cells = in(reg) cells.as_ptr(), head = out(reg) head, next = out(reg) _,
            options(nostack)
        );
    }
    match NonNull::new(head) {
        None => Popped::Empty,
        Some(locked) if locked.as_ptr() == super::LOCKED => Popped::Elsewhere,
        Some(node) => Popped::Node(node),
    }
}
