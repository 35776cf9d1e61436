//! One word for the lock and the list of its sleepers: the first to come takes it, and the longest sleeper is woken.
//!
//! # Weak spot
//! Unfair: a woken thread may find it taken by one that just came, and is then the last of the list. A holder that
//! gives it back goes through the part of the list that is new, to find its other end. A waiter cannot give up.
//!
//! # State
//! `word`: the newest waiter's node, if any waits; and in its low bits HELD, and SORTED: some thread changes the list,
//! and no other may but by putting a node before it. A node is on its waiter's stack, and knows the `older` one. The
//! way back, `newer`, is stored by the thread that has SORTED, and in the newest node also which is the `oldest`. The
//! first node of a list is its own `oldest`.
//!
//! # Invariants
//! I1: the thread that sets HELD holds the lock until HELD is cleared.
//! I2: a node is there until its turn is granted, once, by the thread that took it out of the list.
//! I3: only the thread with SORTED takes nodes out, or stores `newer` and `oldest` in those of the list.
//! I4: a thread gives up SORTED when it has seen HELD, whose holder will look at the list, or when it wakes a waiter,
//!     which will hold the lock or see HELD. So where a waiter sleeps, another thread is to look at the list.
//! I5: a node in the word with HELD was put there after HELD was set, or found there by the thread that set it.
//!
//! # Edges
//! word-held: `unlock` -> `take`. What the holder did.
//! word-node: `push` -> `unlock`, or `wake`. The node.
//! word-sorted: `wake` gives up SORTED -> `unlock` sets it. What it stored in nodes.
//! turn: see `turn`. That the node is out of the list.
//!
//! # Evidence
//! tests/model.rs, tests/mutants/queues.toml.
//! # Sources
//! Windows' slim reader/writer locks; nsync and usync, which have such lists; the way back as in the Rust standard
//! library's `sync/rwlock/queue.rs`.

use crate::pause::look;
use crate::{Park, RawLock, Turn};
use std::ptr;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicPtr, Named};

/// A mutex whose waiters spin for about a microsecond, then sleep by `W` in a list. One word.
#[derive(Debug)]
pub struct WordQueue<W = Park>(AtomicPtr<Node<W>>);

#[derive(Debug)]
struct Node<W> {
    older: AtomicPtr<Node<W>>,
    newer: AtomicPtr<Node<W>>,
    oldest: AtomicPtr<Node<W>>,
    turn: W,
}

const HELD: usize = 1;
const SORTED: usize = 2;

const fn held<W>() -> *mut Node<W> {
    ptr::without_provenance_mut(HELD)
}

fn is_held<W>(word: *mut Node<W>) -> bool {
    word.addr() & HELD != 0
}

fn newest<W>(word: *mut Node<W>) -> *mut Node<W> {
    word.map_addr(|word| word & !(HELD | SORTED))
}

impl<W: Turn> Node<W> {
    fn new() -> Node<W> {
        let link = |name| AtomicPtr::new(ptr::null_mut()).named(name);
        let (older, newer, oldest) = (link("older"), link("newer"), link("oldest"));
        Node { older, newer, oldest, turn: W::default() }
    }
}

impl<W> WordQueue<W> {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> WordQueue<W> {
        WordQueue(AtomicPtr::new(ptr::null_mut()))
    }
}

impl<W> Default for WordQueue<W> {
    fn default() -> WordQueue<W> {
        WordQueue(AtomicPtr::new(ptr::null_mut()).named("word"))
    }
}

impl<W: Turn> WordQueue<W> {
    /// Whether some thread sleeps; others may change that at once.
    pub fn has_waiters(&self) -> bool {
        !newest(self.0.load(Relaxed)).is_null()
    }

    /// Sets HELD in a word without it.
    #[cfg_attr(unc_model, track_caller)]
    fn take(&self, word: *mut Node<W>) -> Result<*mut Node<W>, *mut Node<W>> {
        let taken = word.map_addr(|word| word | HELD);
        // EDGE word-held (acquire): what the last holder did. I1
        self.0.compare_exchange(word, taken, Acquire, Relaxed)
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self) {
        loop {
            let node = Node::new();
            let is_over = |word: *mut Node<W>| !is_held(word) || !newest(word).is_null();
            let word = look(|| self.0.load(Relaxed), is_over);
            if !self.push(&node, word) {
                return;
            }
            node.turn.wait();
        }
    }

