//! An object that counts its destructions.

use std::sync::Arc;
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};

pub(crate) struct Counted(pub(crate) u64, pub(crate) Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Relaxed);
    }
}

pub(crate) fn counter() -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(0))
}

pub(crate) fn counted(count: &Arc<AtomicUsize>) -> Box<Counted> {
    Box::new(Counted(7, Arc::clone(count)))
}
