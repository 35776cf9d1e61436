//! Stand-ins for `std::sync::atomic`: the same types, methods and orderings.
//!
//! # Contract
//! Inside an exploration every method is one event of the execution. Outside one, and in a thread that unwinds, the
//! stand-ins are plain sequentially consistent atomics, so code built with them also runs by itself.
//!
//! `new` is not `const`, because an atomic's creation is an event: a use that the creation does not happen before is a
//! failure. Statics use `new_static`; they count as created before everything, and start every execution with the value
//! that they have outside.
//!
//! `compare_exchange_weak` fails where `compare_exchange` does, and spuriously if that is requested.

use super::core::Core;
use super::exclusive::AtomicMut;
use super::named::Named;
use super::op::{Effect, Function, Op, Order};
use super::{evaluation, foreign, runtime, waiting};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location as Site;
pub use std::sync::atomic::Ordering;
use std::sync::atomic::{AtomicU32 as StdU32, AtomicU64 as StdU64};

/// Numbers objects created outside explorations, when an exploration first uses them.
static ADOPTED: StdU32 = StdU32::new(1);

/// The common part of all stand-ins: a value in the low bits of a `u64`, and the name of its location.
pub(crate) struct Word {
    value: StdU64,
    /// Run in the high half, location in the low half; 0 before the first use.
    bound: StdU64,
    adopted: StdU32,
    label: Option<&'static str>,
}

impl Word {
    #[track_caller]
    pub(crate) fn new(value: u64) -> Word {
        Word::new_of(value, false)
    }

    /// `address`: the value is a pointer.
    #[track_caller]
    fn new_of(value: u64, address: bool) -> Word {
        let word = Word::new_static(value);
        let site = Site::caller();
        let bound = runtime::with_core(|core, thread| {
            let value = if address { core.heap.to_name(value) } else { value };
            let location = core.create(thread, value, site);
            word.bind(core.epoch, location);
            core.out_of_memory(0)
        });
        if let Some(Some(bound)) = bound {
            runtime::cut(bound);
        }
        word
    }

    pub(crate) const fn new_static(value: u64) -> Word {
        Word {
            value: StdU64::new(value),
            bound: StdU64::new(0),
            adopted: StdU32::new(0),
            label: None,
        }
    }

    /// Calls it `label` in traces.
    pub(crate) fn name(&mut self, label: &'static str) {
        self.label = Some(label);
        runtime::with_core(|core, _| {
            let location = self.locate(core);
            core.graph.locations[location as usize].label = self.label;
        });
    }

    fn bind(&self, epoch: u32, location: u32) {
        self.bound.store(u64::from(epoch) << 32 | u64::from(location), Ordering::Relaxed);
    }

    /// The location in the run with this number, if it has been used there.
    #[inline]
    pub(crate) fn bound(&self, epoch: u32) -> Option<u32> {
        let bound = self.bound.load(Ordering::Relaxed);
        ((bound >> 32) as u32 == epoch).then_some(bound as u32)
    }

    /// The location in the running exploration.
    #[track_caller]
    pub(crate) fn location(&self) -> Option<u32> {
        let location = runtime::with_core(|core, _| self.locate(core));
        if location.is_none() {
            self.refuse_foreign(Site::caller());
        }
        location
    }

    /// For a use outside explorations.
    fn refuse_foreign(&self, site: &'static Site<'static>) {
        foreign::refuse((self.bound.load(Ordering::Relaxed) >> 32) as u32, site);
    }

