//! What runs in the kernel: at the entry into a futex call, at the wakeup, and at the return.
//!
//! # Contract
//! A wait is from the entry to the return of a call that slept or might have: one that found the word changed did not
//! wait. Its waker is the thread that made it runnable. A wait for a word that names a thread, which the end of that
//! thread ended, is a join. A waker that was woken from the same word meanwhile has had what the waiter waited for
//! since then: the time before is its own waker's ([`chain`]). All sums are made here; `unc` reads them at the end.
//! # State
//! [`Tables`]. A thread's entry in `threads` says what it waits for; only it and its waker write there. An entry of
//! `sums` has its thread in its key, so only that thread writes it, and no addition is lost.
//! # Invariants
//! I1: a program that runs while another one does, on the same CPU, is not run by the kernel, so `scratch` has
//! one user. I2: what has no room is counted in `counters`.
//! # Sources
//! futex(2) for the operations that wait; `kernel/futex/waitwake.c`: a return of zero is by a wakeup of a futex.
//! `CLONE_CHILD_CLEARTID` in clone(2): the C library's join waits, not privately, for a word with the thread's number,
//! and the kernel wakes it when that thread ends.

mod chain;
mod interrupted;
pub(crate) mod processes;
mod stack;
mod tables;

pub(crate) use stack::{STACK_BYTES, STACK_VALUE, StackTop};
pub(crate) use tables::*;

use uncontended_sys::bpf::{
    Assembler, Condition, Condition::*, Label, Map, Operation::*, Register::*, Width::*,
};

/// The kernel's functions that the programs call.
pub(crate) mod function {
    pub(crate) const LOOK_UP: i32 = 1;
    pub(crate) const UPDATE: i32 = 2;
    pub(crate) const REMOVE: i32 = 3;
    pub(crate) const TIME: i32 = 5;
    pub(crate) const PROCESS_AND_THREAD: i32 = 14;
    /// With `USER`: the calls of the thread's own code.
    pub(crate) const STACK: i32 = 67;
    pub(crate) const USER: i32 = 256;
    pub(crate) const READ_USER: i32 = 112;
    pub(crate) const TASK: i32 = 158;
    pub(crate) const USER_REGISTERS: i32 = 175;
}

/// Places on the program's own stack.
mod own {
    /// The number of a stack.
    pub(super) const STACK: i16 = -8;
    pub(super) const THREAD: i16 = -16;
    /// The current thread's process, and that of the thread which is woken: 32 bits.
    pub(super) const PROCESS: i16 = -12;
    pub(super) const WAITED: i16 = -24;
    pub(super) const SCHEDULED: i16 = -32;
    pub(super) const ENTRY: i16 = -40;
    pub(super) const NOW: i16 = -48;
    /// Zero: the key of what has one entry.
    pub(super) const ZERO: i16 = -56;
    /// A key of `sums`.
    pub(super) const KEY: i16 = -96;
    /// A value of `sums`, `threads` or `processes`.
    pub(super) const VALUE: i16 = -256;
    /// Of a wait: what is not divided yet; the end of that part, and its waker.
    pub(super) const LEFT: i16 = -264;
    pub(super) const UNTIL: i16 = -272;
    pub(super) const BY: i16 = -280;
}

/// Ends a program: with 0, no other observer of the tracepoint would get the event.
pub(crate) fn end(code: &mut Assembler, label: Label) {
    code.place(label);
    code.set(R0, 1);
    code.exit();
}

/// `R0` = the value of the key at `place` of the program's stack; jumps to `none` without one.
pub(crate) fn look_up(code: &mut Assembler, map: &Map, place: i16, none: Label) {
    code.map(R1, map);
    code.copy(R2, FP);
    code.compute_with(Add, R2, i32::from(place));
    code.call(function::LOOK_UP);
    code.jump_if_with(Equal, R0, 0, none);
}

/// Sets a new key; `R0` = 0 if there was room. The value is at an address in `R3`.
fn update(code: &mut Assembler, map: &Map, place: i16) {
    code.map(R1, map);
    code.copy(R2, FP);
    code.compute_with(Add, R2, i32::from(place));
    code.set(R4, 1);
    code.call(function::UPDATE);
}

/// Adds the number in `R6` to a counter.
fn count(code: &mut Assembler, tables: &Tables, counter: i16) {
    let none = code.label();
    look_up(code, &tables.counters, own::ZERO, none);
    code.add_to_shared(R0, counter, R6);
    code.place(none);
}

