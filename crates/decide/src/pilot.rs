//! The pairs of an earlier trial, as a pilot for a plan.

use crate::Failure;
use crate::lines::{Lines, pair};
use crate::question::Question;
use crate::record;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

/// The costs of the baseline and of the candidate, a pair each, in a log or in a file with two values a line. Of a log
/// of several candidates, those of the first. Where higher values are better, costs are the inverse.
///
/// # Errors
/// If the file cannot be read, has no pairs, or one whose ratio is zero or infinite.
pub fn pairs(path: &Path) -> Result<Vec<[f64; 2]>, Failure> {
    let unusable = |cause: String| {
        let remedy = "give the `Limits::log` of a comparison, or a file with two values a line";
        Failure::new(format!("{}: {cause}", path.display()), remedy)
    };
    let file = File::open(path).map_err(|error| unusable(error.to_string()))?;
    let mut file = BufReader::new(file);
    let begins = file.fill_buf().map_err(|error| unusable(error.to_string()))?;
    let pairs = if begins.first() == Some(&b'{') {
        let log = record::read(file).map_err(unusable)?;
        if !matches!(log.head.hypothesis, Question::Compare(_)) {
            return Err(unusable("its question is not a comparison".to_owned()));
        }
        let mut trial = log.head.hypothesis.asked().trial(None)?;
        log.runs.iter().try_for_each(|run| trial.push(run))?;
        trial.pairs()
    } else {
        let form = "two values per line: baseline, candidate";
        let lines = Lines::of(path.display().to_string(), Box::new(file), form);
        lines.read_all(|line| pair(line).map(|(pair, _)| pair))?
    };
    let ratios = pairs.iter().map(|[a, b]| b / a);
    match ratios.into_iter().find(|cost| !(*cost > 0.0 && cost.is_finite())) {
        Some(odd) => Err(unusable(format!("a pair has the ratio {odd}"))),
        None => Ok(pairs),
    }
}
