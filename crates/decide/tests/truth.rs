//! Checks verdicts against known truths, over many streams: keys, lines, session and verdict, all but the process.
//!
//! The short form, 400 streams per case of at most 150 lines, runs with the other tests. It can fail: it rejects 39
//! wrong answers or more where 5 % are promised, and a true chance of 15 % gives that many with 99.9 %, as
//! `assert_at_most` computes. Every figure that `docs/decide.md` quotes comes from `UNC_DEPTH=full cargo test
//! --release -p uncontended-decide --test truth -- --nocapture --test-threads=1`.

use std::fmt::Write as _;
use std::io::{self, BufReader, Read};
use uncontended_decide::Failure;
use uncontended_decide::lines::Lines;
use uncontended_decide::plan::{ComparePlan, Keys, SloPlan, Told};
use uncontended_decide::progress::Silent;
use uncontended_decide::verdict::{Answer, OfPairs, Verdict};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::{self as figures, percent};
use uncontended_stats::Rng;
use uncontended_testkit::chance::assert_at_most;
use uncontended_testkit::{is_full, repetitions};

/// The error allowed everywhere here.
const ERROR: f64 = 0.05;

/// Appends line `number` of a stream.
type Line = fn(&mut String, u64, &mut Rng, f64);

/// A source that generates its lines as they are read.
struct Stream {
    line: Line,
    parameter: f64,
    rng: Rng,
    made: u64,
    most: u64,
    text: String,
    read: usize,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.text.len() {
            (self.read, self.text) = (0, String::new());
            for _ in 0..64.min(self.most - self.made) {
                (self.line)(&mut self.text, self.made, &mut self.rng, self.parameter);
                self.text.push('\n');
                self.made += 1;
            }
        }
        let read = (&self.text.as_bytes()[self.read..]).read(buffer)?;
        self.read += read;
        Ok(read)
    }
}

/// What is asked, as the keys of a suite's table.
enum Question {
    Slo(String),
    Compare(String),
}

/// A case: a question, the stream that is asked about, and which answers would be wrong.
struct Case {
    name: &'static str,
    question: Question,
    line: Line,
    parameter: f64,
    most: u64,
    /// The answers that are wrong.
    wrong: &'static [Answer],
    /// The true rate (`slo`) or median ratio (`compare`); none if drift leaves no such value.
    truth: Option<f64>,
}

/// The results of many streams.
#[derive(Default)]
struct Tally {
    wrong: u64,
    decided: u64,
    missed: u64,
    warned: u64,
    runs: u64,
}

impl Question {
    fn judge(&self, lines: Lines) -> Result<Verdict, Failure> {
        let (Question::Slo(text) | Question::Compare(text)) = self;
        let mut keys = Keys::new(toml::from_str(&format!("from = '-'\n{text}")).expect("TOML"));
        let told = Told { progress: Box::new(Silent), keep_runs: false };
        match self {
            Question::Slo(_) => {
                SloPlan::from_keys(&mut keys, ERROR).expect("a plan").judge_values(lines, told)
            }
            Question::Compare(_) => {
                ComparePlan::from_keys(&mut keys, ERROR).expect("a plan").judge_pairs(lines, told)
            }
        }
    }
}

impl Case {
    fn verdict(&self, seed: u64) -> Verdict {
        let stream = Stream {
            line: self.line,
            parameter: self.parameter,
            rng: Rng::new(seed),
            made: 0,
            most: if is_full() { self.most } else { self.most.min(150) },
            text: String::new(),
            read: 0,
        };
        let lines = Lines::of("stream".to_string(), Box::new(BufReader::new(stream)), "");
        self.question.judge(lines).unwrap_or_else(|why| panic!("{}: {why}", self.name))
    }

    /// Whether an interval misses the truth.
    fn misses(&self, verdict: &Verdict) -> bool {
        let Some(truth) = self.truth else { return false };
        let (low, high) = match verdict.finding.pairs() {
            Some(OfPairs { effect, .. }) => (effect.low, effect.high.unwrap_or(f64::INFINITY)),
            None => verdict.finding.interval.into(),
        };
        truth < low || truth > high
    }

    fn run(&self, streams: u64, seed: u64) -> Tally {
        let mut tally = Tally::default();
        for stream in 0..streams {
            let verdict = self.verdict(seed.wrapping_mul(streams).wrapping_add(stream));
            tally.wrong += u64::from(self.wrong.contains(&verdict.finding.verdict));
            tally.decided += u64::from(verdict.finding.verdict != Answer::Undecided);
            tally.missed += u64::from(self.misses(&verdict));
            tally.warned += u64::from(!verdict.warnings.is_empty());
            tally.runs += verdict.finding.n;
        }
        tally
    }
}

