//! Code that merely implements locks: what stands between a wait and the code that a person would open.
//!
//! # Contract
//! A stack is known by its innermost frame outside such code ([`Skipped::site`]); if it has none, by the outermost of
//! the lock's own functions, which was called. The tables name the C library, the standard libraries of C++ and Rust,
//! and the libraries that programs commonly take their locks from; `--skip-frames` adds to them. In a pattern, `*`
//! stands for any characters. Functions without names are passed over on the way to a lock that the program makes of
//! conditions or semaphores.
//! # Sources
//! Stacks of programs that use these libraries, and their sources.

use crate::run::{Frame, Kind, Like};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Modules; the last two are the preloaded observer, where the kernel sees it.
const MODULES: [&str; 10] = [
    "libc.so*",
    "libc-2*",
    "libpthread*",
    "libstdc++*",
    "libc++*",
    "libgomp.so*",
    "libomp.so*",
    "libiomp5.so*",
    "observe-*-x86_64.so",
    "observe-*-aarch64.so",
];

/// Functions: the libraries' own, and those of others that only lock, wait or wake. Programs have functions of such
/// names, too (`sem_table_update`), so the patterns are no wider than the libraries need.
const FUNCTIONS: [&str; 86] = [
    // What sanitizers put in place of them.
    "__interceptor_*",
    "___interceptor_*",
    "__tsan_*",
    "__asan_*",
    // C and C++.
    "syscall",
    "pthread_mutex_*",
    "pthread_rwlock_*",
    "pthread_spin_*",
    "pthread_cond_*",
    "pthread_barrier_*",
    "pthread_once",
    "pthread_join",
    "pthread_*join_np",
    "__pthread_*",
    "___pthread_*",
    "__lll_*",
    "lll_*",
    "futex",
    "futex_wait*",
    "futex_wake*",
    "futex_reltimed_*",
    "futex_abstimed_*",
    "futex_*lock_pi*",
    "__futex_*",
    "sem_*wait",
    "sem_post",
    "__sem_*",
    "__new_sem_*",
    "__old_sem_*",
    "do_futex_wait*",
    "__gthread*",
    "__gnu_cxx::*",
    "std::*",
    "void std::*",
    "bool std::*",
    "__glibcxx_*",
    "execute_native_thread_routine",
    "boost::mutex*",
    "boost::unique_lock*",
    "boost::condition_variable*",
    "boost::sync::*",
    // Abseil and Folly.
    "absl::*Mutex*",
    "absl::*CondVar*",
    "absl::*synchronization_internal::*",
    "folly::*futex*",
    "folly::SharedMutex*",
    // GLib and Qt.
    "g_mutex_*",
    "g_rec_mutex_*",
    "g_rw_lock_*",
    "g_cond_*",
    "g_futex_*",
    "g_bit_lock*",
    "g_bit_trylock",
    "g_bit_unlock*",
    "QBasicMutex::*",
    "QMutex::*",
    "QMutexLocker*",
    "QMutexPrivate::*",
    "QRecursiveMutex::*",
    "QReadWriteLock::*",
    "QSemaphore::*",
    "QWaitCondition*",
    "QtFutex::*",
    // PostgreSQL and MariaDB, with `MADE`.
    "PGSemaphore*",
    "psi_mutex_*",
    "psi_cond_*",
    "psi_rwlock_*",
    "psi_prlock_*",
    "safe_mutex_*",
    // Go: what its threads wait in, outside goroutines.
    "runtime.futex*",
    "runtime.note*",
    "runtime.lock2*",
    "runtime.lockWithRank*",
    "runtime.unlock2*",
    "runtime.unlockWithRank*",
    "runtime.mPark",
    // CPython.
    "PyCOND_*",
    "PyMUTEX_*",
    "_PyMutex_*",
    "_PyParkingLot_*",
    "take_gil",
    "drop_gil",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyThread_acquire_lock*",
    "PyThread_release_lock",
];

