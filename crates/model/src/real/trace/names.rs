//! The names of an execution's locations in traces.

use super::super::core::QUEUE;
use super::super::graph::{Graph, Location};
use super::place;
use std::collections::BTreeMap;

/// Begins the names of queues.
const QUEUE_OF: &str = "queue of ";

/// Locations of statics.
const STATIC: u8 = u8::MAX;

/// By location: its given name, or the place in the code where it was created. Equal names are numbered in order of
/// creation.
pub(crate) struct Names {
    names: Vec<String>,
}

impl Names {
    pub(crate) fn new(graph: &Graph) -> Names {
        let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let words = graph.locations.iter().enumerate().filter(|(_, location)| is_word(location));
        for (at, location) in words {
            alike.entry(base(location)).or_default().push(at);
        }
        let mut names = vec![String::new(); graph.locations.len()];
        for (base, mut same) in alike {
            same.sort_by_key(|&at| graph.locations[at].name);
            for (number, &at) in same.iter().enumerate() {
                names[at] = if same.len() > 1 { format!("{base}[{number}]") } else { base.clone() };
            }
        }
        for (at, location) in graph.locations.iter().enumerate().filter(|(_, at)| !is_word(at)) {
            let (creator, count) = location.name;
            let word = (creator ^ QUEUE, count);
            let word = graph.locations.iter().position(|other| other.name == word);
            names[at] = match word.filter(|_| is_queue(location)) {
                Some(word) => format!("{QUEUE_OF}{}", names[word]),
                None => format!("token of thread {}", creator & 15),
            };
        }
        Names { names }
    }

    pub(crate) fn of(&self, location: u32) -> &str {
        &self.names[location as usize]
    }

    /// What the threads of a queue wait on.
    pub(crate) fn queue(&self, location: u32) -> &str {
        let name = self.of(location);
        name.strip_prefix(QUEUE_OF).unwrap_or(name)
    }

    /// Where a location with a given name was created.
    pub(crate) fn legend(&self, at: u32, location: &Location) -> Option<String> {
        let made = location.label.and(location.made)?;
        Some(format!("{} made at {}", self.of(at), place(made)))
    }

    /// Whether the code could give this location a name, and has not.
    pub(crate) fn could_be_named(&self, location: &Location) -> bool {
        is_word(location) && location.label.is_none() && location.made.is_some()
    }
}

/// An atomic, or what a mutex is made of.
fn is_word(location: &Location) -> bool {
    matches!(location.name.0, 0..=15 | STATIC)
}

/// A queue: its values are the threads that wait.
pub(crate) fn is_queue(location: &Location) -> bool {
    matches!(location.name.0 ^ QUEUE, 0..=15 | STATIC)
}

/// Where a thread waits to be woken.
pub(crate) fn is_token(location: &Location) -> bool {
    !is_word(location) && !is_queue(location)
}

fn base(location: &Location) -> String {
    let made = || location.made.map_or_else(|| "static".to_owned(), place);
    location.label.map_or_else(made, str::to_owned)
}