/// Jumps to `stopped` if nothing is to be counted any more. [`own::ZERO`] is set.
fn check_running(code: &mut Assembler, tables: &Tables, stopped: Label) {
    look_up(code, &tables.stopped, own::ZERO, stopped);
    code.load(Double, R1, R0, 0);
    code.jump_if_with(NotEqual, R1, 0, stopped);
}

/// Jumps to `other` unless the current thread is of a process that is watched; else stores the numbers of both. `R0` =
/// its entry.
fn check_process(code: &mut Assembler, tables: &Tables, other: Label) {
    code.store_constant(Double, FP, own::ZERO, 0);
    code.call(function::PROCESS_AND_THREAD);
    code.store(Word, FP, own::THREAD, R0);
    code.compute_with(ShiftRight, R0, 32);
    code.store(Word, FP, own::PROCESS, R0);
    check_state(code, tables, NotEqual, process::WATCHED, other);
}

/// Jumps to `other` if the state of the process in [`own::PROCESS`] is so, compared with `state`. `R0` = its entry.
fn check_state(
    code: &mut Assembler,
    tables: &Tables,
    compared: Condition,
    state: u32,
    other: Label,
) {
    look_up(code, &tables.processes, own::PROCESS, other);
    code.load(Word, R1, R0, process::STATE);
    code.jump_if_with(compared, R1, state as i32, other);
    code.store(Double, FP, own::VALUE, R0);
    check_running(code, tables, other);
    code.load(Double, R0, FP, own::VALUE);
}

/// The system calls that wait for a futex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// `futex`, with one of several operations.
    Futex,
    /// `futex_wait`.
    Wait,
    /// `futex_waitv`: for any of several words.
    WaitV,
}

/// Places of the arguments in the event of an entry.
const ARGUMENTS: [i16; 3] = [16, 24, 32];
/// The result in the event of a return.
const RESULT: i16 = 16;
/// In an element of the array of `futex_waitv`: where the word's address is, and the length.
const WORD: i32 = 8;
const ELEMENT: i32 = 24;

/// At the entry into `call`: notes what the thread waits for.
pub(crate) fn enter(tables: &Tables, call: Call) -> Assembler {
    let mut code = Assembler::default();
    let (out, made) = (code.label(), code.label());
    code.copy(R6, R1);
    if call == Call::Futex {
        waits(&mut code, out);
    }
    check_process(&mut code, tables, out);
    // Without them, all stacks would be one.
    look_up(&mut code, &tables.ranges, own::PROCESS, out);
    let new = code.label();
    look_up(&mut code, &tables.threads, own::THREAD, new);
    code.jump(made);
    code.place(new);
    zero(&mut code, wait::BYTES);
    update(&mut code, &tables.threads, own::THREAD);
    let full = code.label();
    look_up(&mut code, &tables.threads, own::THREAD, full);
    code.place(made);
    code.copy(R7, R0);
    what(&mut code, call, out);
    code.load(Word, R1, FP, own::PROCESS);
    code.store(Word, R7, wait::PROCESS, R1);
    begin(&mut code, tables);
    code.jump(out);
    code.place(full);
    code.set(R6, 1);
    count(&mut code, tables, counter::THREADS);
    end(&mut code, out);
    code
}

/// The wait of the entry at `R7` begins, or continues.
fn begin(code: &mut Assembler, tables: &Tables) {
    code.store_constant(Double, R7, wait::WOKEN, 0);
    code.store_constant(Double, R7, wait::WAKER, 0);
    chain::clear(code, R7);
    code.call(function::TIME);
    interrupted::resume(code, tables);
}

/// At the entry into the call by which the kernel continues one with a time limit that a signal has interrupted. Its
/// return is that of a call of `futex`, whose arguments it has.
pub(crate) fn restart(tables: &Tables) -> Assembler {
    let mut code = Assembler::default();
    let out = code.label();
    check_process(&mut code, tables, out);
    look_up(&mut code, &tables.threads, own::THREAD, out);
    code.copy(R7, R0);
    code.load(Double, R1, R7, wait::INTERRUPTED_AT);
    code.jump_if_with(Equal, R1, 0, out);
    begin(&mut code, tables);
    end(&mut code, out);
    code
}

/// Jumps to `other` if the operation of a call of `futex`, whose event is at `R6`, does not wait.
pub(crate) fn waits(code: &mut Assembler, other: Label) {
    /// FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2.
    const WAITS: [i32; 5] = [0, 6, 9, 11, 13];
    const COMMAND: i32 = 0x7f;
    let waits = code.label();
    code.load(Double, R1, R6, ARGUMENTS[1]);
    code.compute_with(And, R1, COMMAND);
    for operation in WAITS {
        code.jump_if_with(Equal, R1, operation, waits);
    }
    code.jump(other);
    code.place(waits);
}

