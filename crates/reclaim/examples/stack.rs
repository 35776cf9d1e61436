//! A stack without locks: threads push and pop, and nodes are freed when no hazard protects them.
//!
//! A popping thread reads `next` of the head. Without a hazard another thread could pop the same node and free it just
//! then; and with the address reused, the exchange could succeed with a `next` that is out of date (ABA). A protected
//! node is not freed, so its address is not reused.

use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_reclaim::hazard::{Domain, Hazard};
use uncontended_reclaim::{AtomicPtr, Limits};

/// Last in, first out, for any number of threads.
pub(crate) struct Stack<T> {
    pub(crate) head: AtomicPtr<Node<T>>,
    pub(crate) garbage: Domain,
}

pub(crate) struct Node<T> {
    /// Taken by the thread that pops it.
    value: std::cell::UnsafeCell<Option<T>>,
    /// Does not change once the node is on the stack.
    pub(crate) next: *mut Node<T>,
}

// SAFETY: a value passes from the pushing thread to the popping one; nothing else of a node changes.
unsafe impl<T: Send> Send for Node<T> {}
// SAFETY: threads share a node only to read `next`; the value is the popping thread's.
unsafe impl<T: Send> Sync for Stack<T> {}

impl<T: Send + 'static> Stack<T> {
    pub(crate) fn new(limits: Limits) -> Stack<T> {
        Stack { head: AtomicPtr::new(null_mut()), garbage: Domain::with_limits(limits) }
    }

    pub(crate) fn push(&self, value: T) {
        let value = std::cell::UnsafeCell::new(Some(value));
        let node = Box::into_raw(Box::new(Node { value, next: null_mut() }));
        let mut head = self.head.load(Relaxed);
        loop {
            // SAFETY: not on the stack yet, so this thread's alone.
            unsafe { (*node).next = head };
            match self.head.compare_exchange_weak(head, node, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    pub(crate) fn pop(&self, hazard: &mut Hazard) -> Option<T> {
        loop {
            let head = hazard.protect_raw(&self.head);
            // SAFETY: null, or on the stack when the hazard protected it, so not freed until the hazard moves on.
            let node = unsafe { head.as_ref() }?;
            if self.head.compare_exchange(head, node.next, AcqRel, Acquire).is_ok() {
                // SAFETY: this thread took the node from the stack, so the value is its own.
                let value = unsafe { (*node.value.get()).take() };
                hazard.reset();
                // SAFETY: from a box, and unlinked by this thread, so retired once.
                unsafe { self.garbage.retire_raw(head, 0) };
                return value;
            }
        }
    }
}

impl<T> Drop for Stack<T> {
    fn drop(&mut self) {
        let mut next = *self.head.get_mut();
        while !next.is_null() {
            // SAFETY: on the stack, which no other thread uses any more.
            next = unsafe { Box::from_raw(next) }.next;
        }
    }
}

fn main() {
    const EACH: u64 = 100_000;
    let stack = Stack::new(Limits::DEFAULT);
    let sum: u64 = std::thread::scope(|threads| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                threads.spawn(|| {
                    let mut hazard = Hazard::new();
                    let mut sum = 0;
                    for value in 1..=EACH {
                        stack.push(value);
                        sum += stack.pop(&mut hazard).expect("each thread pushes before it pops");
                    }
                    sum
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("it does not panic")).sum()
    });
    assert_eq!(sum, 4 * EACH * (EACH + 1) / 2);
    let garbage = stack.garbage.garbage();
    println!("four threads popped what they pushed, {sum} in all; {garbage} wait");
    assert!(garbage.objects <= stack.garbage.bound(4));
}
