//! Cells whose object threads read while others replace it, in every scheme of reclamation.

use crossbeam_epoch as crossbeam;
use sdd::Tag;
use seize::Guard as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicPtr, fence};
use uncontended_reclaim::epoch::{self, Collector, Participant};
use uncontended_reclaim::hazard::{self, Domain, Hazard};

/// What is in a cell.
pub trait Payload: Send + Sync + 'static {
    fn new(value: u64) -> Self;
    fn value(&self) -> u64;
}

impl Payload for u64 {
    fn new(value: u64) -> u64 {
        value
    }
    #[inline(always)]
    fn value(&self) -> u64 {
        *self
    }
}

/// A cell, and how threads use it.
pub trait Scheme<T>: Send + Sync + 'static {
    /// What a thread keeps between uses.
    type Local<'s>;
    fn new(object: T) -> Self;
    fn local(&self) -> Self::Local<'_>;
    /// One read.
    fn read(&self, local: &mut Self::Local<'_>) -> u64;
    fn replace(&self, local: &mut Self::Local<'_>, object: T);
    /// Reads, and keeps the object while `during` runs.
    fn hold(&self, local: &mut Self::Local<'_>, during: impl FnOnce()) -> u64;
}

/// Ours: a hazard that the thread keeps.
pub struct Hazards<T>(hazard::Shared<T>, Domain);

impl<T: Payload> Scheme<T> for Hazards<T> {
    type Local<'s> = Hazard;
    fn new(object: T) -> Self {
        Hazards(hazard::Shared::new(Box::new(object)), Domain::new())
    }
    fn local(&self) -> Hazard {
        Hazard::new()
    }
    #[inline(always)]
    fn read(&self, hazard: &mut Hazard) -> u64 {
        hazard.protect(&self.0).map_or(0, T::value)
    }
    fn replace(&self, _: &mut Hazard, object: T) {
        self.0.replace(Some(Box::new(object)), &self.1);
    }
    fn hold(&self, hazard: &mut Hazard, during: impl FnOnce()) -> u64 {
        let object = hazard.protect(&self.0);
        during();
        object.map_or(0, T::value)
    }
}

/// Ours: a hazard for each read.
pub struct HazardGuards<T>(hazard::Shared<T>, Domain);

impl<T: Payload> Scheme<T> for HazardGuards<T> {
    type Local<'s> = ();
    fn new(object: T) -> Self {
        HazardGuards(hazard::Shared::new(Box::new(object)), Domain::new())
    }
    fn local(&self) {}
    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        self.0.guard().map_or(0, |object| object.value())
    }
    fn replace(&self, (): &mut (), object: T) {
        self.0.replace(Some(Box::new(object)), &self.1);
    }
    fn hold(&self, (): &mut (), during: impl FnOnce()) -> u64 {
        let object = self.0.guard();
        during();
        object.map_or(0, |object| object.value())
    }
}

/// Ours: epochs, with a participant that the thread keeps.
pub struct Epochs<T>(epoch::Shared<T>, Collector);

impl<T: Payload> Scheme<T> for Epochs<T> {
    type Local<'s> = Participant<'s>;
    fn new(object: T) -> Self {
        let collector = Collector::new();
        Epochs(epoch::Shared::new(Box::new(object), &collector), collector)
    }
    fn local(&self) -> Participant<'_> {
        self.1.participant()
    }
    #[inline(always)]
    fn read(&self, local: &mut Participant<'_>) -> u64 {
        self.0.load(&local.pin()).map_or(0, T::value)
    }
    fn replace(&self, local: &mut Participant<'_>, object: T) {
        self.0.replace(Some(Box::new(object)), &local.pin());
    }
    fn hold(&self, local: &mut Participant<'_>, during: impl FnOnce()) -> u64 {
        let guard = local.pin();
        during();
        self.0.load(&guard).map_or(0, T::value)
    }
}

