//! Structures that free nodes while they are explored: a pointer means the same in every execution.

use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use uncontended_model::real::{
    self, AtomicPtr, AtomicU32, Box, Explorer, Failure, Memory, Report, fence, spawn, spin_loop,
};

fn explore(body: impl Fn() + 'static) -> Report {
    let report = Explorer::new(Memory::C11).explore(body);
    report.unwrap_or_else(|why| panic!("{why}"))
}

#[track_caller]
fn assert_used_after_free(report: &Report) {
    let failure = &report.violation().unwrap_or_else(|| panic!("{report}")).failure;
    assert!(matches!(failure, Failure::UseAfterFree { .. }), "{report}");
}

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

impl Node {
    fn new(value: u32) -> *mut Node {
        Box::into_raw(Box::new(Node { value, next: AtomicPtr::new(null_mut()) }))
    }
}

/// Frees a node, and returns its value.
fn free(node: *mut Node) -> u32 {
    // SAFETY: made by `Node::new`; the checker reports a second free, and stops it.
    Box::into_inner(unsafe { Box::from_raw(node) }).value
}

fn next(node: *mut Node) -> &'static AtomicPtr<Node> {
    // SAFETY: the memory stays mapped while the execution runs, freed or not: the checker's heap ensures it.
    unsafe { &(*node).next }
}

/// A stack: any thread may push, one may pop.
struct Stack(AtomicPtr<Node>);

