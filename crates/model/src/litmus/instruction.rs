//! Translates x86-64 instructions in AT&T syntax into operations, one thread at a time.
//!
//! # Contract
//! An unknown instruction, suffix, register or addressing mode is refused by name. Widths are 32 and 64 bits for
//! registers, and also 8 and 16 for constants stored to memory.
//! # State
//! Flags are two registers, the sides of a comparison. I1: they are computed only in threads that branch. I2: a branch
//! on more than equality or sign must follow `cmp` or `test` directly, since only those leave both sides.

use super::parse::Draft;
use super::registers::REGISTERS;
use super::source::{At, Cursor, Wrong, shown, wrong};
use crate::program::{Alu, Loc, Op, Operand, Place, Reg, Test};
use std::collections::HashMap;

/// Base names of instructions that take a width suffix.
const SUFFIXED: [&str; 13] = [
    "mov", "xchg", "add", "sub", "and", "or", "xor", "inc", "dec", "xadd", "cmpxchg", "cmp", "test",
];

/// Instructions that may be LOCKed.
const LOCKABLE: [&str; 10] =
    ["xchg", "add", "sub", "and", "or", "xor", "inc", "dec", "xadd", "cmpxchg"];

/// An argument as written.
#[derive(Debug, Clone, Copy)]
enum Argument {
    Constant(u64),
    Register { reg: Reg, bits: u8 },
    Memory(Loc),
}

impl Argument {
    /// The value, if the thread knows it without touching memory.
    fn operand(&self) -> Option<Operand> {
        match self {
            Argument::Constant(value) => Some(Operand::Imm(*value)),
            Argument::Register { reg, .. } => Some(Operand::Reg(*reg)),
            Argument::Memory(_) => None,
        }
    }
}

/// The kind of instruction that set the flags last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flags {
    Comparison,
    Result,
}

/// Translates the lines of one thread.
#[derive(Debug)]
pub(super) struct Assembler {
    thread: usize,
    /// Whether the thread branches on flags.
    branches: bool,
    code: Vec<Op>,
    text: Vec<String>,
    labels: HashMap<String, usize>,
    jumps: Vec<(usize, String, At)>,
    interrupts: Vec<(u64, At)>,
    flags: Option<Flags>,
}

/// An instruction being parsed.
struct Line<'t> {
    at: At,
    name: &'t str,
    arguments: Vec<Argument>,
    bits: u8,
    locked: bool,
}

impl Assembler {
    pub(super) fn new(thread: usize, branches: bool) -> Self {
        Assembler {
            thread,
            branches,
            code: Vec::new(),
            text: Vec::new(),
            labels: HashMap::new(),
            jumps: Vec::new(),
            interrupts: Vec::new(),
            flags: None,
        }
    }

    /// Parses one cell: labels, then at most one instruction.
    pub(super) fn line(&mut self, text: &str, at: At, draft: &mut Draft) -> Result<(), Wrong> {
        let mut cursor = Cursor::new(text, at);
        loop {
            let here = cursor.clone();
            let word = cursor.word();
            if word.is_empty() || !cursor.take(":") {
                cursor = here;
                break;
            }
            if self.labels.insert(word.to_owned(), self.code.len()).is_some() {
                return wrong(here.at(), format!("label `{word}` appears twice"));
            }
        }
        cursor.blanks();
        if cursor.rest().is_empty() {
            return Ok(());
        }
        let first = self.code.len();
        self.instruction(&mut cursor, draft)?;
        cursor.blanks();
        if !cursor.rest().is_empty() {
            return wrong(
                cursor.at(),
                format!("expected the end of the instruction, found {}", shown("", cursor.rest())),
            );
        }
        if self.code.len() > 5_000 {
            return wrong(at, "more than 5000 operations in one thread");
        }
        self.text.resize(self.code.len(), String::new());
        if let Some(line) = self.text.get_mut(first) {
            *line = text.trim().to_owned();
        }
        Ok(())
    }

    /// The code with its jumps resolved, and the text of each operation.
    pub(super) fn finish(mut self, threads: usize) -> Result<(Vec<Op>, Vec<String>), Wrong> {
        for (op, label, at) in self.jumps {
            let Some(&to) = self.labels.get(&label) else {
                return wrong(at, format!("label `{label}` does not exist in this thread"));
            };
            if let Some(Op::Branch { target, .. }) = self.code.get_mut(op) {
                *target = to as u16;
            }
        }
        for (thread, at) in self.interrupts {
            if thread >= threads as u64 || thread == self.thread as u64 {
                return wrong(at, format!("there is no other thread {thread} to interrupt"));
            }
        }
        Ok((self.code, self.text))
    }

