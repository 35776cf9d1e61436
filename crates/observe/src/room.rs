//! Stacks of threads that ask for small ones: what the observer needs of a stack, it adds.
//!
//! # Contract
//! [`enlarged`] is a copy of a thread's attributes with [`OWN`] bytes of stack more, where these ask for a stack of a
//! size below [`SMALL`] that the C library allocates. All else in it is the program's, and so is a stack that the
//! program allocated.
//! # Evidence
//! `tests/programs/tight_stack.c`.
//! # Sources
//! glibc, `pthread_attr_getstack.c`: the address is where the stack ends (0 if the program gave none) less its size.

use crate::image;
use libc::{c_void, pthread_attr_t};
use std::ptr::null_mut;

/// Bytes of stack that the observer adds.
const OWN: usize = 16 << 10;
/// A stack of this size has room for it anyway.
const SMALL: usize = 64 << 10;

/// The attributes with a larger stack, if they need one and there is a record.
///
/// # Safety
/// `attributes` is null, or attributes that the program passed to a call which has yet to return.
pub(crate) unsafe fn enlarged(attributes: *const c_void) -> Option<pthread_attr_t> {
    image::arena()?;
    // SAFETY: the program's own attributes, by the contract, of plain numbers and pointers. The copy is used only until
    // the call returns (P2), and never destroyed.
    let mut copy = unsafe { attributes.cast::<pthread_attr_t>().as_ref() }.copied()?;
    let (mut begin, mut size) = (null_mut(), 0);
    // SAFETY: attributes, and room for the answers (L2).
    let known = unsafe { libc::pthread_attr_getstack(&copy, &mut begin, &mut size) } == 0;
    let is_given = (begin as usize).wrapping_add(size) != 0;
    if !known || is_given || !(1..SMALL).contains(&size) {
        return None;
    }
    // SAFETY: attributes (L2), and a number.
    (unsafe { libc::pthread_attr_setstacksize(&mut copy, size + OWN) } == 0).then_some(copy)
}