/// Ours: epochs, with the thread's own participant.
pub struct Pinned<T>(epoch::Shared<T>, Collector);

impl<T: Payload> Scheme<T> for Pinned<T> {
    type Local<'s> = ();
    fn new(object: T) -> Self {
        let collector = Collector::new();
        Pinned(epoch::Shared::new(Box::new(object), &collector), collector)
    }
    fn local(&self) {}
    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        self.0.load(&self.1.pin()).map_or(0, T::value)
    }
    fn replace(&self, (): &mut (), object: T) {
        self.0.replace(Some(Box::new(object)), &self.1.pin());
    }
    fn hold(&self, (): &mut (), during: impl FnOnce()) -> u64 {
        let guard = self.1.pin();
        during();
        self.0.load(&guard).map_or(0, T::value)
    }
}

/// `crossbeam-epoch`.
pub struct Crossbeam<T>(crossbeam::Atomic<T>);

impl<T: Payload> Crossbeam<T> {
    #[inline(always)]
    fn get(&self, guard: &crossbeam::Guard) -> u64 {
        // SAFETY: replaced objects are deferred, and the guard was made before the load.
        unsafe { self.0.load(Acquire, guard).deref() }.value()
    }
}

impl<T: Payload> Scheme<T> for Crossbeam<T> {
    type Local<'s> = ();
    fn new(object: T) -> Self {
        Crossbeam(crossbeam::Atomic::new(object))
    }
    fn local(&self) {}
    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        self.get(&crossbeam::pin())
    }
    fn replace(&self, (): &mut (), object: T) {
        let guard = crossbeam::pin();
        let old = self.0.swap(crossbeam::Owned::new(object), AcqRel, &guard);
        // SAFETY: unlinked by the swap, once.
        unsafe { guard.defer_destroy(old) };
    }
    fn hold(&self, (): &mut (), during: impl FnOnce()) -> u64 {
        let guard = crossbeam::pin();
        during();
        self.get(&guard)
    }
}

/// `haphazard`, with a hazard that the thread keeps.
pub struct Haphazard<T: Send>(haphazard::AtomicPtr<T>);

impl<T: Payload> Scheme<T> for Haphazard<T> {
    type Local<'s> = haphazard::HazardPointer<'static>;
    fn new(object: T) -> Self {
        Haphazard(haphazard::AtomicPtr::from(Box::new(object)))
    }
    fn local(&self) -> haphazard::HazardPointer<'static> {
        haphazard::HazardPointer::new()
    }
    #[inline(always)]
    fn read(&self, hazard: &mut haphazard::HazardPointer<'static>) -> u64 {
        self.0.safe_load(hazard).map_or(0, T::value)
    }
    fn replace(&self, _: &mut haphazard::HazardPointer<'static>, object: T) {
        if let Some(old) = self.0.swap(Box::new(object)) {
            // SAFETY: unlinked by the swap, once, and read through hazards of the global domain alone.
            unsafe { old.retire() };
        }
    }
    fn hold(&self, hazard: &mut haphazard::HazardPointer<'static>, during: impl FnOnce()) -> u64 {
        let object = self.0.safe_load(hazard);
        during();
        object.map_or(0, T::value)
    }
}

/// `seize`.
pub struct Seize<T>(AtomicPtr<T>, seize::Collector);

impl<T: Payload> Scheme<T> for Seize<T> {
    type Local<'s> = ();
    fn new(object: T) -> Self {
        Seize(AtomicPtr::new(Box::into_raw(Box::new(object))), seize::Collector::new())
    }
    fn local(&self) {}
    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        let guard = self.1.enter();
        // SAFETY: never null, and retired objects are protected by the guard.
        unsafe { &*guard.protect(&self.0, Acquire) }.value()
    }
    fn replace(&self, (): &mut (), object: T) {
        let guard = self.1.enter();
        let old = guard.swap(&self.0, Box::into_raw(Box::new(object)), AcqRel);
        // SAFETY: unlinked by the swap, once, and from a box.
        unsafe { guard.defer_retire(old, seize::reclaim::boxed) };
    }
    fn hold(&self, (): &mut (), during: impl FnOnce()) -> u64 {
        let guard = self.1.enter();
        // SAFETY: never null, and retired objects are protected by the guard.
        let object = unsafe { &*guard.protect(&self.0, Acquire) };
        during();
        object.value()
    }
}

