//! What runs in the kernel when a process that is watched forks, executes another program or ends.
//!
//! # Contract
//! A process that a watched one forks is watched from before its first instruction on, with its parent's ranges of
//! code. One that executes another program is not watched any more: its code is elsewhere; if it is to be followed, it
//! is once `unc` has looked at it, as is what it forks until then. One that has ended is not watched, so that another
//! process may get its number. The life of each thread is noted, from its creation to its exit.

use super::{
    Tables, check_process, check_running, check_state, count, counter, end, function, interrupted,
    life, look_up, own, process, update, wait, zero,
};
use uncontended_sys::bpf::{
    Assembler, Condition::*, Label, Map, Operation::*, Register::*, Width::*,
};

/// At `task_newtask`, in the parent, whose event has the number of the new task and the flags of `clone` at `offsets`.
pub(crate) fn forked(tables: &Tables, offsets: [i16; 2]) -> Assembler {
    const THREAD: i32 = 0x10000;
    let mut code = Assembler::default();
    let (out, full, thread) = (code.label(), code.label(), code.label());
    let [pid, flags] = offsets;
    code.load(Double, R9, R1, flags);
    code.compute_with(And, R9, THREAD);
    code.load(Word, R6, R1, pid);
    let other = code.label();
    let watched = code.label();
    check_process(&mut code, tables, other);
    code.set(R8, process::WATCHED as i32);
    code.jump(watched);
    code.place(other);
    check_followed(&mut code, tables, out);
    code.jump_if_with(NotEqual, R9, 0, out);
    code.set(R8, process::UNMET as i32);
    code.place(watched);
    for (from, to) in [(process::FOLLOWS, own::LEFT), (process::BEGAN, own::UNTIL)] {
        code.load(Double, R1, R0, from);
        code.store(Double, FP, to, R1);
    }
    code.store(Double, FP, own::BY, R8);
    code.store(Word, FP, own::THREAD, R6);
    code.call(function::TIME);
    code.copy(R7, R0);
    code.load(Word, R8, FP, own::PROCESS);
    code.jump_if_with(NotEqual, R9, 0, thread);
    code.copy(R8, R6);
    code.place(thread);
    born(&mut code, tables);
    code.jump_if_with(NotEqual, R9, 0, out);
    zero(&mut code, process::BYTES);
    for (from, to) in [(own::BY, process::STATE), (own::LEFT, process::FOLLOWS)] {
        code.load(Double, R1, FP, from);
        code.store(Double, FP, own::VALUE + to, R1);
    }
    code.load(Word, R1, FP, own::PROCESS);
    code.store(Word, FP, own::VALUE + process::PARENT, R1);
    code.store(Double, FP, own::VALUE + process::BEGAN, R7);
    // Its number may have been another one's.
    remove(&mut code, &[&tables.processes, &tables.ranges]);
    code.copy(R3, FP);
    code.compute_with(Add, R3, i32::from(own::VALUE));
    update(&mut code, &tables.processes, own::THREAD);
    code.jump_if_with(NotEqual, R0, 0, full);
    code.load(Double, R1, FP, own::UNTIL);
    code.jump_if_with(Equal, R1, 0, out); // It is the program, which we start.
    code.set(R6, 1);
    count(&mut code, tables, counter::FORKED);
    look_up(&mut code, &tables.ranges, own::PROCESS, out);
    code.copy(R3, R0);
    update(&mut code, &tables.ranges, own::THREAD);
    code.jump(out);
    code.place(full);
    code.set(R6, 1);
    count(&mut code, tables, counter::PROCESSES);
    end(&mut code, out);
    code
}

/// Jumps to `other` unless the process in [`own::PROCESS`] will be watched once we look at it. `R0` = its entry.
fn check_followed(code: &mut Assembler, tables: &Tables, other: Label) {
    check_state(code, tables, Less, process::FOLLOWED, other);
}

