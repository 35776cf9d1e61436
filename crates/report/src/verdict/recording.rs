//! The presentation of runs that were kept without a question.

use super::banner::Plain;
use super::page::Shown;
use super::{Cause, Form, Why, form, pictures, values, warnings};
use maud::Markup;
use uncontended_decide::recording::Recording;
use uncontended_decide::verdict::{Answer, Finding, Verdict};
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::several;
use uncontended_figures::whole;

/// The text for people about runs that were just kept, with a table that is at most this wide if that is enough.
#[must_use]
pub fn kept(verdict: &Verdict, columns: usize) -> String {
    let verdict = &super::plain(verdict);
    let form = form(&verdict.hypothesis);
    let finding = &verdict.finding;
    let values = form.values(std::slice::from_ref(finding));
    let values = values.map(|values| values.text(columns, Paint::default())).unwrap_or_default();
    let log = verdict.log.as_deref().map_or_else(String::new, |log| format!(" in {log}"));
    let remarks = form.remarks(std::slice::from_ref(finding)).into_iter();
    let remarks: String = remarks.map(|remark| remark + "\n").collect();
    format!("{}{log}\n{}{values}{remarks}", form.said(finding), warnings(verdict))
}

impl Form for Recording {
    fn said(&self, finding: &Finding) -> String {
        let runs = several(finding.n, "run", "runs");
        let control = self.control.as_ref();
        let control =
            control.map_or_else(String::new, |control| format!(", and its control '{control}',"));
        let are = if finding.n == 1 { "is" } else { "are" };
        format!("{runs} of '{}'{control} {are} kept", self.command)
    }

    fn word(&self, _: Answer) -> &'static str {
        "recorded"
    }

    fn why_undecided(&self, _: &Finding) -> Why {
        let whole =
            "nothing was asked: unc compare --baseline LOG -- COMMAND compares with these runs";
        Why { cause: Cause::Whole(whole), more: "runs", or: "" }
    }

    fn values(&self, findings: &[Finding]) -> Option<Table> {
        let kept = findings.first()?.recording()?;
        let rows: Vec<_> = self.commands().into_iter().zip(kept.values.iter().copied()).collect();
        (!rows.is_empty()).then(|| values::table(&rows, None, self.dimension()))
    }

    fn remarks(&self, findings: &[Finding]) -> Vec<String> {
        let Some(kept) = findings.first().and_then(|finding| finding.recording()) else {
            return Vec::new();
        };
        let names = values::labels(&self.commands()).into_iter().zip(&kept.values);
        let dimension = self.dimension();
        names.filter_map(|(name, spread)| values::two_modes(&name, spread, dimension)).collect()
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column::word("verdict"), Column::figure("runs")]
    }

    fn cells(&self, finding: &Finding) -> Vec<String> {
        vec![self.word(finding.verdict).to_string(), whole(finding.n)]
    }

    fn plainly(&self, finding: &Finding) -> Plain {
        Plain { answer: "Nothing was asked".to_owned(), seen: format!("{}.", self.said(finding)) }
    }

    fn pictures(&self, shown: &Shown<'_>) -> Vec<Markup> {
        pictures::of_recording(self, shown)
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let names = ["command", "control"].into_iter();
        names.zip(self.commands().into_iter().map(String::from)).collect()
    }

    fn rate_remark(&self) -> &'static str {
        "Runs that did not fail."
    }

    fn thresholds(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