/// Notes in the entry at `R7` what the call waits for whose event is at `R6`. Only `futex` joins.
fn what(code: &mut Assembler, call: Call, none: Label) {
    code.load(Double, R1, R6, ARGUMENTS[0]);
    if call == Call::WaitV {
        code.store(Double, R7, wait::OPERATION, R1);
        code.set(R2, 0);
        word(code, none);
    } else {
        code.load(Double, R2, R6, ARGUMENTS[1]);
        code.store(Double, R7, wait::OPERATION, R2);
        code.store(Double, R7, wait::ADDRESS, R1);
    }
    code.store_constant(Word, R7, wait::VALUE, 0);
    if call == Call::Futex {
        code.load(Word, R1, R6, ARGUMENTS[2]);
        code.store(Word, R7, wait::VALUE, R1);
    }
}

/// Notes in the entry at `R7` the address of the word with the number `R2` of the array at `R1`; jumps to `none` if it
/// cannot be read.
fn word(code: &mut Assembler, none: Label) {
    code.compute_with(Multiply, R2, ELEMENT);
    code.compute_with(Add, R2, WORD);
    code.copy(R3, R1);
    code.compute(Add, R3, R2);
    code.copy(R1, FP);
    code.compute_with(Add, R1, i32::from(own::VALUE));
    code.set(R2, 8);
    code.call(function::READ_USER);
    code.jump_if_with(NotEqual, R0, 0, none);
    code.load(Double, R1, FP, own::VALUE);
    code.store(Double, R7, wait::ADDRESS, R1);
}

/// A value of zeroes for [`update`].
fn zero(code: &mut Assembler, bytes: usize) {
    for word in 0..bytes / 8 {
        code.store_constant(Double, FP, own::VALUE + 8 * word as i16, 0);
    }
    code.copy(R3, FP);
    code.compute_with(Add, R3, i32::from(own::VALUE));
}

/// At `sched_waking`, in the waker, whose event has the wakened thread's number at `offset`: notes the waker's code.
pub(crate) fn waking(tables: &Tables, offset: i16) -> Assembler {
    let mut code = Assembler::default();
    let out = code.label();
    code.load(Word, R2, R1, offset);
    code.store(Word, FP, own::THREAD, R2);
    look_up(&mut code, &tables.threads, own::THREAD, out);
    code.load(Double, R1, R0, wait::SINCE);
    code.jump_if_with(Equal, R1, 0, out);
    code.store(Double, FP, own::ENTRY, R0);
    code.call(function::TIME);
    code.store(Double, FP, own::NOW, R0);
    code.store_constant(Double, FP, own::STACK, ANOTHER_PROCESS as i32);
    let other = code.label();
    check_process(&mut code, tables, other);
    called(&mut code);
    code.load(Double, R1, FP, own::ENTRY);
    code.load(Word, R1, R1, wait::PROCESS);
    code.load(Word, R2, FP, own::PROCESS);
    let awake = code.label();
    code.jump_if(NotEqual, R1, R2, awake);
    joins(&mut code, awake);
    code.store_constant(Double, FP, own::STACK, JOINED as i32);
    code.jump(other);
    code.place(awake);
    stack::number(&mut code, tables, true);
    chain::extend(&mut code, tables, other);
    code.place(other);
    code.load(Double, R7, FP, own::ENTRY);
    code.load(Double, R1, FP, own::STACK);
    code.store(Double, R7, wait::WAKER, R1);
    code.load(Double, R1, FP, own::NOW);
    code.store(Double, R7, wait::WOKEN, R1);
    end(&mut code, out);
    code
}

/// Jumps to `other` unless the wait of [`own::ENTRY`] is for the end of the current thread, [`own::THREAD`]: not
/// private, for a word with its number, or with any thread's and ended by an exit. (Its number may be that in a
/// namespace. The word of a robust mutex, whose holder's exit wakes a waiter, has a mark: it is larger.)
fn joins(code: &mut Assembler, other: Label) {
    const MOST_THREADS: i32 = 1 << 22;
    const EXIT: i32 = 60;
    code.load(Double, R6, FP, own::ENTRY);
    code.load(Double, R2, R6, wait::OPERATION);
    code.compute_with(And, R2, PRIVATE);
    code.jump_if_with(NotEqual, R2, 0, other);
    let is_own = code.label();
    code.load(Word, R2, R6, wait::VALUE);
    code.load(Word, R3, FP, own::THREAD);
    code.jump_if(Equal, R2, R3, is_own);
    code.jump_if_with(Equal, R2, 0, other);
    code.jump_if_with(Greater, R2, MOST_THREADS, other);
    code.call(function::TASK);
    code.copy(R1, R0);
    code.call(function::USER_REGISTERS);
    code.load(Double, R1, R0, stack::CALL);
    code.jump_if_with(NotEqual, R1, EXIT, other);
    code.place(is_own);
}

