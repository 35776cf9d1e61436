//! Parses the sections of a litmus file: name, initial state, code, condition.

use super::Test;
use super::condition::{Condition, Item, Names, Prop, Quantifier, item, prop};
use super::instruction::Assembler;
use super::registers::REGISTERS;
use super::source::{At, Cursor, Refusal, Wrong, shown, without_comments, wrong};
use crate::program::{Loc, Location, MAX_LOCATIONS, MAX_THREADS, Program, Reg, Thread, Value};
use std::collections::HashMap;

/// Other litmus dialects.
const DIALECTS: [(&str, &str); 9] = [
    ("AArch64", "64-bit Arm"),
    ("ARM", "32-bit Arm"),
    ("BPF", "the Linux kernel's virtual machine"),
    (
        "C",
        "C with C11 atomics or the Linux kernel's; for such code there is `uncontended_model::real`",
    ),
    ("LISA", "herd's own assembly language"),
    ("MIPS", "MIPS"),
    ("PPC", "POWER"),
    ("RISCV", "RISC-V"),
    ("X86", "32-bit x86; a test with 64-bit registers begins with X86_64"),
];

/// The largest accepted file, in bytes.
const LONGEST: usize = 1 << 20;

/// Parses a litmus test.
///
/// # Errors
/// The first error or unsupported construct, with its position.
///
/// ```
/// let text = "X86_64 SB\n{}\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n movq (y),%rax | movq (x),%rax ;\n\
///             exists (0:rax=0 /\\ 1:rax=0)\n";
/// let test = uncontended_model::litmus::parse(text).unwrap();
/// assert_eq!((test.name.as_str(), test.program.threads.len()), ("SB", 2));
/// let broken = text.replace("movq $1,(y)", "vmovq $1,(y)");
/// assert_eq!(uncontended_model::litmus::parse(&broken).unwrap_err().to_string(), "4:16: unknown instruction `vmovq`");
/// ```
pub fn parse(text: &str) -> Result<Test, Refusal> {
    if text.len() > LONGEST {
        return Err(Refusal {
            line: 1,
            column: 1,
            reason: format!("the file is longer than {LONGEST} bytes"),
        });
    }
    // Some editors put a byte order mark at the beginning of a file.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let blanked = without_comments(text).or_else(|unclosed| foreign(text, unclosed));
    blanked.and_then(|blanked| parse_sections(&blanked)).map_err(|wrong| wrong.locate(text))
}

/// Refuses a text with an unclosed comment: for its architecture if that is another one. In C, `(*x` is not a comment.
fn foreign(text: &str, unclosed: Wrong) -> Result<String, Wrong> {
    let before = without_comments(&text[..unclosed.at])?;
    if !before.trim().is_empty() {
        architecture(&mut Cursor::new(&before, 0))?;
    }
    Err(unclosed)
}

/// The program as far as it has been parsed.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) locations: Vec<Location>,
    /// Width of each location in bits; `None` while it is unknown.
    pub(super) widths: Vec<Option<u8>>,
    by_name: HashMap<String, Loc>,
    /// Registers of each thread: canonical name and initial value.
    pub(super) registers: Vec<Vec<(String, Value)>>,
}

