//! Cells: elements whose size is known at run time, in rings whose slots have a size of their own.
//!
//! # Contract
//! A ring of cells is built for the least of ten sizes that holds an element, and is reached through a trait, so that
//! the functions of C are the same for all. Larger elements belong into records, or are passed by pointer.

use super::status::Status;
use std::mem::MaybeUninit;

/// A byte of an element. Padding may be uninitialised.
pub(super) type Byte = MaybeUninit<u8>;

/// An element, and bytes that are not used.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<const BYTES: usize>([Byte; BYTES]);

impl<const BYTES: usize> Cell<BYTES> {
    /// A cell with a copy of an element, which is not larger.
    #[inline]
    pub(super) fn of(element: &[Byte]) -> Cell<BYTES> {
        let mut cell = Cell([Byte::uninit(); BYTES]);
        cell.0[..element.len()].copy_from_slice(element);
        cell
    }

    /// Copies the element out.
    #[inline]
    pub(super) fn copy_to(&self, element: &mut [Byte]) {
        element.copy_from_slice(&self.0[..element.len()]);
    }
}

/// Evaluates the expression with the bytes of the cells that hold elements of this size, or returns why there are none.
macro_rules! with_cells {
    ($size:expr, $bytes:ident => $value:expr) => {
        $crate::c::cells::with_cells!($size, $bytes => $value; 8 16 32 64 128 256 512 1024 2048 4096)
    };
    ($size:expr, $bytes:ident => $value:expr; $($each:literal)*) => {
        match usize::min($size, 4097).next_power_of_two().max(8) {
            _ if $size == 0 => Err($crate::c::status::Status::Invalid),
            _ if $size > 4096 => Err($crate::c::status::Status::TooLong),
            $($each => {
                const $bytes: usize = $each;
                $value
            })*
            _ => Err($crate::c::status::Status::TooLong),
        }
    };
}

pub(super) use with_cells;

/// The memory of `count` elements of `size` bytes.
///
/// # Safety
/// They are there as long as the result is used, and nothing writes them meanwhile.
pub(super) unsafe fn elements<'e>(
    at: *const std::ffi::c_void,
    size: usize,
    count: usize,
) -> Result<&'e [Byte], Status> {
    let bytes = size.checked_mul(count).filter(|&bytes| isize::try_from(bytes).is_ok());
    match bytes {
        _ if at.is_null() => Err(Status::Invalid),
        // SAFETY: by the contract the bytes are there (C1), and any byte is a valid one.
        Some(bytes) => Ok(unsafe { std::slice::from_raw_parts(at.cast(), bytes) }),
        None => Err(Status::Invalid),
    }
}

/// The same memory, to be written.
///
/// # Safety
/// There is memory for them as long as the result is used, and nothing else accesses it meanwhile.
pub(super) unsafe fn elements_mut<'e>(
    at: *mut std::ffi::c_void,
    size: usize,
    count: usize,
) -> Result<&'e mut [Byte], Status> {
    let bytes = size.checked_mul(count).filter(|&bytes| isize::try_from(bytes).is_ok());
    match bytes {
        _ if at.is_null() => Err(Status::Invalid),
        // SAFETY: by the contract there is memory for them (C1), and any byte is a valid one.
        Some(bytes) => Ok(unsafe { std::slice::from_raw_parts_mut(at.cast(), bytes) }),
        None => Err(Status::Invalid),
    }
}