/// The same in Rust's libraries, whose crates have the names of namespaces in C++ programs (`core`).
const RUST: [&str; 9] = [
    "core::*",
    "alloc::*",
    "parking_lot::*",
    "parking_lot_core::*",
    "lock_api::*",
    "crossbeam_utils::sync::*",
    "crossbeam_channel::*",
    "event_listener::*",
    "once_cell::*",
];

/// Files, of functions that are inlined under names without their modules (Rust's line tables, GCC's of C++).
const FILES: [&str; 7] = [
    "*/library/std/src/*",
    "*/library/core/src/*",
    "*/library/alloc/src/*",
    "*/lock_api-*/src/*",
    "*/parking_lot-*/src/*",
    "*/parking_lot_core-*/src/*",
    "*/include/c++/*",
];

/// Functions of locks that programs make of conditions or semaphores, each thread sleeping on one of its own: the
/// LWLocks of PostgreSQL, and the table locks of MariaDB.
const MADE: [&str; 4] = ["LWLock*", "thr_multi_*lock", "thr_lock", "thr_unlock"];

/// Functions between the C library's wait and the interpreter's code, where a thread wants Python's interpreter lock.
const INTERPRETER: [&str; 4] = ["take_gil", "PyEval_*", "_PyEval_*", "PyGILState_*"];

/// Those of them that do nothing else: the others give it back too, and wait for the thread that gets it.
const TAKES_INTERPRETER: [&str; 4] =
    ["take_gil", "PyEval_RestoreThread", "PyEval_Acquire*", "PyGILState_Ensure"];

/// Parts of the names of functions that tell what a futex is used for.
const LIKE: [(&str, Like); 13] = [
    ("*condvar*", Like::Condition),
    ("*cond_*", Like::Condition),
    ("*waitcondition*", Like::Condition),
    ("runtime.note*", Like::Condition),
    ("runtime.lock2*", Like::Mutex),
    ("*mutex*", Like::Mutex),
    ("*rwlock*", Like::Mutex),
    ("*rw_lock*", Like::Mutex),
    // OpenMP.
    ("gomp_critical*", Like::Mutex),
    ("omp_set_*lock*", Like::Mutex),
    ("__kmpc_critical*", Like::Mutex),
    ("*semaphore*", Like::Semaphore),
    // Locks park threads too, so this comes last.
    ("*park*", Like::Condition),
];

/// Code that does not identify a stack: the tables above, and patterns of the user's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Skipped {
    more: Vec<String>,
    /// What was said of frames with this function, file and module: stacks of many rows have the same ones.
    known: RefCell<HashMap<[Option<Arc<str>>; 3], bool>>,
}

impl Skipped {
    /// The tables, and functions, files and modules that match one of `patterns`.
    pub(crate) fn with(patterns: &[String]) -> Self {
        Skipped { more: patterns.to_vec(), known: RefCell::default() }
    }

