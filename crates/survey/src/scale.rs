//! How throughput grows with the number of threads: the Universal Scalability Law ([`usl`]), fitted to what this survey
//! measured, or to a user's own figures.
//!
//! # Contract
//! What the topics before this one measured with at least three numbers of threads is fitted, block by block. Where
//! they measure too few ([`is_fed`]), this one measures increments of a shared counter by more of them. Where there
//! are [`TRUSTED`] CPUs, only rows with at most a thread for each CPU take part: beyond, threads share CPUs, which the
//! law does not describe. With fewer CPUs all rows take part, and a warning says that the fit is not to be trusted.

use crate::usl::{self, FEWEST, Fit, Point};
use crate::{Class, Plan, Row, Topic, contention};
use uncontended_bench::Cpu;
use uncontended_figures::text::several;

pub(crate) const QUESTION: &str =
    "how does throughput grow with the number of threads, and where does it end";
/// The fewest CPUs for a fit that says something of more.
const TRUSTED: usize = 4;
/// The most numbers of threads of this topic's own measurement.
const MOST_COUNTS: usize = 12;

/// Figures that the law is fitted to.
#[derive(Clone, Debug)]
struct Series {
    name: String,
    class: Class,
    points: Vec<Point>,
}

/// Fits what `earlier` topics measured, or `plan.throughput`.
pub(crate) fn measure(plan: &Plan, earlier: &[Topic]) -> Topic {
    let cpus = Cpu::allowed().map_or(1, |cpus| cpus.len());
    if let Some((name, points)) = &plan.throughput {
        let series = Series { name: name.clone(), class: Class::Other, points: points.clone() };
        return given(series, plan.threads, cpus);
    }
    let measures = !is_fed(earlier.iter().map(|topic| topic.topic), cpus);
    if measures && counts(plan, cpus).len() < FEWEST {
        let few = format!(
            "--threads allows fewer than {FEWEST} numbers of threads, and the law has as many parameters"
        );
        return Topic::left_out("scale", QUESTION, &few);
    }
    let own = measures.then(|| contention::shared(plan, &counts(plan, cpus)));
    // Its own numbers of threads are more than those of the topic contention.
    let is_source =
        |topic: &&Topic| topic.topic == "locks" || (topic.topic == "contention" && own.is_none());
    let sources = own.iter().chain(earlier.iter().filter(is_source));
    let most = if cpus < TRUSTED { usize::MAX } else { cpus };
    let series = sources.flat_map(|topic| series(topic, most)).collect();
    let mut topic = fitted(series, cpus, None);
    topic.notes.push("throughput in operations per second".to_owned());
    if let Some(own) = &own {
        topic.stopped_by = own.stopped_by;
        topic.warnings.extend(own.warnings.iter().cloned());
        topic.notes.push("increments of a counter, by one and more threads; of the topic locks, rows with enough numbers of threads".to_owned());
    }
    if cpus < TRUSTED {
        let few = several(cpus as u64, "CPU", "CPUs");
        doubt(&mut topic, &format!("{few}: with more threads than that, they take turns"));
    }
    topic
}

/// Fits a user's own figures; `asked` is the number of threads to predict for.
fn given(series: Series, asked: Option<usize>, cpus: usize) -> Topic {
    let most = series.points.iter().map(|point| point.threads).max().unwrap_or(0);
    let is_measured = |asked: u64| series.points.iter().any(|point| point.threads == asked);
    let asked = asked.map(|asked| asked as u64);
    let predicted = asked.filter(|&asked| !is_measured(asked));
    let mut topic = fitted(vec![series], cpus, predicted);
    if let (Some(asked), None) = (asked, predicted) {
        topic.notes.push(format!(
            "--threads {asked}: the figures contain this number of threads, so it is not predicted"
        ));
    }
    if most < TRUSTED as u64 {
        doubt(&mut topic, "figures of fewer than four threads");
    }
    topic
}

/// Whether these topics measure enough for a fit, so that this one need not: with two or three CPUs they measure one
/// thread, as many as CPUs, and twice as many. With one CPU that is too few, and with four, the last does not count.
pub(crate) fn is_fed(mut topics: impl Iterator<Item = &'static str>, cpus: usize) -> bool {
    (2..TRUSTED).contains(&cpus) && topics.any(|topic| ["contention", "locks"].contains(&topic))
}

/// Says that no fit of the topic is to be trusted.
fn doubt(topic: &mut Topic, why: &str) {
    topic.rows.iter_mut().filter_map(|row| row.usl.as_mut()).for_each(|fit| fit.is_trusted = false);
    topic.warnings.push(format!(
        "{why}; the fit is not to be trusted: measure on a machine with at least four CPUs"
    ));
}

