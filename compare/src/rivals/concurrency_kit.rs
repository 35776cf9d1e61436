//! Concurrency Kit's event count, in C, if it is on this machine (see build.rs).

use std::ffi::c_void;
use std::ptr::NonNull;

/// Explains missing rows.
pub const MISSING: &str = "SKIPPED Concurrency Kit: ck_ec.h was not found when this was built; install libck-dev, or name its folders in CK_INCLUDE and CK_LIB";

type Publish = unsafe extern "C" fn(*mut c_void, *mut u64, u64, u64, u64);

/// One form of the event count.
#[derive(Clone, Copy)]
pub struct Form {
    pub name: &'static str,
    new: unsafe extern "C" fn() -> *mut c_void,
    publish: Publish,
    increment: unsafe extern "C" fn(*mut c_void),
    value: unsafe extern "C" fn(*mut c_void) -> u64,
    wait: unsafe extern "C" fn(*mut c_void, u64),
}

/// An event count. It is never freed: a waiter may still access it.
#[derive(Clone, Copy)]
pub struct Count {
    form: Form,
    count: NonNull<c_void>,
}

// SAFETY: an event count is made to be shared.
unsafe impl Send for Count {}
// SAFETY: as above.
unsafe impl Sync for Count {}

#[cfg(ck)]
mod shim {
    use super::Form;
    use std::ffi::c_void;

    macro_rules! forms {
        ($($constant:ident $name:literal $new:ident $publish:ident $increment:ident $value:ident $wait:ident)*) => {
            unsafe extern "C" {
                $(fn $new() -> *mut c_void;
                fn $publish(count: *mut c_void, slots: *mut u64, words: u64, mask: u64, n: u64);
                fn $increment(count: *mut c_void);
                fn $value(count: *mut c_void) -> u64;
                fn $wait(count: *mut c_void, old: u64);)*
            }

            pub const FORMS: &[Form] = &[$(Form {
                name: $name, new: $new, publish: $publish, increment: $increment, value: $value, wait: $wait,
            }),*];
        };
    }
    forms! {
        SP32 "CK, one producer, 32 bit" unc_ck_new_sp32 unc_ck_publish_sp32 unc_ck_inc_sp32 unc_ck_value_sp32 unc_ck_wait_sp32
        SP64 "CK, one producer, 64 bit" unc_ck_new_sp64 unc_ck_publish_sp64 unc_ck_inc_sp64 unc_ck_value_sp64 unc_ck_wait_sp64
        MP32 "CK, many producers, 32 bit" unc_ck_new_mp32 unc_ck_publish_mp32 unc_ck_inc_mp32 unc_ck_value_mp32 unc_ck_wait_mp32
        MP64 "CK, many producers, 64 bit" unc_ck_new_mp64 unc_ck_publish_mp64 unc_ck_inc_mp64 unc_ck_value_mp64 unc_ck_wait_mp64
    }
}

/// The available forms; none if Concurrency Kit is missing.
pub fn forms() -> &'static [Form] {
    #[cfg(ck)]
    {
        shim::FORMS
    }
    #[cfg(not(ck))]
    {
        &[]
    }
}

impl Count {
    pub fn new(form: Form) -> Count {
        // SAFETY: takes no argument, and returns a count or null.
        let count = unsafe { (form.new)() };
        Count { form, count: NonNull::new(count).expect("memory for a count") }
    }

    /// Writes `n` items into `slots`, each of `words` words (1 or 8), and publishes each. The whole loop is C.
    pub fn publish(&self, slots: &mut [u64], words: u64, n: u64) {
        let mask = slots.len() as u64 / words - 1;
        assert!((mask + 1).is_power_of_two() && (words == 1 || words == 8));
        // SAFETY: every index is below `words * (mask + 1)`, the length; the count is never freed.
        unsafe { (self.form.publish)(self.count.as_ptr(), slots.as_mut_ptr(), words, mask, n) }
    }

    pub fn increment(&self) {
        // SAFETY: the count is never freed.
        unsafe { (self.form.increment)(self.count.as_ptr()) }
    }

    pub fn value(&self) -> u64 {
        // SAFETY: the count is never freed.
        unsafe { (self.form.value)(self.count.as_ptr()) }
    }

    pub fn wait(&self, old: u64) {
        // SAFETY: the count is never freed.
        unsafe { (self.form.wait)(self.count.as_ptr(), old) }
    }
}