impl Draft {
    /// The index of a location, added if it is new.
    pub(super) fn location(&mut self, at: At, name: &str) -> Result<Loc, Wrong> {
        if let Some(&loc) = self.by_name.get(name) {
            return Ok(loc);
        }
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return wrong(at, format!("`{name}` is not the name of a location"));
        }
        if self.locations.len() >= MAX_LOCATIONS {
            return wrong(at, format!("more than {MAX_LOCATIONS} locations"));
        }
        let loc = self.locations.len() as Loc;
        self.locations.push(Location::word(name, 0));
        self.widths.push(None);
        self.by_name.insert(name.to_owned(), loc);
        Ok(loc)
    }

    /// Records the width with which a location is used.
    pub(super) fn width(&mut self, at: At, loc: Loc, bits: u8) -> Result<(), Wrong> {
        let known = &mut self.widths[usize::from(loc)];
        match *known {
            Some(other) if other != bits => {
                let name = &self.locations[usize::from(loc)].name;
                wrong(
                    at,
                    format!(
                        "`{name}` is used with {other} and with {bits} bits; mixed sizes are not supported"
                    ),
                )
            }
            _ => {
                *known = Some(bits);
                Ok(())
            }
        }
    }

    /// The index of a thread's register, by its canonical name.
    pub(super) fn register(&mut self, thread: usize, name: &str) -> Reg {
        if self.registers.len() <= thread {
            self.registers.resize_with(thread + 1, Vec::new);
        }
        let registers = &mut self.registers[thread];
        let found = registers.iter().position(|(known, _)| known == name);
        Reg(found.unwrap_or_else(|| {
            registers.push((name.to_owned(), 0));
            registers.len() - 1
        }) as u8)
    }
}

impl Names for Draft {
    fn register(&mut self, at: At, thread: u64, name: &str) -> Result<Item, Wrong> {
        if thread >= MAX_THREADS as u64 {
            return wrong(
                at,
                format!("thread {thread}: at most {MAX_THREADS} threads can be explored"),
            );
        }
        let Some(rank) = REGISTERS.iter().position(|names| names.contains(&name)) else {
            return wrong(at, format!("unknown register `{name}`"));
        };
        let reg = Draft::register(self, thread as usize, REGISTERS[rank][0]);
        Ok(Item::Register { thread: thread as u8, rank: rank as u8, name: name.to_owned(), reg })
    }

    fn memory(&mut self, at: At, name: &str) -> Result<Item, Wrong> {
        Ok(Item::Memory { name: name.to_owned(), loc: self.location(at, name)? })
    }
}

fn parse_sections(text: &str) -> Result<Test, Wrong> {
    let mut cursor = Cursor::new(text, 0);
    let mut draft = Draft::default();
    let name = heading(&mut cursor)?;
    let doc = preamble(&mut cursor)?;
    initial_state(&mut cursor, &mut draft)?;
    let threads = header(&mut cursor)?;
    let mut rows = Vec::new();
    while let Some(row) = row(&mut cursor)? {
        rows.push(row);
    }
    let branches = |thread: usize| {
        let mut words = rows
            .iter()
            .filter_map(|row| row.get(thread))
            .flat_map(|(cell, _)| cell.split_whitespace());
        words.any(|word| word.starts_with('j') && word != "jmp")
    };
    let mut assemblers: Vec<_> =
        (0..threads).map(|thread| Assembler::new(thread, branches(thread))).collect();
    for row in rows {
        for (thread, (text, at)) in row.into_iter().enumerate() {
            match assemblers.get_mut(thread) {
                Some(assembler) => assembler.line(text, at, &mut draft)?,
                None if text.trim().is_empty() => {}
                None => {
                    return wrong(
                        at,
                        format!("a cell for thread {thread}, but the test has {threads} threads"),
                    );
                }
            }
        }
    }
    let mut listed = Vec::new();
    while cursor.take("locations") {
        locations(&mut cursor, &mut draft, &mut listed)?;
    }
    let condition_at = cursor.at();
    let condition = condition(&mut cursor, &mut draft)?;
    cursor.blanks();
    if !cursor.rest().is_empty() {
        return wrong(cursor.at(), format!("expected the end, found {}", shown("", cursor.rest())));
    }
    let mut text = Vec::new();
    let mut codes = Vec::new();
    for assembler in assemblers {
        let (code, lines) = assembler.finish(threads)?;
        codes.push(code);
        text.push(lines);
    }
    if draft.registers.len() > threads {
        let thread = draft.registers.len() - 1;
        return wrong(
            condition_at,
            format!("unknown thread {thread}; the test has {threads} threads"),
        );
    }
    let program = program(draft, codes);
    if let Err(reason) = program.check() {
        return wrong(condition_at, reason.to_string());
    }
    let shown = shown_items(&condition.prop, listed);
    Ok(Test { name, doc, program, text, condition, shown })
}