    fn instruction(&mut self, cursor: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), Wrong> {
        let at = cursor.at();
        let mut written = cursor.word();
        let locked = written == "lock";
        if locked {
            written = cursor.word();
        }
        if written.is_empty() {
            return wrong(
                cursor.at(),
                format!("expected an instruction, found {}", shown("", cursor.rest())),
            );
        }
        if self.plain(at, written, locked, cursor, draft)? {
            return Ok(());
        }
        let Some((name, suffix)) = split_suffix(written) else {
            return wrong(at, format!("unknown instruction `{written}`"));
        };
        if locked && !LOCKABLE.contains(&name) {
            return wrong(at, format!("`{written}` cannot be LOCKed"));
        }
        let arguments = self.arguments(cursor, draft)?;
        let mut line = Line { at, name, arguments, bits: 0, locked };
        line.bits = self.width(&line, suffix, draft)?;
        self.encode(&line, draft)
    }

    /// Translates instructions without width: barriers, jumps, and our extensions. Returns whether it was one.
    fn plain(
        &mut self,
        at: At,
        name: &str,
        locked: bool,
        cursor: &mut Cursor<'_>,
        draft: &mut Draft,
    ) -> Result<bool, Wrong> {
        let op = match name {
            "mfence" => Some(Op::Fence),
            // Neither changes what x86-TSO allows for ordinary memory.
            "lfence" | "sfence" | "nop" | "pause" => None,
            "membarrier" => Some(Op::Membarrier),
            "interrupt" => {
                cursor.take("P");
                let at = cursor.at();
                let thread = cursor.number()?;
                self.interrupts.push((thread, at));
                Some(Op::Interrupt { thread: thread.min(255) as u8 })
            }
            "delay" => match self.arguments(cursor, draft)?[..] {
                [Argument::Constant(ticks @ 0..=255)] => Some(Op::Delay { ticks: ticks as u8 }),
                _ => return wrong(at, "expected `delay $ticks` with at most 255 ticks"),
            },
            "futex_wait" | "futex_wake" | "mutex_lock" | "mutex_unlock" => {
                let arguments = self.arguments(cursor, draft)?;
                Some(self.waiting(at, name, &arguments)?)
            }
            _ if name.starts_with('j') => {
                self.jump(at, name, cursor, draft)?;
                None
            }
            _ => return Ok(false),
        };
        if locked {
            return wrong(at, format!("`{name}` cannot be LOCKed"));
        }
        self.code.extend(op);
        Ok(true)
    }

    fn waiting(&self, at: At, name: &str, arguments: &[Argument]) -> Result<Op, Wrong> {
        Ok(match (name, arguments) {
            ("futex_wait", [Argument::Constant(value), Argument::Memory(loc)]) => {
                Op::FutexWait { at: Place::at(*loc), expected: Operand::Imm(*value) }
            }
            ("futex_wait", [Argument::Register { reg, .. }, Argument::Memory(loc)]) => {
                Op::FutexWait { at: Place::at(*loc), expected: Operand::Reg(*reg) }
            }
            ("futex_wake", [Argument::Constant(count), Argument::Memory(loc)]) => Op::FutexWake {
                at: Place::at(*loc),
                count: (*count).min(u64::from(u32::MAX)) as u32,
            },
            ("mutex_lock", [Argument::Memory(loc)]) => Op::Lock { at: Place::at(*loc) },
            ("mutex_unlock", [Argument::Memory(loc)]) => Op::Unlock { at: Place::at(*loc) },
            _ => return wrong(at, format!("`{name}` does not take these arguments")),
        })
    }

