//! Plain data: types that are fully described by their bytes.
//!
//! # Invariants
//! I1: every byte of a [`Plain`] value is initialised, and every byte pattern of its size is a valid value.

/// Types without padding and pointers for which every bit pattern is a valid value.
///
/// Such a value may be copied while another thread writes it, as long as a torn copy is discarded, and it means the
/// same in every process.
///
/// ```
/// use uncontended_ring::Plain;
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Tick {
///     price: u64,
///     size: u32,
///     venue: u32,
/// }
///
/// // SAFETY: three integers without padding: 8 + 4 + 4 is the size of the struct.
/// unsafe impl Plain for Tick {}
/// const _: () = assert!(size_of::<Tick>() == 16);
/// ```
///
/// # Safety
/// The type has no padding, no invalid bit patterns, and no pointers or references.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($number:ty)*) => {
        $(
            // SAFETY: a number has no padding, and every bit pattern is a number (I1).
            unsafe impl Plain for $number {}
        )*
    };
}

plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

// SAFETY: an array has no padding between its elements (I1).
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// The number of words that hold a value.
pub(crate) const fn words<T: Plain>() -> usize {
    size_of::<T>().div_ceil(size_of::<u64>())
}

/// Word `index` of a value. The last one is padded with zeros.
#[inline(always)]
pub(crate) fn word<T: Plain>(value: &T, index: usize) -> u64 {
    let mut word = 0;
    let (from, len) = part::<T>(index);
    let source = core::ptr::from_ref(value).cast::<u8>().wrapping_add(from);
    // SAFETY: these `len` bytes belong to the value and are initialised (I1); a word has at least `len` bytes.
    unsafe { source.copy_to_nonoverlapping((&raw mut word).cast(), len) };
    word
}

/// Assembles a value from its words. Calls `load` once per word.
#[inline(always)]
pub(crate) fn value<T: Plain>(load: impl Fn(usize) -> u64) -> T {
    let mut value = core::mem::MaybeUninit::<T>::uninit();
    for index in 0..words::<T>() {
        let (word, (to, len)) = (load(index), part::<T>(index));
        let target = value.as_mut_ptr().cast::<u8>().wrapping_add(to);
        // SAFETY: these `len` bytes belong to the value, which any pattern fits (I1); a word has at least `len` bytes.
        unsafe { (&raw const word).cast::<u8>().copy_to_nonoverlapping(target, len) };
    }
    // SAFETY: all bytes have been written, and every pattern is a valid value (I1).
    unsafe { value.assume_init() }
}

/// Byte offset and length of word `index` of a value; the length is 0 past its end.
const fn part<T>(index: usize) -> (usize, usize) {
    let from = index.saturating_mul(size_of::<u64>());
    let left = size_of::<T>().saturating_sub(from);
    (from, if left < size_of::<u64>() { left } else { size_of::<u64>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<T: Plain + PartialEq + std::fmt::Debug>(original: T) {
        let all: Vec<u64> = (0..words::<T>()).map(|index| word(&original, index)).collect();
        assert_eq!(value::<T>(|index| all[index]), original);
    }

    #[test]
    fn values_of_every_length_become_words_and_come_back() {
        there_and_back(0x1122_3344u32);
        there_and_back(-1.5f64);
        there_and_back(u128::MAX / 3);
        there_and_back([1u8; 0]);
        there_and_back([1u8, 2, 3]);
        there_and_back([1u16, 2, 3, 4, 5, 6, 7]);
        there_and_back([[1u8, 2, 3]; 7]);
        assert_eq!((word(&[1u8; 9], 2), word(&1u64, usize::MAX)), (0, 0), "past its end");
        assert_eq!(
            (words::<[u8; 0]>(), words::<u8>(), words::<[u8; 8]>(), words::<[u8; 9]>()),
            (0, 1, 1, 2)
        );
    }
}
