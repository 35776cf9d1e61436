//! Conditions on final states: parsed and printed in herd's notation, and evaluated.

use super::source::{Cursor, Wrong, shown, wrong};
use crate::outcome::Outcome;
use crate::program::{Loc, Program, Reg, Value};
use std::fmt;

/// The greatest nesting depth of propositions.
const DEEPEST: usize = 200;

/// A register or location with a final value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// A register of a thread.
    Register {
        /// The thread.
        thread: u8,
        /// Position of the register in herd's list of registers.
        rank: u8,
        /// Its name in the file.
        name: String,
        /// Its index in the program.
        reg: Reg,
    },
    /// A location.
    Memory {
        /// Its name in the file.
        name: String,
        /// Its index in the program.
        loc: Loc,
    },
}

impl fmt::Display for Item {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Register { thread, name, .. } => write!(out, "{thread}:{name}"),
            Item::Memory { name, .. } => write!(out, "[{name}]"),
        }
    }
}

impl Item {
    /// The item's final value.
    pub fn value(&self, program: &Program, outcome: &Outcome) -> Value {
        match self {
            Item::Register { thread, reg, .. } => outcome.register(program, *thread, *reg),
            Item::Memory { loc, .. } => outcome.memory(*loc),
        }
    }

    /// The value as a signed number of the item's width, as in litmus files.
    pub fn shown(&self, program: &Program, outcome: &Outcome) -> i64 {
        let value = self.value(program, outcome).cast_signed();
        match self {
            Item::Memory { loc, .. } => {
                let unused = 64 - u32::from(program.locations[usize::from(*loc)].bits.clamp(1, 64));
                value << unused >> unused
            }
            Item::Register { .. } => value,
        }
    }
}

/// A proposition about a final state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prop {
    /// Always true or always false.
    Constant(bool),
    /// The item has this value.
    Equals(Item, Value),
    /// A thread waits forever (an extension of the format).
    Deadlock,
    /// Negation.
    Not(Box<Prop>),
    /// All of them.
    And(Vec<Prop>),
    /// At least one of them.
    Or(Vec<Prop>),
    /// The first implies the second.
    Implies(Box<Prop>, Box<Prop>),
}

impl Prop {
    /// Whether the proposition holds at an end.
    pub fn holds(&self, program: &Program, outcome: &Outcome) -> bool {
        match self {
            Prop::Constant(value) => *value,
            Prop::Equals(item, value) => {
                let cut = |v: Value| match item {
                    Item::Memory { loc, .. } => program.locations[usize::from(*loc)].cut(v),
                    Item::Register { .. } => v,
                };
                item.value(program, outcome) == cut(*value)
            }
            Prop::Deadlock => outcome.deadlock(),
            Prop::Not(prop) => !prop.holds(program, outcome),
            Prop::And(props) => props.iter().all(|prop| prop.holds(program, outcome)),
            Prop::Or(props) => props.iter().any(|prop| prop.holds(program, outcome)),
            Prop::Implies(left, right) => {
                !left.holds(program, outcome) || right.holds(program, outcome)
            }
        }
    }

    /// The items in the proposition, with repeats.
    pub fn items<'p>(&'p self, out: &mut Vec<&'p Item>) {
        match self {
            Prop::Equals(item, _) => out.push(item),
            Prop::Not(prop) => prop.items(out),
            Prop::And(props) | Prop::Or(props) => props.iter().for_each(|prop| prop.items(out)),
            Prop::Implies(left, right) => {
                left.items(out);
                right.items(out);
            }
            Prop::Constant(_) | Prop::Deadlock => {}
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Prop::Implies(..) => 0,
            Prop::Or(_) => 1,
            Prop::And(_) => 2,
            _ => 3,
        }
    }

    fn list(out: &mut fmt::Formatter<'_>, props: &[Prop], sign: &str, rank: u8) -> fmt::Result {
        for (i, prop) in props.iter().enumerate() {
            let separator = if i == 0 { "" } else { sign };
            if prop.rank() <= rank {
                write!(out, "{separator}({prop})")?;
            } else {
                write!(out, "{separator}{prop}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Prop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Prop::Constant(value) => write!(out, "{value}"),
            Prop::Equals(item, value) => write!(out, "{item}={}", value.cast_signed()),
            Prop::Deadlock => write!(out, "deadlock"),
            Prop::Not(prop) => write!(out, "not ({prop})"),
            Prop::And(props) => Prop::list(out, props, " /\\ ", 2),
            Prop::Or(props) => Prop::list(out, props, " \\/ ", 1),
            Prop::Implies(left, right) => write!(out, "({left}) => ({right})"),
        }
    }
}

/// How the file quantifies its proposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// `exists`: some execution satisfies it.
    Exists,
    /// `~exists`: no execution satisfies it.
    NotExists,
    /// `forall`: every execution satisfies it.
    Forall,
}

