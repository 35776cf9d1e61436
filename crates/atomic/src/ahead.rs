//! Fetching cache lines ahead of their use, which a checker has no notion of.

/// Fetches the line at `at`, any address, to be read soon.
#[inline(always)]
pub fn prefetch_to_read<T>(at: *const T) {
    #[cfg(not(unc_model))]
    uncontended_sys::prefetch::to_read(at);
    let _ = at;
}

/// Fetches the line at `at`, any address, to be written soon: takes it from other CPUs' caches.
#[inline(always)]
pub fn prefetch_to_write<T>(at: *const T) {
    #[cfg(not(unc_model))]
    uncontended_sys::prefetch::to_write(at);
    let _ = at;
}
