//! A value that threads copy while another one replaces it: word by word, by atomics, so that a copy may be torn, but
//! there is no data race.
//!
//! # Contract
//! A copy that was torn is not a value: it may hold what no value of its type does. So [`Cells::load`] returns it as
//! memory that is not yet one, and its caller finds out.
//!
//! # State
//! The value's bytes, as words of the processor, and behind them the bytes that do not fill one. Each is accessed at
//! this size alone.
//!
//! # Invariants
//! I1: a [`Words`] has no byte that is not initialised, and no pointer: its bytes are integers, and all of it.
//! I2: the value has `WORDS` words and `BYTES` bytes behind them, from an address that is aligned for a word. While it
//!     is shared, it is accessed by atomics alone.

#[cfg(unc_model)]
use std::marker::PhantomData;
use std::mem::MaybeUninit;
#[cfg(not(unc_model))]
use uncontended_atomic::UnsafeCell;
use uncontended_atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

/// A value that may be copied as integers.
///
/// ```
/// use uncontended_locks::Words;
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Sample {
///     at_ns: u64,
///     value: f64,
/// }
/// const _: () = assert!(size_of::<Sample>() == size_of::<u64>() + size_of::<f64>());
/// // SAFETY: as large as its fields together, so without padding, and without pointers.
/// unsafe impl Words for Sample {}
/// ```
///
/// # Safety
/// Every byte of every value is initialised: no padding between or behind its fields, in none of its variants. It has
/// no pointers and no references, which are more than their address.
pub unsafe trait Words: Copy {}

macro_rules! plain {
    ($($plain:ty)*) => {
        $(
            // SAFETY: a number, or a value stored as one: no padding, no pointer (I1).
            unsafe impl Words for $plain {}
        )*
    };
}

plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char);

// SAFETY: an array has no padding that its elements do not have (I1).
unsafe impl<T: Words, const N: usize> Words for [T; N] {}

const WORD: usize = size_of::<usize>();

/// The value, in place.
#[cfg(not(unc_model))]
#[repr(C, align(8))]
pub(crate) struct Cells<T>(UnsafeCell<T>);

/// The checker's atomics are larger than what they stand for.
#[cfg(unc_model)]
pub(crate) struct Cells<T> {
    words: Vec<AtomicUsize>,
    bytes: Vec<AtomicU8>,
    value: PhantomData<T>,
}

// SAFETY: copies go from thread to thread, by atomics alone (I2).
unsafe impl<T: Words + Send> Sync for Cells<T> {}

#[cfg(not(unc_model))]
impl<T> Cells<T> {
    pub(crate) const fn new(value: T) -> Cells<T> {
        Cells(UnsafeCell::new(value))
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

#[cfg(not(unc_model))]
impl<T: Words> Cells<T> {
    #[inline]
    fn word(&self, at: usize) -> &AtomicUsize {
        debug_assert!(at < Self::WORDS, "I2");
        // SAFETY: one of the words (I2).
        let word = self.0.with_mut(|value| unsafe { value.cast::<usize>().add(at) });
        // SAFETY: it is aligned, as old as `self`, and accessed by atomics alone (I2); an integer (I1).
        unsafe { AtomicUsize::from_ptr(word) }
    }

    #[inline]
    fn byte(&self, at: usize) -> &AtomicU8 {
        debug_assert!(at < Self::BYTES, "I2");
        // SAFETY: one of the bytes behind the words (I2).
        let byte =
            self.0.with_mut(|value| unsafe { value.cast::<u8>().add(Self::WORDS * WORD + at) });
        // SAFETY: it is as old as `self`, and accessed by atomics alone (I2); an integer (I1).
        unsafe { AtomicU8::from_ptr(byte) }
    }
}

#[cfg(unc_model)]
impl<T: Words> Cells<T> {
    pub(crate) fn new(value: T) -> Cells<T> {
        let words = (0..Self::WORDS).map(|_| AtomicUsize::new(0)).collect();
        let bytes = (0..Self::BYTES).map(|_| AtomicU8::new(0)).collect();
        let cells = Cells { words, bytes, value: PhantomData };
        cells.store(value);
        cells
    }

    pub(crate) fn into_inner(self) -> T {
        // SAFETY: no other thread reaches it, so the copy is whole (I2).
        unsafe { self.load().assume_init() }
    }

    fn word(&self, at: usize) -> &AtomicUsize {
        &self.words[at]
    }

    fn byte(&self, at: usize) -> &AtomicU8 {
        &self.bytes[at]
    }
}

impl<T: Words> Cells<T> {
    const WORDS: usize = size_of::<T>() / WORD;
    const BYTES: usize = size_of::<T>() % WORD;

    /// A copy, which is a value if no thread stored meanwhile.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn load(&self) -> MaybeUninit<T> {
        let mut copy = MaybeUninit::<T>::uninit();
        let to = copy.as_mut_ptr().cast::<u8>();
        for at in 0..Self::WORDS {
            let word = self.word(at).load(Relaxed);
            // SAFETY: the copy is as large as the value (I2).
            let to = unsafe { to.add(at * WORD) }.cast::<usize>();
            // SAFETY: within the copy; it need not be aligned for a word (I2).
            unsafe { to.write_unaligned(word) };
        }
        for at in 0..Self::BYTES {
            let byte = self.byte(at).load(Relaxed);
            // SAFETY: the copy is as large as the value (I2).
            let to = unsafe { to.add(Self::WORDS * WORD + at) };
            // SAFETY: within the copy (I2).
            unsafe { to.write(byte) };
        }
        copy
    }

    /// Replaces the value, word by word.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn store(&self, value: T) {
        let from = (&raw const value).cast::<u8>();
        for at in 0..Self::WORDS {
            // SAFETY: within the value (I2).
            let from = unsafe { from.add(at * WORD) }.cast::<usize>();
            // SAFETY: initialised, an integer (I1); it need not be aligned for a word.
            let word = unsafe { from.read_unaligned() };
            self.word(at).store(word, Relaxed);
        }
        for at in 0..Self::BYTES {
            // SAFETY: within the value (I2).
            let from = unsafe { from.add(Self::WORDS * WORD + at) };
            // SAFETY: initialised, an integer (I1).
            let byte = unsafe { from.read() };
            self.byte(at).store(byte, Relaxed);
        }
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    /// Stores and loads values of all sizes, and from all alignments.
    fn passes<T: Words + PartialEq + std::fmt::Debug>(first: T, second: T) {
        let pair = (1_u8, Cells::new(first));
        // SAFETY: no other thread is there (I2).
        assert_eq!(unsafe { pair.1.load().assume_init() }, first);
        pair.1.store(second);
        // SAFETY: no other thread is there (I2).
        assert_eq!(unsafe { pair.1.load().assume_init() }, second);
        assert_eq!(pair.1.into_inner(), second);
    }

    #[test]
    fn values_of_all_sizes_are_copied_whole() {
        passes(false, true);
        passes('a', '\u{10ffff}');
        passes(1.5_f64, -0.25);
        passes(1_u128, u128::MAX - 7);
        passes([1_u8; 0], []);
        passes(*b"seven b", *b"bytes, ");
        passes([1_u8; 8], [2; 8]);
        passes(*b"nine byte", *b"and other");
        passes([[1_u16; 3]; 3], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
        passes([1_u32; 33], std::array::from_fn(|at| at as u32));
    }
}