/// The final condition of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The quantifier.
    pub quantifier: Quantifier,
    /// The proposition.
    pub prop: Prop,
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.quantifier {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        };
        write!(out, "{word} ({})", self.prop)
    }
}

/// Resolves items while a condition is parsed.
pub(super) trait Names {
    fn register(&mut self, at: usize, thread: u64, name: &str) -> Result<Item, Wrong>;
    fn memory(&mut self, at: usize, name: &str) -> Result<Item, Wrong>;
}

/// Parses an item: `0:rax`, `x`, `[x]`.
pub(super) fn item(cursor: &mut Cursor<'_>, names: &mut dyn Names) -> Result<Item, Wrong> {
    let bracketed = cursor.take("[");
    cursor.blanks();
    let at = cursor.at();
    let word = cursor.word();
    if word.is_empty() {
        return wrong(
            at,
            format!("expected a register or a location, found {}", shown(word, cursor.rest())),
        );
    }
    if bracketed {
        if !cursor.take("]") {
            return wrong(cursor.at(), "expected `]`");
        }
        return names.memory(at, word);
    }
    match word.parse::<u64>() {
        Ok(thread) if cursor.take(":") => {
            cursor.take("%");
            names.register(at, thread, cursor.word())
        }
        Ok(_) => wrong(at, "expected `thread:register`"),
        Err(_) => names.memory(at, word),
    }
}

/// Parses a proposition.
pub(super) fn prop(
    cursor: &mut Cursor<'_>,
    names: &mut dyn Names,
    depth: usize,
) -> Result<Prop, Wrong> {
    if depth > DEEPEST {
        return wrong(cursor.at(), format!("propositions nest deeper than {DEEPEST}"));
    }
    let left = or(cursor, names, depth)?;
    if cursor.take("=>") {
        let right = prop(cursor, names, depth + 1)?;
        return Ok(Prop::Implies(Box::new(left), Box::new(right)));
    }
    Ok(left)
}

fn or(cursor: &mut Cursor<'_>, names: &mut dyn Names, depth: usize) -> Result<Prop, Wrong> {
    let mut props = vec![and(cursor, names, depth)?];
    while cursor.take("\\/") {
        props.push(and(cursor, names, depth)?);
    }
    Ok(if props.len() == 1 { props.remove(0) } else { Prop::Or(props) })
}

fn and(cursor: &mut Cursor<'_>, names: &mut dyn Names, depth: usize) -> Result<Prop, Wrong> {
    let mut props = vec![atom(cursor, names, depth)?];
    while cursor.take("/\\") {
        props.push(atom(cursor, names, depth)?);
    }
    Ok(if props.len() == 1 { props.remove(0) } else { Prop::And(props) })
}

fn atom(cursor: &mut Cursor<'_>, names: &mut dyn Names, depth: usize) -> Result<Prop, Wrong> {
    if depth > DEEPEST {
        return wrong(cursor.at(), format!("propositions nest deeper than {DEEPEST}"));
    }
    if cursor.take("(") {
        let inner = prop(cursor, names, depth + 1)?;
        if !cursor.take(")") {
            return wrong(cursor.at(), format!("expected `)`, found {}", shown("", cursor.rest())));
        }
        return Ok(inner);
    }
    if cursor.take("~") {
        return Ok(Prop::Not(Box::new(atom(cursor, names, depth + 1)?)));
    }
    let here = cursor.clone();
    match cursor.word() {
        "not" => return Ok(Prop::Not(Box::new(atom(cursor, names, depth + 1)?))),
        "true" => return Ok(Prop::Constant(true)),
        "false" => return Ok(Prop::Constant(false)),
        "deadlock" if !cursor.take("=") => return Ok(Prop::Deadlock),
        _ => *cursor = here,
    }
    let item = item(cursor, names)?;
    cursor.take("=");
    Ok(Prop::Equals(item, cursor.number()?))
}
