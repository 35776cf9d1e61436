//! What came of a history: as text, as JSON, as a page.

use super::SCHEMA;
use super::forms::{CallOf, Form, OutputOf};
use super::reader::{Recorded, Unit};
use super::times::Times;
use super::words;
use serde_json::{Value, json};
use std::fmt::Write as _;
use uncontended_model::history::{Bar, Core, Picture, Report, Verdict};
use uncontended_report::html::Page;

/// Operations that are drawn.
const MOST_BARS: usize = 40;

/// Yes, no or neither.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Answer {
    Yes,
    No,
    Undecided,
}

impl Answer {
    pub(super) fn exit_status(self) -> u8 {
        match self {
            Answer::Yes => 0,
            Answer::No => 1,
            Answer::Undecided => 3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Undecided => "undecided",
        }
    }
}

/// What came of a history.
#[derive(Debug)]
pub(super) struct Finding {
    spec: &'static str,
    file: String,
    operations: usize,
    pending: usize,
    clients: usize,
    ties: u64,
    keys_without_search: u64,
    keys_by_search: u64,
    configurations: u64,
    /// Which limit came first, in words.
    pub(super) bound: Option<String>,
    why: Option<Why>,
    /// Times are shown since the first call, not as they stand in the file.
    is_relative: bool,
}

/// Why not.
#[derive(Debug)]
struct Why {
    reason: String,
    minimal: bool,
    operations: Vec<Value>,
    picture: Picture,
    /// How many operations matter.
    matter: usize,
    /// How many of those drawn only may have taken effect.
    faint: usize,
    /// How many are not drawn: the earliest.
    undrawn: usize,
}

impl Finding {
    pub(super) fn new<F: Form>(spec: &'static str, file: &str, recorded: &Recorded<F>) -> Self {
        let pending = recorded.operations.iter().filter(|operation| operation.is_pending()).count();
        Finding {
            spec,
            file: file.to_owned(),
            operations: recorded.operations.len(),
            pending,
            clients: recorded.clients.names.len(),
            ties: recorded.ties,
            keys_without_search: 0,
            keys_by_search: 0,
            configurations: 0,
            bound: None,
            why: None,
            is_relative: recorded.unit != Unit::Ticks,
        }
    }

    /// Notes how it was decided.
    pub(super) fn decided(&mut self, report: &Report) {
        self.keys_without_search = report.keys_without_search;
        self.keys_by_search = report.keys_by_search;
        self.configurations = report.configurations;
        debug_assert!(!matches!(report.verdict, Verdict::Refuted(_)) || self.why.is_none());
    }

    /// Notes why it is not linearizable.
    pub(super) fn refuted<F: Form>(
        &mut self,
        form: &F,
        recorded: &Recorded<F>,
        core: &Core<CallOf<F>, OutputOf<F>>,
    ) {
        let shown = words::Shown::of(form, recorded, core);
        let undrawn = shown.len().saturating_sub(MOST_BARS);
        // In the order of their calls: what fails, fails at the end.
        let mut bars: Vec<Bar> = shown[undrawn..].iter().map(words::Shown::bar).collect();
        bars.sort_by(|a, b| (&a.who, a.from).cmp(&(&b.who, b.from)));
        self.why = Some(Why {
            reason: words::reason(self.spec, &shown),
            minimal: core.minimal,
            operations: shown.iter().map(words::Shown::json).collect(),
            matter: shown.iter().filter(|shown| shown.matters()).count(),
            faint: shown[undrawn..].iter().filter(|shown| !shown.matters()).count(),
            undrawn,
            picture: Picture { bars },
        });
    }

    pub(super) fn answer(&self) -> Answer {
        match (&self.why, &self.bound) {
            (Some(_), _) => Answer::No,
            (None, Some(_)) => Answer::Undecided,
            (None, None) => Answer::Yes,
        }
    }

    /// What was asked, in a line.
    fn subject(&self) -> String {
        let pending = match self.pending {
            0 => String::new(),
            pending => format!(", of which {pending} never returned"),
        };
        let clients = count(self.clients, "client");
        format!("{} of {clients} on a {}{pending}", count(self.operations, "operation"), self.spec)
    }