/// `sdd`.
pub struct Sdd<T: 'static>(sdd::AtomicOwned<T>);

impl<T: Payload> Scheme<T> for Sdd<T> {
    type Local<'s> = ();
    fn new(object: T) -> Self {
        Sdd(sdd::AtomicOwned::new(object))
    }
    fn local(&self) {}
    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        let guard = sdd::Guard::new();
        self.0.load(Acquire, &guard).as_ref().map_or(0, T::value)
    }
    fn replace(&self, (): &mut (), object: T) {
        // Dropping the old one retires it.
        drop(self.0.swap((Some(sdd::Owned::new(object)), Tag::None), AcqRel));
    }
    fn hold(&self, (): &mut (), during: impl FnOnce()) -> u64 {
        let guard = sdd::Guard::new();
        let object = self.0.load(Acquire, &guard);
        during();
        object.as_ref().map_or(0, T::value)
    }
}

/// `arc-swap`.
pub struct Swapped<T>(arc_swap::ArcSwap<T>);

impl<T: Payload> Scheme<T> for Swapped<T> {
    type Local<'s> = ();
    fn new(object: T) -> Self {
        Swapped(arc_swap::ArcSwap::from_pointee(object))
    }
    fn local(&self) {}
    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        self.0.load().value()
    }
    fn replace(&self, (): &mut (), object: T) {
        self.0.store(Arc::new(object));
    }
    fn hold(&self, (): &mut (), during: impl FnOnce()) -> u64 {
        let object = self.0.load();
        during();
        object.value()
    }
}

/// std's lock.
pub struct Locked<T>(std::sync::RwLock<Arc<T>>);

impl<T: Payload> Scheme<T> for Locked<T> {
    type Local<'s> = ();
    fn new(object: T) -> Self {
        Locked(std::sync::RwLock::new(Arc::new(object)))
    }
    fn local(&self) {}
    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        self.0.read().expect("no holder panics").value()
    }
    fn replace(&self, (): &mut (), object: T) {
        *self.0.write().expect("no holder panics") = Arc::new(object);
    }
    fn hold(&self, (): &mut (), during: impl FnOnce()) -> u64 {
        // A reader that kept the lock would stop all writers.
        let object = Arc::clone(&self.0.read().expect("no holder panics"));
        during();
        object.value()
    }
}

/// Publishes the pointer, and looks again: by hand, with what orders the two.
pub struct ByHand<const FENCED: bool>(AtomicPtr<u64>, AtomicPtr<u64>);

impl<const FENCED: bool> ByHand<FENCED> {
    pub fn new(value: u64) -> ByHand<FENCED> {
        ByHand(AtomicPtr::new(Box::into_raw(Box::new(value))), AtomicPtr::default())
    }

    #[inline(always)]
    pub fn read(&self) -> u64 {
        use std::sync::atomic::{Ordering::*, compiler_fence};
        let mut seen = self.0.load(Relaxed);
        loop {
            self.1.store(seen, Release);
            if FENCED {
                fence(SeqCst)
            } else {
                compiler_fence(SeqCst)
            }
            let now = self.0.load(Acquire);
            if now == seen {
                // SAFETY: never freed.
                return unsafe { *now };
            }
            seen = now;
        }
    }

    #[inline(always)]
    pub fn load(&self) -> u64 {
        // SAFETY: never freed.
        unsafe { *self.0.load(Acquire) }
    }
}