fn judge(title: &str, cases: &[Case]) {
    let streams = repetitions(title, 400, 10_000);
    println!("{title}, {streams} streams a case, error at most {ERROR}");
    let figures = ["wrong", "decided", "interval without the truth", "warned", "mean n"];
    let columns = std::iter::once(Column::word("stream")).chain(figures.map(Column::figure));
    let mut table = Table::new(columns.collect());
    for (seed, case) in cases.iter().enumerate() {
        let tally = case.run(streams, seed as u64 + 1);
        let share = |count: u64| percent(count as f64 / streams as f64);
        table.row([
            case.name.to_string(),
            share(tally.wrong),
            share(tally.decided),
            case.truth.map_or("–".to_string(), |_| share(tally.missed)),
            share(tally.warned),
            figures::number(tally.runs as f64 / streams as f64),
        ]);
        assert_at_most(case.name, streams, tally.wrong, ERROR);
        assert_at_most(case.name, streams, tally.missed, ERROR);
    }
    println!("{}", table.markdown());
}

const EITHER: &[Answer] = &[Answer::Yes, Answer::No];

/// Good is 1, bad is 3, at the rate of the parameter.
fn coin(text: &mut String, _: u64, rng: &mut Rng, rate: f64) {
    text.push(if rng.chance(rate) { '1' } else { '3' });
}

fn number(text: &mut String, value: f64) {
    let _ = write!(text, "{value:e}");
}

/// A stream's values are at most 2 in at least this share.
fn slo(rate: &str, more: &str) -> Question {
    Question::Slo(format!("at-most = 2\nrate = {rate}\n{more}"))
}

/// About the medians alone.
fn compare(keys: &str) -> Question {
    Question::Compare(format!("no-tail-guard = true\n{keys}"))
}

/// At the rate itself both answers are wrong.
#[test]
fn slo_at_the_threshold() {
    let at = |name, asked, more, line: Line, rate, most| Case {
        name,
        question: slo(asked, more),
        line,
        parameter: rate,
        most,
        wrong: EITHER,
        truth: Some(rate),
    };
    let heavy: Line = |text, _, rng, _| number(text, 0.2 / (1.0 - rng.unit()));
    let bimodal: Line = |text, _, rng, rate| {
        let slow = if rng.chance(rate) { 1.0 } else { 10.0 };
        number(text, slow + 0.1 * rng.unit());
    };
    let tied: Line = |text, _, rng, _| number(text, [2.0, 3.0, 3.0, 4.0][rng.below(4) as usize]);
    let cases = [
        at("rate .5", "0.5", "", coin, 0.5, 2000),
        at("rate .9", "0.9", "", coin, 0.9, 5000),
        at("rate .99", "0.99", "", coin, 0.99, 10_000),
        at("rate .999", "0.999", "", coin, 0.999, 30_000),
        at("rate .5, csm", "0.5", "method = 'csm'", coin, 0.5, 2000),
        at("rate .9, csm", "0.9", "method = 'csm'", coin, 0.9, 5000),
        at("rate .99, csm", "0.99", "method = 'csm'", coin, 0.99, 10_000),
        at("rate .999, csm", "0.999", "method = 'csm'", coin, 0.999, 30_000),
        at("rate .9, beta", "0.9", "method = 'beta'", coin, 0.9, 5000),
        at("rate .999, beta", "0.999", "method = 'beta'", coin, 0.999, 30_000),
        at("bimodal", "0.75", "", bimodal, 0.75, 2000),
        at("heavy-tailed", "0.9", "", heavy, 0.9, 2000),
        at("tied", "0.25", "", tied, 0.25, 2000),
    ];
    judge("slo, the true rate at the threshold", &cases);
}

/// Away from the rate one answer is wrong: the direction.
#[test]
fn slo_away_from_the_threshold() {
    let away = |name, asked, more, line: Line, truth, wrong| Case {
        name,
        question: slo(asked, more),
        line,
        parameter: truth,
        most: 20_000,
        wrong,
        truth: Some(truth),
    };
    let same: Line = |text, _, _, rate| text.push(if rate == 1.0 { '2' } else { '3' });
    const YES: &[Answer] = &[Answer::Yes];
    const NO: &[Answer] = &[Answer::No];
    let cases = [
        away("rate .9, truth .93", "0.9", "", coin, 0.93, NO),
        away("rate .9, truth .87", "0.9", "", coin, 0.87, YES),
        away("rate .99, truth .98", "0.99", "", coin, 0.98, YES),
        away("rate .99, truth .995", "0.99", "", coin, 0.995, NO),
        away("rate .98 or .96, truth .98", "0.98", "or-below = 0.96", coin, 0.98, NO),
        away("rate .98 or .96, truth .96", "0.98", "or-below = 0.96", coin, 0.96, YES),
        away("rate .98 or .96, truth .97", "0.98", "or-below = 0.96", coin, 0.97, &[]),
        away("constant, at the threshold of a value", "0.9", "", same, 1.0, NO),
        away("constant, beyond it", "0.9", "", same, 0.0, YES),
    ];
    judge("slo, the true rate away from the threshold", &cases);
}

