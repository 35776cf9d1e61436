//! The scheduler between explored code and the checker: which thread runs, and how a request gets its answer.
//!
//! # Contract
//! [`request`] is called from the stand-ins. Inside an exploration it answers along the graph, and suspends the calling
//! coroutine as long as necessary. It returns `None` if no exploration runs on this OS thread, or if the calling thread
//! is unwinding: then the stand-in operates on its own value at once, without exploring (a run that unwinds is over).
//!
//! # Invariants
//! R1: at most one coroutine of a run is running, and it holds no borrow of `core` while it is suspended.
//! R2: `CURRENT` is null, or points to the run whose `execute` is on this OS thread's stack and keeps it alive.
#![allow(unsafe_code)]

use super::atomics::Word;
use super::context::{Coroutine, is_inside, suspend};
use super::core::{Core, Request, State, Stop};
use super::foreign::Running;
use super::graph::{Graph, NOWHERE};
use super::op::Op;
use super::panics::Panic;
use super::verdict::{Bound, Failure, hidden};
use super::watch::Beat;
use super::{panics, signals};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location as Site, catch_unwind, resume_unwind};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

thread_local! {
    static CURRENT: Cell<*const Run> = const { Cell::new(std::ptr::null()) };
}

/// Numbers every run of this process; 0 means none.
static NEXT_EPOCH: AtomicU32 = AtomicU32::new(1);

/// Requests of an unwinding thread before it is taken to loop forever.
const UNWINDING_REQUESTS: u32 = 100_000;

/// The panic payload that unwinds a coroutine when its run is over.
struct Over;

/// An exploration's runtime, kept from run to run.
pub(crate) struct Run {
    pub(crate) core: RefCell<Core>,
    coroutines: RefCell<Vec<Option<Rc<Coroutine>>>>,
    me: Weak<Run>,
    pub(super) running: Cell<usize>,
    pub(super) over: Cell<bool>,
    unwinding_requests: Cell<u32>,
    /// Threads that have made a request while they unwound, one bit each.
    unwound: Cell<u32>,
    beat: Arc<Beat>,
    lasting: Arc<Running>,
}

impl Run {
    pub(crate) fn new(core: Core) -> Rc<Run> {
        panics::install();
        signals::install();
        Rc::new_cyclic(|me| Run {
            core: RefCell::new(core),
            coroutines: RefCell::default(),
            me: Weak::clone(me),
            running: Cell::new(0),
            over: Cell::new(false),
            unwinding_requests: Cell::new(0),
            unwound: Cell::new(0),
            beat: Beat::new(),
            lasting: Running::new(),
        })
    }

    /// Runs `body` as thread 0, along `graph` and beyond, until no thread can move.
    pub(crate) fn execute(self: &Rc<Run>, graph: Graph, body: Box<dyn FnOnce()>) {
        refuse_inside();
        assert!(CURRENT.get().is_null(), "no exploration starts while another one ends");
        let epoch = NEXT_EPOCH.fetch_add(1, Ordering::Relaxed);
        self.core.borrow_mut().begin(graph, epoch);
        self.over.set(false);
        self.unwound.set(0);
        self.unwinding_requests.set(0);
        drop(panics::noted());
        CURRENT.set(Rc::as_ptr(self));
        self.lasting.begin(epoch);
        self.start(0, body);
        while let Some(thread) = self.pick() {
            self.resume(thread);
        }
        self.tear_down();
        if let Some(why) = self.lasting.end() {
            self.core.borrow_mut().stop = Some(Stop::Diverged(why));
        }
        CURRENT.set(std::ptr::null());
    }

    /// The lowest runnable thread; ends the replay if no thread can move within it.
    fn pick(&self) -> Option<usize> {
        let mut core = self.core.borrow_mut();
        loop {
            if core.stop.is_some() {
                return None;
            }
            if !core.replaying && core.is_led() {
                return core.scheduled();
            }
            if let (false, Some(thread)) = (core.replaying, core.alone) {
                return core.can_move(thread).then_some(thread);
            }
            if !core.replaying && core.sampler.is_some() {
                return core.drawn();
            }
            let next = (0..core.threads.len()).find(|&thread| core.can_move(thread));
            if next.is_some() || !core.replaying {
                return next;
            }
            if !core.is_replayed() {
                core.stop =
                    Some(Stop::Diverged(hidden("a thread ends earlier than in an earlier run")));
            }
            core.replaying = false;
        }
    }

    fn resume(&self, thread: usize) {
        self.running.set(thread);
        let coroutine = self.coroutines.borrow()[thread].clone();
        self.beat.turn(thread);
        coroutine.expect("a thread that can move has a coroutine").resume();
        self.beat.turn(thread);
        if std::thread::panicking() {
            self.left_unwinding(thread);
        }
    }

