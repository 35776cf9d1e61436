//! Stacks of the calling thread, taken without the loader's lock and without trusting the stack's memory.
//!
//! # Contract
//! [`Caller::stack`] gives the number of the stack from the interposed function's caller outwards. A call site at the same
//! depth of the stack is unwound once a thread and found again by return address and stack pointer, so a stack that differs
//! only in outer frames with the same depth is taken for the first one. Call frame information says where a frame ends;
//! where there is none, the frame pointer.
//! # State
//! The thread's [`Cache`]; the image's table of stacks and its list of modules in the record.
//! # Edges
//! index: `enter` stores a slot of the table -> `enter` in another thread loads it. Carries the stack.
//! # Invariants
//! I1: a page is read only after the kernel read it for us, so a bad pointer ends a stack and nothing else. It is asked by
//! `rt_sigprocmask`, which every sandbox allows.
//! I2: call frame information is read in modules that contain a return address on the stack, so they stay loaded.
//! # Sources
//! System V ABI (AMD64), 3.7 and 6; LSB 5.0, exception frames; glibc manual: `_dl_find_object` is async-signal-safe.

use crate::local::Local;
use crate::{host, kernel};
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, Register, RegisterRule,
    UnwindSection,
};
use std::cell::Cell as Own;
use std::ffi::{CStr, c_char, c_int, c_void};
use uncontended_atomic::{AtomicUsize, Ordering::*};
use uncontended_trace::layout::{self, FRAMES, Module, STACK_SLOTS, Stack};

/// No module is that large.
const FARTHEST: usize = 1 << 32;
/// A frame beyond this is taken for a stray frame pointer.
const LARGEST_FRAME: usize = 1 << 20;
/// The smallest page of any kernel.
const PAGE: usize = 4096;

/// Where an interposed function was called, as its entry passes it on.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Caller {
    /// Address of the return address (x86-64), or of the pair of frame pointer and return address (AArch64).
    frame: usize,
    /// The frame pointer's register at the call.
    fp: usize,
}

/// One frame of a stack.
#[derive(Clone, Copy)]
struct Frame {
    pc: usize,
    sp: usize,
    fp: usize,
}

impl Caller {
    #[inline(always)]
    fn frame_of_caller(self) -> Frame {
        let (at, below) = if cfg!(target_arch = "x86_64") { (0, 8) } else { (8, 16) };
        // SAFETY: the entry of every interposed function leaves the return address there.
        let pc = unsafe { *((self.frame + at) as *const usize) };
        Frame { pc: without_signature(pc), sp: self.frame + below, fp: self.fp }
    }
}

/// Recently used call sites of one thread.
pub(crate) struct Cache {
    sites: [Own<(usize, usize, u32)>; 64],
}

impl Cache {
    pub(crate) fn new() -> Self {
        Cache { sites: [const { Own::new((0, 0, 0)) }; 64] }
    }

    fn site(&self, caller: Frame) -> &Own<(usize, usize, u32)> {
        &self.sites[(caller.pc ^ (caller.pc >> 7) ^ (caller.sp >> 4)) % 64]
    }
}

impl Caller {
    /// The number of this stack if the call site is known.
    #[inline]
    pub(crate) fn known_stack(self, local: &Local) -> Option<u32> {
        let frame = self.frame_of_caller();
        let (pc, sp, stack) = local.stacks.site(frame).get();
        (pc == frame.pc && sp == frame.sp).then_some(stack)
    }

    /// The number of this stack; 0 if there is no room for it. The thread must be marked as recording.
    pub(crate) fn stack(self, local: &Local) -> u32 {
        if let Some(stack) = self.known_stack(local) {
            return stack;
        }
        let frame = self.frame_of_caller();
        let mut frames = [0; FRAMES];
        let count = unwind(frame, local, &mut frames);
        let stack = enter(local, &frames[..count]);
        local.stacks.site(frame).set((frame.pc, frame.sp, stack));
        stack
    }
}

/// The loader's answer about an address: `struct dl_find_object`.
#[repr(C)]
struct Object {
    flags: u64,
    start: usize,
    end: usize,
    link_map: *const LinkMap,
    eh_frame: *const u8,
    reserved: [u64; 7],
}

/// The first fields of the loader's `struct link_map`.
#[repr(C)]
struct LinkMap {
    bias: usize,
    name: *const c_char,
    dynamic: usize,
}

impl Object {
    /// Behind the call frame information. Where a module has a gap between its segments, the loader tells the bounds of
    /// its code alone; the dynamic section then lies behind what we want.
    fn end_of_frames(&self) -> usize {
        if self.end > self.eh_frame as usize {
            return self.end;
        }
        // SAFETY: the loader keeps the link map of a module that is in use (I2).
        unsafe { (*self.link_map).dynamic }
    }
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut Object) -> c_int;

