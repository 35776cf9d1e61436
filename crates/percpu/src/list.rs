//! Free lists per CPU: last in, first out, bounded.
//!
//! # Contract
//! [`FreeList::push`] and [`FreeList::pop`] reach the list of the thread's CPU, each by one section; or a shard, where
//! the thread has none or its CPU's list is locked out. A list keeps `most` nodes; a node that is not kept is handed
//! back. No node is lost or seen twice, and no thread waits. If its CPU's list is empty, a thread looks at the shards,
//! but not at the lists of other CPUs, which [`FreeList::drain`] reaches from anywhere. A section is aborted where a
//! node could be pushed again behind its back, so there is no ABA problem, and the memory of a popped node may be freed
//! at once.
//!
//! A child of a fork has the nodes that were in lists; one that another thread was draining at that moment is lost to
//! it, as are the nodes that threads held.
//!
//! # State
//! Each cell is the head of a list: null, the first node, or [`LOCKED`].
//! # Edges
//! shard: unlock -> lock. Carries a shard's list, nodes included.
//!
//! # Invariants
//! I1: a node in a list came from a box of a [`Node`], which no thread has; `Link` is its first field.
//! I2: a CPU's list lives as long as the structure. It is changed by sections of its CPU, or by the thread that locked
//!     them out (`away.rs`); they alone read its nodes. So a node that was taken out is the taker's.
//! I3: a shard's list is reached by the thread that replaced its head by [`LOCKED`].
//! # Evidence
//! tests/model.rs: pushes, pops and drains on one CPU and two; tests/faults.rs: with thousands of aborts.
//! # Sources
//! tcmalloc and librseq, lists per CPU; M. Michael and M. Scott, on ABA.

use crate::away::{NotTaken, Trying};
use crate::section::{self, End, LOCKED, Link, Popped};
use crate::shape::Shape;
use crate::slots::Slots;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null_mut};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicPtr, AtomicUsize, Box, CachePadded};

/// A value that can be in a list.
#[derive(Debug)]
#[repr(C)]
pub struct Node<T> {
    link: Link,
    value: T,
}

impl<T> Node<T> {
    /// A node in no list.
    pub fn new(value: T) -> Box<Node<T>> {
        let link = Link { next: AtomicPtr::new(null_mut()), depth: AtomicUsize::new(0) };
        Box::new(Node { link, value })
    }
}

impl<T> Deref for Node<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Node<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// A list for each CPU.
///
/// ```
/// use uncontended_percpu::{FreeList, Node};
/// static BUFFERS: FreeList<[u8; 4096]> = FreeList::new(64);
/// let mut buffer = BUFFERS.pop().unwrap_or_else(|| Node::new([0; 4096]));
/// buffer[0] = 1;
/// let _ = BUFFERS.push(buffer); // One too many is freed.
/// ```
///
/// A list of what must not leave its thread is not shared:
/// ```compile_fail,E0277
/// fn shared(_: &(impl Sync + ?Sized)) {}
/// shared(&uncontended_percpu::FreeList::<std::rc::Rc<u8>>::new(1));
/// ```
/// Nor is a list of what lives long one of what lives shorter, which could be pushed then:
/// ```compile_fail
/// use uncontended_percpu::FreeList;
/// fn shorter<'a>(list: &'a FreeList<&'static str>) -> &'a FreeList<&'a str> { list }
/// ```
pub struct FreeList<T> {
    heads: Slots<Head>,
    most: usize,
    trying: Trying,
    /// Invariant, as nodes are put in through a shared reference.
    owns: PhantomData<AtomicPtr<Node<T>>>,
}

type Head = AtomicPtr<Link>;

// SAFETY: it owns its nodes, and gives each to one thread (I2, I3).
unsafe impl<T: Send> Sync for FreeList<T> {}
// SAFETY: sending the list sends its nodes (I1).
unsafe impl<T: Send> Send for FreeList<T> {}

impl<T> FreeList<T> {
    /// Empty lists that keep at most `most` nodes each.
    #[cfg(not(unc_model))]
    pub const fn new(most: usize) -> FreeList<T> {
        FreeList { heads: Slots::new(), most, trying: Trying::new(), owns: PhantomData }
    }