/// At the return from `call`: adds the wait that has ended.
pub(crate) fn exit(tables: &Tables, call: Call) -> Assembler {
    let mut code = Assembler::default();
    let out = code.label();
    code.copy(R6, R1);
    check_process(&mut code, tables, out);
    called(&mut code);
    look_up(&mut code, &tables.threads, own::THREAD, out);
    code.copy(R7, R0);
    code.store(Double, FP, own::ENTRY, R7);
    code.load(Double, R8, R7, wait::SINCE);
    code.jump_if_with(Equal, R8, 0, out);
    code.store_constant(Double, R7, wait::SINCE, 0);
    same_call(&mut code, call, out);
    let (none, waited) = (code.label(), code.label());
    outcome(&mut code, call, none);
    code.jump(waited);
    code.place(none);
    interrupted::settle(&mut code, tables);
    code.jump(out);
    code.place(waited);
    code.call(function::TIME);
    code.store(Double, FP, own::NOW, R0);
    code.copy(R1, R0);
    code.compute(Subtract, R1, R8);
    code.store(Double, FP, own::WAITED, R1);
    waker(&mut code);
    if call == Call::Futex {
        sharing(&mut code);
    }
    code.load(Double, R1, R7, wait::ADDRESS);
    code.store(Double, FP, own::KEY + key::ADDRESS, R1);
    code.store_constant(Double, FP, own::STACK, 0);
    stack::number(&mut code, tables, false);
    code.load(Double, R1, FP, own::STACK);
    code.store(Double, FP, own::KEY + key::WAITER, R1);
    code.load(Word, R1, FP, own::THREAD);
    code.store(Word, FP, own::KEY + key::THREAD, R1);
    code.load(Word, R1, FP, own::PROCESS);
    code.store(Double, FP, own::KEY + key::PROCESS, R1);
    length(&mut code);
    chain::mark(&mut code);
    interrupted::keep(&mut code, out);
    add(&mut code, tables);
    chain::divide(&mut code, tables);
    end(&mut code, out);
    code
}

/// Notes that there is something to tell of the process whose entry is at `R0`. Once: all CPUs read the entry.
fn called(code: &mut Assembler) {
    let already = code.label();
    code.load(Double, R1, R0, process::CALLED);
    code.jump_if_with(NotEqual, R1, 0, already);
    code.store_constant(Double, R0, process::CALLED, 1);
    code.place(already);
}

/// Jumps to `other` if the call that returns is not the one in the entry at `R7`. (A wait that was in progress when we
/// came is noted by its thread's state, which may have changed meanwhile.)
fn same_call(code: &mut Assembler, call: Call, other: Label) {
    let arguments: &[_] = match call {
        Call::WaitV => &[(stack::FIRST_ARGUMENT, wait::OPERATION)],
        Call::Futex | Call::Wait => {
            &[(stack::FIRST_ARGUMENT, wait::ADDRESS), (stack::SECOND_ARGUMENT, wait::OPERATION)]
        }
    };
    code.call(function::TASK);
    code.copy(R1, R0);
    code.call(function::USER_REGISTERS);
    for &(argument, noted) in arguments {
        code.load(Double, R1, R0, argument);
        code.load(Double, R2, R7, noted);
        code.jump_if(NotEqual, R1, R2, other);
    }
}

/// `R9` = 0 if a wakeup ended the call whose event is at `R6`, [`OTHERWISE`] if time did, [`INTERRUPTED`] as well if a
/// signal did. Jumps to `none` if it did not wait.
fn outcome(code: &mut Assembler, call: Call, none: Label) {
    const TIMED_OUT: i32 = -110;
    const EINTR: i32 = -4;
    let (woken, known) = (code.label(), code.label());
    code.load(Double, R2, R6, RESULT);
    code.set(R9, OTHERWISE as i32);
    code.jump_if_with(Equal, R2, TIMED_OUT, known);
    code.set(R9, (OTHERWISE | INTERRUPTED) as i32);
    for result in interrupted::RESULTS.into_iter().chain([EINTR]) {
        code.jump_if_with(Equal, R2, result, known);
    }
    code.set(R9, 0);
    code.jump_if_with(Equal, R2, 0, woken);
    if call != Call::WaitV {
        code.jump(none);
    }
    code.place(woken);
    if call == Call::WaitV {
        // The result is the number of a word that was woken.
        code.jump_if_with(SignedLess, R2, 0, none);
        code.compute_with(And, R2, 0x7f);
        code.load(Double, R1, R7, wait::OPERATION);
        word(code, none);
    }
    code.place(known);
}

