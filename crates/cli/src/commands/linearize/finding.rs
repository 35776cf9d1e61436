//! The result for a history, as text, as JSON and as a page.

use super::SCHEMA;
use super::words::{self, Shown};
use serde_json::{Value, json};
use std::fmt::Write as _;
use uncontended_model::history::lines::{CallOf, Form, OutputOf, Recorded};
use uncontended_model::history::{Core, Picture, Report, Verdict};
use uncontended_report::html::Page;

/// Most operations that are drawn.
const MOST_BARS: usize = 40;

/// Yes, no or undecided.
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

/// The result for a history.
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
    /// The limit that was hit first, in words.
    pub(super) bound: Option<String>,
    why: Option<Why>,
}

/// Why the history is not linearizable.
#[derive(Debug)]
struct Why {
    reason: String,
    minimal: bool,
    operations: Vec<Value>,
    picture: Picture,
    /// How many operations matter.
    matter: usize,
    /// How many of the drawn operations merely may have taken effect.
    faint: usize,
    /// How many operations that matter are not drawn: the earliest ones.
    undrawn: usize,
    /// How many more are not drawn, which may have taken effect and have nothing to do with the others.
    far: usize,
}

impl Finding {
    pub(super) fn new<F: Form>(spec: &'static str, file: &str, recorded: &Recorded<F>) -> Self {
        let pending = recorded.operations.iter().filter(|operation| operation.is_pending()).count();
        Finding {
            spec,
            file: file.to_owned(),
            operations: recorded.operations.len(),
            pending,
            clients: recorded.clients.len(),
            ties: recorded.ties,
            keys_without_search: 0,
            keys_by_search: 0,
            configurations: 0,
            bound: None,
            why: None,
        }
    }

    /// Records how it was decided.
    pub(super) fn decided(&mut self, report: &Report) {
        self.keys_without_search = report.keys_without_search;
        self.keys_by_search = report.keys_by_search;
        self.configurations = report.configurations;
        debug_assert!(!matches!(report.verdict, Verdict::Refuted(_)) || self.why.is_none());
    }

    /// Records why it is not linearizable.
    pub(super) fn refuted<F: Form>(
        &mut self,
        form: &F,
        recorded: &Recorded<F>,
        core: &Core<CallOf<F>, OutputOf<F>>,
        initial: Option<&str>,
    ) {
        let shown = Shown::of(form, recorded, core);
        let matter: Vec<&Shown> = shown.iter().filter(|shown| shown.matters()).collect();
        let near = |shown: &&Shown| shown.matters() || shown.is_near(&matter);
        let mut drawn: Vec<&Shown> = shown.iter().filter(near).collect();
        let far = shown.len() - drawn.len();
        // In the order of their calls: the failure comes last.
        let undrawn = drawn.len().saturating_sub(MOST_BARS);
        drawn.drain(..undrawn);
        drawn.sort_by_key(|shown| shown.order());
        self.why = Some(Why {
            reason: words::reason(self.spec, initial, &shown),
            minimal: core.minimal,
            operations: shown.iter().map(Shown::json).collect(),
            matter: matter.len(),
            faint: drawn.iter().filter(|shown| !shown.matters()).count(),
            undrawn,
            far,
            picture: Picture {
                bars: drawn.into_iter().map(Shown::bar).collect(),
                unit: if recorded.unit == "ticks" { "" } else { recorded.unit }.to_owned(),
            },
        });
    }

    pub(super) fn answer(&self) -> Answer {
        match (&self.why, &self.bound) {
            (Some(_), _) => Answer::No,
            (None, Some(_)) => Answer::Undecided,
            (None, None) => Answer::Yes,
        }
    }

    /// The subject of the check, in one line.
    fn subject(&self) -> String {
        let pending = match self.pending {
            0 => String::new(),
            pending => format!(", of which {pending} never returned"),
        };
        let clients = count(self.clients, "client");
        format!("{} of {clients} on a {}{pending}", count(self.operations, "operation"), self.spec)
    }

    /// Which algorithm decided it.
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

    /// Remarks on the result.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.ties > 0 && self.why.is_none() {
            notes.push(format!(
                "{} at the very time when the same client's previous operation returned: the two count as concurrent.",
                count(self.ties as usize, "operation was called|operations were called")
            ));
        }
        if let Some(why) = &self.why {
            notes.push(match why.minimal {
                true if why.matter == 1 => "This operation alone refutes it.".to_owned(),
                true => {
                    "This set is minimal: drop the timing and result of any one, and the rest is linearizable."
                        .to_owned()
                }
                false => {
                    "Fewer of these operations may suffice: the search for fewer took too long.".to_owned()
                }
            });
            if why.undrawn > 0 {
                notes.push(format!("The earliest {} are not drawn.", why.undrawn));
            }
            match why.faint {
                0 => (),
                1 => notes.push(
                    "Dotted: 1 more operation that may or may not have taken effect after it was called; it explains \
                     nothing."
                        .to_owned(),
                ),
                faint => notes.push(format!(
                    "Dotted: {faint} more operations that may or may not have taken effect after they were called; \
                     none of them explains it."
                )),
            }
            if why.far > 0 {
                notes.push(format!(
                    "Not drawn: {} that may or may not have taken effect, and cannot help.",
                    count(why.far, "operation")
                ));
            }
        }
        notes
    }

    /// The result as text.
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

    /// The result as JSON.
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

    /// The result as a page.
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
