//! Check-ins, explored: without a fence on the reader's side, it sees the unlinking, or the unlinker sees it.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, Box, spawn};
use uncontended_fence::{Fences, Quiescent, Ticket};
use uncontended_model::real::{Explorer, spin_loop};
use uncontended_testkit::explored::{self, BOTH};

/// A reader's and an unlinker's word, and the threads that check in. It is freed at the end, so the checker sees that
/// records are used only while they exist.
struct World {
    published: AtomicU32,
    unlinked: AtomicU32,
    threads: *mut Quiescent,
}

// SAFETY: the pointer is to what all threads share, until the last of them drops the world.
unsafe impl Send for World {}
// SAFETY: likewise; what it points to is shared by atomics.
unsafe impl Sync for World {}

impl World {
    fn new() -> Arc<World> {
        let threads = Box::into_raw(Box::new(Quiescent::new()));
        Arc::new(World { published: AtomicU32::new(0), unlinked: AtomicU32::new(0), threads })
    }

    fn threads(&self) -> &'static Quiescent {
        // SAFETY: its members and tickets are dropped before the last thread drops the world.
        unsafe { &*self.threads }
    }

    fn fences(&self) -> Fences {
        // SAFETY: every scenario's readers are registered.
        unsafe { Fences::by_check_in(self.threads()) }
    }

    /// Publish, fence, check again: whether the reader may use what it read.
    fn read(&self) -> bool {
        self.published.store(1, Relaxed);
        self.fences().light();
        self.unlinked.load(Relaxed) == 0
    }

    fn unlink(&self) -> Ticket {
        self.unlinked.store(1, Relaxed);
        self.fences().ticket()
    }

    fn is_published(&self) -> bool {
        self.published.load(Relaxed) == 1
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // SAFETY: the last owner; nothing uses it any more.
        drop(unsafe { Box::from_raw(self.threads) });
    }
}

fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        spin_loop();
    }
}

fn is_ripe(ticket: Ticket) -> impl Fn() -> bool {
    move || ticket.poll().unwrap()
}

/// One reader; the main thread unlinks, waits and scans.
fn flag_flip(read: fn(&World) -> bool) -> impl Fn() {
    move || {
        let world = World::new();
        let theirs = Arc::clone(&world);
        let reader = spawn(move || read(&theirs));
        let ticket = world.unlink();
        until(is_ripe(ticket));
        let is_seen = world.is_published();
        assert!(is_seen || !reader.join().unwrap(), "freed while it is read");
    }
}

#[test]
fn a_thread_that_checks_in_needs_no_fence() {
    explored::holds(&BOTH, Explorer::new, || {
        flag_flip(|world| {
            let member = world.threads().register();
            member.check_in();
            let may_use = world.read();
            member.check_in();
            may_use
        })
    });
}

#[test]
fn a_thread_that_comes_back_sees_what_was_done_meanwhile() {
    explored::holds(&BOTH, Explorer::new, || {
        flag_flip(|world| {
            let mut member = world.threads().register();
            member.offline(|| ());
            world.read()
        })
    });
}

/// The unlinker was registered before; its record may be the reader's now.
#[test]
fn a_record_that_another_thread_had_is_as_good_as_a_new_one() {
    explored::holds(&BOTH, Explorer::new, || {
        || {
            let world = World::new();
            let theirs = Arc::clone(&world);
            let unlinker = spawn(move || {
                drop(theirs.threads().register());
                until(is_ripe(theirs.unlink()));
                theirs.is_published()
            });
            let member = world.threads().register();
            let may_use = world.read();
            drop(member);
            assert!(unlinker.join().unwrap() || !may_use, "freed while it is read");
        }
    });
}

#[test]
fn the_unlinker_the_requester_and_the_waiter_may_be_three_threads() {
    explored::holds(&BOTH, Explorer::new, || {
        || {
            let world = World::new();
            let told = Arc::new(AtomicU32::new(0));
            let theirs = Arc::clone(&world);
            let reader = spawn(move || {
                let _member = theirs.threads().register();
                theirs.read()
            });
            let (theirs, flag) = (Arc::clone(&world), Arc::clone(&told));
            let unlinker = spawn(move || {
                theirs.unlinked.store(1, Relaxed);
                flag.store(1, Release);
            });
            if told.load(Acquire) == 1 {
                let ticket = world.fences().ticket();
                let waiter = spawn(move || {
                    until(is_ripe(ticket));
                    world.is_published()
                });
                let is_seen = waiter.join().unwrap();
                assert!(is_seen || !reader.join().unwrap(), "freed while it is read");
            } else {
                reader.join().unwrap();
            }
            unlinker.join().unwrap();
        }
    });
}

/// The waiter is registered and online itself, while another thread comes and goes.
#[test]
fn a_thread_that_waits_checks_in_by_that() {
    explored::holds(&BOTH, Explorer::new, || {
        || {
            let world = World::new();
            let theirs = Arc::clone(&world);
            let other = spawn(move || drop(theirs.threads().register()));
            let member = world.threads().register();
            until(is_ripe(world.unlink()));
            drop(member);
            other.join().unwrap();
        }
    });
}