/// Notes the waker of the entry at `R7`, and how long the thread was runnable; nothing without a wakeup (`R9`).
fn waker(code: &mut Assembler) {
    let none = code.label();
    code.store_constant(Double, FP, own::SCHEDULED, 0);
    code.store_constant(Double, FP, own::KEY + key::WAKER, 0);
    code.store(Word, FP, own::KEY + key::HOW, R9);
    code.jump_if_with(NotEqual, R9, 0, none);
    code.load(Double, R1, R7, wait::WOKEN);
    code.jump_if(Less, R1, R8, none); // Also without a wakeup: the wait began after 0.
    code.load(Double, R2, FP, own::NOW);
    code.jump_if(Greater, R1, R2, none);
    code.compute(Subtract, R2, R1);
    code.store(Double, FP, own::SCHEDULED, R2);
    code.load(Double, R1, R7, wait::WAKER);
    code.store(Double, FP, own::KEY + key::WAKER, R1);
    code.place(none);
}

/// Marks the key if the call in the entry at `R7` is not private.
fn sharing(code: &mut Assembler) {
    let private = code.label();
    code.load(Double, R1, R7, wait::OPERATION);
    code.compute_with(And, R1, PRIVATE);
    code.jump_if_with(NotEqual, R1, 0, private);
    code.load(Word, R1, FP, own::KEY + key::HOW);
    code.compute_with(Or, R1, SHARED as i32);
    code.store(Word, FP, own::KEY + key::HOW, R1);
    code.place(private);
}

/// Adds the octave of the wait's length, and its quarter of it, to the key.
fn length(code: &mut Assembler) {
    const SHORTEST: i32 = 6;
    code.load(Double, R1, FP, own::WAITED);
    code.copy(R2, R1);
    code.set(R3, 0);
    for bits in [32, 16, 8, 4, 2, 1] {
        let short = code.label();
        code.set_wide(R4, 1 << bits);
        code.jump_if(Less, R2, R4, short);
        code.compute_with(ShiftRight, R2, bits);
        code.compute_with(Add, R3, bits);
        code.place(short);
    }
    let long = code.label();
    let done = code.label();
    code.jump_if_with(GreaterOrEqual, R3, SHORTEST, long);
    code.set(R3, 0);
    code.jump(done);
    code.place(long);
    code.copy(R4, R3);
    code.compute_with(Subtract, R4, 2);
    code.compute_with(And, R4, 63);
    code.compute(ShiftRight, R1, R4);
    code.compute_with(And, R1, 3);
    code.compute_with(ShiftLeft, R3, 2);
    code.compute(Or, R3, R1);
    code.place(done);
    code.load(Word, R1, FP, own::KEY + key::HOW);
    code.compute(Or, R1, R3);
    code.store(Word, FP, own::KEY + key::HOW, R1);
}

/// Adds the wait to the entry of its key.
fn add(code: &mut Assembler, tables: &Tables) {
    let (new, found, full, done) = (code.label(), code.label(), code.label(), code.label());
    look_up(code, &tables.sums, own::KEY, new);
    code.jump(found);
    code.place(new);
    zero(code, sum::BYTES);
    update(code, &tables.sums, own::KEY);
    look_up(code, &tables.sums, own::KEY, full);
    code.place(found);
    code.load(Double, R6, FP, own::WAITED);
    let increase = |code: &mut Assembler, place: i16, by| {
        code.load(Double, R1, R0, place);
        code.compute(Add, R1, by);
        code.store(Double, R0, place, R1);
    };
    code.set(R2, 1);
    increase(code, sum::COUNT, R2);
    increase(code, sum::TOTAL, R6);
    code.load(Double, R2, FP, own::SCHEDULED);
    increase(code, sum::NOT_SCHEDULED, R2);
    code.load(Double, R1, R0, sum::LONGEST);
    code.jump_if(GreaterOrEqual, R1, R6, done);
    code.store(Double, R0, sum::LONGEST, R6);
    code.load(Double, R1, FP, own::NOW);
    code.store(Double, R0, sum::LONGEST_AT, R1);
    code.jump(done);
    code.place(full);
    code.set(R6, 1);
    count(code, tables, counter::WAITS);
    code.load(Double, R6, FP, own::WAITED);
    count(code, tables, counter::WAITED);
    code.place(done);
}
