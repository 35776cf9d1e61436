//! What the word of a queue's last waiter may be instead of a node.

use std::ptr;

/// No thread holds the lock.
pub(crate) const fn free<N>() -> *mut N {
    ptr::null_mut()
}

/// One does, and none waits. No node is there: they are on a heap or a stack.
pub(crate) const fn held<N>() -> *mut N {
    ptr::without_provenance_mut(1)
}