static FIND_OBJECT: AtomicUsize = AtomicUsize::new(0);
/// Address of the program's path, which the loader does not know; 0 if it could not be read.
static PROGRAM: AtomicUsize = AtomicUsize::new(0);

/// Looks up what unwinding needs; without `_dl_find_object` (before glibc 2.35) stacks have one frame.
pub(crate) fn prepare() {
    FIND_OBJECT.store(host::optional(c"_dl_find_object").unwrap_or(0), Relaxed);
    let Some(page) = kernel::private_memory(PAGE) else { return };
    // SAFETY: a fresh page, of which nobody else knows yet; the byte that is left out stays NUL.
    let path = unsafe { std::slice::from_raw_parts_mut(page.as_ptr(), PAGE - 1) };
    if kernel::read_link(c"/proc/self/exe", path).is_some() {
        PROGRAM.store(page.as_ptr() as usize, Relaxed);
    }
}

fn object(pc: usize) -> Option<Object> {
    let address = FIND_OBJECT.load(Relaxed);
    if address == 0 {
        return None;
    }
    // SAFETY: `prepare` found it under the name of a function of this type.
    let find: FindObject = unsafe { std::mem::transmute(address) };
    // SAFETY: Object is plain data for which all zeroes is a value.
    let mut object: Object = unsafe { std::mem::zeroed() };
    // SAFETY: `object` lives until the call returns and is at least as large as the loader's structure.
    let rc = unsafe { find(pc as *mut c_void, &mut object) };
    (rc == 0 && !object.eh_frame.is_null()).then_some(object)
}

/// The stack's memory, of which only what the kernel could read is read here (I1).
struct Memory {
    /// The page that was found readable last; 1 for none.
    page: usize,
}

impl Memory {
    fn word(&mut self, at: usize) -> Option<usize> {
        let page = at & !(PAGE - 1);
        if !at.is_multiple_of(8) || (page != self.page && !kernel::can_read(page)) {
            return None;
        }
        self.page = page;
        // SAFETY: an aligned word in a page that was readable just now, in a stack that its thread is running on (I1).
        Some(unsafe { (at as *const usize).read_volatile() })
    }
}

#[cfg(target_arch = "x86_64")]
mod registers {
    pub(super) const FP: u16 = 6;
    pub(super) const SP: u16 = 7;
    pub(super) const RA: u16 = 16;
}
#[cfg(target_arch = "aarch64")]
mod registers {
    pub(super) const FP: u16 = 29;
    pub(super) const SP: u16 = 31;
    pub(super) const RA: u16 = 30;
}

/// Fills `frames` with return addresses, innermost first, and answers with their number.
#[cold]
fn unwind(caller: Frame, local: &Local, frames: &mut [u64; FRAMES]) -> usize {
    let mut memory = Memory { page: 1 };
    let mut at = caller;
    let mut count = 0;
    while count < FRAMES && at.pc > PAGE {
        frames[count] = at.pc as u64;
        count += 1;
        let Some(object) = object(at.pc - 1) else { break };
        note_module(local, &object);
        match step(at, &object, &mut memory) {
            Some(outer) if outer.sp > at.sp => at = outer,
            _ => break,
        }
    }
    count
}

/// Room for the rules of one row: what compilers write needs a dozen.
struct Rules;

impl gimli::UnwindContextStorage<usize> for Rules {
    type Rules = [(Register, RegisterRule<usize>); 24];
    type Stack = [gimli::UnwindTableRow<usize, Self>; 2];
}

/// From one frame to the one that called it.
fn step(at: Frame, object: &Object, memory: &mut Memory) -> Option<Frame> {
    let header_at = object.eh_frame as usize;
    let end = object.end_of_frames();
    // SAFETY: the loader says that the module has its header there (I2). A gap before `end` is not read: the table and the
    // entries say themselves how long they are.
    let header =
        unsafe { std::slice::from_raw_parts(object.eh_frame, end.checked_sub(header_at)?) };
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_at as u64);
    let header = EhFrameHdr::new(header, NativeEndian).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(frames_at) = header.eh_frame_ptr() else { return None };
    let frames_at = frames_at as usize;
    if frames_at >= end || frames_at.abs_diff(header_at) > FARTHEST {
        return None;
    }
    // SAFETY: as for the header; the section lies in the module's mapping.
    let section = unsafe { std::slice::from_raw_parts(frames_at as *const u8, end - frames_at) };
    let section: EhFrame<EndianSlice<'_, NativeEndian>> = EhFrame::new(section, NativeEndian);
    let bases = bases.set_eh_frame(frames_at as u64);
    let pc = at.pc as u64 - 1;
    let entry = header.table()?.fde_for_address(&section, &bases, pc, EhFrame::cie_from_offset);
    let Ok(entry) = entry else { return along_frame_pointer(at, memory) };
    let mut context = gimli::UnwindContext::<usize, Rules>::new_in();
    let row = entry.unwind_info_for_address(&section, &bases, &mut context, pc).ok()?;
    let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
    let base = match register.0 {
        registers::SP => at.sp,
        registers::FP => at.fp,
        _ => return None,
    };
    let frame = base.checked_add_signed(offset as isize)?;
    let mut saved = |register: u16, otherwise: Option<usize>| match row.register(Register(register))
    {
        Some(RegisterRule::Offset(offset)) => {
            memory.word(frame.checked_add_signed(offset as isize)?)
        }
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => otherwise,
        _ => None,
    };
    let pc = saved(registers::RA, None)?;
    Some(Frame { pc: without_signature(pc), sp: frame, fp: saved(registers::FP, Some(at.fp))? })
}