fn program(mut draft: Draft, codes: Vec<Vec<crate::program::Op>>) -> Program {
    draft.registers.resize_with(codes.len(), Vec::new);
    for (location, width) in draft.locations.iter_mut().zip(&draft.widths) {
        location.bits = width.unwrap_or(64);
        location.init = location.cut(location.init);
    }
    let threads = codes.into_iter().zip(draft.registers).map(|(code, registers)| Thread {
        code,
        registers: registers.into_iter().map(|(_, value)| value).collect(),
    });
    Program { threads: threads.collect(), locations: draft.locations }
}

fn shown_items(prop: &Prop, mut listed: Vec<Item>) -> Vec<Item> {
    let mut items = Vec::new();
    prop.items(&mut items);
    listed.extend(items.into_iter().cloned());
    listed.sort();
    listed.dedup();
    listed
}

fn architecture(cursor: &mut Cursor<'_>) -> Result<(), Wrong> {
    cursor.blanks();
    let at = cursor.at();
    match cursor.word() {
        "X86_64" => Ok(()),
        "" => wrong(at, "expected `X86_64` and the name of the test"),
        other => {
            let known = DIALECTS.iter().find(|(name, _)| *name == other);
            let about = known.map_or(String::new(), |(_, about)| format!(" ({about})"));
            let text = format!(
                "architecture `{other}`{about} is not supported, only X86_64; herd7 runs the others"
            );
            wrong(at, text)
        }
    }
}

fn heading(cursor: &mut Cursor<'_>) -> Result<String, Wrong> {
    architecture(cursor)?;
    let line = cursor.rest().lines().next().unwrap_or("");
    let name = line.trim();
    if name.is_empty() {
        return wrong(cursor.at(), "expected the name of the test");
    }
    cursor.skip(line.len());
    Ok(name.to_owned())
}

/// The lines between name and initial state: one in quotes, the others `key=value`.
fn preamble(cursor: &mut Cursor<'_>) -> Result<String, Wrong> {
    let mut doc = String::new();
    loop {
        cursor.blanks();
        let at = cursor.at();
        let rest = cursor.rest();
        if rest.starts_with('{') {
            return Ok(doc);
        }
        let line = rest.lines().next().unwrap_or("");
        if let Some(quoted) = line.trim_end().strip_prefix('"') {
            doc = quoted.trim_end_matches('"').to_owned();
        } else if !line.contains('=') {
            let found = shown(line.trim(), rest);
            return wrong(at, format!("expected `{{` and the initial state, found {found}"));
        }
        cursor.skip(line.len());
    }
}

fn initial_state(cursor: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), Wrong> {
    let open = cursor.at();
    cursor.take("{");
    loop {
        if cursor.take("}") {
            return Ok(());
        }
        if cursor.take(";") {
            continue;
        }
        cursor.blanks();
        if cursor.rest().is_empty() {
            return wrong(open, "the initial state is not closed");
        }
        declaration(cursor, draft)?;
        if !cursor.take(";") && !cursor.rest().starts_with('}') {
            return wrong(cursor.at(), format!("expected `;`, found {}", shown("", cursor.rest())));
        }
    }
}

/// `uint64_t x`, `int x = 1`, `x = 1`, `0:rax = 1`, `[x] = 1`.
fn declaration(cursor: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), Wrong> {
    let mut bits = None;
    loop {
        let here = cursor.clone();
        let at = cursor.at();
        let word = cursor.word();
        cursor.blanks();
        // A word is part of the type if another item follows it directly.
        let more = cursor.rest().starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '[');
        if word.is_empty() || !more {
            *cursor = here;
            break;
        }
        bits = Some(type_bits(at, word)?.unwrap_or(bits.unwrap_or(32)));
    }
    let at = cursor.at();
    let item = item(cursor, draft)?;
    let value = if cursor.take("=") {
        cursor.blanks();
        if cursor.rest().starts_with(|c: char| c.is_alphabetic() || c == '&') {
            return wrong(cursor.at(), "addresses as values are not supported");
        }
        cursor.number()?
    } else {
        0
    };
    match item {
        Item::Register { thread, reg, .. } => {
            draft.registers[usize::from(thread)][usize::from(reg.0)].1 = value
        }
        Item::Memory { loc, .. } => {
            draft.locations[usize::from(loc)].init = value;
            if let Some(bits) = bits {
                draft.width(at, loc, bits)?;
            }
        }
    }
    Ok(())
}

