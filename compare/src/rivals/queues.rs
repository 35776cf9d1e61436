//! Queues from C and C++, if they are on this machine (see build.rs): Boost's, rigtorp's, Concurrency Kit's.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use uncontended_bench::Bench;

use super::payload::Payload;
use super::pipe::Pipe;

/// Explains missing rows.
const MISSING: &str = "SKIPPED rows of C and C++: their headers were not found when this was built; install libboost-dev and libck-dev, and name the folders of others in BOOST_INCLUDE, RIGTORP_INCLUDE and CK_INCLUDE";

pub const BOOST: u32 = 0;
pub const BOOST_BATCHES: u32 = 1;
pub const RIGTORP: u32 = 2;
pub const CK: u32 = 3;

/// The calls of a queue for items of one size. All take what `make` returned.
#[repr(C)]
#[derive(Clone, Copy)]
struct Calls {
    make: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    end: Option<unsafe extern "C" fn(*mut c_void)>,
    send: Option<unsafe extern "C" fn(*mut c_void, u64, u64)>,
    receive: Option<unsafe extern "C" fn(*mut c_void, u64) -> u64>,
}

/// The calls of this rival; none if it is not here.
fn calls(rival: u32, words: usize) -> Calls {
    #[cfg(ck)]
    if rival == CK {
        unsafe extern "C" {
            fn unc_ck_ring(words: usize) -> Calls;
        }
        // SAFETY: it only looks at its argument.
        return unsafe { unc_ck_ring(words) };
    }
    #[cfg(queues)]
    {
        unsafe extern "C" {
            fn unc_queue(rival: u32, words: usize) -> Calls;
        }
        // SAFETY: it only looks at its arguments.
        unsafe { unc_queue(rival, words) }
    }
    #[cfg(not(queues))]
    {
        let _ = (rival, words);
        Calls { make: None, end: None, send: None, receive: None }
    }
}

/// Adds the row of a rival if it is here, else says that it is not.
pub fn if_here<T: Payload, const RIVAL: u32>(
    bench: Bench,
    add: impl FnOnce(Bench) -> Bench,
) -> Bench {
    if calls(RIVAL, size_of::<T>() / 8).make.is_some() {
        return add(bench);
    }
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| eprintln!("{MISSING}"));
    bench
}

/// A queue, freed with its last side.
struct Queue {
    calls: Calls,
    queue: NonNull<c_void>,
}

// SAFETY: its producer's and its consumer's side may be in different threads, each in one; `end` runs in the last.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Some(end) = self.calls.end {
            // SAFETY: no side is left.
            unsafe { end(self.queue.as_ptr()) };
        }
    }
}

/// One side; its type says which.
pub struct Side<S>(Arc<Queue>, PhantomData<S>);

/// The producer's.
pub struct Sending;
/// The consumer's.
pub struct Receiving;

/// The rival with this number.
pub struct Foreign<const RIVAL: u32>;

impl<T: Payload, const RIVAL: u32> Pipe<T> for Foreign<RIVAL> {
    type Sender = Side<Sending>;
    type Receiver = Side<Receiving>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        let calls = calls(RIVAL, size_of::<T>() / 8);
        let make = calls.make.expect("its rows are only made where it is");
        // SAFETY: takes any capacity; returns a queue or null.
        let queue = NonNull::new(unsafe { make(capacity) }).expect("memory for a queue");
        let queue = Arc::new(Queue { calls, queue });
        (Side(Arc::clone(&queue), PhantomData), Side(queue, PhantomData))
    }

    fn send(sender: &mut Self::Sender, from: u64, to: u64) {
        let send = sender.0.calls.send.expect("all calls are there, or none");
        // SAFETY: this is the only producer's side, borrowed alone.
        unsafe { send(sender.0.queue.as_ptr(), from, to) }
    }

    fn receive(receiver: &mut Self::Receiver, count: u64) -> u64 {
        let receive = receiver.0.calls.receive.expect("all calls are there, or none");
        // SAFETY: this is the only consumer's side, borrowed alone.
        unsafe { receive(receiver.0.queue.as_ptr(), count) }
    }
}