    fn jump(
        &mut self,
        at: At,
        name: &str,
        cursor: &mut Cursor<'_>,
        draft: &mut Draft,
    ) -> Result<(), Wrong> {
        let (left, right) =
            (self.internal(draft, "flags.left"), self.internal(draft, "flags.right"));
        let zero = Operand::Imm(0);
        let (left, test, right) = match name {
            "jmp" => (zero, Test::Eq, zero),
            "je" | "jz" => (left, Test::Eq, right),
            "jne" | "jnz" => (left, Test::Ne, right),
            "js" => (left, Test::Lt, zero),
            "jns" => (zero, Test::Le, left),
            "jl" => (left, Test::Lt, right),
            "jle" => (left, Test::Le, right),
            "jg" => (right, Test::Lt, left),
            "jge" => (right, Test::Le, left),
            "jb" => (left, Test::Below, right),
            "jbe" => (left, Test::BelowEq, right),
            "ja" => (right, Test::Below, left),
            "jae" => (right, Test::BelowEq, left),
            _ => return wrong(at, format!("unknown instruction `{name}`")),
        };
        let fits = match name {
            "jmp" | "je" | "jz" | "jne" | "jnz" => true,
            "js" | "jns" => self.flags == Some(Flags::Result),
            _ => self.flags == Some(Flags::Comparison),
        };
        if !fits {
            return wrong(
                at,
                format!(
                    "`{name}` is supported only right after an instruction that sets its flags"
                ),
            );
        }
        cursor.blanks();
        let label_at = cursor.at();
        let label = cursor.word();
        if label.is_empty() {
            return wrong(
                label_at,
                format!("expected a label, found {}", shown("", cursor.rest())),
            );
        }
        self.jumps.push((self.code.len(), label.to_owned(), label_at));
        self.code.push(Op::Branch { left, test, right, target: 0 });
        Ok(())
    }

    fn arguments(
        &self,
        cursor: &mut Cursor<'_>,
        draft: &mut Draft,
    ) -> Result<Vec<Argument>, Wrong> {
        let mut arguments = Vec::new();
        cursor.blanks();
        while !cursor.rest().is_empty() {
            arguments.push(self.argument(cursor, draft)?);
            if !cursor.take(",") {
                break;
            }
        }
        Ok(arguments)
    }