    /// The frame that identifies a stack: the innermost one outside such code, else that of the lock which was called.
    pub(crate) fn site<'a>(&self, stack: &'a [Frame]) -> Option<&'a Frame> {
        let of_lock = || stack.iter().take_while(|frame| is_lock(frame) && !is_start(frame)).last();
        stack.get(self.inside(stack)).or_else(of_lock).or(stack.first())
    }

    /// How many frames belong to such code, from the innermost one on.
    fn inside(&self, stack: &[Frame]) -> usize {
        let mut inside = 0;
        loop {
            let rest = &stack[inside..];
            inside += rest.iter().take_while(|frame| self.contains(frame)).count();
            match made(&stack[inside..]) {
                Some(unnamed) => inside += unnamed + 1,
                None => return inside,
            }
        }
    }

    /// Whether the thread sleeps in a lock that is made of conditions or semaphores.
    pub(crate) fn is_in_made(&self, stack: &[Frame]) -> bool {
        stack[..self.inside(stack)].iter().any(is_made)
    }

    /// What the code between the site and the wait says that the object is.
    pub(crate) fn like(&self, stack: &[Frame]) -> Option<Like> {
        let inside = || stack[..self.inside(stack)].iter();
        let says = |pattern: &str| {
            inside().position(|frame| is_match(&function(frame).to_lowercase(), pattern))
        };
        let (parks, others) = LIKE.split_last()?;
        let first = others.iter().filter_map(|&(pattern, like)| Some((says(pattern)?, like))).min();
        first.map(|(_, like)| like).or_else(|| says(parks.0).map(|_| parks.1))
    }

    /// Whether a frame is of such code.
    pub(crate) fn contains(&self, frame: &Frame) -> bool {
        let named = [&frame.function, &frame.file, &frame.module].map(Option::clone);
        *self.known.borrow_mut().entry(named).or_insert_with(|| self.matches(frame))
    }

    fn matches(&self, frame: &Frame) -> bool {
        let base = |path: &'_ Option<Arc<str>>| path.as_deref().map_or("", base).to_owned();
        let (module, file) = (base(&frame.module), base(&frame.file));
        MODULES.iter().any(|pattern| is_match(&module, pattern))
            || is_standard(frame)
            || self.more.iter().any(|pattern| {
                [function(frame), &module, &file].iter().any(|name| is_match(name, pattern))
            })
    }
}

/// Whether the frame is of a standard library or a lock, by its function or its file.
pub(crate) fn is_standard(frame: &Frame) -> bool {
    let path = frame.file.as_deref().unwrap_or_default();
    FILES.iter().any(|pattern| is_match(path, pattern)) || is_lock(frame)
}

/// Whether the frame's function belongs to the tables.
pub(crate) fn is_lock(frame: &Frame) -> bool {
    let is_one_of =
        |patterns: &[&str]| patterns.iter().any(|pattern| is_match(function(frame), pattern));
    is_one_of(&FUNCTIONS) || is_one_of(&RUST) && !is_of_cpp(function(frame)) || is_made(frame)
}

/// Whether a function has parameters in its name, outside angle brackets: C++ has them, and Rust has none.
fn is_of_cpp(function: &str) -> bool {
    let mut depth = 0;
    // The arrow of a Rust type closes no bracket.
    function.replace("->", "").chars().any(|character| {
        depth += i32::from(character == '<') - i32::from(character == '>');
        character == '(' && depth <= 0
    })
}

/// Whether the frame is the beginning of a Rust thread, whose functions are the standard library's.
fn is_start(frame: &Frame) -> bool {
    is_match(function(frame), "*__rust_begin_short_backtrace*")
}

/// Whether the frame's function is one of [`MADE`].
fn is_made(frame: &Frame) -> bool {
    MADE.iter().any(|pattern| is_match(function(frame), pattern))
}

/// How many functions without names are between the innermost frame and the first of [`MADE`], if nothing else is.
fn made(stack: &[Frame]) -> Option<usize> {
    let unnamed = stack.iter().take_while(|frame| frame.function.is_none()).count();
    stack.get(unnamed).filter(|frame| is_made(frame)).map(|_| unnamed)
}

/// The name by which people know the object of `kind` that was waited for with this stack, if threads pass it on.
pub(crate) fn known_as(kind: Kind, waiter: &[Frame]) -> Option<&'static str> {
    (kind == Kind::Condition && is_waited_by(waiter, &INTERPRETER))
        .then_some("Python's interpreter lock")
}

/// Whether this wait was for Python's interpreter lock, even if no thread is seen to pass it on.
pub(crate) fn takes_interpreter(waiter: &[Frame]) -> bool {
    is_waited_by(waiter, &TAKES_INTERPRETER)
}

/// Whether the function that called the C library's wait is one of these.
fn is_waited_by(waiter: &[Frame], functions: &[&str]) -> bool {
    let is_wait = |frame: &&Frame| {
        function(frame).is_empty()
            || ["pthread_*", "PyCOND_*"].iter().any(|of| is_match(function(frame), of))
    };
    let caller = waiter.iter().find(|frame| !is_wait(frame));
    caller.is_some_and(|caller| functions.iter().any(|name| is_match(function(caller), name)))
}

