//! No sections: there are no cells of CPUs, so none of these functions is reached but [`decide`].

use super::{End, Link, Popped};
use crate::backend::Why;
use std::ptr::NonNull;
use uncontended_atomic::{AtomicPtr, AtomicU64, CachePadded};

pub(crate) fn decide() -> Result<u32, Why> {
    Err(if cfg!(miri) {
        Why::Interpreted
    } else if cfg!(unc_portable) {
        Why::Portable
    } else {
        Why::Processor
    })
}

pub(crate) fn restart(_: Option<u32>) -> Result<(), i32> {
    Ok(())
}

pub(crate) fn cpu() -> u32 {
    u32::MAX
}

pub(crate) unsafe fn increment(_: NonNull<CachePadded<AtomicU64>>) -> End {
    End::Elsewhere
}

pub(crate) unsafe fn add(_: NonNull<CachePadded<AtomicU64>>, _: u64) -> End {
    End::Elsewhere
}

pub(crate) unsafe fn compare_and_store(_: &AtomicU64, _: u32, _: u64, _: u64) -> End {
    End::Elsewhere
}

pub(crate) unsafe fn store_if(_: &AtomicU64, _: u64, _: &AtomicU64, _: u64) -> End {
    End::Elsewhere
}

pub(crate) unsafe fn push(
    _: NonNull<CachePadded<AtomicPtr<Link>>>,
    _: NonNull<Link>,
    _: usize,
) -> End {
    End::Elsewhere
}

pub(crate) unsafe fn pop(_: NonNull<CachePadded<AtomicPtr<Link>>>) -> Popped {
    Popped::Elsewhere
}
