//! How much garbage there is, and how much there may be.

use std::fmt;
use std::ops::AddAssign;

/// Retired objects that were not freed yet, or were freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    /// How many objects.
    pub objects: usize,
    /// What they weigh: their own sizes, and what their owners said that they hold besides.
    pub bytes: usize,
}

impl Garbage {
    pub(crate) fn add(&mut self, bytes: usize) {
        *self += Garbage { objects: 1, bytes };
    }
}

impl AddAssign for Garbage {
    fn add_assign(&mut self, more: Garbage) {
        self.objects += more.objects;
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

impl fmt::Display for Garbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.objects == 1 { "" } else { "s" };
        write!(f, "{} object{s} of {} bytes", self.objects, self.bytes)
    }
}

/// How much garbage starts a reclamation: a heavy fence costs microseconds, which it divides among these objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At least this many objects. Hazard pointers wait for as many objects as there are hazards, so that
    /// each reclamation frees some.
    pub objects: usize,
    /// Or at least this many bytes.
    pub bytes: usize,
}

impl Limits {
    /// 2,048 objects, or four megabytes.
    pub const DEFAULT: Limits = Limits { objects: 2_048, bytes: 4 << 20 };

    pub(crate) fn are_reached(&self, garbage: Garbage) -> bool {
        garbage.objects > 0 && (garbage.objects >= self.objects || garbage.bytes >= self.bytes)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

/// What a reclamation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// What it freed.
    pub freed: Garbage,
    /// What still waits, in the whole domain or collector.
    pub waits: Garbage,
}
