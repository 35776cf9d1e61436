//! The start of a record: the header that `unc` writes before the program starts, and the words that it changes later.
//!
//! # Contract
//! [`Setup::bytes`] goes to offset 0 of a file that is otherwise zero. Later, `unc` writes single words at
//! [`START_TICKS_AT`], [`ENABLED_AT`] and [`TICK_NS_AT`], which the program never writes, and reads those at
//! [`AVAILABLE_AT`] and [`ALLOCATED_AT`].

use crate::layout::{self, Header};
use std::mem::offset_of;

/// Offset of the 32-bit number of units with memory behind them.
pub const AVAILABLE_AT: u64 = offset_of!(Header, available) as u64;
/// Offset of the 32-bit switch: 1 to record events, 0 not to.
pub const ENABLED_AT: u64 = offset_of!(Header, enabled) as u64;
/// Offset of the 64-bit number of ticks at the start of the program.
pub const START_TICKS_AT: u64 = offset_of!(Header, start_ticks) as u64;
/// Offset of the 64-bit length of a tick, as the bits of a double.
pub const TICK_NS_AT: u64 = offset_of!(Header, tick_ns) as u64;
/// Offset of the 32-bit number of units allocated.
pub const ALLOCATED_AT: u64 = offset_of!(Header, allocated) as u64;

/// Which holds are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// None.
    None,
    /// Those at whose end a thread waited for the lock, or for a condition variable that is used with it.
    Waited,
    /// All.
    All,
}

impl Holds {
    /// What these bits of the header say: one of [`layout::flag`], or none.
    #[must_use]
    pub fn of(flags: u32) -> Self {
        match flags {
            _ if flags & layout::flag::NO_HOLD != 0 => Holds::None,
            _ if flags & layout::flag::WAITED_HOLDS != 0 => Holds::Waited,
            _ => Holds::All,
        }
    }

    fn flags(self) -> u32 {
        match self {
            Holds::None => layout::flag::NO_HOLD,
            Holds::Waited => layout::flag::WAITED_HOLDS,
            Holds::All => 0,
        }
    }
}

/// Properties of a record that `unc` decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    /// One of [`layout::clock`].
    pub clock: u32,
    /// The current time in ticks.
    pub start_ticks: u64,
    /// Nanoseconds of a tick.
    pub tick_ns: f64,
    /// The smallest difference that the clock shows, in nanoseconds.
    pub step_ns: f64,
    /// Which holds are recorded.
    pub holds: Holds,
    /// Whether it is recorded which locks are held while another is taken.
    pub lock_order: bool,
    /// Whether threads can learn without a system call that they left their CPU.
    pub switches: bool,
    /// Whether the kernel sees the events, from outside the program.
    pub from_kernel: bool,
    /// Whether events are recorded from the start.
    pub enabled: bool,
    /// The size that the record may grow to, in bytes.
    pub capacity: u64,
    /// Bytes with memory behind them now.
    pub available: u64,
}

impl Setup {
    /// The header.
    ///
    /// # Panics
    /// Panics if `capacity` is over 2^38 bytes, more than unit numbers can address.
    pub fn bytes(&self) -> [u8; size_of::<Header>()] {
        let mut bytes = [0; size_of::<Header>()];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let units = |bytes: u64| {
            u32::try_from(bytes / layout::UNIT as u64).expect("at most 2^38 bytes").to_le_bytes()
        };
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let flags = self.holds.flags()
            | flag(self.lock_order, layout::flag::LOCK_ORDER)
            | flag(self.switches, layout::flag::SWITCHES)
            | flag(self.from_kernel, layout::flag::FROM_KERNEL);
        put(offset_of!(Header, magic), &layout::MAGIC.to_le_bytes());
        put(offset_of!(Header, version), &layout::VERSION.to_le_bytes());
        put(offset_of!(Header, flags), &flags.to_le_bytes());
        put(offset_of!(Header, enabled), &u32::from(self.enabled).to_le_bytes());
        put(offset_of!(Header, clock), &self.clock.to_le_bytes());
        put(offset_of!(Header, start_ticks), &self.start_ticks.to_le_bytes());
        put(offset_of!(Header, tick_ns), &self.tick_ns.to_le_bytes());
        put(offset_of!(Header, step_ns), &self.step_ns.to_le_bytes());
        put(offset_of!(Header, capacity), &units(self.capacity));
        put(offset_of!(Header, available), &units(self.available));
        put(offset_of!(Header, allocated), &layout::HEADER_UNITS.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_record_is_empty_and_reads_back() {
        for holds in [Holds::None, Holds::Waited, Holds::All] {
            let setup = Setup {
                clock: layout::clock::TSC,
                start_ticks: 17,
                tick_ns: 0.5,
                step_ns: 10.0,
                holds,
                lock_order: true,
                switches: true,
                from_kernel: false,
                enabled: true,
                capacity: 1 << 30,
                available: 1 << 20,
            };
            let mut bytes = vec![0; 1 << 16];
            let header = setup.bytes();
            bytes[..header.len()].copy_from_slice(&header);
            let record = crate::reader::read(&bytes).unwrap();
            assert_eq!((record.tick_ns, record.start_ticks), (0.5, 17));
            assert_eq!((record.holds, record.lock_order), (holds, true));
            assert!(record.processes.is_empty());
        }
    }
}
