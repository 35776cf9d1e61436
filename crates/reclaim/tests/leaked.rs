//! Hazards that were leaked, in a process that has no others.

#![cfg(not(unc_model))]

use std::sync::Arc;
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};
use uncontended_reclaim::hazard::{Domain, Shared, in_use};

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn leaked_hazards_keep_an_object_each_and_are_counted() {
    let (domain, dropped) = (Domain::new(), Arc::new(AtomicUsize::new(0)));
    let cells: Vec<_> =
        (0..3).map(|_| Shared::new(Box::new(Counted(Arc::clone(&dropped))))).collect();
    assert_eq!(in_use(), 0);
    for cell in &cells[..2] {
        std::mem::forget(cell.guard());
    }
    cells.iter().for_each(|cell| cell.replace(None, &domain));
    let collected = domain.collect().unwrap();
    assert_eq!((collected.freed.objects, collected.waits.objects), (1, 2));
    assert_eq!(domain.held().len(), 2);
    assert_eq!(in_use(), 2);
}
