//! What the signs of a trace mean: only those that occur.

use super::super::sentence::listed;
use crate::diagram::Diagram;

/// Signs in cells, and what they mean. A sign is looked for as it is written here.
const SIGNS: [(&str, &str); 10] = [
    (" := ", "x := v writes v"),
    (" = ", "x = v reads v"),
    (" -> ", "x: a -> b reads a and writes b in one step"),
    ("(initial", "(initial) is the value at creation"),
    ("(from #", "(from #n) is what row n wrote"),
    ("stale", "stale: a newer value exists"),
    ("(own buffer)", "(own buffer) is a store that only its own thread sees yet"),
    (" to memory", "x=v to memory: now all threads see it"),
    (" ×", "×n: n times in a row"),
    ("block ", "block t.n is the n-th allocation of thread t"),
];

/// Orderings in cells, and their names in `std`.
const ORDERINGS: [(&str, &str); 5] = [
    ("rlx", "Relaxed"),
    ("acq", "Acquire"),
    ("rel", "Release"),
    ("acq_rel", "AcqRel"),
    ("sc", "SeqCst"),
];

/// The legend of a diagram, in which `unnamed` has no name and `idle` threads are not drawn.
pub(crate) fn legend(diagram: &Diagram, unnamed: Option<String>, idle: &[usize]) -> Vec<String> {
    let cells: Vec<&String> = diagram.rows.iter().flat_map(|row| &row.cells).collect();
    let occurs = |sign: &str| cells.iter().any(|cell| cell.contains(sign));
    let is_word = |word: &str| cells.iter().any(|cell| cell.split(' ').any(|part| part == word));
    let told = SIGNS.iter().filter(|(sign, _)| occurs(sign)).map(|(_, told)| (*told).to_owned());
    let orderings: Vec<String> = ORDERINGS
        .iter()
        .filter(|(short, _)| is_word(short))
        .map(|(short, name)| format!("{short} is {name}"))
        .collect();
    let orderings = (!orderings.is_empty()).then(|| orderings.join(", "));
    let signs: Vec<String> = told.chain(orderings).collect();
    let mut legend = Vec::new();
    if !signs.is_empty() {
        legend.push(format!("Signs: {}.", signs.join("; ")));
    }
    if !idle.is_empty() {
        let threads = if idle.len() == 1 { "Thread" } else { "Threads" };
        legend.push(format!("{threads} {} made no step that matters here.", listed(idle)));
    }
    legend.extend(unnamed.map(|unnamed| {
        format!("{unnamed} is named after its place: `.named(\"…\")` gives it a better name.")
    }));
    legend
}
