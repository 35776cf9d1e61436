//! Histories as text, one operation per line: the format `uncontended.operations/1` of docs/json.md, which
//! `unc linearize` reads.
//!
//! Writes a recorded history and reads it again:
//!
//! ```
//! use uncontended_model::history::Recorder;
//! use uncontended_model::history::lines::{Container, Dictionary, Recorded, read, write};
//! use uncontended_model::history::specs::{Put, Took};
//!
//! let recorder = Recorder::default();
//! let mut client = recorder.client();
//! client.record(Put::In(7), || (), |()| Took::Done);
//! drop(client);
//! let form = Container::queue(None);
//! let mut text = Vec::new();
//! let history = recorder.history();
//! write(&form, &Recorded::new(history.clone()), &mut text)?;
//! let again = read(&form, text.as_slice(), Dictionary::default(), usize::MAX, &mut |_| true)?;
//! assert_eq!(again.operations, history);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Form`] defines how a structure's calls and outputs are spelled. Implement it for your own structures.

mod forms;
mod line;
mod names;
mod reader;
mod writer;

pub use forms::{CallOf, Container, Form, OutputOf};
pub use line::{Line, Scalar};
pub use names::{Dictionary, Names};
pub use reader::{Problem, Recorded, Unreadable, read};
pub use writer::write;

/// The schema that the first line may name.
pub const SCHEMA: &str = "uncontended.operations/1";

/// The units of time; the first is the default.
pub const UNITS: [&str; 5] = ["ns", "us", "ms", "s", "ticks"];
