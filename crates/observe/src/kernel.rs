//! The observer's system calls, which bypass any functions that the program has put in place of the C library's.
//!
//! # Contract
//! Each makes one system call and keeps `errno`.
//! # Invariants
//! I1: the kernel checks every address that it is given: a bad one is an error, and no memory changes.
//! I2: an advice given here changes how others see memory (core files, children), never its contents.
//! I3: `rt_sigprocmask` with an unknown `how` reads the new set and does nothing else.
//! # Evidence
//! `tests/programs/own_close.c`.

use std::ffi::{CStr, c_int, c_long};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use uncontended_sys::kernel::call;

/// The smallest page of any kernel.
pub(crate) const PAGE: usize = 4096;

/// A system call that takes no arguments and always succeeds.
fn ask(number: c_long) -> u32 {
    // SAFETY: used only for calls without arguments (L1).
    unsafe { call(number, [0; 6]) }.unwrap_or(0) as u32
}

pub(crate) fn process_id() -> u32 {
    ask(libc::SYS_getpid)
}

pub(crate) fn parent_id() -> u32 {
    ask(libc::SYS_getppid)
}

pub(crate) fn thread_id() -> u32 {
    ask(libc::SYS_gettid)
}

/// A descriptor, closed when dropped.
pub(crate) struct Descriptor(c_int);

impl Descriptor {
    pub(crate) fn open(path: &CStr, access: c_int) -> Option<Self> {
        let here = libc::AT_FDCWD as usize;
        let flags = (access | libc::O_CLOEXEC) as usize;
        // SAFETY: the path ends in NUL (L7).
        let opened =
            unsafe { call(libc::SYS_openat, [here, path.as_ptr() as usize, flags, 0, 0, 0]) };
        opened.ok().map(|number| Descriptor(number as c_int))
    }

    /// Returns the number of bytes read.
    pub(crate) fn read(&self, room: &mut [u8]) -> Option<usize> {
        let arguments = [self.0 as usize, room.as_mut_ptr() as usize, room.len(), 0, 0, 0];
        // SAFETY: room of that size (L2).
        unsafe { call(libc::SYS_read, arguments) }.ok()
    }

    /// Maps its first bytes, shared.
    pub(crate) fn map(&self, bytes: usize) -> Option<NonNull<u8>> {
        map(bytes, libc::MAP_SHARED, self.0)
    }
}

/// What is mapped at an address.
#[derive(Clone, Copy)]
pub(crate) struct Mapped {
    /// Whether other processes see what is written there.
    pub(crate) is_shared: bool,
    /// The device of the file: the higher half is the major number.
    pub(crate) device: u64,
    /// The file's number on it.
    pub(crate) inode: u64,
    /// The offset in the file.
    pub(crate) offset: u64,
}

/// The kernel's `struct procmap_query`.
#[repr(C)]
#[derive(Default)]
struct Query {
    bytes: u64,
    how: u64,
    address: u64,
    start: u64,
    end: u64,
    flags: u64,
    page: u64,
    offset: u64,
    inode: u64,
    major: u32,
    minor: u32,
    name_bytes: u32,
    build_id_bytes: u32,
    name: u64,
    build_id: u64,
}

