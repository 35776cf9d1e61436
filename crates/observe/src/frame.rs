//! One frame of a stack.

/// A frame: the registers of its function.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) pc: usize,
    pub(crate) sp: usize,
    pub(crate) fp: usize,
}

/// A return address without AArch64's pointer authentication code.
pub(crate) fn without_signature(pc: usize) -> usize {
    if cfg!(target_arch = "aarch64") { pc & ((1 << 48) - 1) } else { pc }
}

/// Roughly where the stack ends now; it grows towards lower addresses.
#[inline(always)]
pub(crate) fn stack_here() -> usize {
    let here = 0u8;
    (&raw const here) as usize
}
