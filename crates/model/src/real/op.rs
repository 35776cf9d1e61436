//! Requests from explored code to the checker: accesses, fences, waiting and threads, as plain data.

use super::rwlock;
use std::fmt;
use std::sync::atomic::Ordering;

/// An ordering split into its parts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Order {
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    pub(crate) sc: bool,
}

impl Order {
    pub(crate) const RELAXED: Order = Order { acquire: false, release: false, sc: false };
    pub(crate) const ACQUIRE: Order = Order { acquire: true, release: false, sc: false };
    pub(crate) const RELEASE: Order = Order { acquire: false, release: true, sc: false };
    pub(crate) const ACQ_REL: Order = Order { acquire: true, release: true, sc: false };

    pub(crate) fn new(ordering: Ordering) -> Order {
        match ordering {
            Ordering::Relaxed => Order::RELAXED,
            Ordering::Acquire => Order::ACQUIRE,
            Ordering::Release => Order::RELEASE,
            Ordering::AcqRel => Order::ACQ_REL,
            Ordering::SeqCst => Order { sc: true, ..Order::ACQ_REL },
            _ => unreachable!("std has five orderings"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match (self.sc, self.acquire, self.release) {
            (true, ..) => "sc",
            (_, true, true) => "acq_rel",
            (_, true, false) => "acq",
            (_, false, true) => "rel",
            (_, false, false) => "rlx",
        }
    }
}

/// The function of a read-modify-write, on values of `bits` width held in the low bits of a `u64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Function {
    Swap,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max {
        signed: bool,
    },
    Min {
        signed: bool,
    },
    /// On a queue of waiting threads, oldest highest, under a leading 1 bit, four bits each: adds the thread at the
    /// end.
    Enqueue,
    /// Removes the thread, wherever it is.
    Dequeue,
    /// Removes this many of the oldest threads.
    Wake,
}

/// The empty queue.
pub(crate) const EMPTY_QUEUE: u64 = 1;

/// The threads in a queue, oldest first.
pub(crate) fn queued(queue: u64) -> Vec<u64> {
    let count = (queue.max(1).ilog2() / 4) as u64;
    (0..count).rev().map(|at| (queue >> (4 * at)) & 15).collect()
}

fn queue_of(threads: &[u64]) -> u64 {
    threads.iter().fold(EMPTY_QUEUE, |queue, thread| queue << 4 | thread)
}

impl Function {
    pub(crate) fn apply(self, old: u64, operand: u64, bits: u32) -> u64 {
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let key = |value: u64, signed: bool| {
            let shifted = if signed { value ^ (1 << (bits - 1)) } else { value };
            shifted & mask
        };
        let greater = |signed| key(operand, signed) > key(old, signed);
        let value = match self {
            Function::Swap => operand,
            Function::Add => old.wrapping_add(operand),
            Function::Sub => old.wrapping_sub(operand),
            Function::And => old & operand,
            Function::Nand => !(old & operand),
            Function::Or => old | operand,
            Function::Xor => old ^ operand,
            Function::Max { signed } => {
                if greater(signed) {
                    operand
                } else {
                    old
                }
            }
            Function::Min { signed } => {
                if greater(signed) {
                    old
                } else {
                    operand
                }
            }
            Function::Enqueue => old << 4 | operand,
            Function::Dequeue => {
                queue_of(&queued(old).into_iter().filter(|&t| t != operand).collect::<Vec<_>>())
            }
            Function::Wake => {
                let waiting = queued(old);
                queue_of(&waiting[waiting.len().min(operand as usize)..])
            }
        };
        value & mask
    }
}

/// One request. Values are the low bits of a `u64`; a pointer is its address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Op {
    Load {
        order: Order,
    },
    Store {
        value: u64,
        order: Order,
    },
    Rmw {
        function: Function,
        operand: u64,
        bits: u32,
        order: Order,
    },
    Cas {
        expected: u64,
        new: u64,
        success: Order,
        failure: Order,
    },
    /// A read-modify-write instruction without LOCK: other threads may write between its load (relaxed) and its store
    /// (`order`), but no interrupt of its own thread falls there.
    Unlocked {
        function: Function,
        operand: u64,
        bits: u32,
        order: Order,
    },
    /// Waits until the location holds `expected`, and stores `new` in the same step. A `timed` wait may time out (in
    /// another execution), so it is never a deadlock.
    AwaitCas {
        expected: u64,
        new: u64,
        order: Order,
        timed: bool,
    },
    /// A step of a reader-writer lock.
    RwLock(rwlock::Step),
    Fence {
        order: Order,
    },
    Light,
    Heavy,
    Spawn {
        child: u8,
    },
    Begin,
    End,
    Join {
        child: u8,
    },
    Choice {
        options: u64,
    },
}