    /// The location in this run.
    pub(crate) fn locate(&self, core: &mut Core) -> u32 {
        if let Some(location) = self.bound(core.epoch) {
            return location;
        }
        if self.adopted.load(Ordering::Relaxed) == 0 {
            self.adopted.store(ADOPTED.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
        let location =
            core.adopt(self.adopted.load(Ordering::Relaxed), self.value.load(Ordering::Relaxed));
        core.graph.locations[location as usize].label = self.label;
        self.bind(core.epoch, location);
        location
    }

    /// Like [`Word::perform`], for a load or a store: most of those are only replayed.
    #[inline(always)]
    fn access(&self, op: Op, address: bool, site: &'static Site<'static>) -> u64 {
        runtime::again(self, &op).unwrap_or_else(|| self.perform(op, address, site))
    }

    /// Executes `op` and returns the value found.
    #[inline(never)]
    pub(crate) fn perform(&self, op: Op, address: bool, site: &'static Site<'static>) -> u64 {
        if let Some(run) = runtime::current() {
            return run.access(self, op, address, site);
        }
        self.refuse_foreign(site);
        match self.settle(address) {
            Some(newest) => newest,
            None => self.perform_alone(op),
        }
    }

    /// In a thread that unwinds: takes over the newest value of the run, once. An object that outlives the run is left
    /// as it was before: its newest value answers everything.
    fn settle(&self, address: bool) -> Option<u64> {
        let bound = self.bound.load(Ordering::Relaxed);
        let newest = runtime::newest((bound >> 32) as u32, bound as u32, address)?;
        if self.adopted.load(Ordering::Relaxed) != 0 {
            return Some(newest);
        }
        self.bound.store(0, Ordering::Relaxed);
        self.value.store(newest, Ordering::SeqCst);
        None
    }

    fn perform_alone(&self, op: Op) -> u64 {
        match op {
            Op::Store { value, .. } => {
                self.value.store(value, Ordering::SeqCst);
                value
            }
            _ => {
                let mut found = self.value.load(Ordering::SeqCst);
                loop {
                    let Some(Effect::Write { value, .. }) = op.effect(found) else { return found };
                    match self.value.compare_exchange_weak(
                        found,
                        value,
                        Ordering::SeqCst,
                        Ordering::SeqCst,
                    ) {
                        Ok(_) => return found,
                        Err(now) => found = now,
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Word")
    }
}

/// Methods that are the same for every type. `$to` and `$from` convert values to bits and back.
macro_rules! stand_in {
    ($(#[$doc:meta])* $name:ident ($($param:ident)?), $value:ty, $bits:expr, $address:expr, $to:expr, $from:expr) => {
        $(#[$doc])*
        pub struct $name $(<$param>)? {
            word: Word,
            marker: PhantomData<std::sync::atomic::$name $(<$param>)?>,
        }

        impl $(<$param>)? $name $(<$param>)? {
            /// A new atomic.
            #[track_caller]
            pub fn new(value: $value) -> Self {
                Self { word: Word::new_of($to(value), $address), marker: PhantomData }
            }

            /// See `std`.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                assert!(!matches!(order, Ordering::Release | Ordering::AcqRel), "a load can't release");
                $from(self.word.access(Op::Load { order: Order::new(order) }, $address, Site::caller()))
            }

            /// See `std`.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                assert!(!matches!(order, Ordering::Acquire | Ordering::AcqRel), "a store can't acquire");
                let op = Op::Store { value: $to(value), order: Order::new(order) };
                self.word.access(op, $address, Site::caller());
            }

            /// See `std`.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.update(Function::Swap, $to(value), order, Site::caller())
            }

            /// See `std`.
            ///
            /// # Errors
            /// The value found, if it is not `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                assert!(!matches!(failure, Ordering::Release | Ordering::AcqRel), "a failure can't release");
                let expected = $to(current);
                let (success, failure) = (Order::new(success), Order::new(failure));
                let op = Op::Cas { expected, new: $to(new), success, failure };
                let found = self.word.perform(op, $address, Site::caller());
                if found == expected { Ok($from(found)) } else { Err($from(found)) }
            }

            /// See `std`. Fails spuriously only if [`Explorer::spurious`](super::Explorer::spurious) requests it.
            ///
            /// # Errors
            /// The value found, if it is not `current`.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if waiting::is_spurious(Site::caller()) {
                    let found = self.load(failure);
                    // With another value it is an ordinary failure, which is another execution.
                    super::assume($to(found) == $to(current));
                    return Err(found);
                }
                self.compare_exchange(current, new, success, failure)
            }

            /// See `std`.
            ///
            /// # Errors
            /// The value found, if `f` returns `None`.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut found = self.load(fetch_order);
                while let Some(next) = f(found) {
                    match self.compare_exchange(found, next, set_order, fetch_order) {
                        Ok(old) => return Ok(old),
                        Err(now) => found = now,
                    }
                }
                Err(found)
            }

            /// The value, to read and to change: no other thread uses the atomic. `std` returns a plain reference.
            #[track_caller]
            pub fn get_mut(&mut self) -> AtomicMut<'_, $value> {
                AtomicMut::new(&self.word, ($from, $to), $address, Site::caller())
            }

            /// See `std`: no other thread uses the atomic.
            #[track_caller]
            pub fn into_inner(self) -> $value {
                self.word.own(Site::caller());
                $from(self.word.perform(Op::Load { order: Order::RELAXED }, $address, Site::caller()))
            }

            fn update(
                &self,
                function: Function,
                operand: u64,
                order: Ordering,
                site: &'static Site<'static>,
            ) -> $value {
                let op = Op::Rmw { function, operand, bits: $bits, order: Order::new(order) };
                $from(self.word.perform(op, $address, site))
            }
        }

        impl $(<$param>)? Named for $name $(<$param>)? {
            fn named(mut self, name: &'static str) -> Self {
                self.word.name(name);
                self
            }
        }

        impl $(<$param>)? fmt::Debug for $name $(<$param>)? {
            /// Prints only the name of the type: reading the value would be an event.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}

macro_rules! integer {
    ($name:ident $value:ident $unsigned:ident $signed:expr) => {
        stand_in! {
            #[doc = concat!("Stands in for `std::sync::atomic::", stringify!($name), "`.")]
            $name (), $value, $unsigned::BITS, false,
            |value| value as $unsigned as u64, |bits: u64| bits as $unsigned as $value
        }

        impl $name {
            /// A new atomic for a static: it exists before every execution.
            pub const fn new_static(value: $value) -> Self {
                Self { word: Word::new_static(value as $unsigned as u64), marker: PhantomData }
            }

            integer!(@fetch $value $unsigned
                fetch_add Function::Add, fetch_sub Function::Sub, fetch_and Function::And, fetch_nand Function::Nand,
                fetch_or Function::Or, fetch_xor Function::Xor,
                fetch_max Function::Max { signed: $signed }, fetch_min Function::Min { signed: $signed },
            );

            /// Adds with an instruction that is not LOCKed: a relaxed load, then a store with `order`; other threads
            /// may write in between. On x86 no interrupt of its own thread falls in between, which a heavy fence relies
            /// on.
            #[track_caller]
            pub fn fetch_add_unlocked(&self, value: $value, order: Ordering) -> $value {
                let operand = value as $unsigned as u64;
                let (function, bits) = (Function::Add, $unsigned::BITS);
                let op = Op::Unlocked { function, operand, bits, order: Order::new(order) };
                self.word.perform(op, false, Site::caller()) as $unsigned as $value
            }
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl From<$value> for $name {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
    (@fetch $value:ident $unsigned:ident $($method:ident $function:expr,)*) => {
        $(
            /// See `std`.
            #[track_caller]
            pub fn $method(&self, value: $value, order: Ordering) -> $value {
                self.update($function, value as $unsigned as u64, order, Site::caller())
            }
        )*
    };
}

integer!(AtomicU8 u8 u8 false);
integer!(AtomicU16 u16 u16 false);
integer!(AtomicU32 u32 u32 false);
integer!(AtomicU64 u64 u64 false);
integer!(AtomicUsize usize usize false);
integer!(AtomicI8 i8 u8 true);
integer!(AtomicI16 i16 u16 true);
integer!(AtomicI32 i32 u32 true);
integer!(AtomicI64 i64 u64 true);
integer!(AtomicIsize isize usize true);

stand_in! {
    /// Stands in for `std::sync::atomic::AtomicBool`.
    AtomicBool (), bool, 1, false, u64::from, |bits: u64| bits != 0
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

impl From<bool> for AtomicBool {
    #[track_caller]
    fn from(value: bool) -> Self {
        Self::new(value)
    }
}

impl AtomicBool {
    /// A new atomic for a static: it exists before every execution.
    pub const fn new_static(value: bool) -> Self {
        Self { word: Word::new_static(value as u64), marker: PhantomData }
    }

    /// See `std`.
    #[track_caller]
    pub fn fetch_and(&self, value: bool, order: Ordering) -> bool {
        self.update(Function::And, u64::from(value), order, Site::caller())
    }

    /// See `std`.
    #[track_caller]
    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        self.update(Function::Or, u64::from(value), order, Site::caller())
    }

    /// See `std`.
    #[track_caller]
    pub fn fetch_xor(&self, value: bool, order: Ordering) -> bool {
        self.update(Function::Xor, u64::from(value), order, Site::caller())
    }

    /// See `std`.
    #[track_caller]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        self.update(Function::Nand, u64::from(value), order, Site::caller())
    }

    /// See `std`.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

stand_in! {
    /// Stands in for `std::sync::atomic::AtomicPtr`. Addresses may differ between runs, except those of memory from
    /// [`Box`](super::Box) and [`alloc`](super::alloc).
    AtomicPtr (T), *mut T, 64, true,
    |value: *mut T| value.expose_provenance() as u64,
    |bits: u64| std::ptr::with_exposed_provenance_mut(bits as usize)
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> From<*mut T> for AtomicPtr<T> {
    #[track_caller]
    fn from(value: *mut T) -> Self {
        Self::new(value)
    }
}

impl<T> AtomicPtr<T> {
    /// A null pointer for a static: it exists before every execution.
    pub const fn null_static() -> Self {
        Self { word: Word::new_static(0), marker: PhantomData }
    }
}

impl AtomicU64 {
    pub(crate) fn word(&self) -> &Word {
        &self.word
    }
}

impl AtomicUsize {
    pub(crate) fn word_mut(&mut self) -> &mut Word {
        &mut self.word
    }
}

impl AtomicU32 {
    pub(crate) fn word(&self) -> &Word {
        &self.word
    }
}

/// Stands in for `std::sync::atomic::fence`.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "a fence can't be relaxed");
    if runtime::request_plain(Op::Fence { order: Order::new(order) }, Site::caller()).is_none() {
        std::sync::atomic::fence(order);
    }
}

/// Stands in for `std::sync::atomic::compiler_fence`: the checker does not reorder, so it does nothing.
pub fn compiler_fence(_order: Ordering) {}

/// The light half of an asymmetric fence (P1202): costs nothing, and is ordered only against heavy fences.
///
/// It establishes no happens-before by itself.
#[track_caller]
pub fn light_fence() {
    runtime::request_plain(Op::Light, Site::caller());
}

/// The heavy half of an asymmetric fence: a SeqCst fence here, which also acts as one in every other thread with
/// respect to light fences. Under TSO an expedited membarrier.
#[track_caller]
pub fn heavy_fence() {
    if runtime::request_plain(Op::Heavy, Site::caller()).is_none() {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// The most options that a choice may have: each is explored.
const MOST_OPTIONS: u64 = 1 << 16;

/// Chooses a number below `options`; the checker explores every choice. Always 0 outside an exploration.
///
/// # Panics
/// If there is no option, or more than 65,536.
#[track_caller]
pub fn choose(options: u64) -> u64 {
    assert!(options > 0, "something must be there to choose");
    assert!(
        options <= MOST_OPTIONS,
        "{options} options, at most {MOST_OPTIONS} (each is explored): choose among fewer values that differ in effect"
    );
    evaluation::refuse("chooses");
    runtime::request_plain(Op::Choice { options }, Site::caller()).unwrap_or(0)
}
