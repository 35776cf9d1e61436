//! What a new thread is to run: the function that it begins with and, if that is the C++ library's, what it calls.
//!
//! # Contract
//! [`stack`] is that of the function; in the C++ library, it is the caller in a stack that the thread does not have.
//! In that stack, the next one is the function of the library's thread object, whose name tells the types of what was
//! given to it. The inner ones are functions that its first words point to, and those of the object that it begins
//! with (`std::async` has one): of these, the report takes one that such a type admits. In a sandbox, which may kill
//! for the question, there is the first function alone.
//! # Invariants
//! I1: nothing is read here but by the kernel, which checks every address: so any word may be taken for one.
//! # Evidence
//! `crates/cli/tests/threads_of_cpp.rs`.
//! # Sources
//! libstdc++, `src/c++11/thread.cc`: `execute_native_thread_routine` is given a `std::thread::_State` and calls its
//! `_M_run`, the third of its virtual functions. Itanium C++ ABI: an object begins with the address of its table; a
//! pointer to a member function that is not virtual begins with that function's address.

use crate::kernel::{self, PAGE};
use crate::module::{self, Object};
use crate::{sandbox, unwind};
use uncontended_events::site::Recorder;
use uncontended_events::stacks;

/// Words of a thread object that are looked at, after its table.
const OWN: usize = 7;
/// Words of the object that it begins with.
const OTHERS: usize = 16;
/// Functions that are kept of all these words.
const MOST: usize = 6;

/// The number of the stack; 0 if there is no room. The calling thread must be marked as recording.
pub(crate) fn stack(recorder: &Recorder, function: usize, argument: usize) -> u32 {
    let mut inner = Inner { frames: [0; MOST + 2], count: 0 };
    let begins = module::holding(function).filter(Object::is_cpp_library);
    if let Some(library) = begins.filter(|_| !sandbox::is_filtered()) {
        unwind::note(recorder, &library);
        inner.add_called(recorder, argument);
    }
    inner.add(function);
    stacks::enter(recorder, &inner.frames[..inner.count])
}

/// A stack, from its inner end.
struct Inner {
    frames: [u64; MOST + 2],
    count: usize,
}

impl Inner {
    /// A stack has return addresses.
    fn add(&mut self, function: usize) {
        self.frames[self.count] = (function as u64).wrapping_add(1);
        self.count += 1;
    }

    /// Adds what the library's routine calls with this argument, and what that may call.
    fn add_called(&mut self, recorder: &Recorder, argument: usize) -> Option<()> {
        // SAFETY: any bytes are numbers (I1).
        let words: [usize; 1 + OWN] = unsafe { kernel::copy(argument) }?;
        let [table, own @ ..] = words;
        // SAFETY: as above (I1).
        let [_, _, run]: [usize; 3] = unsafe { kernel::copy(table) }?;
        unwind::note(recorder, &module::holding(run)?);
        let others = Some(own[0]).filter(|&at| at >= PAGE && module::holding(at).is_none());
        // SAFETY: as above (I1).
        let others = others.and_then(|at| unsafe { kernel::copy::<[usize; OTHERS]>(at) });
        for word in own.into_iter().chain(others.into_iter().flatten()) {
            let object = module::holding(word).filter(|_| self.count < MOST);
            if let Some(object) = object {
                unwind::note(recorder, &object);
                self.add(word);
            }
        }
        self.add(run);
        Some(())
    }
}
