//! Hints to prefetch a cache line, which the checker does not model.
//!
//! # Contract
//! A hint affects only timing; any address is allowed. [`prefetch_to_write`] takes the line from other CPUs' caches,
//! which core's own intrinsic does not do unless the whole program is built for newer CPUs. On architectures other than
//! x86-64 and AArch64 it does nothing.
//!
//! # Invariants
//! I1: a hint neither faults nor changes memory, registers or flags.
//! # Sources
//! Intel SDM, PREFETCHW (a no-op on CPUs without it); Arm ARM, PRFM.

/// Prefetches the line at `at` for reading.
#[inline(always)]
pub fn prefetch_to_read<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, unc_model))))]
    // SAFETY: a hint (I1).
    unsafe {
        core::arch::asm!("prefetcht0 [{}]", in(reg) at.addr(), options(nomem, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(any(miri, unc_model))))]
    // SAFETY: a hint (I1).
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) at.addr(), options(nomem, nostack, preserves_flags));
    }
    let _ = at;
}

/// Prefetches the line at `at` for writing.
#[inline(always)]
pub fn prefetch_to_write<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, unc_model))))]
    // SAFETY: a hint (I1).
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) at.addr(), options(nomem, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(any(miri, unc_model))))]
    // SAFETY: a hint (I1).
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) at.addr(), options(nomem, nostack, preserves_flags));
    }
    let _ = at;
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_address_will_do() {
        let mut value = 7;
        super::prefetch_to_read(&raw const value);
        super::prefetch_to_write(&raw mut value);
        super::prefetch_to_read(core::ptr::null::<u8>());
        super::prefetch_to_write(core::ptr::without_provenance::<u8>(usize::MAX));
        assert_eq!(value, 7);
    }
}