    /// Empty lists that keep at most `most` nodes each.
    #[cfg(unc_model)]
    pub fn new(most: usize) -> FreeList<T> {
        FreeList { heads: Slots::new(), most, trying: Trying::new(), owns: PhantomData }
    }

    /// Puts the node first into the list of this CPU.
    ///
    /// # Errors
    /// The node, if the list is full.
    #[inline]
    pub fn push(&self, node: Box<Node<T>>) -> Result<(), Box<Node<T>>> {
        let link = into_link(node);
        if let Some(heads) = self.heads.own() {
            // SAFETY: the structure lives, and with it its cells (I2); the node is this thread's (I1).
            match unsafe { section::push(heads, link, self.most) } {
                End::Committed => return Ok(()),
                // SAFETY: not in the list, so still this thread's (I1).
                End::Full => return Err(unsafe { into_node(link) }),
                End::Elsewhere | End::Differs => {}
            }
        }
        self.push_elsewhere(link)
    }

    #[cold]
    fn push_elsewhere(&self, link: NonNull<Link>) -> Result<(), Box<Node<T>>> {
        let heads = self.heads.cells();
        let push = |head: *mut Link| {
            // SAFETY: null, or the first node of a list that this thread has (I3).
            let depth = unsafe { head.as_ref() }.map_or(0, |first| first.depth.load(Relaxed));
            if depth >= self.most {
                return (head, false);
            }
            // SAFETY: the node is this thread's (I1).
            let own = unsafe { link.as_ref() };
            own.depth.store(depth + 1, Relaxed);
            own.next.store(head, Relaxed);
            (link.as_ptr(), true)
        };
        match Shape::here().shards().find_map(|shard| with_shard(&heads[shard], push)) {
            Some(true) => Ok(()),
            // SAFETY: in no list, so still this thread's (I1).
            Some(false) | None => Err(unsafe { into_node(link) }),
        }
    }

    /// Takes the node that came last into the list of this CPU, or if that is empty, into a shard. None if these are
    /// empty too, or just then in use.
    #[inline]
    pub fn pop(&self) -> Option<Box<Node<T>>> {
        if let Some(heads) = self.heads.own() {
            // SAFETY: the structure lives, and with it its cells (I2).
            match unsafe { section::pop(heads) } {
                // SAFETY: it was in the list, and is this thread's now (I1, I2).
                Popped::Node(link) => return Some(unsafe { into_node(link) }),
                // While the list was drained, nodes went to the shards.
                Popped::Empty | Popped::Elsewhere => {}
            }
        }
        self.pop_elsewhere()
    }

    #[cold]
    fn pop_elsewhere(&self) -> Option<Box<Node<T>>> {
        let heads = self.heads.cells();
        let full = |&shard: &usize| !heads[shard].load(Relaxed).is_null();
        let first = Shape::here().shards().filter(full).find_map(|shard| {
            with_shard(&heads[shard], |head| match NonNull::new(head) {
                // SAFETY: the first node of a list that this thread has (I3).
                Some(first) => (unsafe { first.as_ref() }.next.load(Relaxed), Some(first)),
                None => (null_mut(), None),
            })?
        });
        // SAFETY: it was in the list, and is this thread's now (I1, I3).
        first.map(|link| unsafe { into_node(link) })
    }

    /// How many lists there are: of CPUs, and shards.
    pub fn lists(&self) -> usize {
        Shape::here().len()
    }

    /// Takes all nodes of the list with this number, below [`lists`](FreeList::lists), from any CPU. A CPU is
    /// interrupted for it if it runs a thread of this process.
    ///
    /// # Errors
    /// Nothing was taken.
    pub fn drain(&self, list: usize) -> Result<Drained<T>, NotTaken> {
        let shape = Shape::here();
        if list >= shape.len() {
            return Err(NotTaken::NoSuchCell);
        }
        let Some(head) = self.heads.made().get(list) else { return Ok(Drained::of(null_mut())) };
        if list >= shape.cpus {
            let first = with_shard(head, |first| (null_mut(), first));
            return first.map(Drained::of).ok_or(NotTaken::Raced);
        }
        // Relaxed: the barrier on that CPU orders what its sections did before what this thread does then.
        let first = self.trying.lock_out(
            list as u32,
            || replace(head),
            || head.load(Relaxed) == LOCKED,
            |first| _ = head.compare_exchange(LOCKED, first, Relaxed, Relaxed),
        )?;
        head.store(null_mut(), Relaxed);
        Ok(Drained::of(first))
    }