    /// Handles a thread left in the middle of unwinding: a destructor panicked, or waits forever.
    fn left_unwinding(&self, thread: usize) {
        let mut noted = panics::noted();
        let what = if panics::settle() {
            // The last one is Rust's own, which announces the abort.
            noted.pop();
            let Panic { place, message } = noted.pop().unwrap_or_default();
            format!("panics at {}: {message}", place.unwrap_or_default())
        } else {
            "waits forever".to_owned()
        };
        let mut core = self.core.borrow_mut();
        let stop = if self.over.get() {
            if core.ending(true).is_some() {
                return; // The deadlock is reported instead.
            }
            Stop::Diverged(format!(
                "the checker ended thread {thread}, which waited, by unwinding it, and one of its destructors {what}. \
                 Do nothing of the kind in a destructor if `std::thread::panicking()`"
            ))
        } else {
            let Panic { place, message } = noted.pop().unwrap_or_default();
            let message = format!("{message}; while it unwinds, a destructor {what}");
            Stop::Failure(Failure::Panic { thread, place, message })
        };
        core.stop.get_or_insert(stop);
    }

    /// Prepares a coroutine to run `body` as `thread`: the coroutine of that thread in the last run, if it ended.
    fn start(self: &Rc<Run>, thread: usize, body: Box<dyn FnOnce()>) {
        let mut coroutines = self.coroutines.borrow_mut();
        while coroutines.len() <= thread {
            coroutines.push(None);
        }
        if let Some(coroutine) = &coroutines[thread] {
            coroutine.restart(body);
            return;
        }
        let run = Rc::downgrade(self);
        let entry = move |body: Box<dyn FnOnce()>| {
            let run = run.upgrade().expect("R2: a run outlives its coroutines' steps");
            let end = catch_unwind(AssertUnwindSafe(|| {
                body();
                run.request(Request {
                    op: Op::End,
                    location: NOWHERE,
                    address: false,
                    site: Site::caller(),
                });
            }));
            run.ended(thread, end);
        };
        let stack_bytes = self.core.borrow().limits.stack_bytes;
        coroutines[thread] = Some(Coroutine::new(Box::new(entry), body, stack_bytes));
    }

    fn ended(&self, thread: usize, end: Result<(), Box<dyn Any + Send>>) {
        if self.over.get() {
            return; // Its state stays what the run ended in.
        }
        let mut core = self.core.borrow_mut();
        core.threads[thread].state = State::Finished;
        let Err(payload) = end else { return };
        let message = panics::message(&*payload);
        let place = panics::noted().pop().and_then(|panic| panic.place);
        core.stop.get_or_insert(Stop::Failure(Failure::Panic { thread, place, message }));
    }

    /// Ends the waiting coroutines, newest first, by unwinding them.
    fn tear_down(&self) {
        self.over.set(true);
        self.unwinding_requests.set(0);
        let threads = self.coroutines.borrow().len();
        for thread in (0..threads).rev() {
            let coroutine = self.coroutines.borrow()[thread].clone();
            let Some(coroutine) = coroutine else { continue };
            if !coroutine.is_finished() && !coroutine.is_fresh() {
                self.resume(thread);
            }
            coroutine.forget_body();
            if !coroutine.is_finished() {
                // It never ran, or never ends.
                self.coroutines.borrow_mut()[thread] = None;
            }
        }
    }

    /// Ends the run of a thread that continues after it has unwound through steps of the execution: those steps were
    /// not explored.
    #[inline]
    fn refuse_caught_panic(&self) {
        if self.unwound.get() >> self.running.get() & 1 == 1 {
            self.caught_panic();
        }
    }

    #[cold]
    fn caught_panic(&self) {
        let thread = self.running.get();
        let why = format!(
            "thread {thread} catches a panic that has unwound through its steps ({}): those steps are not explored. Let \
             the panic end the thread, or catch it before shared state is dropped",
            panics::noted().pop().and_then(|panic| panic.place).unwrap_or_default()
        );
        self.refuse(why);
    }

    /// Ends the run, because its code cannot be explored.
    pub(super) fn refuse(&self, why: String) {
        self.core.borrow_mut().stop.get_or_insert(Stop::Diverged(why));
        self.until::<()>(|_| None);
    }