    fn argument(&self, cursor: &mut Cursor<'_>, draft: &mut Draft) -> Result<Argument, Wrong> {
        cursor.blanks();
        let at = cursor.at();
        if cursor.take("$") {
            return Ok(Argument::Constant(cursor.number()?));
        }
        if cursor.take("%") {
            return self.register(cursor, draft, at);
        }
        let open = cursor.take("(");
        if open && cursor.take("%") {
            return wrong(at, "addresses in registers are not supported");
        }
        let name = cursor.word();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            let found = shown(name, cursor.rest());
            return wrong(
                at,
                format!("expected `$constant`, `%register` or `(location)`, found {found}"),
            );
        }
        let loc = draft.location(at, name)?;
        if open && !cursor.take(")") {
            return wrong(cursor.at(), format!("expected `)`, found {}", shown("", cursor.rest())));
        }
        if !open && cursor.take("(") && !(cursor.take("%rip") && cursor.take(")")) {
            return wrong(at, "this addressing mode is not supported");
        }
        Ok(Argument::Memory(loc))
    }

    fn register(
        &self,
        cursor: &mut Cursor<'_>,
        draft: &mut Draft,
        at: At,
    ) -> Result<Argument, Wrong> {
        let name = cursor.word();
        let Some(names) = REGISTERS.iter().find(|names| names.contains(&name)) else {
            return wrong(at, format!("unknown register `%{name}`; 32 and 64 bits are supported"));
        };
        let bits = if name == names[0] { 64 } else { 32 };
        Ok(Argument::Register { reg: draft.register(self.thread, names[0]), bits })
    }

    fn internal(&self, draft: &mut Draft, name: &str) -> Operand {
        Operand::Reg(draft.register(self.thread, name))
    }

    /// The width of an instruction: from its suffix, its registers, or its location; all must agree.
    fn width(&self, line: &Line<'_>, suffix: Option<u8>, draft: &mut Draft) -> Result<u8, Wrong> {
        let mut bits = suffix;
        for argument in &line.arguments {
            if let Argument::Register { bits: own, .. } = argument {
                match bits {
                    Some(bits) if bits != *own => {
                        return wrong(
                            line.at,
                            "the widths of the instruction and its registers differ",
                        );
                    }
                    _ => bits = Some(*own),
                }
            }
        }
        for argument in &line.arguments {
            if let Argument::Memory(loc) = argument {
                let known = draft.widths[usize::from(*loc)];
                bits = bits.or(known).or(Some(64));
                draft.width(line.at, *loc, bits.unwrap_or(64))?;
            }
        }
        Ok(bits.unwrap_or(64))
    }

    fn encode(&mut self, line: &Line<'_>, draft: &mut Draft) -> Result<(), Wrong> {
        use Argument::{Memory, Register};
        match (line.name, &line.arguments[..]) {
            ("mov", [Memory(loc), Register { reg, .. }]) => {
                self.code.push(Op::Load { to: *reg, from: Place::at(*loc) });
            }
            ("mov", [from, Memory(loc)]) if from.operand().is_some() => {
                let value = from.operand().unwrap_or(Operand::Imm(0));
                self.code.push(Op::Store { to: Place::at(*loc), value });
            }
            ("mov", [from, Register { reg, .. }]) => {
                let right = from.operand().unwrap_or(Operand::Imm(0));
                self.compute(line, *reg, Operand::Imm(0), Alu::Right, right);
            }
            ("xchg", [Register { reg, .. }, Memory(loc)] | [Memory(loc), Register { reg, .. }]) => {
                // An exchange with memory is LOCKed even without the prefix.
                let by = Operand::Reg(*reg);
                self.code.push(Op::Rmw {
                    at: Place::at(*loc),
                    how: Alu::Right,
                    by,
                    old: Some(*reg),
                    locked: true,
                });
            }
            ("xchg", [Register { reg: a, .. }, Register { reg: b, .. }]) if !line.locked => {
                let (zero, scratch) = (Operand::Imm(0), self.scratch(draft));
                self.compute(line, scratch, zero, Alu::Right, Operand::Reg(*a));
                self.compute(line, *a, zero, Alu::Right, Operand::Reg(*b));
                self.compute(line, *b, zero, Alu::Right, Operand::Reg(scratch));
            }
            ("xadd", [Register { reg, .. }, Memory(loc)]) => {
                let by = self.copy(line, draft, *reg);
                self.code.push(Op::Rmw {
                    at: Place::at(*loc),
                    how: Alu::Add,
                    by,
                    old: Some(*reg),
                    locked: line.locked,
                });
                self.result(line, draft, Operand::Reg(*reg), Alu::Add, by);
            }
            ("cmpxchg", [Register { reg, .. }, Memory(loc)]) => {
                let rax = draft.register(self.thread, "rax");
                let expected = self.copy(line, draft, rax);
                self.code.push(Op::CompareExchange {
                    at: Place::at(*loc),
                    expected,
                    new: Operand::Reg(*reg),
                    old: rax,
                    locked: line.locked,
                });
                self.compare(line, draft, expected, Operand::Reg(rax));
            }
            _ => return self.arithmetic(line, draft),
        }
        Ok(())
    }

    /// Translates instructions that compute or compare.
    fn arithmetic(&mut self, line: &Line<'_>, draft: &mut Draft) -> Result<(), Wrong> {
        use Argument::{Memory, Register};
        let how = match line.name {
            "add" | "inc" => Alu::Add,
            "sub" | "dec" => Alu::Sub,
            "and" => Alu::And,
            "or" => Alu::Or,
            "xor" => Alu::Xor,
            _ => Alu::Right,
        };
        match (line.name, &line.arguments[..]) {
            ("inc" | "dec", [target]) => self.change(line, draft, target, how, Operand::Imm(1))?,
            ("add" | "sub" | "and" | "or" | "xor", [Memory(loc), Register { reg, .. }])
                if !line.locked =>
            {
                let scratch = self.scratch(draft);
                self.code.push(Op::Load { to: scratch, from: Place::at(*loc) });
                self.compute(line, *reg, Operand::Reg(*reg), how, Operand::Reg(scratch));
                self.result(line, draft, Operand::Reg(*reg), Alu::Add, Operand::Imm(0));
            }
            ("add" | "sub" | "and" | "or" | "xor", [from, target]) if from.operand().is_some() => {
                self.change(line, draft, target, how, from.operand().unwrap_or(Operand::Imm(0)))?;
            }
            ("cmp" | "test", [a, b]) if a.operand().or(b.operand()).is_some() => {
                let scratch = self.scratch(draft);
                let mut side = |argument: &Argument| match argument {
                    Memory(loc) => {
                        self.code.push(Op::Load { to: scratch, from: Place::at(*loc) });
                        Operand::Reg(scratch)
                    }
                    other => other.operand().unwrap_or(Operand::Imm(0)),
                };
                let (a, b) = (side(a), side(b));
                if line.name == "cmp" {
                    self.compare(line, draft, b, a);
                } else {
                    self.compute(line, scratch, b, Alu::And, a);
                    self.compare(line, draft, Operand::Reg(scratch), Operand::Imm(0));
                }
            }
            _ => return wrong(line.at, format!("`{}` does not take these arguments", line.name)),
        }
        Ok(())
    }

    fn scratch(&self, draft: &mut Draft) -> Reg {
        draft.register(self.thread, "scratch")
    }

    /// The value of a register before an instruction changes it, saved if the flags need it.
    fn copy(&mut self, line: &Line<'_>, draft: &mut Draft, reg: Reg) -> Operand {
        if !self.branches {
            return Operand::Reg(reg);
        }
        let scratch = self.scratch(draft);
        self.compute(line, scratch, Operand::Imm(0), Alu::Right, Operand::Reg(reg));
        Operand::Reg(scratch)
    }

    /// Arithmetic into a register, truncated to the width of the instruction.
    fn compute(&mut self, line: &Line<'_>, to: Reg, left: Operand, how: Alu, right: Operand) {
        self.code.push(Op::Compute { to, left, how, right });
        if line.bits == 32 {
            let mask = Operand::Imm(u64::from(u32::MAX));
            self.code.push(Op::Compute { to, left: Operand::Reg(to), how: Alu::And, right: mask });
        }
    }

    /// Changes a register or location in place.
    fn change(
        &mut self,
        line: &Line<'_>,
        draft: &mut Draft,
        target: &Argument,
        how: Alu,
        by: Operand,
    ) -> Result<(), Wrong> {
        match target {
            Argument::Memory(loc) => {
                let old = self.branches.then(|| self.scratch(draft));
                self.code.push(Op::Rmw { at: Place::at(*loc), how, by, old, locked: line.locked });
                let left = old.map_or(Operand::Imm(0), Operand::Reg);
                self.result(line, draft, left, how, by);
            }
            Argument::Register { reg, .. } if !line.locked => {
                self.compute(line, *reg, Operand::Reg(*reg), how, by);
                self.result(line, draft, Operand::Reg(*reg), Alu::Add, Operand::Imm(0));
            }
            _ => return wrong(line.at, format!("`{}` does not take these arguments", line.name)),
        }
        Ok(())
    }

    /// Flags from a result, `how(left, right)`.
    fn result(
        &mut self,
        line: &Line<'_>,
        draft: &mut Draft,
        left: Operand,
        how: Alu,
        right: Operand,
    ) {
        self.set_flags(line, draft, (left, how, right), Operand::Imm(0));
        self.flags = Some(Flags::Result);
    }

    /// Flags from a comparison.
    fn compare(&mut self, line: &Line<'_>, draft: &mut Draft, left: Operand, right: Operand) {
        self.set_flags(line, draft, (left, Alu::Add, Operand::Imm(0)), right);
        self.flags = Some(Flags::Comparison);
    }

    fn set_flags(
        &mut self,
        line: &Line<'_>,
        draft: &mut Draft,
        (left, how, by): (Operand, Alu, Operand),
        right: Operand,
    ) {
        if !self.branches {
            return; // I1
        }
        let to_left = draft.register(self.thread, "flags.left");
        let to_right = draft.register(self.thread, "flags.right");
        // Narrow values are moved to the top of the word, which keeps every comparison, signed or not.
        let scale = Operand::Imm(1 << (64 - u32::from(line.bits)));
        let scale = if line.bits == 64 { Operand::Imm(1) } else { scale };
        self.code.push(Op::Compute { to: to_left, left, how, right: by });
        self.code.push(Op::Compute {
            to: to_left,
            left: Operand::Reg(to_left),
            how: Alu::Mul,
            right: scale,
        });
        self.code.push(Op::Compute { to: to_right, left: right, how: Alu::Mul, right: scale });
    }
}

/// An instruction's base name and the width given by its suffix.
fn split_suffix(written: &str) -> Option<(&'static str, Option<u8>)> {
    let known = |name: &str| SUFFIXED.iter().copied().find(|known| *known == name);
    if let "movabs" | "movabsq" = written {
        return Some(("mov", Some(64)));
    }
    if let Some(name) = known(written) {
        return Some((name, None));
    }
    let (base, suffix) = written.split_at_checked(written.len().checked_sub(1)?)?;
    let bits = match suffix {
        "q" => 64,
        "l" => 32,
        "w" => 16,
        "b" => 8,
        _ => return None,
    };
    known(base).map(|name| (name, Some(bits)))
}