/// The same in code without call frame information, if it keeps a frame pointer: the caller must be in some module. Code
/// that keeps none is left out of the stack, with its callers up to the next that does.
fn along_frame_pointer(at: Frame, memory: &mut Memory) -> Option<Frame> {
    if at.fp < at.sp || at.fp - at.sp > LARGEST_FRAME {
        return None;
    }
    let (fp, pc) = (memory.word(at.fp)?, without_signature(memory.word(at.fp + 8)?));
    object(pc.checked_sub(1)?)?;
    Some(Frame { pc, sp: at.fp + 16, fp })
}

/// A return address without AArch64's pointer authentication code.
fn without_signature(pc: usize) -> usize {
    if cfg!(target_arch = "aarch64") { pc & ((1 << 48) - 1) } else { pc }
}

/// Enters the module into the record, once.
fn note_module(local: &Local, object: &Object) {
    let arena = local.arena;
    let modules = &local.process.get().modules;
    if arena
        .list::<Module>(modules)
        .any(|(_, module)| module.start.load(Relaxed) == object.start as u64)
    {
        return;
    }
    // SAFETY: the loader keeps the link map of a module that is in use (I2).
    let map = unsafe { &*object.link_map };
    let program = PROGRAM.load(Relaxed) as *const c_char;
    // SAFETY: a link map has a name, if only an empty one.
    let is_program = unsafe { *map.name } == 0;
    let path = if is_program && !program.is_null() { program } else { map.name };
    // SAFETY: either ends in NUL and is never changed: `prepare` made the one, the loader the other (I2).
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    let units = layout::units(size_of::<Module>() + path.len());
    let Some(unit) = arena.allocate(units) else { return };
    // SAFETY: allocated just now, published below.
    let room = unsafe { arena.bytes(unit, units) };
    room[size_of::<Module>()..][..path.len()].copy_from_slice(path);
    let module: &Module = arena.at(unit);
    module.path_bytes.store(path.len() as u32, Relaxed);
    module.bias.store(map.bias as u64, Relaxed);
    module.start.store(object.start as u64, Relaxed);
    module.end.store(object.end as u64, Relaxed);
    arena.push::<Module>(modules, unit);
}

/// The number of a stack in the record: that of an equal one, or a fresh one; 0 if there is no room.
fn enter(local: &Local, frames: &[u64]) -> u32 {
    let (arena, process) = (local.arena, local.process.get());
    let hash = frames.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &frame| {
        (hash ^ frame).wrapping_mul(0x100_0000_01b3).rotate_left(23)
    });
    let table = process.stack_index.load(Relaxed);
    if frames.is_empty() || table == 0 {
        return 0;
    }
    let slots = arena.words(table, STACK_SLOTS);
    let mut fresh = 0;
    for probe in 0..64 {
        let Some(slot) = slots.get((hash as usize).wrapping_add(probe) % STACK_SLOTS) else {
            return 0;
        };
        // EDGE index (acquire): the stack behind the slot.
        let mut found = slot.load(Acquire);
        if found == 0 {
            if fresh == 0 {
                let Some(unit) = write(local, frames, hash) else { return 0 };
                fresh = unit;
            }
            // EDGE index (acq-rel): the fresh stack, or the one that another thread put there meanwhile.
            match slot.compare_exchange(0, fresh, AcqRel, Acquire) {
                Ok(_) => {
                    arena.push::<Stack>(&process.stacks, fresh);
                    return fresh;
                }
                Err(other) => found = other,
            }
        }
        if arena.at::<Stack>(found).hash.load(Relaxed) == hash {
            return found;
        }
    }
    arena.header().dropped_room.fetch_add(1, Relaxed);
    0
}

/// A stack that nobody knows yet.
fn write(local: &Local, frames: &[u64], hash: u64) -> Option<u32> {
    let bytes = std::mem::offset_of!(Stack, frames) + 8 * frames.len();
    let unit = local.arena.allocate(layout::units(bytes))?;
    let stack: &Stack = local.arena.at(unit);
    stack.hash.store(hash, Relaxed);
    for (to, from) in stack.frames.iter().zip(frames) {
        to.store(*from, Relaxed);
    }
    stack.count.store(frames.len() as u32, Relaxed);
    Some(unit)
}