fn function(frame: &Frame) -> &str {
    frame.function.as_deref().unwrap_or("").trim_start_matches('<')
}

/// The last part of a path.
pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether `text` is what `pattern` stands for.
pub(crate) fn is_match(text: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let Some((middle, end)) = rest.rsplit_once('*') else { return text.ends_with(rest) };
    for part in middle.split('*') {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

/// A line of code: a compiler may have made several addresses of it. Without a name, the address.
pub(crate) fn line(frame: &Frame) -> Frame {
    let mut line = frame.clone();
    if line.function.is_some() && line.line.is_some() {
        line.address = "".into();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_a_locks_code_alone_is_known_by_what_was_called() {
        let site = |functions: &[&str]| {
            let frame = |name: &&str| Frame {
                function: Some((*name).into()),
                file: None,
                line: None,
                module: Some("/bin/program".into()),
                address: "".into(),
            };
            let stack: Vec<Frame> = functions.iter().map(frame).collect();
            let skipped = Skipped::with(&["mine".to_owned()]);
            skipped.site(&stack).unwrap().function.clone().unwrap().to_string()
        };
        let wait = ["syscall", "std::sys::futex_wait", "<std::sync::barrier::Barrier>::wait"];
        let start = ["std::sys::backtrace::__rust_begin_short_backtrace", "std::thread::start"];
        assert_eq!(site(&wait), wait[2]);
        assert_eq!(site(&[&wait[..], &start].concat()), wait[2]);
        assert_eq!(site(&[&wait[..], &["work"], &start].concat()), "work");
        assert_eq!(site(&["mine", "mine"]), "mine");
    }

    #[test]
    fn a_programs_own_code_is_told_from_libraries_of_like_names() {
        let is_lock = |name: &str| {
            let function = Some(name.into());
            is_lock(&Frame { function, file: None, line: None, module: None, address: "".into() })
        };
        for own in [
            "core::Engine::rebuild()",
            "core::Pool<int>::take(unsigned long) const",
            "alloc::Arena::grow(int)",
            "core::lock_table(std::function<void ()>)",
            "sem_table_update",
            "sem_user",
            "futex_stats_dump",
            "pthread_pool_run",
            "psi_dashboard",
            "g_bit_count",
            "QMutexed::run()",
            "tsan_interceptor",
        ] {
            assert!(!is_lock(own), "{own}");
        }
        for library in [
            "core::ops::function::FnOnce::call_once",
            "<core::iter::adapters::map::Map<I, F> as core::iter::Iterator>::fold",
            "<alloc::boxed::Box<dyn FnOnce() -> (u8, u8) + Send> as FnOnce<()>>::call_once",
            "core::ptr::drop_in_place<fn() -> ()>",
            "std::mutex::lock()",
            "std::sys::sync::mutex::futex::Mutex::lock_contended",
            "sem_clockwait",
            "sem_post",
            "futex_abstimed_wait64",
            "futex_wake",
            "pthread_timedjoin_np",
            "pthread_mutex_lock",
            "__interceptor_pthread_mutex_lock",
            "___interceptor_pthread_mutex_lock",
            "__tsan_mutex_pre_lock",
            "QMutex::lock()",
        ] {
            assert!(is_lock(library), "{library}");
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (text, pattern) in [
            ("lock", "lock"),
            ("lock", "*"),
            ("", "*"),
            ("my::lock", "my::*"),
            ("my::lock", "*lock"),
            ("my::fast::lock", "my::*lock"),
            ("absl::lts_2023::Mutex::Lock(long)", "absl::*Mutex*"),
            ("aab", "*a*b"),
            ("ab", "a**b"),
        ] {
            assert!(is_match(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [
            ("lock", "loc"),
            ("lock", ""),
            ("my::lock", "your::*"),
            ("ab", "*ab*b"),
            ("aba", "a*b"),
        ] {
            assert!(!is_match(text, pattern), "{text} {pattern}");
        }
    }
}
