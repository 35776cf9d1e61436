//! From a frame to its caller's, without the loader's lock and without trusting the stack's memory.
//!
//! # Contract
//! Call frame information says where a frame ends; where there is none, the frame pointer does.
//! # Invariants
//! I1: a page is read only after the kernel has read it, so a bad pointer ends a stack and does nothing else. In a
//!     sandbox, which may kill for the question, only the page of the first frame is read: stacks end there.
//! I2: call frame information is read only in modules that contain a return address on the stack, so they stay loaded
//!     (`module`'s I1, with its exceptions). Its headers and notes are in its mapping, from its start to its end.
//! # Sources
//! System V ABI (AMD64), 3.7 and 6; LSB 5.0, exception frames.

use crate::frame::{Frame, without_signature};
use crate::kernel::{self, PAGE};
use crate::module::{self, Object};
use crate::rules::{self, Rules, Saved, registers};
use crate::sandbox;
use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, UnwindSection};
use std::ops::Range;
use uncontended_events::calls::Return;
use uncontended_events::site::Recorder;
use uncontended_trace::layout::FRAMES;

/// No module is larger.
const FARTHEST: usize = 1 << 32;
/// A larger frame is taken for a stray frame pointer.
const LARGEST_FRAME: usize = 1 << 20;

/// The stack's memory. Only pages that the kernel could read are read here (I1).
struct Memory {
    /// The page last found readable; 1 if none.
    page: usize,
    /// Readable, too.
    module: Range<usize>,
}

impl Memory {
    fn word(&mut self, at: usize) -> Option<usize> {
        let page = at & !(PAGE - 1);
        if !at.is_multiple_of(8) || (page != self.page && !self.can_read(page)) {
            return None;
        }
        if !sandbox::is_filtered() {
            self.page = page;
        }
        // SAFETY: an aligned word in a page that was readable just now, in a stack that its thread is running on (I1),
        // or in a module that such a stack returns to (I2).
        Some(unsafe { (at as *const usize).read_volatile() })
    }

    fn can_read(&self, page: usize) -> bool {
        match sandbox::is_filtered() {
            true => self.module.contains(&page),
            false => kernel::can_read(page),
        }
    }
}

/// Adds the module of a function that the calling thread is about to call to the record (I2).
#[cold]
pub(crate) fn note(recorder: &Recorder, object: &Object) {
    let mut memory = Memory { page: 1, module: object.start..object.end };
    module::note(recorder, object, &mut |at| memory.word(at));
}

/// Fills `frames` with return addresses, innermost first, and returns their number. `outer` gets each caller of the
/// first frame, with its number from 0.
#[cold]
pub(crate) fn unwind(
    caller: Frame,
    recorder: &Recorder,
    frames: &mut [u64; FRAMES],
    mut outer: impl FnMut(usize, Return),
) -> usize {
    // The call's return address is right below where its frame ends.
    let mut memory = Memory { page: (caller.sp - 8) & !(PAGE - 1), module: 0..0 };
    let mut at = caller;
    let mut count = 0;
    while count < FRAMES && at.pc > PAGE {
        frames[count] = at.pc as u64;
        count += 1;
        let Some(object) = module::find(at.pc - 1) else { break };
        memory.module = object.start..object.end;
        module::note(recorder, &object, &mut |at| memory.word(at));
        memory.module = 0..0;
        match step(at, &object, &mut memory) {
            Some((next, saved)) if next.sp > at.sp => {
                at = next;
                outer(count - 1, Return { pc: at.pc, at: saved });
            }
            _ => break,
        }
    }
    count
}

/// From one frame to its caller's, and where its return address is.
fn step(at: Frame, object: &Object, memory: &mut Memory) -> Option<(Frame, usize)> {
    let (header_at, end) = (object.header, object.end_of_frames);
    let length = end.checked_sub(header_at)?;
    // SAFETY: the module has its header there (I2). A gap before `end` is not read: the table and the entries state
    // their own lengths.
    let header = unsafe { std::slice::from_raw_parts(header_at as *const u8, length) };
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_at as u64);
    let header = EhFrameHdr::new(header, NativeEndian).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(frames_at) = header.eh_frame_ptr() else { return None };
    let frames_at = frames_at as usize;
    if frames_at >= end || frames_at.abs_diff(header_at) > FARTHEST {
        return None;
    }
    // SAFETY: as for the header (I2); the section lies in the module's mapping.
    let section = unsafe { std::slice::from_raw_parts(frames_at as *const u8, end - frames_at) };
    let section: EhFrame<EndianSlice<'_, NativeEndian>> = EhFrame::new(section, NativeEndian);
    let bases = bases.set_eh_frame(frames_at as u64);
    let pc = at.pc as u64 - 1;
    let entry = header.table()?.fde_for_address(&section, &bases, pc, EhFrame::cie_from_offset);
    let Ok(entry) = entry else { return along_frame_pointer(at, memory) };
    let Rules { frame: Some((register, offset)), fp, pc: Saved::At(pc_at) } =
        rules::at(&entry, &section, &bases, pc)?
    else {
        return None;
    };
    let base = match register {
        registers::SP => at.sp,
        registers::FP => at.fp,
        _ => return None,
    };
    let frame = base.checked_add_signed(offset as isize)?;
    let address = |offset: i64| frame.checked_add_signed(offset as isize);
    let pc_at = address(pc_at)?;
    let pc = without_signature(memory.word(pc_at)?);
    let fp = match fp {
        Saved::At(offset) => memory.word(address(offset)?)?,
        Saved::No => at.fp,
        Saved::Otherwise => return None,
    };
    Some((Frame { pc, sp: frame, fp }, pc_at))
}

/// The same in code without call frame information that keeps a frame pointer: the caller must be in some module. Code
/// that keeps none is missing from the stack, and so are its callers up to the next code that does.
fn along_frame_pointer(at: Frame, memory: &mut Memory) -> Option<(Frame, usize)> {
    if at.fp < at.sp || at.fp - at.sp > LARGEST_FRAME {
        return None;
    }
    let pc_at = at.fp + 8;
    let (fp, pc) = (memory.word(at.fp)?, without_signature(memory.word(pc_at)?));
    module::find(pc.checked_sub(1)?)?;
    Some((Frame { pc, sp: at.fp + 16, fp }, pc_at))
}