/// One to as many threads as CPUs, or to four, not more than [`MOST_COUNTS`] of them: each number, then in steps that
/// grow.
fn counts(plan: &Plan, cpus: usize) -> Vec<usize> {
    let most = cpus.max(TRUSTED).min(plan.threads.unwrap_or(usize::MAX));
    let grown = std::iter::successors(Some(1), |&n| Some((n + 1).max(n * 3 / 2)));
    let mut counts: Vec<usize> = match most {
        few if few <= MOST_COUNTS => (1..=few).collect(),
        _ => grown.take_while(|&n| n < most).collect(),
    };
    if counts.last() != Some(&most) {
        counts.push(most);
    }
    counts
}

/// The rows of a topic that differ in their number of threads alone.
fn series(topic: &Topic, most: usize) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    let takes_part = |row: &&Row| {
        row.role != "control"
            && row.failed.is_none()
            && row.threads <= most
            && row.one_write_in.is_none()
    };
    for row in topic.rows.iter().filter(takes_part) {
        let name = match topic.topic {
            "locks" => format!("{} (lock)", row.name),
            _ => row.name.clone(),
        };
        let points = row
            .block_ns
            .iter()
            .filter(|ns| **ns > 0.0)
            .map(|ns| Point { threads: row.threads as u64, throughput: 1e9 / ns });
        match all.iter_mut().find(|series| (&series.name, series.class) == (&name, row.class)) {
            Some(series) => series.points.extend(points),
            None => all.push(Series { name, class: row.class, points: points.collect() }),
        }
    }
    all
}

/// The topic of these series, with predictions for as many threads as asked for, or for more than were measured.
fn fitted(all: Vec<Series>, cpus: usize, asked: Option<u64>) -> Topic {
    let mut topic = Topic::left_out("scale", QUESTION, "");
    topic.not_measured.clear();
    topic.stopped_by = "read";
    let mut too_few = Vec::new();
    for series in all {
        let counts = counted(&series.points);
        if counts.len() < FEWEST {
            too_few.extend((counts.len() > 1).then_some(series.name));
            continue;
        }
        let most = counts.last().copied().unwrap_or(1);
        let beyond = most.max(cpus as u64);
        let predicted = asked.map_or_else(|| vec![2 * beyond, 4 * beyond], |asked| vec![asked]);
        if let Some(fit) = usl::fit(&series.points, &predicted) {
            topic.rows.push(row(&series, most as usize, fit));
        }
    }
    if !too_few.is_empty() {
        topic.not_measured.push(format!(
            "{}: measured with fewer than {FEWEST} numbers of threads (where there are four CPUs, of threads that have one each)",
            too_few.join(", ")
        ));
    }
    topic.notes.extend(notes(&topic.rows));
    topic
}