impl Descriptor {
    /// What is mapped at `address`, of `/proc/self/maps`; none before Linux 6.11.
    pub(crate) fn mapped(&self, address: usize) -> Option<Mapped> {
        const PROCMAP_QUERY: usize = 0xc068_6611;
        const SHARED: u64 = 8;
        const _: () = assert!(size_of::<Query>() == PROCMAP_QUERY >> 16 & 0x3fff);
        let mut query =
            Query { bytes: size_of::<Query>() as u64, address: address as u64, ..Query::default() };
        let arguments = [self.0 as usize, PROCMAP_QUERY, (&raw mut query) as usize, 0, 0, 0];
        // SAFETY: a query of that size, which the kernel answers in place (L2).
        unsafe { call(libc::SYS_ioctl, arguments) }.ok()?;
        Some(Mapped {
            is_shared: query.flags & SHARED != 0,
            device: u64::from(query.major) << 32 | u64::from(query.minor),
            inode: query.inode,
            offset: query.offset + (query.address - query.start),
        })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours alone (L4).
        let _ = unsafe { call(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Writes to standard error.
#[cfg(debug_assertions)]
pub(crate) fn write_error(text: &[u8]) {
    let standard_error = libc::STDERR_FILENO as usize;
    let arguments = [standard_error, text.as_ptr() as usize, text.len(), 0, 0, 0];
    // SAFETY: a text of that length (L2).
    let _ = unsafe { call(libc::SYS_write, arguments) };
}

/// Anonymous memory, private to this process; `None` if the kernel refuses.
pub(crate) fn private_memory(bytes: usize) -> Option<NonNull<u8>> {
    map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
}

fn map(bytes: usize, kind: c_int, file: c_int) -> Option<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = kind | libc::MAP_NORESERVE;
    let arguments = [0, bytes, access as usize, kind as usize, file as usize, 0];
    // SAFETY: a new mapping at an address of the kernel's choice (L3).
    let base = unsafe { call(libc::SYS_mmap, arguments) }.ok()?;
    NonNull::new(base as *mut u8)
}

/// Unmaps a mapping.
///
/// # Safety
/// There is no reference to that memory.
pub(crate) unsafe fn unmap(base: NonNull<u8>, bytes: usize) {
    // SAFETY: removed by its owner (L3), by the contract after its last use.
    let _ = unsafe { call(libc::SYS_munmap, [base.as_ptr() as usize, bytes, 0, 0, 0, 0]) };
}

fn advise(base: NonNull<u8>, bytes: usize, advice: c_int) {
    let arguments = [base.as_ptr() as usize, bytes, advice as usize, 0, 0, 0];
    // SAFETY: an advice that changes nothing here (I2).
    let _ = unsafe { call(libc::SYS_madvise, arguments) };
}

/// Leaves these bytes out of core files.
pub(crate) fn keep_from_dumps(base: NonNull<u8>, bytes: usize) {
    advise(base, bytes, libc::MADV_DONTDUMP);
}

/// Makes a forked child find zeroes in these bytes of [`private_memory`]. Kernels before 4.14 cannot: a child that was
/// not forked by `fork` then counts as its parent.
pub(crate) fn keep_from_children(base: NonNull<u8>, bytes: usize) {
    advise(base, bytes, libc::MADV_WIPEONFORK);
}

/// Reads a symbolic link into `room` and returns the number of bytes.
pub(crate) fn read_link(path: &CStr, room: &mut [u8]) -> Option<usize> {
    let (here, path) = (libc::AT_FDCWD as usize, path.as_ptr() as usize);
    let arguments = [here, path, room.as_mut_ptr() as usize, room.len(), 0, 0];
    // SAFETY: the path ends in NUL (L7), and there is room of that size (L2).
    unsafe { call(libc::SYS_readlinkat, arguments) }.ok()
}

/// The name of the calling thread, padded with zeroes.
pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0u8; 16];
    let arguments = [libc::PR_GET_NAME as usize, name.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: room for a name, at most 16 bytes (L2).
    let _ = unsafe { call(libc::SYS_prctl, arguments) };
    name
}

/// Whether a filter of system calls is in force, as one that an earlier program of this process left behind.
pub(crate) fn has_filter() -> bool {
    // SAFETY: numbers only (L1).
    let mode = unsafe { call(libc::SYS_prctl, [libc::PR_GET_SECCOMP as usize, 0, 0, 0, 0, 0]) };
    mode != Ok(0)
}

/// The resource usage of the calling thread so far.
pub(crate) fn thread_usage() -> libc::rusage {
    // SAFETY: plain numbers (L5).
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    let arguments = [libc::RUSAGE_THREAD as usize, (&raw mut used) as usize, 0, 0, 0, 0];
    // SAFETY: room for the answer (L2).
    let _ = unsafe { call(libc::SYS_getrusage, arguments) };
    used
}

/// The part of this in the kernel, in nanoseconds.
pub(crate) fn system_ns(used: &libc::rusage) -> u64 {
    let system = used.ru_stime;
    system.tv_sec as u64 * 1_000_000_000 + system.tv_usec as u64 * 1_000
}

/// The signal stack of the calling thread, and whether a handler runs on it; `None` if that is unknown.
pub(crate) fn signal_stack() -> Option<libc::stack_t> {
    // SAFETY: plain numbers (L5).
    let mut stack: libc::stack_t = unsafe { std::mem::zeroed() };
    // SAFETY: null for "no change", and room for the answer (L2).
    let told = unsafe { call(libc::SYS_sigaltstack, [0, (&raw mut stack) as usize, 0, 0, 0, 0]) };
    told.is_ok().then_some(stack)
}

/// Whether the calling thread is its process's only one, as `/proc` says; false if that is unknown.
pub(crate) fn is_only_thread() -> bool {
    /// Links of the directory without one for each thread.
    const OTHER_LINKS: libc::nlink_t = 2;
    file(c"/proc/self/task").is_some_and(|facts| facts.st_nlink == OTHER_LINKS + 1)
}

/// What the kernel says of a file.
pub(crate) fn file(path: &CStr) -> Option<libc::stat> {
    // SAFETY: plain numbers (L5).
    let mut facts: libc::stat = unsafe { std::mem::zeroed() };
    let (path, room) = (path.as_ptr() as usize, (&raw mut facts) as usize);
    // SAFETY: the path ends in NUL (L7), and there is room for the answer (L2).
    let told =
        unsafe { call(libc::SYS_newfstatat, [libc::AT_FDCWD as usize, path, room, 0, 0, 0]) };
    told.ok().map(|_| facts)
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut cpu = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments = [libc::CLOCK_THREAD_CPUTIME_ID as usize, (&raw mut cpu) as usize, 0, 0, 0, 0];
    // SAFETY: room for the answer (L2).
    let _ = unsafe { call(libc::SYS_clock_gettime, arguments) };
    cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64
}

/// The value at an address, copied by the kernel; `None` if nothing is mapped there or the kernel cannot do this.
///
/// # Safety
/// Any bytes are a valid `T`.
pub(crate) unsafe fn copy<T: Copy>(address: usize) -> Option<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let bytes = size_of::<T>();
    let (to, from) = ([value.as_mut_ptr() as usize, bytes], [address, bytes]);
    let (to, from) = (to.as_ptr() as usize, from.as_ptr() as usize);
    // SAFETY: one buffer on each side: room for a `T` (L2), and an address that the kernel checks (I1).
    let copied =
        unsafe { call(libc::SYS_process_vm_readv, [process_id() as usize, to, 1, from, 1, 0]) };
    // SAFETY: the kernel wrote all of it (L6), and the bytes are a `T` by the contract.
    (copied == Ok(bytes)).then(|| unsafe { value.assume_init() })
}

/// Whether the kernel can read a signal set at the address. With an invalid `how` it does nothing else with it.
pub(crate) fn can_read(address: usize) -> bool {
    const NO_SUCH_HOW: usize = 77;
    // SAFETY: any address will do (I1), and nothing changes (I3).
    let result = unsafe { call(libc::SYS_rt_sigprocmask, [NO_SUCH_HOW, address, 0, 8, 0, 0]) };
    result == Err(libc::EINVAL)
}
