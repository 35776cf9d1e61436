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
//! I1: a [`Words`] that is whole has no byte that is not initialised, and no pointer: its bytes are integers, and all
//!     of it. Cells are made of no other.
//! I2: the value has `WORDS` words and `BYTES` bytes behind them, from an address that is aligned for a word. While it
//!     is shared, it is accessed by atomics alone.

#[cfg(unc_model)]
use std::marker::PhantomData;
use std::mem::MaybeUninit;
#[cfg(not(unc_model))]
use uncontended_atomic::UnsafeCell;
use uncontended_atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

/// A value that may be copied as integers: numbers, `bool`, `char`; arrays and tuples of those; and structs that
/// [`words!`](crate::words) declares. A tuple or a struct with padding does not compile where it is put into a
/// [`SeqLock`](crate::SeqLock).
///
/// ```
/// use uncontended_locks::SeqLock;
/// let quote = SeqLock::new((17_u64, [99.5_f64, 100.5]));
/// quote.update(|(number, _)| *number += 1);
/// assert_eq!(quote.read(), (18, [99.5, 100.5]));
/// ```
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Sample {
///     value: f64,
/// }
/// let last = uncontended_locks::SeqLock::new(Sample { value: 0.0 }); // without `words!`
/// ```
///
/// ```compile_fail
/// let padded = uncontended_locks::SeqLock::new((1_u8, 2_u64)); // seven bytes between
/// ```
///
/// # Safety
/// If [`IS_WHOLE`](Words::IS_WHOLE), every byte of every value is initialised: no padding between or behind its fields,
/// in none of its variants. It has no pointers and no references, which are more than their address.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be copied word by word, as a `SeqLock` does",
    label = "this type is not `Words`",
    note = "a struct of numbers is declared by the macro: `uncontended_locks::words! {{ struct Sample {{ at_ns: u64, value: f64 }} }}`",
    note = "what has pointers, references or padding goes behind a `RwLock` or a `Mutex`"
)]
pub unsafe trait Words: Copy {
    /// Whether it has no padding. What has is not copied: see [`SeqLock::with`](crate::SeqLock::with).
    const IS_WHOLE: bool = true;
}

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
unsafe impl<T: Words, const N: usize> Words for [T; N] {
    const IS_WHOLE: bool = T::IS_WHOLE;
}

macro_rules! tuples {
    ($($part:ident)*) => {
        // SAFETY: parts without padding and pointers, and if they fill the whole, none between them (I1).
        unsafe impl<$($part: Words),*> Words for ($($part,)*) {
            const IS_WHOLE: bool = are_whole(&[$((size_of::<$part>(), $part::IS_WHOLE)),*], size_of::<Self>());
        }
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);

/// Whether parts of these sizes have no padding, and leave none in a whole of this size.
#[doc(hidden)]
pub const fn are_whole(mut parts: &[(usize, bool)], whole: usize) -> bool {
    let mut sum = 0;
    while let [(size, is_whole), rest @ ..] = parts {
        if !*is_whole {
            return false;
        }
        sum += *size;
        parts = rest;
    }
    sum == whole
}

/// Declares a struct that may be copied as integers, which is [`Words`]. Each field is; padding is an error of the
/// compiler. The struct derives `Clone` and `Copy`.
///
/// ```
/// uncontended_locks::words! {
///     /// When, and what.
///     #[derive(Debug, PartialEq)]
///     pub struct Sample {
///         pub at_ns: u64,
///         value: f64,
///     }
/// }
/// let last = uncontended_locks::SeqLock::new(Sample { at_ns: 0, value: 0.0 });
/// last.write(Sample { at_ns: 5, value: 1.5 });
/// assert_eq!(last.read(), Sample { at_ns: 5, value: 1.5 });
/// ```
///
/// ```compile_fail
/// uncontended_locks::words! { struct Padded { short: u32, long: u64 } } // four bytes between
/// ```
///
/// ```compile_fail
/// uncontended_locks::words! { struct Borrows { text: &'static str } } // a pointer
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[$about_field:meta])* $field_vis:vis $field:ident: $of:ty),* $(,)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy)]
        $vis struct $name {
            $($(#[$about_field])* $field_vis $field: $of),*
        }

        // SAFETY: its fields (`fields` below) are `Words`; where they fill it, there is no padding (I1).
        unsafe impl $crate::Words for $name {
            const IS_WHOLE: bool = $crate::are_whole(
                &[$((::core::mem::size_of::<$of>(), <$of as $crate::Words>::IS_WHOLE)),*],
                ::core::mem::size_of::<$name>(),
            );
        }

        const _: () = {
            assert!(
                <$name as $crate::Words>::IS_WHOLE,
                "there is padding between the fields, or behind them: put the largest first, and fill the end"
            );
            /// An attribute could have changed them.
            #[allow(dead_code)]
            fn fields(value: $name) -> ($($of,)*) {
                let $name { $($field),* } = value;
                ($($field,)*)
            }
        };
    };
}

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
    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

#[cfg(not(unc_model))]
impl<T: Words> Cells<T> {
    pub(crate) const fn new(value: T) -> Cells<T> {
        let () = Self::ARE_WHOLE;
        Cells(UnsafeCell::new(value))
    }

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
        let () = Self::ARE_WHOLE;
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
    /// I1
    const ARE_WHOLE: () = assert!(
        T::IS_WHOLE,
        "the value has padding: put the largest parts first, and fill the end"
    );

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
        passes((), ());
        passes((7_u64, [1_u16; 4], -1.5_f64), (8, [2; 4], 0.5));
        passes([(1_u32, 'a', true, [0_u8; 3]); 5], [(2, 'b', false, [1; 3]); 5]);
    }

    #[test]
    fn what_has_padding_is_not_whole() {
        fn is_whole<T: Words>() -> bool {
            T::IS_WHOLE
        }
        assert!(is_whole::<(u64, u32, u32)>() && is_whole::<[(u8, bool); 3]>() && is_whole::<()>());
        assert!(!is_whole::<(u8, u64)>() && !is_whole::<[(u16, u8); 3]>());
        assert!(!is_whole::<((u8, u64), u64)>(), "within a part");
    }
}