    /// Takes all nodes of all lists, as far as the iterator comes: no other thread has the structure, so nothing can be
    /// in the way.
    ///
    /// ```
    /// use uncontended_percpu::{FreeList, Node};
    /// let mut list = FreeList::new(8);
    /// list.push(Node::new(7)).unwrap();
    /// assert_eq!(list.drain_all().map(|node| **node).collect::<Vec<_>>(), [7]);
    /// ```
    pub fn drain_all(&mut self) -> impl Iterator<Item = Box<Node<T>>> {
        self.heads.made().iter().flat_map(|head| {
            // Relaxed: an exclusive borrow orders more. A drain of a thread that a child of a fork lacks has locked its
            // list for good, and has its nodes.
            let first = head.swap(null_mut(), Relaxed);
            Drained::of(if first == LOCKED { null_mut() } else { first })
        })
    }
}

/// Replaces the head of a shard, unless another thread has it.
fn with_shard<R>(head: &Head, f: impl FnOnce(*mut Link) -> (*mut Link, R)) -> Option<R> {
    // EDGE shard (acquire)
    let first = head.swap(LOCKED, Acquire);
    (first != LOCKED).then(|| {
        let (new, result) = f(first);
        // EDGE shard (release)
        head.store(new, Release);
        result
    })
}

/// Replaces a head by [`LOCKED`], and returns what it was, unless it is locked.
fn replace(head: &CachePadded<Head>) -> Option<*mut Link> {
    head.fetch_update(Relaxed, Relaxed, |first| (first != LOCKED).then_some(LOCKED)).ok()
}

fn into_link<T>(node: Box<Node<T>>) -> NonNull<Link> {
    let node = Box::into_raw(node);
    // SAFETY: the address of a box (I1) is not null.
    unsafe { NonNull::new_unchecked(node) }.cast()
}

/// # Safety
/// It is the address that [`into_link`] returned, and no other thread has it.
unsafe fn into_node<T>(link: NonNull<Link>) -> Box<Node<T>> {
    // SAFETY: I1, by the contract.
    unsafe { Box::from_raw(link.as_ptr().cast()) }
}

impl<T> Drop for FreeList<T> {
    fn drop(&mut self) {
        self.drain_all().for_each(drop);
    }
}

impl<T> fmt::Debug for FreeList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeList").field("most", &self.most).finish_non_exhaustive()
    }
}

/// The nodes of a list, the last that came first. What is left is freed when this is dropped.
pub struct Drained<T> {
    first: *mut Link,
    owns: PhantomData<Box<Node<T>>>,
}

// SAFETY: it owns its nodes (I2).
unsafe impl<T: Send> Send for Drained<T> {}
// SAFETY: a reference to it reaches no node of its own (I1).
unsafe impl<T: Send> Sync for Drained<T> {}

impl<T> Drained<T> {
    fn of(first: *mut Link) -> Drained<T> {
        Drained { first, owns: PhantomData }
    }
}

impl<T> Iterator for Drained<T> {
    type Item = Box<Node<T>>;

    fn next(&mut self) -> Option<Box<Node<T>>> {
        let link = NonNull::new(self.first)?;
        // SAFETY: a node of the list that this thread has (I2).
        self.first = unsafe { link.as_ref() }.next.load(Relaxed);
        // SAFETY: as above; it is not in the list any more (I1).
        Some(unsafe { into_node(link) })
    }
}

impl<T> Drop for Drained<T> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<T> fmt::Debug for Drained<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drained").field("is_empty", &self.first.is_null()).finish()
    }
}