    /// Puts a node before the list; false if the lock was free, and is this thread's.
    #[cfg_attr(unc_model, track_caller)]
    fn push(&self, node: &Node<W>, mut word: *mut Node<W>) -> bool {
        let own = ptr::from_ref(node).cast_mut();
        loop {
            let changed = if is_held(word) {
                let older = newest(word);
                node.older.store(older, Relaxed);
                node.oldest.store(if older.is_null() { own } else { ptr::null_mut() }, Relaxed);
                let next = own.map_addr(|own| own | (word.addr() & (HELD | SORTED)));
                // EDGE word-node (release): the node. I5
                self.0.compare_exchange(word, next, Release, Relaxed).map(|_| true)
            } else {
                self.take(word).map(|_| false)
            };
            match changed {
                Ok(is_pushed) => return is_pushed,
                Err(now) => word = now,
            }
        }
    }

    /// Clears HELD where there is a list, and wakes its oldest unless another thread is at that.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn give_back(&self, mut word: *mut Node<W>) {
        loop {
            let is_sorted = word.addr() & SORTED != 0;
            let next = word.map_addr(|word| (word & !HELD) | SORTED);
            // EDGE word-held (release): what this holder did.
            // EDGE word-node (acquire): the nodes.
            // EDGE word-sorted (acquire): what was stored in them.
            match self.0.compare_exchange(word, next, AcqRel, Relaxed) {
                Ok(_) if is_sorted => return, // That thread finds that HELD is clear (I4).
                Ok(_) => return self.wake(next),
                Err(now) => word = now,
            }
        }
    }

    /// Wakes the oldest waiter, unless the lock is held again. This thread has SORTED.
    #[cfg_attr(unc_model, track_caller)]
    fn wake(&self, mut word: *mut Node<W>) {
        loop {
            let newest = newest(word);
            // SAFETY: the list is there, and this thread has SORTED (I2, I3).
            let oldest = unsafe { find_oldest(newest) };
            // SAFETY: it is in the list, from which only this thread takes it (I2, I3).
            let Node { newer, turn, .. } = unsafe { &*oldest };
            let turn = &raw const *turn;
            if !is_held(word) && oldest != newest {
                // SAFETY: the newest is in the list (I2).
                let left = unsafe { &(*newest).oldest };
                left.store(newer.load(Relaxed), Relaxed);
                self.give_up_sorted(word);
                // SAFETY: it waits, and is out of the list: this is its only grant (I2).
                return unsafe { W::grant(turn) };
            }
            let without = word.map_addr(|word| word & !SORTED);
            let next = if is_held(word) { without } else { ptr::null_mut() };
            // EDGE word-sorted (release): what this thread stored. I4
            // EDGE word-node (acquire): the nodes that came.
            match self.0.compare_exchange(word, next, Release, Acquire) {
                Ok(_) if is_held(word) => return,
                // SAFETY: it waits, and was the only one of the list: this is its only grant (I2).
                Ok(_) => return unsafe { W::grant(turn) },
                Err(now) => word = now,
            }
        }
    }

    #[cfg_attr(unc_model, track_caller)]
    fn give_up_sorted(&self, mut word: *mut Node<W>) {
        loop {
            let without = word.map_addr(|word| word & !SORTED);
            // EDGE word-sorted (release): what this thread stored. I4
            match self.0.compare_exchange(word, without, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }
}

/// The other end of the list, which is stored in the newest node then; and the way back to that.
///
/// # Safety
/// The node is the newest of a list, and this thread has SORTED.
#[cfg_attr(unc_model, track_caller)]
unsafe fn find_oldest<W>(newest: *mut Node<W>) -> *mut Node<W> {
    let mut node = newest;
    loop {
        // SAFETY: it is in the list (I2).
        let Node { older, oldest, .. } = unsafe { &*node };
        let found = oldest.load(Relaxed);
        if !found.is_null() {
            // SAFETY: the newest is in the list (I2).
            unsafe { (*newest).oldest.store(found, Relaxed) };
            return found;
        }
        let older = older.load(Relaxed);
        // SAFETY: only the first node has none that is older, and that is its own oldest: this one is there (I2).
        unsafe { (*older).newer.store(node, Relaxed) };
        node = older;
    }
}

// SAFETY: one thread at a time sets HELD (I1), and sees what the last holder did (edge word-held).
unsafe impl<W: Turn> RawLock for WordQueue<W> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_lock(&self) -> bool {
        let mut word = ptr::null_mut();
        while !is_held(word) {
            match self.take(word) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        // EDGE word-held (release): what this holder did.
        if let Err(word) = self.0.compare_exchange(held(), ptr::null_mut(), Release, Relaxed) {
            self.give_back(word);
        }
    }

    fn is_locked(&self) -> bool {
        is_held(self.0.load(Relaxed))
    }
}
