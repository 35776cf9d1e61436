//! Cache-line prefetching, which the checker does not model.

/// Prefetches the line at `at`, any address, for reading.
#[inline(always)]
pub fn prefetch_to_read<T>(at: *const T) {
    #[cfg(not(unc_model))]
    uncontended_sys::prefetch::to_read(at);
    let _ = at;
}

/// Prefetches the line at `at`, any address, for writing: takes it from other CPUs' caches.
#[inline(always)]
pub fn prefetch_to_write<T>(at: *const T) {
    #[cfg(not(unc_model))]
    uncontended_sys::prefetch::to_write(at);
    let _ = at;
}