/// What to know of these fits.
fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes = vec!["throughput of N threads: gamma N / (1 + sigma (N - 1) + kappa N (N - 1)); intervals at 95 %, from what the fit leaves over at each number of threads".to_owned()];
    let named = |is_so: &dyn Fn(&Fit) -> bool| {
        let those = rows.iter().filter(|row| row.usl.as_ref().is_some_and(is_so));
        let names: Vec<&str> = those.map(|row| row.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    if named(&Fit::predicts).is_some() {
        notes.push("\"predicted\": the law gives it, nothing was measured there".to_owned());
    }
    if let Some(bare) = named(&|fit| fit.off_by.is_none()) {
        notes.push(format!(
            "{bare}: as many numbers of threads as the law has parameters, so it goes through each of them, right or wrong: no error, no interval, no peak, no prediction"
        ));
    }
    // The whole interval is above 1.
    if let Some(steep) = named(&|fit| fit.sigma.low.is_some_and(|low| low > 1.0)) {
        notes.push(format!(
            "{steep}: sigma above 1: a second thread takes more than it adds, and a share of the work cannot say so"
        ));
    }
    notes
}

fn counted(points: &[Point]) -> Vec<u64> {
    let mut counts: Vec<u64> = points.iter().map(|point| point.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn row(series: &Series, threads: usize, fit: Fit) -> Row {
    Row {
        name: series.name.clone(),
        threads,
        class: series.class,
        role: "subject",
        blocks: series.points.len() as u64,
        usl: Some(fit),
        ..Row::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A topic whose rows scale by this law.
    fn measured(topic: &'static str, law: usl::Law, counts: &[usize]) -> Topic {
        let mut all = Topic::left_out(topic, "", "");
        let row = |&threads: &usize| Row {
            name: "planted".to_owned(),
            threads,
            role: "subject",
            block_ns: vec![1e9 / law.throughput(threads as u64); 6],
            ..Row::default()
        };
        all.rows = counts.iter().map(row).collect();
        all.rows.push(Row { role: "control", ..row(&counts[0]) });
        all
    }

    #[test]
    fn rows_of_earlier_topics_are_fitted_as_far_as_each_thread_has_a_cpu() {
        let law = usl::Law { sigma: 0.1, kappa: 0.005, gamma: 1e7 };
        let locks = measured("locks", law, &[1, 2, 4, 8]);
        let found = fitted(series(&locks, 8), 8, None);
        let fit = found.rows[0].usl.as_ref().unwrap();
        assert_eq!((found.rows[0].name.as_str(), found.rows[0].threads), ("planted (lock)", 8));
        assert!((fit.sigma.value - 0.1).abs() < 1e-9 && (fit.kappa.value - 0.005).abs() < 1e-9);
        assert_eq!(fit.predicted.iter().map(|it| it.threads).collect::<Vec<_>>(), [16, 32]);
        assert_eq!(fit.points.len(), 4);
        // With two CPUs, as far as they go, there is nothing to fit, and this is said.
        let found = fitted(series(&locks, 2), 2, None);
        assert!(found.rows.is_empty() && found.not_measured[0].contains("planted (lock)"));
    }

    #[test]
    fn the_law_is_not_fitted_to_what_it_cannot_say_silently() {
        let law = usl::Law { sigma: 3.0, kappa: 0.0, gamma: 1e7 };
        let contention =
            |counts: &[usize]| fitted(series(&measured("contention", law, counts), 4), 4, None);
        let has = |topic: &Topic, word: &str| topic.notes.iter().any(|note| note.contains(word));
        let found = contention(&[1, 2, 3, 4]);
        assert!(has(&found, "planted: sigma above 1") && has(&found, "\"predicted\""), "{found:?}");
        // Three points: sigma is 3, and nothing says how far off that may be.
        let found = contention(&[1, 2, 4]);
        assert!(!has(&found, "sigma above 1") && !has(&found, "\"predicted\""), "{found:?}");
        assert!(has(&found, "no peak, no prediction"), "{found:?}");
    }

    #[test]
    fn what_a_users_figures_lack_is_predicted_and_said_to_be() {
        let law = usl::Law { sigma: 0.1, kappa: 0.005, gamma: 1e3 };
        let figures = |counts: &[u64]| Series {
            name: "data".to_owned(),
            class: Class::Other,
            points: counts
                .iter()
                .map(|&threads| Point { threads, throughput: law.throughput(threads) })
                .collect(),
        };
        let fit = |topic: &Topic| topic.rows[0].usl.clone().unwrap();
        let asked = given(figures(&[4, 8, 16, 24]), Some(64), 2);
        let found = fit(&asked);
        assert_eq!(found.predicted.iter().map(|it| it.threads).collect::<Vec<_>>(), [64]);
        assert!(found.is_trusted && !found.is_measured(1) && found.predicts());
        let measured = given(figures(&[4, 8, 16, 24]), Some(16), 2);
        assert_eq!(fit(&measured).predicted[0].threads, 48);
        assert!(measured.notes.iter().any(|note| note.starts_with("--threads 16")), "{measured:?}");
        let few = given(figures(&[1, 2, 3]), None, 8);
        assert!(!fit(&few).is_trusted && few.warnings[0].contains("not to be trusted"), "{few:?}");
    }

    #[test]
    fn what_others_measure_is_enough_with_two_or_three_cpus() {
        let fed = |topics: &[&'static str], cpus| is_fed(topics.iter().copied(), cpus);
        assert!(fed(&["machine", "locks"], 2) && fed(&["contention"], 3));
        assert!(!fed(&["contention", "locks"], 1) && !fed(&["contention", "locks"], 4));
        assert!(!fed(&["machine", "spawn"], 2) && !fed(&[], 2));
    }

    #[test]
    fn every_number_of_threads_is_measured_or_some_up_to_the_last() {
        let of = |threads, cpus| counts(&Plan { threads, ..Plan::default() }, cpus);
        assert_eq!(of(None, 2), [1, 2, 3, 4]);
        assert_eq!(of(Some(3), 8), [1, 2, 3]);
        assert_eq!(of(None, 64), [1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 64]);
        assert!(of(None, 1024).len() < 22);
    }
}