    /// Starts a thread of the exploration, and returns its number and where its `park` waits. If `left` is given, the
    /// two are symmetric neighbours.
    pub(crate) fn spawn(
        &self,
        body: Box<dyn FnOnce()>,
        left: Option<usize>,
        site: &'static Site<'static>,
    ) -> (usize, Token) {
        refuse_in_symmetric("starts a thread", site);
        let parent = self.running.get();
        let token = {
            let mut core = self.core.borrow_mut();
            Token { epoch: core.epoch, location: core.create(parent, 0, site) }
        };
        let child = self.until(|core| core.spawn(parent, token.location, left, site));
        self.me.upgrade().expect("R2").start(child, body);
        (child, token)
    }

    /// The answer to a request of the running thread.
    fn request(&self, request: Request) -> u64 {
        let thread = self.running.get();
        self.until(|core| core.step(thread, &request))
    }

    /// The answer to a request of the running thread about `word`. It borrows the core once: explorations spend most of
    /// their time here.
    pub(crate) fn access(
        &self,
        word: &Word,
        op: Op,
        address: bool,
        site: &'static Site<'static>,
    ) -> u64 {
        let thread = self.running.get();
        let (request, wrong) = {
            let mut core = self.core.borrow_mut();
            let wrong = core.touch(thread, (&raw const *word).addr(), site);
            let op = if address { core.heap.name_operands(op) } else { op };
            let request = Request { op, location: word.locate(&mut core), address, site };
            if wrong.is_none()
                && let Some(answer) = core.step(thread, &request)
            {
                return if address { core.heap.to_address(answer) } else { answer };
            }
            (request, wrong)
        };
        if let Some(failure) = wrong {
            fail(failure);
        }
        self.wait();
        let answer = self.request(request);
        if address { self.core.borrow().heap.to_address(answer) } else { answer }
    }

    /// Suspends the running coroutine until `attempt` succeeds.
    pub(super) fn until<R>(&self, mut attempt: impl FnMut(&mut Core) -> Option<R>) -> R {
        loop {
            let answer = attempt(&mut self.core.borrow_mut());
            if let Some(answer) = answer {
                return answer;
            }
            self.wait();
        }
    }

    /// Suspends the running coroutine until it is resumed; unwinds it if the run is over by then.
    fn wait(&self) {
        let thread = self.running.get();
        suspend();
        if self.over.get() {
            resume_unwind(Box::new(Over));
        }
        debug_assert_eq!(self.running.get(), thread, "R1");
    }

    /// A thread that keeps making requests while it unwinds never ends: it is abandoned, with its stack.
    fn count_unwinding_request(&self) {
        self.unwinding_requests.set(self.unwinding_requests.get() + 1);
        self.unwound.set(self.unwound.get() | 1 << self.running.get());
        if self.unwinding_requests.get() > UNWINDING_REQUESTS {
            loop {
                suspend();
            }
        }
    }
}

/// Ends the run that the caller is in: no exploration starts inside another one.
fn refuse_inside() {
    if let Some(run) = current() {
        run.refuse(format!(
            "thread {} starts an exploration inside an exploration: its steps are not explored. Explore one after the \
             other, outside explored code",
            run.running.get()
        ));
    }
}

/// The run on this OS thread, for code that it runs.
pub(crate) struct Here(*const Run);

impl std::ops::Deref for Here {
    type Target = Run;

    fn deref(&self) -> &Run {
        // SAFETY: R2: code of a run has this while `execute` is on the stack, and is not resumed later.
        unsafe { &*self.0 }
    }
}

/// The answer to a request about `word` that only replays the graph. Long executions spend most of their time here.
#[inline(always)]
pub(crate) fn again(word: &Word, op: &Op) -> Option<u64> {
    let run = here()?;
    if run.over.get() || run.unwound.get() != 0 || std::thread::panicking() {
        return None;
    }
    let mut core = run.core.borrow_mut();
    if !core.heap.is_empty() {
        return None;
    }
    let location = word.bound(core.epoch)?;
    core.step_again(run.running.get(), op, location)
}

/// The run on this OS thread, over or not.
#[inline]
pub(crate) fn here() -> Option<Here> {
    let run = CURRENT.get();
    (!run.is_null()).then_some(Here(run))
}

/// The exploration that the caller runs in, unless it is unwinding or over.
#[inline]
pub(crate) fn current() -> Option<Here> {
    let run = here()?;
    if std::thread::panicking() {
        run.count_unwinding_request();
        return None;
    }
    if run.over.get() && is_inside() {
        // Its code caught the unwinding that ends the run: it is abandoned, with its stack.
        loop {
            suspend();
        }
    }
    if !run.over.get() && is_inside() {
        run.refuse_caught_panic();
    }
    // Captures of a thread that never ran are dropped after the end.
    (!run.over.get()).then_some(run)
}

