//! Programs at the kernel's raw tracepoints, which this process can also run on a CPU of its choice.
//!
//! # Contract
//! A [`Raw`] program is known to the kernel's checker; [`Raw::attach`] runs it at a tracepoint, on all CPUs, until the
//! [`Link`] and its copies are closed. No perf event and no tracefs is involved. A program of this kind is left out
//! only where it would interrupt itself.
//! # Sources
//! bpf(2): `BPF_RAW_TRACEPOINT_OPEN` (Linux 4.17), `BPF_PROG_TEST_RUN` with `BPF_F_TEST_RUN_ON_CPU` (5.10), which works
//! without capabilities since 5.19.

use super::{Assembler, Counts, Refused, call, descriptor, load};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

const TYPE: u32 = 17;
const OPEN: libc::c_long = 17;
const RUN: libc::c_long = 10;
const ON_CPU: u64 = 1;

/// A program that the kernel has checked.
#[derive(Debug)]
pub struct Raw {
    file: File,
}

/// A program at a tracepoint.
#[derive(Debug)]
pub struct Link {
    _file: File,
}

impl Raw {
    /// Has the kernel check it.
    ///
    /// # Errors
    /// Those of `bpf`, with the end of the checker's log.
    pub fn load(code: Assembler) -> Result<Self, Refused> {
        load(TYPE, &code.finish()).map(|file| Raw { file })
    }

    /// Runs it at the tracepoint of this name (without the group's), too.
    ///
    /// # Errors
    /// Those of `bpf`: `NotFound` if the kernel has no such tracepoint.
    pub fn attach(&self, tracepoint: &CStr) -> io::Result<Link> {
        let program = u64::from(self.number());
        let fd = call(OPEN, &[tracepoint.as_ptr() as u64, program])?;
        Ok(Link { _file: descriptor(fd) })
    }

    /// Runs it once, now, on this CPU, by an interrupt if that is another one than the caller's.
    ///
    /// # Errors
    /// Those of `bpf`: `ENXIO` if the CPU is offline at that moment.
    pub fn run_on(&self, cpu: u32) -> io::Result<()> {
        // The fields of `struct bpf_attr`'s `test`: program, result, sizes and places of data, repetitions, duration,
        // sizes and places of the context, flags and CPU.
        let context = [0u64; 2];
        let sizes = size_of_val(&context) as u64;
        let attributes = [
            u64::from(self.number()),
            0,
            0,
            0,
            0,
            sizes,
            context.as_ptr() as u64,
            0,
            ON_CPU | u64::from(cpu) << 32,
        ];
        call(RUN, &attributes).map(drop)
    }

    /// What the kernel has counted so far.
    pub fn counts(&self) -> Counts {
        super::counts(&self.file)
    }

    fn number(&self) -> u32 {
        self.file.as_raw_fd().unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Map, Register, Width};
    use super::*;
    use crate::window::{Access, Window};
    use std::os::fd::AsFd as _;
    use std::sync::atomic::Ordering::Relaxed;

    /// Adds 7 to the first word of the map, and stores what it was as the second.
    fn adding(map: &Map) -> Assembler {
        let mut code = Assembler::default();
        code.map_value(Register::R2, map);
        code.set(Register::R1, 7);
        code.fetch_add(Register::R2, 0, Register::R1);
        code.store(Width::Double, Register::R2, 8, Register::R1);
        code.set(Register::R0, 0);
        code.exit();
        code
    }

    fn run_twice() -> Result<(), String> {
        let map = Map::mappable(64, 1).map_err(|error| error.to_string())?;
        let window = Window::open(map.as_fd(), 64, Access::Read).unwrap();
        map.freeze().unwrap();
        let program = Raw::load(adding(&map)).map_err(|refused| refused.error.to_string())?;
        let words = || [0, 1].map(|nth| window.words()[nth].load(Relaxed));
        let cpus = crate::affinity::allowed().unwrap();
        let (first, last) = (cpus[0] as u32, cpus[cpus.len() - 1] as u32);
        program.run_on(first).map_err(|error| error.to_string())?;
        assert_eq!(words(), [7, 0]);
        program.run_on(last).unwrap();
        assert_eq!(words(), [14, 7]);
        let absent = program.run_on(1 << 20).unwrap_err();
        assert_eq!(absent.raw_os_error(), Some(libc::ENXIO));
        let absent = program.attach(c"no_such_tracepoint").unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        program.attach(c"sched_switch").map_err(|error| error.to_string()).map(drop)
    }

    #[test]
    fn a_program_runs_on_the_cpu_that_is_named() {
        if let Err(error) = run_twice() {
            uncontended_testkit::skip!("a_program_runs_on_the_cpu", "no programs: {error}");
        }
    }
}
