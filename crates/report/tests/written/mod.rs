//! Records written byte by byte.

#![allow(dead_code)] // Each test uses a part.

use std::mem::offset_of;
use uncontended_report::aggregate::{Symbols, report};
use uncontended_report::facts::Facts;
use uncontended_report::run::{Frame, RunReport};
use uncontended_trace::histogram::{COARSE, FINE};
use uncontended_trace::layout::{
    self, Cell, Cold, Extreme, Header, Lock, LogPart, Logged, Module, Process, SpanName, Stack,
    UNIT,
};
use uncontended_trace::reader::LoggedRecord;
use uncontended_trace::setup::{Holds, Setup};

/// A record under construction. Entries are named by their units.
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn new() -> Self {
        let setup = Setup {
            clock: layout::clock::TSC,
            start_ticks: 1000,
            tick_ns: 0.5,
            step_ns: 5.0,
            holds: Holds::All,
            from_kernel: false,
            lock_order: false,
            switches: true,
            enabled: true,
            capacity: 1 << 30,
            available: 1 << 30,
        };
        let mut bytes = setup.bytes().to_vec();
        bytes.resize(layout::HEADER_UNITS as usize * UNIT, 0);
        Writer { bytes }
    }

    pub(crate) fn entry(&mut self, size: usize) -> u32 {
        let unit = (self.bytes.len() / UNIT) as u32;
        self.bytes.resize(self.bytes.len() + layout::units(size) as usize * UNIT, 0);
        unit
    }

    pub(crate) fn word(&mut self, unit: u32, offset: usize, value: u64) {
        let at = unit as usize * UNIT + offset;
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn half(&mut self, unit: u32, offset: usize, value: u32) {
        let at = unit as usize * UNIT + offset;
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn get(&self, unit: u32, offset: usize) -> u32 {
        let at = unit as usize * UNIT + offset;
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap())
    }

    /// Puts an entry at the head of the list whose head lies at `offset` of `of`.
    pub(crate) fn push(&mut self, of: u32, offset: usize, entry: u32, next: usize) {
        let first = self.get(of, offset);
        self.half(entry, next, first);
        self.half(of, offset, entry);
    }

    pub(crate) fn process(&mut self, pid: u32) -> u32 {
        let process = self.entry(size_of::<Process>());
        self.half(process, offset_of!(Process, pid), pid);
        self.push(0, offset_of!(Header, processes), process, offset_of!(Process, next));
        process
    }

    pub(crate) fn thread(&mut self, process: u32, tid: u32) -> u32 {
        let thread = self.entry(size_of::<layout::Thread>());
        self.half(thread, offset_of!(layout::Thread, tid), tid);
        self.push(process, offset_of!(Process, threads), thread, offset_of!(layout::Thread, next));
        thread
    }

    /// A semaphore has been posted by its taker.
    pub(crate) fn lock(&mut self, process: u32, address: u64, kind: u8) -> u32 {
        let lock = self.entry(size_of::<Lock>());
        self.word(lock, offset_of!(Lock, address), address);
        let at = lock as usize * UNIT + offset_of!(Lock, kind);
        self.bytes[at] = kind;
        let back = if kind == layout::kind::SEMAPHORE { layout::passing::BACK } else { 0 };
        self.bytes[lock as usize * UNIT + offset_of!(Lock, passing)] = back;
        self.push(process, offset_of!(Process, locks), lock, offset_of!(Lock, next));
        lock
    }

    pub(crate) fn stack(&mut self, process: u32, frames: &[u64]) -> u32 {
        let stack = self.entry(size_of::<Stack>());
        self.half(stack, offset_of!(Stack, count), frames.len() as u32);
        for (index, &frame) in frames.iter().enumerate() {
            self.word(stack, offset_of!(Stack, frames) + 8 * index, frame);
        }
        self.push(process, offset_of!(Process, stacks), stack, offset_of!(Stack, next));
        stack
    }

    pub(crate) fn module(&mut self, process: u32, path: &str, start: u64, end: u64) {
        let module = self.entry(size_of::<Module>() + path.len());
        self.half(module, offset_of!(Module, path_bytes), path.len() as u32);
        self.word(module, offset_of!(Module, bias), start);
        self.word(module, offset_of!(Module, start), start);
        self.word(module, offset_of!(Module, end), end);
        let at = module as usize * UNIT + size_of::<Module>();
        self.bytes[at..at + path.len()].copy_from_slice(path.as_bytes());
        self.push(process, offset_of!(Process, modules), module, offset_of!(Module, next));
    }

    pub(crate) fn cell(&mut self, thread: u32, lock: u32, acquisitions: u64) -> u32 {
        let cell = self.entry(size_of::<Cell>());
        self.half(cell, offset_of!(Cell, lock), lock);
        self.word(cell, offset_of!(Cell, acquisitions), acquisitions);
        self.push(thread, offset_of!(layout::Thread, cells), cell, offset_of!(Cell, next));
        cell
    }

    /// Gives a thread spans of this name, of which `count` have ended.
    pub(crate) fn span_name(&mut self, thread: u32, name: &str, count: u64) -> u32 {
        let unit = self.entry(size_of::<SpanName>());
        self.word(unit, offset_of!(SpanName, count), count);
        let at = unit as usize * UNIT + offset_of!(SpanName, text);
        self.bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
        self.push(thread, offset_of!(layout::Thread, spans), unit, offset_of!(SpanName, next));
        unit
    }

    /// Gives a thread a log of these waits and holds.
    pub(crate) fn logs(&mut self, thread: u32, entries: &[LoggedRecord]) {
        let part = self.entry(size_of::<LogPart>());
        self.half(thread, offset_of!(layout::Thread, log), part);
        self.half(part, offset_of!(LogPart, after), part);
        self.half(part, offset_of!(LogPart, noted), entries.len() as u32);
        for (nth, entry) in entries.iter().enumerate() {
            let at = offset_of!(LogPart, entries) + nth * size_of::<Logged>();
            let words = [
                (offset_of!(Logged, began), entry.began),
                (offset_of!(Logged, ended), entry.ended),
                (offset_of!(Logged, by_at), entry.by_at),
                (offset_of!(Logged, joined), entry.joined),
                (offset_of!(Logged, free), entry.free),
            ];
            let halves = [
                (offset_of!(Logged, what), entry.what),
                (offset_of!(Logged, lock), entry.lock),
                (offset_of!(Logged, stack), entry.stack),
                (offset_of!(Logged, by), entry.by),
                (offset_of!(Logged, by_stack), entry.by_stack),
                (offset_of!(Logged, between), entry.between),
            ];
            for (field, value) in words {
                self.word(part, at + field, value);
            }
            for (field, value) in halves {
                self.half(part, at + field, value);
            }
        }
    }

    pub(crate) fn holds(&mut self, cell: u32, ticks: u64, count: u32) {
        self.word(cell, offset_of!(Cell, hold_total), ticks * u64::from(count));
        self.word(cell, offset_of!(Cell, hold_worst), ticks);
        self.half(cell, offset_of!(Cell, hold) + 4 * COARSE.bucket(ticks), count);
    }

    /// Gives a cell one wait and one idle interval of these lengths, the idle one with a cause.
    pub(crate) fn waited(&mut self, cell: u32, wait: u64, idle: u64, stacks: [u32; 2]) {
        let cold = self.entry(size_of::<Cold>());
        self.half(cell, offset_of!(Cell, cold), cold);
        self.word(cold, offset_of!(Cold, blocked), 1);
        let parts = [
            (
                wait,
                offset_of!(Cold, wait_total),
                offset_of!(Cold, wait_worst),
                offset_of!(Cold, wait),
            ),
            (
                idle,
                offset_of!(Cold, idle_total),
                offset_of!(Cold, idle_worst),
                offset_of!(Cold, idle),
            ),
        ];
        for (ticks, total, worst, buckets) in parts {
            self.word(cold, total, ticks);
            self.word(cold, worst + offset_of!(Extreme, ticks), ticks);
            self.word(cold, worst + offset_of!(Extreme, at), 1000 + 4_000_000);
            self.half(cold, worst + offset_of!(Extreme, mine), stacks[0]);
            self.half(cold, worst + offset_of!(Extreme, other), stacks[1]);
            self.half(cold, worst + offset_of!(Extreme, cause), layout::cause::NOT_WOKEN);
            self.word(cold, buckets + 8 * FINE.bucket(ticks), 1);
        }
    }
}

