//! The top of a verdict's page: the answer in words that need no statistics.

use super::{findings, form, sentences};
use crate::html::list;
use maud::{Markup, html};
use uncontended_decide::verdict::{Answer, Holds, Verdict};
use uncontended_figures::at_most_percent;

/// What a finding says to a reader who decides by it.
pub(super) struct Plain {
    /// The answer, as a sentence.
    pub(super) answer: String,
    /// What was seen.
    pub(super) seen: String,
}

/// The coloured answer, what was seen, and what weakens it.
pub(super) fn banner(verdict: &Verdict) -> Markup {
    let (form, findings) = (form(&verdict.hypothesis), findings(verdict));
    let finding = &verdict.finding;
    let error = at_most_percent(verdict.max_error);
    let open = (finding.verdict == Answer::Undecided)
        .then(|| form.why_undecided(finding).sentence(verdict.stopped_by));
    html! {
        div class={ "answer " (finding.verdict.name()) } {
            @if let [only] = findings {
                @let plain = form.plainly(only);
                p class="word" { (word(only.verdict)) }
                p class="plain" { (plain.answer) "." }
                p { (plain.seen) }
            } @else {
                p class="word" { (word(finding.verdict)) }
                p class="plain" { (summary(findings.iter().map(|finding| finding.verdict))) }
                ul {
                    @for finding in findings {
                        @let plain = form.plainly(finding);
                        li { (tag(finding.verdict)) " " (plain.answer) ". " span { (plain.seen) } }
                    }
                }
            }
            @if let Some(open) = &open { p { (capital(open)) "." } }
            p class="more" { (chance(verdict.error_holds, &error)) }
            @for warning in &verdict.warnings { p { b { "Warning: " } (warning) "." } }
        }
        details { summary { "As printed" } (list(&lines(&sentences(verdict)), false)) }
    }
}

/// How likely the answer is wrong.
fn chance(holds: Holds, error: &str) -> String {
    let bounded = format!("The chance that this is wrong is at most {error}");
    match holds {
        Holds::AsStated => format!("{bounded}, however often it was looked at."),
        Holds::IfIndependent => format!(
            "{bounded} if the values are independent. If bad ones come in bursts, it may be more: --bursts guards against that."
        ),
        Holds::No => format!(
            "The runs depend on each other, so the chance that this is wrong may exceed {error}."
        ),
    }
}

/// An answer as a coloured word.
pub(super) fn tag(answer: Answer) -> Markup {
    html! { b class={ "tag " (answer.name()) } { (word(answer)) } }
}

/// How many answers there are of each kind: "2 yes, 1 no".
pub(super) fn summary(answers: impl Iterator<Item = Answer>) -> String {
    let answers: Vec<Answer> = answers.collect();
    let kinds = [Answer::Yes, Answer::No, Answer::Undecided, Answer::Error];
    let counted =
        kinds.map(|kind| (kind, answers.iter().filter(|answer| **answer == kind).count()));
    let told = counted.iter().filter(|(_, count)| *count > 0);
    told.map(|(kind, count)| format!("{count} {}", kind.name())).collect::<Vec<_>>().join(", ")
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.lines().map(String::from).collect()
}

/// A sentence with a capital letter.
pub(super) fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "Yes",
        Answer::No => "No",
        Answer::Undecided => "Undecided",
        Answer::Error => "Could not run",
    }
}
