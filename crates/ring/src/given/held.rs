//! A role that this process holds.
//!
//! # State
//! I1: the memory stays mapped as long as its keeper lives, and roles lie in it.

use std::fmt;
use std::ptr::NonNull;
use uncontended_atomic::Arc;
use uncontended_wait::role::Role;

/// A role that this process holds until it is dropped, and the keeper of its memory.
pub(crate) struct Held {
    role: NonNull<Role>,
    _keep: Arc<dyn Send + Sync>,
}

// SAFETY: a role is an atomic in memory that `_keep` keeps (I1).
unsafe impl Send for Held {}
// SAFETY: as for `Send` (I1).
unsafe impl Sync for Held {}

impl Held {
    /// Wraps a role that was claimed just now.
    ///
    /// # Safety
    /// The role lies in memory that `keep` keeps.
    pub(crate) unsafe fn new(role: NonNull<Role>, keep: Arc<dyn Send + Sync>) -> Held {
        Held { role, _keep: keep }
    }

    fn role(&self) -> &Role {
        // SAFETY: `_keep` keeps the memory (I1).
        unsafe { self.role.as_ref() }
    }

    /// Whether this is the copy that a fork left in a child, which does not hold the role. Its side changes nothing
    /// when it is dropped.
    pub(crate) fn is_a_copy(&self) -> bool {
        !self.role().is_mine()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_a_copy() {
            self.role().give_up();
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}
