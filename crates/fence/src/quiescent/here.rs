//! The calling thread: which one it is, and which records go back when it ends.

#[cfg(unc_model)]
pub(super) use modelled::{forget, note, this_thread};
#[cfg(not(unc_model))]
pub(super) use real::{forget, note, this_thread};

#[cfg(not(unc_model))]
mod real {
    use super::super::Record;
    use std::cell::RefCell;

    /// What a thread has not given back.
    struct Owned(RefCell<Vec<&'static Record>>);

    thread_local! {
        /// Its address tells threads apart as long as they live. It has no destructor, so it is there to the end.
        static PLACE: u8 = const { 0 };
        static OWNED: Owned = const { Owned(RefCell::new(Vec::new())) };
    }

    impl Drop for Owned {
        fn drop(&mut self) {
            for record in self.0.take() {
                record.leave();
                record.release();
            }
        }
    }

    /// Not the number of no thread.
    pub(in super::super) fn this_thread() -> usize {
        PLACE.with(|place| std::ptr::from_ref(place).addr())
    }

    /// The record goes back when the thread ends, if it has not begun to.
    pub(in super::super) fn note(record: &'static Record) {
        let _ = OWNED.try_with(|owned| owned.0.borrow_mut().push(record));
    }

    /// The record has gone back.
    pub(in super::super) fn forget(record: &'static Record) {
        let _ = OWNED.try_with(|owned| {
            owned.0.borrow_mut().retain(|&other| !std::ptr::eq(other, record));
        });
    }
}

/// Explored threads share thread-locals.
#[cfg(unc_model)]
mod modelled {
    use super::super::Record;

    pub(in super::super) fn this_thread() -> usize {
        uncontended_atomic::thread_number() as usize + 1
    }

    pub(in super::super) fn note(_: &'static Record) {}

    pub(in super::super) fn forget(_: &'static Record) {}
}