/// Notes that the thread in [`own::THREAD`], of the process in `R8`, was born at the time in `R7`. One that gets the
/// number of another one of its process lives from the birth of that one on, since both have one row.
fn born(code: &mut Assembler, tables: &Tables) {
    let (new, same, done) = (code.label(), code.label(), code.label());
    look_up(code, &tables.lives, own::THREAD, new);
    code.load(Double, R1, R0, life::PROCESS);
    code.jump_if(Equal, R1, R8, same);
    code.store(Double, R0, life::PROCESS, R8);
    code.store(Double, R0, life::BORN, R7);
    code.place(same);
    code.store_constant(Double, R0, life::ENDED, 0);
    code.jump(done);
    code.place(new);
    zero(code, life::BYTES);
    code.store(Double, FP, own::VALUE + life::BORN, R7);
    code.store(Double, FP, own::VALUE + life::PROCESS, R8);
    update(code, &tables.lives, own::THREAD);
    code.place(done);
}

/// Notes that the current thread, [`own::THREAD`], ends; jumps to `unknown` if its birth is not noted. Keeps `R9`.
fn died(code: &mut Assembler, tables: &Tables, unknown: Label) {
    let none = code.label();
    look_up(code, &tables.threads, own::THREAD, none);
    code.copy(R7, R0);
    interrupted::died(code, tables);
    code.place(none);
    look_up(code, &tables.lives, own::THREAD, unknown);
    code.copy(R7, R0);
    code.call(function::TIME);
    code.store(Double, R7, life::ENDED, R0);
}

/// At `sched_process_exit`, in a thread that ends.
pub(crate) fn exited(tables: &Tables) -> Assembler {
    let mut code = Assembler::default();
    let out = code.label();
    check_process(&mut code, tables, out);
    died(&mut code, tables, out);
    end(&mut code, out);
    code
}

/// Removes the entries of the number in [`own::THREAD`].
fn remove(code: &mut Assembler, maps: &[&Map]) {
    for map in maps {
        code.map(R1, map);
        code.copy(R2, FP);
        code.compute_with(Add, R2, i32::from(own::THREAD));
        code.call(function::REMOVE);
    }
}

/// At `sched_process_exec`: the process is no longer the program that was watched.
pub(crate) fn executed(tables: &Tables) -> Assembler {
    let mut code = Assembler::default();
    let (out, none, other, followed) = (code.label(), code.label(), code.label(), code.label());
    check_process(&mut code, tables, other);
    code.copy(R9, R0);
    died(&mut code, tables, none);
    code.place(none);
    code.load(Double, R1, R9, process::FOLLOWS);
    code.jump_if_with(NotEqual, R1, 0, followed);
    code.store_constant(Word, R9, process::STATE, process::EXECUTED as i32);
    code.jump(out);
    code.place(other);
    check_followed(&mut code, tables, out);
    code.copy(R9, R0);
    code.place(followed);
    code.store_constant(Word, R9, process::STATE, process::FOLLOWED as i32);
    end(&mut code, out);
    code
}

/// At `sched_process_free`, whose event has the number of a thread that is gone at `offset`; a process goes with its
/// first thread, last of all. One of which there is nothing to tell makes room at once, as every thread does that did
/// not end in a wait: another one may get its number.
pub(crate) fn freed(tables: &Tables, offset: i16) -> Assembler {
    let mut code = Assembler::default();
    let (out, kept, executed) = (code.label(), code.label(), code.label());
    code.load(Word, R2, R1, offset);
    code.store(Word, FP, own::THREAD, R2);
    code.store_constant(Double, FP, own::ZERO, 0);
    check_running(&mut code, tables, out);
    let gone = code.label();
    look_up(&mut code, &tables.threads, own::THREAD, gone);
    code.load(Double, R1, R0, wait::DIED);
    code.jump_if_with(NotEqual, R1, 0, gone);
    remove(&mut code, &[&tables.threads]);
    code.place(gone);
    look_up(&mut code, &tables.processes, own::THREAD, out);
    code.copy(R7, R0);
    code.load(Word, R1, R7, process::STATE);
    code.jump_if_with(NotEqual, R1, process::WATCHED as i32, executed);
    code.load(Word, R1, R7, process::PARENT);
    code.jump_if_with(Equal, R1, 0, kept);
    code.load(Double, R1, R7, process::CALLED);
    code.jump_if_with(NotEqual, R1, 0, kept);
    remove(&mut code, &[&tables.processes, &tables.ranges, &tables.lives]);
    code.jump(out);
    code.place(kept);
    code.store_constant(Word, R7, process::STATE, process::GONE as i32);
    code.place(executed);
    code.call(function::TIME);
    code.store(Double, R7, process::ENDED, R0);
    end(&mut code, out);
    code
}