/// What a thread does by it, in words that follow the thread's name.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Load { .. } => f.write_str("reads"),
            Op::Store { value, .. } => write!(f, "writes {value:#x}"),
            Op::Rmw { operand, .. } => write!(f, "updates by {operand:#x}"),
            Op::Unlocked { operand, .. } => write!(f, "updates without a lock by {operand:#x}"),
            Op::Cas { expected, new, .. } => write!(f, "exchanges {expected:#x} for {new:#x}"),
            Op::AwaitCas { expected, new, .. } => {
                write!(f, "waits for {expected:#x} to make it {new:#x}")
            }
            Op::RwLock(step) => step.fmt(f),
            Op::Fence { .. } => f.write_str("fences"),
            Op::Light => f.write_str("makes a light fence"),
            Op::Heavy => f.write_str("makes a heavy fence"),
            Op::Spawn { child } => write!(f, "starts thread {child}"),
            Op::Begin => f.write_str("begins"),
            Op::End => f.write_str("ends"),
            Op::Join { child } => write!(f, "joins thread {child}"),
            Op::Choice { options } => write!(f, "chooses among {options}"),
        }
    }
}

/// The effect of a reading request, given the value it finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Blocked,
    Read(Order),
    Write { value: u64, order: Order },
}

impl Op {
    /// The effect of a reading request on finding `value`; `None` for requests that read no location.
    #[inline]
    pub(crate) fn effect(self, value: u64) -> Option<Effect> {
        Some(match self {
            Op::Load { order } => Effect::Read(order),
            Op::Rmw { function, operand, bits, order }
            | Op::Unlocked { function, operand, bits, order } => {
                Effect::Write { value: function.apply(value, operand, bits), order }
            }
            Op::Cas { expected, new, success, .. } if value == expected => {
                Effect::Write { value: new, order: success }
            }
            Op::Cas { failure, .. } => Effect::Read(failure),
            Op::AwaitCas { expected, new, order, .. } if value == expected => {
                Effect::Write { value: new, order }
            }
            Op::AwaitCas { .. } => Effect::Blocked,
            Op::RwLock(step) => step.effect(value),
            _ => return None,
        })
    }

    pub(crate) fn is_wait(self) -> bool {
        use rwlock::Step;
        matches!(self, Op::AwaitCas { .. } | Op::RwLock(Step::Read | Step::Write))
    }

    /// The same request except for its values: what must agree between two runs if values are addresses, because an
    /// allocator may return others.
    pub(crate) fn same_shape(self, other: Op) -> bool {
        use Op::{AwaitCas, Cas, Rmw, Store, Unlocked};
        match (self, other) {
            (Store { order: a, .. }, Store { order: b, .. }) => a == b,
            (Unlocked { function: f, order: a, .. }, Unlocked { function: g, order: b, .. }) => {
                f == g && a == b
            }
            (Rmw { function: f, order: a, .. }, Rmw { function: g, order: b, .. }) => {
                f == g && a == b
            }
            (Cas { success: a, failure: b, .. }, Cas { success: c, failure: d, .. }) => {
                a == c && b == d
            }
            (AwaitCas { order: a, .. }, AwaitCas { order: b, .. }) => a == b,
            (a, b) => a == b,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_first_in_first_out_and_can_be_left() {
        let enqueue = |queue, thread| Function::Enqueue.apply(queue, thread, 64);
        let queue = [3, 0, 15].into_iter().fold(EMPTY_QUEUE, enqueue);
        assert_eq!(queued(queue), [3, 0, 15]);
        assert_eq!(queued(Function::Wake.apply(queue, 2, 64)), [15]);
        assert_eq!(queued(Function::Dequeue.apply(queue, 0, 64)), [3, 15]);
        assert_eq!(Function::Wake.apply(queue, 9, 64), EMPTY_QUEUE);
    }

    #[test]
    fn functions_wrap_at_their_width_and_mind_the_sign() {
        let minus_one = 0xff;
        assert_eq!(Function::Add.apply(minus_one, 2, 8), 1);
        assert_eq!(Function::Sub.apply(0, 1, 32), u64::from(u32::MAX));
        assert_eq!(Function::Nand.apply(0b11, 0b01, 8), 0xfe);
        assert_eq!(Function::Max { signed: true }.apply(minus_one, 1, 8), 1);
        assert_eq!(Function::Max { signed: false }.apply(minus_one, 1, 8), minus_one);
        assert_eq!(Function::Min { signed: true }.apply(minus_one, 1, 8), minus_one);
        assert_eq!(Function::Min { signed: false }.apply(u64::MAX, 1, 64), 1);
    }
}
