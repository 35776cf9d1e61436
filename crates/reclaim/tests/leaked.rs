//! Whatever can be leaked, in a process whose hazards are counted.

#![cfg(not(unc_model))]

mod common;

use common::{counted, counter};
use std::mem::forget;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_reclaim::epoch::{self, Collector};
use uncontended_reclaim::hazard::{Domain, Hazard, Shared, in_use};

#[test]
fn leaked_hazards_keep_an_object_each_and_are_counted() {
    let (domain, dropped) = (Domain::new(), counter());
    let cells: Vec<_> = (0..3).map(|_| Shared::new(counted(&dropped))).collect();
    assert_eq!(in_use(), 0);
    forget(cells[0].guard());
    let mut hazard = Hazard::new();
    assert_eq!(hazard.protect(&cells[1]).unwrap().0, 7);
    forget(hazard);
    cells.iter().for_each(|cell| cell.replace(None, &domain));
    let collected = domain.collect().unwrap();
    assert_eq!((collected.freed.objects, collected.waits.objects), (1, 2));
    assert_eq!(domain.held().len(), 2);
    assert_eq!(in_use(), 2);
}

/// A reader that leaks all it has keeps its collector's garbage until that ends, and no other's.
#[test]
fn leaked_guards_and_participants_keep_garbage_until_the_collector_ends() {
    let (collector, other, dropped) = (Collector::new(), Collector::new(), counter());
    let cell = epoch::Shared::new(counted(&dropped), &collector);
    let reader = collector.participant();
    reader.retire(counted(&dropped));
    forget(reader.pin());
    forget(reader);
    forget(collector.pin());
    cell.replace(None, &collector.pin());
    other.pin().retire(counted(&dropped));
    // The first collection finds the guards in its own epoch.
    let _ = collector.collect().unwrap();
    assert_eq!(collector.collect().unwrap().waits.objects, 2);
    assert_eq!((collector.stalled().len(), other.collect().unwrap().waits.objects), (2, 0));
    assert_eq!(dropped.load(Relaxed), 1);
    drop(collector);
    assert_eq!(dropped.load(Relaxed), 3);
}