    /// By which way it was decided.
    fn decider(&self) -> String {
        let keys =
            |keys: u64| count(keys as usize, if self.spec == "set" { "value" } else { "key" });
        let configurations = count(self.configurations as usize, "configuration");
        match (self.keys_without_search, self.keys_by_search) {
            (_, 0) => "Decided without search.".to_owned(),
            (0, _) => format!("Searched: {configurations}."),
            (without, by) => format!(
                "{} decided without search, {} searched: {configurations}.",
                keys(without),
                keys(by)
            ),
        }
    }

    fn verdict(&self) -> String {
        match (self.answer(), &self.bound) {
            (Answer::Yes, _) => "Linearizable".to_owned(),
            (Answer::No, _) => "NOT linearizable".to_owned(),
            (Answer::Undecided, bound) => {
                format!("Undecided, since {}", bound.as_deref().unwrap_or("a limit came first"))
            }
        }
    }

    /// What to mind.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.ties > 0 && self.why.is_none() {
            notes.push(format!(
                "{} at the very time at which its client's operation before returned: the two count as concurrent.",
                count(self.ties as usize, "operation was called|operations were called")
            ));
        }
        if let Some(why) = &self.why {
            notes.push(match why.minimal {
                true if why.matter == 1 => "This operation alone refutes it.".to_owned(),
                true => {
                    "Forgetting any one of these operations makes the rest linearizable.".to_owned()
                }
                false => {
                    "Fewer of these operations may do: looking for fewer took too long.".to_owned()
                }
            });
            if why.undrawn > 0 {
                notes.push(format!("The earliest {} are not drawn.", why.undrawn));
            }
            let rest = why.faint;
            if rest > 0 {
                notes.push(format!(
                    "Drawn with dots: {} taken effect at any time from there on, and cannot help.",
                    count(rest, "operation that may have|operations that may have")
                ));
            }
            if self.is_relative {
                notes.push("Times are since the first call.".to_owned());
            }
        }
        notes
    }

    /// For people.
    pub(super) fn text(&self, width: usize) -> String {
        let mut text = format!("{}: {}.\n", self.verdict(), self.subject());
        if let Some(why) = &self.why {
            let _ =
                write!(text, "\n{}\n\n{}\n", wrapped(&why.reason, width), why.picture.text(width));
        }
        for note in self.notes() {
            let _ = writeln!(text, "{}", wrapped(&note, width));
        }
        if self.bound.is_none() {
            let _ = writeln!(text, "{}", self.decider());
        }
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let core = self.why.as_ref().map(|why| {
            json!({ "reason": why.reason, "minimal": why.minimal, "operations": why.operations })
        });
        json!({
            "schema": SCHEMA,
            "file": self.file,
            "spec": self.spec,
            "verdict": self.answer().name(),
            "bound": self.bound,
            "operations": self.operations,
            "pending": self.pending,
            "clients": self.clients,
            "ties": self.ties,
            "keys_without_search": self.keys_without_search,
            "keys_by_search": self.keys_by_search,
            "configurations": self.configurations,
            "core": core,
        })
    }

    /// For people, as a page.
    pub(super) fn page(&self) -> String {
        let facts = [self.file.clone(), self.subject(), self.decider()];
        let page = Page::new(&self.verdict(), &facts);
        let notes = self.notes().join(" ");
        match &self.why {
            None => page.words("Verdict", &notes).html(),
            Some(why) => page
                .words("Why not", &why.reason)
                .drawing("The operations that matter", &notes, &why.picture.svg())
                .html(),
        }
    }
}

/// `3 operations`; a noun with irregular words around it as `singular|plural`.
pub(super) fn count(count: usize, noun: &str) -> String {
    let (one, many) = noun.split_once('|').unwrap_or((noun, ""));
    match (count, many) {
        (1, _) => format!("1 {one}"),
        (_, "") => format!("{count} {one}s"),
        (_, many) => format!("{count} {many}"),
    }
}

/// `text` in lines of at most `width` columns.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            lines.push('\n');
            column = 0;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

/// Times of the whole history.
pub(super) fn times<F: Form>(recorded: &Recorded<F>) -> Times {
    let operations = || recorded.operations.iter();
    let first = operations().map(|operation| operation.called_at()).min().unwrap_or(0);
    let last = operations().filter_map(|operation| operation.returned_at()).max();
    Times::new(first, last.unwrap_or(first).max(first), recorded.unit)
}