/// Names that contain module and address; counts the look-ups.
#[derive(Default)]
pub(crate) struct Plain {
    pub(crate) asked: usize,
}

impl Symbols for Plain {
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame> {
        self.asked += 1;
        let module = Some(module.to_owned());
        vec![Frame {
            function: None,
            file: None,
            line: None,
            module: module.map(Into::into),
            address: format!("{address:#x}").into(),
        }]
    }

    fn frames_at_offset(&mut self, module: &str, offset: u64) -> Vec<Frame> {
        self.frames(module, offset)
    }
}

pub(crate) fn facts() -> Facts {
    let command = vec!["program".to_owned()];
    Facts { command, pid: Some(7), wall_ns: 10_000_000, exit_status: 3, ..Facts::default() }
}

pub(crate) fn read(writer: &Writer, facts: Facts) -> RunReport {
    report(&writer.bytes, facts, &mut Plain::default()).unwrap()
}

/// Symbols that name every function.
pub(crate) struct Named;

impl Symbols for Named {
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame> {
        let frames = Plain::default().frames(module, address);
        frames.into_iter().map(|f| Frame { function: Some("f".into()), ..f }).collect()
    }

    fn frames_at_offset(&mut self, module: &str, offset: u64) -> Vec<Frame> {
        self.frames(module, offset)
    }
}
