//! The six interleavings of two threads with two steps each, drawn one by one.
//!
//! Two arguments of document 000 are checked against all six: the lost wakeup (waiter reads and queues, signaller
//! writes and signals; W and S) and the flag flip (fast and slow side; F and S). Names spell the order, as in `WSSW`.

use super::Diagram;

/// One thread of the argument.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// The head of its column.
    pub name: &'static str,
    /// Its letter in the names of interleavings.
    pub letter: char,
    /// Its steps, in the order in which they take effect.
    pub steps: [&'static str; 2],
}

/// The orders of two steps `a` and two steps `b`, sequential ones first; `false` is the first side.
const ORDERS: [[bool; 4]; 6] = [
    [false, false, true, true],
    [true, true, false, false],
    [false, true, false, true],
    [false, true, true, false],
    [true, false, false, true],
    [true, false, true, false],
];

/// The six diagrams of two sides. For each name, `judge` returns the result and whether to mark it.
pub fn six(
    title: &str,
    sides: [Side; 2],
    judge: impl Fn(&str) -> (&'static str, bool),
) -> Vec<Diagram> {
    let draw = |order: &[bool; 4]| {
        let name: String = order.iter().map(|&second| sides[usize::from(second)].letter).collect();
        let (result, marked) = judge(&name);
        let mut diagram = Diagram::new(format!("{title}: {name}"), &[sides[0].name, sides[1].name]);
        let mut taken = [0, 0];
        for &second in order {
            let side = usize::from(second);
            diagram.moment(side, sides[side].steps[taken[side]]);
            taken[side] += 1;
        }
        for row in &mut diagram.rows {
            row.marked = marked;
        }
        result.clone_into(&mut diagram.result);
        diagram
    };
    ORDERS.iter().map(draw).collect()
}

/// Waiting on a condition without a version: only `WSSW` loses the wakeup.
pub fn lost_wake_up() -> Vec<Diagram> {
    let waiter = Side { name: "waiter", letter: 'W', steps: ["reads the data", "joins the queue"] };
    let signaller =
        Side { name: "signaller", letter: 'S', steps: ["writes the data", "wakes the queue"] };
    six("lost wakeup", [waiter, signaller], |name| match name {
        "WWSS" | "SSWW" => ("nothing interleaves: correct", false),
        "WSSW" => ("the wakeup finds an empty queue: the waiter sleeps forever", true),
        _ => ("correct by luck", false),
    })
}

/// The flag flip under TSO, where the fast side's store takes effect after its load: only `FSSF` goes wrong.
pub fn flag_flip() -> Vec<Diagram> {
    let fast =
        Side { name: "fast", letter: 'F', steps: ["checks the pointer", "hazard reaches memory"] };
    let slow =
        Side { name: "slow", letter: 'S', steps: ["replaces the pointer", "scans the hazards"] };
    six("flag flip", [fast, slow], |name| match name {
        "FFSS" | "FSFS" | "SFFS" => ("slow sees the hazard and spares the object", false),
        "FSSF" => {
            ("slow sees no hazard and fast no change: the object is used after it was freed", true)
        }
        _ => ("fast sees the change and tries again", false),
    })
}
