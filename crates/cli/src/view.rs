//! What of a report is shown, and the files it is written to: the same for `unc run`, `unc attach` and `unc report`.
//!
//! # Contract
//! [`View::open`] opens every file before anything is read or run. [`Opened::write`] tries every form, reports each
//! failure but the last, and returns that one.

use crate::console::complain;
use crate::emit;
use crate::files::{self, Named};
use crate::output::Output;
use crate::symbols::ElfSymbols;
use std::path::PathBuf;
use uncontended_decide::Failure;
use uncontended_report::aggregate::{Timeline, timeline};
use uncontended_report::facts::Facts;
use uncontended_report::run::RunReport;
use uncontended_report::{folded, html, perfetto, terminal};

/// What of a report is shown, and where it goes.
#[derive(Debug)]
pub(crate) struct View {
    /// The file for text, instead of the terminal.
    pub(crate) report: Option<PathBuf>,
    /// The file for JSON.
    pub(crate) json: Option<PathBuf>,
    /// The file for a page.
    pub(crate) html: Option<PathBuf>,
    /// The file for folded stacks.
    pub(crate) folded: Option<PathBuf>,
    /// The file for Perfetto.
    pub(crate) perfetto: Option<PathBuf>,
    /// Shows only the locks that match this.
    pub(crate) only: Option<String>,
    /// Patterns of functions, files and modules that implement locks.
    pub(crate) skip_frames: Vec<String>,
    /// Where else to look for debug information.
    pub(crate) debug_dirs: Vec<PathBuf>,
    /// How many locks to show.
    pub(crate) top: usize,
}

impl View {
    /// The files and their flags.
    pub(crate) fn named(&self) -> [Named<'_>; 5] {
        [
            ("--report", self.report.as_deref()),
            ("--json", self.json.as_deref()),
            ("--html", self.html.as_deref()),
            ("--folded", self.folded.as_deref()),
            ("--perfetto", self.perfetto.as_deref()),
        ]
    }

    /// Whether the report goes to any file.
    pub(crate) fn is_written(&self) -> bool {
        self.named().iter().any(|(_, path)| path.is_some())
    }

    /// Opens the files. They must be different from each other, from those `written` besides, and from those `read`.
    pub(crate) fn open(
        &self,
        written: &[Named<'_>],
        read: &[Named<'_>],
    ) -> Result<Opened, Failure> {
        files::distinct(&[&self.named(), written].concat(), read)?;
        if let Some(absent) = self.debug_dirs.iter().find(|dir| !dir.is_dir()) {
            let cause = format!("--debug-dir {}: there is no such folder", absent.display());
            return Err(Failure::new(
                cause,
                "name the folder that has debug information, or what ran",
            ));
        }
        let open = |path: &Option<PathBuf>| path.as_deref().map(Output::open).transpose();
        Ok(Opened {
            report: open(&self.report)?,
            json: open(&self.json)?,
            html: open(&self.html)?,
            folded: open(&self.folded)?,
            perfetto: open(&self.perfetto)?,
        })
    }

    /// Keeps the locks that match `--only`, or says that none does.
    pub(crate) fn narrow(&self, report: &mut RunReport) {
        let Some(pattern) = &self.only else { return };
        if let Some(remedy) = report.without_match(pattern) {
            complain(&Failure::new(format!("no lock matches --only '{pattern}'"), remedy));
        }
        report.keep_matching(pattern);
    }
}

/// The files of a [`View`], open.
#[derive(Debug)]
pub(crate) struct Opened {
    report: Option<Output>,
    json: Option<Output>,
    html: Option<Output>,
    folded: Option<Output>,
    perfetto: Option<Output>,
}

impl Opened {
    /// What the forms need of the record besides its report.
    pub(crate) fn timelines(
        &self,
        record: &[u8],
        facts: &Facts,
        symbols: &mut ElfSymbols,
    ) -> Result<Vec<Timeline>, Failure> {
        match self.perfetto {
            Some(_) => timeline(record, facts, symbols).map_err(emit::unreadable),
            None => Ok(Vec::new()),
        }
    }

    /// Writes every form, in place of what was written before.
    pub(crate) fn write(
        &mut self,
        report: &RunReport,
        timelines: &[Timeline],
        top: usize,
    ) -> Result<(), Failure> {
        let text = || Ok(terminal::render(report, &emit::plain(top)).into_bytes());
        let outcomes = [
            form(&mut self.report, text),
            form(&mut self.json, || emit::json(report)),
            form(&mut self.html, || Ok(html::run_page(report).into_bytes())),
            form(&mut self.folded, || Ok(folded::render(report).into_bytes())),
            form(&mut self.perfetto, || emit::json(&perfetto::render(report, timelines))),
        ];
        last_of(outcomes)
    }
}

fn form(
    output: &mut Option<Output>,
    content: impl FnOnce() -> Result<Vec<u8>, Failure>,
) -> Result<(), Failure> {
    output.as_mut().map_or(Ok(()), |output| output.write(&[&content()?]))
}

/// The last failure; the others are reported.
pub(crate) fn last_of(
    outcomes: impl IntoIterator<Item = Result<(), Failure>>,
) -> Result<(), Failure> {
    let failures: Vec<Failure> = outcomes.into_iter().filter_map(Result::err).collect();
    let mut failures = failures.into_iter();
    let last = failures.next_back();
    failures.for_each(|failure| complain(&failure));
    last.map_or(Ok(()), Err)
}
