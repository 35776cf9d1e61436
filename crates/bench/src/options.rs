//! The options of a benchmark, the same for every benchmark.

use std::path::PathBuf;

use crate::place::Place;
use uncontended_figures::read;

/// The options. The defaults suit a run that a person waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The time for all tables together, in seconds.
    pub seconds: f64,
    /// The places to measure at; empty for those of the benchmark.
    pub places: Vec<Place>,
    /// Measure only subjects whose name contains one of these; empty for all. The baseline always runs.
    pub only: Vec<String>,
    /// Measure only cases whose name contains one of these; empty for all.
    pub cases: Vec<String>,
    /// Compare with this subject instead of the benchmark's own baseline.
    pub baseline: Option<String>,
    /// Stop once every interval's upper end exceeds its lower one by at most this share.
    pub width: f64,
    /// The largest probability that any interval of a table is wrong, over all its looks and rows together.
    pub max_error: f64,
    /// The largest number of rounds of a table.
    pub rounds: u64,
    /// The seed of the order of blocks.
    pub seed: u64,
    /// The file for the JSON.
    pub json: Option<PathBuf>,
    /// Print Markdown.
    pub markdown: bool,
    /// Print nothing to stderr.
    pub quiet: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seconds: 60.0,
            places: Vec::new(),
            only: Vec::new(),
            cases: Vec::new(),
            baseline: None,
            width: 0.05,
            max_error: 0.01,
            rounds: 1_000,
            seed: 1,
            json: None,
            markdown: false,
            quiet: false,
        }
    }
}

impl Options {
    /// The flags, one per line.
    pub const HELP: &str =
        "  --seconds N      the time for all tables together in seconds (60), or a time such as 5m
  --place P        one-cpu, smt-siblings, two-cpus, two-packages, free; may be repeated
  --only NAME      only subjects with NAME in their name, and the baseline; may be repeated
  --case NAME      only cases with NAME in their name; may be repeated
  --baseline NAME  compare with this subject
  --width W        stop once every interval is this narrow (5%)
  --max-error E    the probability that any interval of a table is wrong, over all looks (1%)
  --rounds N       the largest number of rounds of a table (1000)
  --seed N         the seed of the order of blocks (1)
  --json FILE      write the figures (schema uncontended.bench/1); - for stdout
  --markdown       print tables as Markdown
  --quiet          no progress on stderr
";

    /// Parses flags.
    ///
    /// # Errors
    /// Which flag is wrong, and how, as a sentence.
    ///
    /// ```
    /// use uncontended_bench::{Options, Place};
    /// let flags = ["--seconds", "2.5", "--place=free", "--width", "10%"];
    /// let options = Options::parse(flags.map(String::from))?;
    /// assert_eq!((options.seconds, &options.places[..], options.width), (2.5, &[Place::Free][..], 0.1));
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(flags: impl IntoIterator<Item = String>) -> Result<Options, String> {
        let mut options = Options::default();
        let mut flags = flags.into_iter();
        while let Some(flag) = flags.next() {
            let (name, given) = match flag.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (flag, None),
            };
            match (name.as_str(), &given) {
                ("--markdown", None) => options.markdown = true,
                ("--quiet", None) => options.quiet = true,
                (name, _) => {
                    let value = given.or_else(|| flags.next());
                    options.set(name, &value.ok_or(format!("{name} needs a value"))?)?;
                }
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = |what: &str| format!("{name} {value}: {what}");
        let whole = || value.parse::<u64>().map_err(|_| wrong("not a whole number"));
        match name {
            "--seconds" => self.seconds = seconds(value).ok_or(wrong("not a number of seconds"))?,
            "--place" => {
                let names = || Place::ALL.map(Place::key).join(", ");
                let place = Place::parse(value);
                self.places.push(
                    place
                        .ok_or_else(|| wrong(&format!("unknown place; use one of {}", names())))?,
                );
            }
            "--only" => self.only.push(value.to_owned()),
            "--case" => self.cases.push(value.to_owned()),
            "--baseline" => self.baseline = Some(value.to_owned()),
            "--width" => self.width = part(value).ok_or(wrong("not a share or a percentage"))?,
            "--max-error" => {
                let error = part(value).filter(|&error| error > 0.0 && error < 0.5);
                self.max_error = error.ok_or(wrong("not a probability below one half"))?;
            }
            "--rounds" => self.rounds = whole()?.max(1),
            "--seed" => self.seed = whole()?,
            "--json" => self.json = Some(value.into()),
            _ => return Err(format!("unknown flag {name}; use\n{}", Options::HELP)),
        }
        Ok(())
    }

    /// Whether `name` contains one of `parts`, or there are none.
    pub(crate) fn wants(parts: &[String], name: &str) -> bool {
        parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()))
    }
}

/// A positive number or percentage.
fn part(text: &str) -> Option<f64> {
    read::share(text).ok().filter(|&part| part > 0.0)
}

/// A positive number of seconds, or a duration.
fn seconds(text: &str) -> Option<f64> {
    let read = read::number(text).or_else(|_| read::duration(text).map(|time| time.as_secs_f64()));
    read.ok().filter(|&seconds| seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_flags_are_named() {
        let error =
            |flags: &[&str]| Options::parse(flags.iter().map(|&flag| flag.to_owned())).unwrap_err();
        assert!(error(&["--seconds", "-1"]).contains("--seconds -1"));
        assert!(error(&["--seconds", "1 parsec"]).contains("not a number of seconds"));
        assert_eq!(Options::parse(["--seconds=1.5 m".to_owned()]).map(|it| it.seconds), Ok(90.0));
        assert!(error(&["--place", "moon"]).contains("two-cpus"));
        assert!(error(&["--json"]).contains("needs a value"));
        assert!(error(&["--sceonds", "1"]).contains("--seconds N"));
        assert!(error(&["--max-error", "0.6"]).contains("one half"));
    }

    #[test]
    fn names_are_asked_for_by_parts() {
        assert!(Options::wants(&[], "rtrb") && Options::wants(&["tr".into()], "rtrb"));
        assert!(!Options::wants(&["flume".into()], "rtrb"));
    }
}
