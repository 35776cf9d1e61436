//! Question: what does a decision cost, amortised over a stream with a look after every trial? What does one look alone
//! cost, and an interval with two ends?
//!
//! Rounds are interleaved; the median of the rounds is printed. Not measured: cold caches.
//! `cargo bench -p uncontended-stats --bench how_fast_is_a_decision`

use std::hint::black_box;
use std::time::Instant;

use uncontended_stats::{
    Counts, Judge, MaxError, Method, Prior, Question, Rate, Rng, Verdict, robbins,
};

const ROUNDS: usize = 31;

fn main() {
    let rate = |p: f64| Rate::new(p).expect("a rate");
    let error = MaxError::new(1e-3).expect("an error");
    let counts = Counts::new(40_000, 39_700).expect("counts");
    let question = |method| Question::new(rate(0.99), None, method, error).expect("a question");
    let mut rng = Rng::new(1);
    let outcomes: Vec<bool> = (0..40_000).map(|_| rng.chance(0.99)).collect();
    let stream = |method| {
        let mut judge = Judge::new(question(method));
        outcomes.iter().filter(|&&outcome| judge.push(outcome) != Verdict::Undecided).count() as f64
    };
    let looks = |f: &dyn Fn(u64) -> f64| (0..1000u64).map(f).sum::<f64>();
    let at = |i: u64| Counts::new(40_000 + i, 39_600 + i / 2).expect("counts");
    type Subject<'a> = (&'a str, f64, Box<dyn Fn() -> f64 + 'a>);
    let subjects: Vec<Subject> = vec![
        ("a decision of a stream, csm", 40_000.0, Box::new(|| stream(Method::Csm))),
        ("a decision of a stream, one-sided", 40_000.0, Box::new(|| stream(Method::OneSided))),
        (
            "one look, csm",
            1000.0,
            Box::new(|| looks(&|i| robbins::log_criterion(at(i), rate(0.99)))),
        ),
        (
            "one look, one-sided",
            1000.0,
            Box::new(|| looks(&|i| Prior::Above(rate(0.98)).log_evidence(at(i), rate(0.98)))),
        ),
        (
            "an interval of two ends",
            1.0,
            Box::new(|| Prior::Uniform.price(black_box(counts)).interval(error).1),
        ),
        (
            "a whole report, one-sided",
            1.0,
            Box::new(|| question(Method::OneSided).report(black_box(counts)).interval.0),
        ),
    ];
    let mut times = vec![Vec::new(); subjects.len()];
    for _ in 0..ROUNDS {
        for ((_, units, run), times) in subjects.iter().zip(&mut times) {
            let start = Instant::now();
            black_box(run());
            times.push(start.elapsed().as_nanos() as f64 / units);
        }
    }
    for ((name, ..), times) in subjects.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name}: {:.1} ns", times[ROUNDS / 2]);
    }
}