/// The width of a type; `None` for a word that does not determine it.
fn type_bits(at: At, word: &str) -> Result<Option<u8>, Wrong> {
    Ok(match word {
        "uint64_t" | "int64_t" | "long" | "size_t" | "intptr_t" | "uintptr_t" => Some(64),
        "uint32_t" | "int32_t" | "int" => Some(32),
        "uint16_t" | "int16_t" | "short" => Some(16),
        "uint8_t" | "int8_t" | "char" => Some(8),
        "unsigned" | "signed" | "volatile" | "const" | "_Atomic" => None,
        _ => return wrong(at, format!("type `{word}` is not supported")),
    })
}

/// ` P0 | P1 ;`: the number of threads.
fn header(cursor: &mut Cursor<'_>) -> Result<usize, Wrong> {
    cursor.blanks();
    let start = cursor.at();
    let Some(cells) = row(cursor)? else {
        return wrong(start, format!("expected `P0 | P1 … ;`, found {}", shown("", cursor.rest())));
    };
    for (thread, (cell, at)) in cells.iter().enumerate() {
        if cell.trim() != format!("P{thread}") {
            return wrong(*at, format!("expected `P{thread}`, found {}", shown(cell.trim(), "")));
        }
    }
    if cells.len() > MAX_THREADS {
        return wrong(
            start,
            format!("{} threads; at most {MAX_THREADS} can be explored", cells.len()),
        );
    }
    Ok(cells.len())
}

/// The cells of the next row of code with their positions; `None` at a keyword or the end.
fn row<'t>(cursor: &mut Cursor<'t>) -> Result<Option<Vec<(&'t str, At)>>, Wrong> {
    cursor.blanks();
    let rest = cursor.rest();
    let keywords = ["exists", "forall", "locations", "filter", "~", "final"];
    if rest.is_empty() || keywords.iter().any(|keyword| rest.starts_with(keyword)) {
        return Ok(None);
    }
    let Some(end) = rest.find(';') else {
        return wrong(cursor.at(), "expected a row of code ending in `;`, or a condition");
    };
    let mut cells = Vec::new();
    let mut at = cursor.at();
    for cell in rest[..end].split('|') {
        let lead = cell.len() - cell.trim_start().len();
        cells.push((cell.trim(), at + lead));
        at += cell.len() + 1;
    }
    cursor.skip(end + 1);
    Ok(Some(cells))
}

/// `[x; 0:rax;]`.
fn locations(
    cursor: &mut Cursor<'_>,
    draft: &mut Draft,
    listed: &mut Vec<Item>,
) -> Result<(), Wrong> {
    if !cursor.take("[") {
        return wrong(cursor.at(), "expected `[`");
    }
    while !cursor.take("]") {
        if !cursor.take(";") {
            listed.push(item(cursor, draft)?);
        }
    }
    Ok(())
}

fn condition(cursor: &mut Cursor<'_>, draft: &mut Draft) -> Result<Condition, Wrong> {
    cursor.blanks();
    let at = cursor.at();
    let negated = cursor.take("~");
    let quantifier = match (cursor.word(), negated) {
        ("exists", false) => Quantifier::Exists,
        ("exists", true) => Quantifier::NotExists,
        ("forall", false) => Quantifier::Forall,
        (word, _) => {
            let found = shown(word, cursor.rest());
            return wrong(at, format!("expected `exists`, `~exists` or `forall`, found {found}"));
        }
    };
    Ok(Condition { quantifier, prop: prop(cursor, draft, 0)? })
}