/// The percentile's interval covers it, whatever the distribution.
#[test]
fn slo_percentiles() {
    // The 90th percentile of 0.2 / (1 - U) is 2.
    let case = Case {
        name: "p90 of a heavy tail",
        question: Question::Slo("quantile = 'p90'\nat-most = 2".to_string()),
        line: |text, _, rng, _| number(text, 0.2 / (1.0 - rng.unit())),
        parameter: 0.0,
        most: 1000,
        wrong: EITHER,
        truth: None,
    };
    let streams = repetitions(case.name, 400, 10_000);
    let (mut missed, mut wrong, mut known) = (0, 0, 0);
    for seed in 0..streams {
        let verdict = case.verdict(1000 + seed);
        let place = verdict.finding.rate().unwrap().quantile.unwrap();
        let (low, high) = (place.low.unwrap_or(0.0), place.high.unwrap_or(f64::INFINITY));
        let misses = low > 2.0 || high < 2.0;
        missed += u64::from(misses);
        wrong += u64::from(verdict.finding.verdict != Answer::Undecided);
        known += u64::from(high.is_finite());
        // One error covers both: a wrong verdict comes with a wrong interval.
        assert!(misses || verdict.finding.verdict == Answer::Undecided);
    }
    let [missing, refuted] = [missed, wrong].map(|count| percent(count as f64 / streams as f64));
    println!("{}: interval without it {missing}, wrong verdict {refuted}", case.name);
    assert_at_most(case.name, streams, missed, ERROR);
    assert!(known * 2 > streams);
}

fn pair(text: &mut String, a: f64, b: f64) {
    let _ = write!(text, "{a:e} {b:e}");
}

/// A command against itself, and a ratio exactly at the end of the margin.
#[test]
fn compare_with_itself() {
    let same = |name, line: Line, truth| Case {
        name,
        question: compare("claim = 'different'\nmargin = 0"),
        line,
        parameter: 1.0,
        most: 300,
        wrong: &[Answer::Yes],
        truth,
    };
    let even: Line = |text, _, rng, by| pair(text, 1.0 + rng.unit(), by * (1.0 + rng.unit()));
    let heavy: Line = |text, _, rng, by| {
        let mut value = || 1.0 / (1e-9 + rng.unit() * rng.unit());
        pair(text, value(), by * value());
    };
    let bimodal: Line = |text, _, rng, by| {
        let mut value = || if rng.chance(0.5) { 1.0 } else { 10.0 } + 0.1 * rng.unit();
        pair(text, value(), by * value());
    };
    let tied: Line = |text, _, rng, _| {
        let mut value = || 10.0 + rng.below(3) as f64;
        pair(text, value(), value());
    };
    let drifting: Line = |text, at, rng, _| {
        let slow = 1.0 + at as f64;
        pair(text, slow * (1.0 + rng.unit()), slow * (1.0 + rng.unit()));
    };
    let swinging: Line = |text, at, rng, _| {
        let slow = 2.0 + (at as f64 / 7.0).sin();
        pair(text, slow * (1.0 + 0.1 * rng.unit()), slow * (1.0 + 0.1 * rng.unit()));
    };
    let edge = |name, line| Case {
        question: compare("margin = '25%'"),
        parameter: 1.25,
        wrong: &[Answer::No],
        ..same(name, line, Some(1.25))
    };
    let cases = [
        same("even", even, Some(1.0)),
        same("bimodal", bimodal, Some(1.0)),
        same("heavy-tailed", heavy, Some(1.0)),
        same("constant", |text, _, _, _| text.push_str("7 7"), Some(1.0)),
        same("tied", tied, Some(1.0)),
        same("drift common to both", drifting, Some(1.0)),
        same("swing common to both", swinging, Some(1.0)),
        edge("even, at the margin's end", even),
        edge("heavy-tailed, at the margin's end", heavy),
    ];
    judge("compare, a thing with itself", &cases);
}

/// A real difference is hardly ever reported in the wrong direction.
#[test]
fn compare_with_another() {
    let case = |name, by, wrong| Case {
        name,
        question: compare("margin = '2%'"),
        line: |text, _, rng, by| {
            let mut value = || 1.0 + 0.2 * rng.unit();
            pair(text, value(), by * value());
        },
        parameter: by,
        most: 300,
        wrong,
        truth: Some(by),
    };
    let cases = [
        case("5% slower", 1.05, &[Answer::Yes]),
        case("5% faster", 0.95, &[Answer::No]),
        case("1% slower, within 2%", 1.01, &[Answer::No]),
    ];
    judge("compare, the wrong direction", &cases);
}