/// The number of the run on this OS thread, over or not; 0 means none.
pub(crate) fn epoch() -> u32 {
    here().map_or(0, |run| run.core.borrow().epoch)
}

/// Like [`with_core`], for a thread that unwinds.
pub(crate) fn ended<R>(f: impl FnOnce(&mut Core, usize) -> R) -> Option<R> {
    let run = here()?;
    let mut core = run.core.borrow_mut();
    Some(f(&mut core, run.running.get()))
}

/// Whether the caller belongs to a run that is over, or unwinds: its steps are not explored.
pub(crate) fn is_ending() -> bool {
    here().is_some() && current().is_none()
}

/// Answers `request`, or `None` outside an exploration.
pub(crate) fn request(request: Request) -> Option<u64> {
    current().map(|run| run.request(request))
}

/// Answers a request that concerns no location.
pub(crate) fn request_plain(op: Op, site: &'static Site<'static>) -> Option<u64> {
    request(Request { op, location: NOWHERE, address: false, site })
}

/// The newest value of a location in the run with this number, if that run is current here. `address`: of a pointer.
pub(crate) fn newest(epoch: u32, location: u32, address: bool) -> Option<u64> {
    let run = here()?;
    let core = run.core.try_borrow().ok()?;
    let newest = || core.graph.value_of(location, core.graph.newest(location));
    (core.epoch == epoch).then(|| match address {
        true => core.heap.to_address(newest()),
        false => newest(),
    })
}

/// Runs `f` on the core with the running thread's number.
pub(crate) fn with_core<R>(f: impl FnOnce(&mut Core, usize) -> R) -> Option<R> {
    let run = current()?;
    let thread = run.running.get();
    let mut core = run.core.borrow_mut();
    Some(f(&mut core, thread))
}

/// Where a thread's `park` waits, in the run with this number.
#[derive(Clone, Copy)]
pub(crate) struct Token {
    epoch: u32,
    location: u32,
}

impl Token {
    /// Executes `op` there, in that run.
    pub(crate) fn perform(self, op: Op, site: &'static Site<'static>) {
        let Token { epoch, location } = self;
        if with_core(|core, _| core.epoch) == Some(epoch) {
            request(Request { op, location, address: false, site });
        }
    }
}

/// Notes that the running thread is symmetric with others.
pub(crate) fn set_symmetric() {
    with_core(|core, thread| core.threads[thread].symmetric = true);
}

/// Ends the run if a symmetric thread does something that distinguishes it from the others.
pub(crate) fn refuse_in_symmetric(what: &str, site: &'static Site<'static>) {
    let Some(run) = current() else { return };
    let thread = run.running.get();
    if run.core.borrow().threads[thread].symmetric {
        let why = format!(
            "thread {thread} was started by `spawn_symmetric` and {what} at {site}: nothing may distinguish symmetric \
             threads. Start it with `spawn`"
        );
        run.refuse(why);
    }
}

/// The number of the running thread, also while it unwinds; 0 outside explorations.
pub(crate) fn running() -> u32 {
    here().map_or(0, |run| u32::try_from(run.running.get()).expect("few threads"))
}

/// Where the running thread's `park` waits.
pub(crate) fn token(site: &'static Site<'static>) -> Option<Token> {
    with_core(|core, thread| {
        // Only thread 0 begins without one.
        let known = core.threads[thread].token;
        let location = known.unwrap_or_else(|| core.create(thread, 0, site));
        core.threads[thread].token = Some(location);
        Token { epoch: core.epoch, location }
    })
}

/// Notes that the running thread waits for another thread's write.
pub(crate) fn hint(site: &'static Site<'static>) -> bool {
    let Some(run) = current() else { return false };
    let thread = run.running.get();
    let mut first = true;
    run.until(|core| {
        // Once the bound is reached the thread is not resumed.
        let goes_on = first && core.hint(thread, site);
        first = false;
        goes_on.then_some(true)
    })
}

/// Ends the path of the running thread, because no system takes it. The other threads continue.
pub(crate) fn impossible() -> ! {
    let run = current().expect("only explored code takes paths");
    let thread = run.running.get();
    run.core.borrow_mut().threads[thread].state = State::Impossible;
    run.until(|_| None)
}

/// Ends the run at a bound.
pub(crate) fn cut(bound: Bound) {
    if let Some(run) = current() {
        run.core.borrow_mut().stop.get_or_insert(Stop::Bound(bound));
        run.until::<()>(|_| None);
    }
}

/// Ends the run with a broken rule.
pub(crate) fn fail(failure: Failure) -> ! {
    let run = current().expect("only explored code fails");
    run.core.borrow_mut().stop.get_or_insert(Stop::Failure(failure));
    run.until(|_| None)
}