impl Stack {
    fn push(&self, value: u32) {
        let node = Node::new(value);
        loop {
            let head = self.0.load(Relaxed);
            next(node).store(head, Relaxed);
            if self.0.compare_exchange(head, node, Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        loop {
            let head = self.0.load(Acquire);
            if head.is_null() {
                return None;
            }
            let below = next(head).load(Relaxed);
            if self.0.compare_exchange(head, below, Acquire, Relaxed).is_ok() {
                return Some(free(head));
            }
        }
    }
}

/// The same with numbers instead of addresses: nodes are never freed.
struct Numbered {
    head: AtomicU32,
    next: Vec<AtomicU32>,
}

impl Numbered {
    fn push(&self, node: u32) {
        loop {
            let head = self.head.load(Relaxed);
            self.next[node as usize].store(head, Relaxed);
            if self.head.compare_exchange(head, node, Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        loop {
            let head = self.head.load(Acquire);
            if head == 0 {
                return None;
            }
            let below = self.next[head as usize].load(Relaxed);
            if self.head.compare_exchange(head, below, Acquire, Relaxed).is_ok() {
                return Some(head);
            }
        }
    }
}

/// Each of two threads pushes as often as that; then all is popped.
fn pushed(pushes: u32) -> Report {
    explore(move || {
        let stack = Arc::new(Stack(AtomicPtr::new(null_mut())));
        let pushers = [0, 1].map(|thread| {
            let stack = Arc::clone(&stack);
            spawn(move || (0..pushes).for_each(|at| stack.push(1 + pushes * thread + at)))
        });
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        let mut found: Vec<u32> = std::iter::from_fn(|| stack.pop()).collect();
        found.sort();
        assert_eq!(found, (1..=2 * pushes).collect::<Vec<_>>());
    })
}

fn numbered(pushes: u32) -> Report {
    explore(move || {
        let next = (0..=2 * pushes).map(|_| AtomicU32::new(0)).collect();
        let stack = Arc::new(Numbered { head: AtomicU32::new(0), next });
        let pushers = [0, 1].map(|thread| {
            let stack = Arc::clone(&stack);
            spawn(move || (0..pushes).for_each(|at| stack.push(1 + pushes * thread + at)))
        });
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        assert_eq!(std::iter::from_fn(|| stack.pop()).count() as u32, 2 * pushes);
    })
}

#[test]
fn a_stack_of_pointers_has_the_executions_of_one_of_numbers() {
    for pushes in 1..=3 {
        let (pointers, numbers) = (pushed(pushes), numbered(pushes));
        assert!(pointers.holds() && numbers.holds(), "{pointers}; {numbers}");
        assert_eq!(pointers.executions, numbers.executions, "{pushes}");
    }
}

#[test]
fn a_stack_that_one_thread_pops_while_others_push() {
    let report = explore(|| {
        let stack = Arc::new(Stack(AtomicPtr::new(null_mut())));
        let pushers = [1, 2].map(|value| {
            let stack = Arc::clone(&stack);
            spawn(move || stack.push(value))
        });
        let first = stack.pop();
        stack.push(3);
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        let found = first.into_iter().chain(std::iter::from_fn(|| stack.pop()));
        assert_eq!(found.sum::<u32>(), 6);
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn a_stack_that_two_threads_pop_uses_what_is_freed() {
    let report = explore(|| {
        let stack = Arc::new(Stack(AtomicPtr::new(null_mut())));
        stack.push(1);
        let other = Arc::clone(&stack);
        let popper = spawn(move || other.pop());
        let found = stack.pop();
        assert_ne!(found.is_some(), popper.join().unwrap().is_some());
    });
    assert_used_after_free(&report);
    assert!(report.to_string().contains("block 0.1"), "pointers have names: {report}");
}

/// Michael and Scott's queue; one thread dequeues and frees.
struct Queue {
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
}

impl Queue {
    fn new() -> Queue {
        let dummy = Node::new(0);
        Queue { head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy) }
    }

    fn enqueue(&self, value: u32) {
        let node = Node::new(value);
        loop {
            let tail = self.tail.load(Acquire);
            let after = next(tail).load(Acquire);
            if !after.is_null() {
                let _ = self.tail.compare_exchange(tail, after, AcqRel, Relaxed);
            } else if next(tail).compare_exchange(null_mut(), node, Release, Relaxed).is_ok() {
                let _ = self.tail.compare_exchange(tail, node, AcqRel, Relaxed);
                return;
            }
        }
    }

    /// The old dummy is returned with the value.
    fn dequeue(&self) -> Option<(u32, *mut Node)> {
        let head = self.head.load(Relaxed);
        let first = next(head).load(Acquire);
        if first.is_null() {
            return None;
        }
        // The tail must not be left behind.
        let _ = self.tail.compare_exchange(head, first, AcqRel, Relaxed);
        self.head.store(first, Relaxed);
        // SAFETY: the node is linked, and only this thread unlinks nodes.
        Some((unsafe { (*first).value }, head))
    }
}

fn queued(frees_at_once: bool) -> Report {
    explore(move || {
        let queue = Arc::new(Queue::new());
        let enqueuers = [1, 2].map(|value| {
            let queue = Arc::clone(&queue);
            spawn(move || queue.enqueue(value))
        });
        let mut found = Vec::new();
        let mut retired = Vec::new();
        let mut take = |retired: &mut Vec<*mut Node>| {
            if let Some((value, dummy)) = queue.dequeue() {
                found.push(value);
                retired.push(dummy);
                if frees_at_once {
                    retired.drain(..).for_each(|node| _ = free(node));
                }
            }
        };
        take(&mut retired);
        enqueuers.into_iter().for_each(|enqueuer| enqueuer.join().unwrap());
        (0..2).for_each(|_| take(&mut retired));
        found.sort();
        assert_eq!(found, [1, 2]);
        retired.into_iter().for_each(|node| _ = free(node));
        free(queue.head.load(Relaxed));
    })
}

#[test]
fn a_queue_whose_nodes_are_freed() {
    let later = queued(false);
    assert!(later.holds(), "{later}");
    // An enqueuer may still look at the old dummy.
    let at_once = queued(true);
    assert_used_after_free(&at_once);
}

/// A value that is replaced while another thread reads it under a hazard pointer.
fn hazardous(is_checked: bool) -> Report {
    explore(move || {
        let current = Arc::new(AtomicPtr::new(Node::new(1)));
        let hazard = Arc::new(AtomicPtr::<Node>::new(null_mut()));
        let (theirs, protects) = (Arc::clone(&current), Arc::clone(&hazard));
        let reader = spawn(move || {
            let found = theirs.load(Acquire);
            protects.store(found, Relaxed);
            fence(SeqCst);
            if !is_checked || theirs.load(Acquire) == found {
                next(found).load(Relaxed);
            }
            protects.store(null_mut(), Release);
        });
        let old = current.swap(Node::new(2), AcqRel);
        fence(SeqCst);
        let is_free = hazard.load(Acquire) != old;
        if is_free {
            free(old);
        }
        reader.join().unwrap();
        if !is_free {
            free(old);
        }
        free(current.load(Relaxed));
    })
}

#[test]
fn a_node_that_a_hazard_pointer_protects() {
    let right = hazardous(true);
    assert!(right.holds(), "{right}");
    let wrong = hazardous(false);
    assert_used_after_free(&wrong);
}

#[test]
fn a_shared_value_that_is_swapped() {
    let report = explore(|| {
        let boxed = |value| Box::into_raw(Box::new(real::Arc::new(value)));
        // SAFETY: made by `boxed`, and taken only by the thread that swapped it out.
        let taken = |raw: *mut real::Arc<u32>| Box::into_inner(unsafe { Box::from_raw(raw) });
        let slot = Arc::new(AtomicPtr::new(boxed(1)));
        let writers = [2, 3].map(|value| {
            let slot = Arc::clone(&slot);
            spawn(move || *taken(slot.swap(boxed(value), AcqRel)))
        });
        let mut found: Vec<u32> = writers.into_iter().map(|it| it.join().unwrap()).collect();
        found.push(*taken(slot.swap(null_mut(), AcqRel)));
        found.sort();
        assert_eq!(found, [1, 2, 3]);
    });
    assert!(report.holds(), "{report}");
}

/// Tags above the bits of an address are kept, and do not make it another one in each execution.
#[test]
fn a_pointer_with_a_tag_in_its_high_bits() {
    for tag in [1 << 48, 1 << 56, 1 << 62, 1 << 63, 0xffff << 48] {
        for memory in [Memory::Sc, Memory::Tso, Memory::C11] {
            let report = Explorer::new(memory).explore(move || {
                let shared = Arc::new((AtomicPtr::new(null_mut()), AtomicU32::new(0)));
                let theirs = Arc::clone(&shared);
                let giver = spawn(move || {
                    theirs.0.store(Node::new(7).map_addr(|at| at | tag), Release);
                });
                let given = (0..5).any(|_| {
                    let is_given = !shared.0.load(Acquire).is_null();
                    if !is_given {
                        spin_loop();
                    }
                    is_given
                });
                giver.join().unwrap();
                let found = shared.0.load(Relaxed);
                assert!(found.addr() & tag == tag && (given || !found.is_null()));
                assert_eq!(free(found.map_addr(|at| at & !tag)), 7);
            });
            let report = report.unwrap_or_else(|why| panic!("{tag:#x}: {why}"));
            assert!(report.holds(), "{tag:#x}: {report}");
        }
    }
}

/// A value that is not an address stays what it is, whatever has been allocated.
#[test]
fn a_sentinel_is_not_taken_for_a_block() {
    for sentinel in [1, 1 << 47, 1 << 62, (1 << 62) | 8, (1 << 62) | (1 << 56), usize::MAX] {
        let report = explore(move || {
            let word = Arc::new(AtomicPtr::new(std::ptr::without_provenance_mut::<Node>(sentinel)));
            let theirs = Arc::clone(&word);
            let other = spawn(move || free(Node::new(theirs.load(Relaxed).addr() as u32)));
            let node = Node::new(1);
            assert_eq!(word.load(Relaxed).addr(), sentinel);
            assert_eq!(other.join().unwrap(), sentinel as u32);
            free(node);
        });
        assert!(report.holds(), "{sentinel:#x}: {report}");
    }
}
