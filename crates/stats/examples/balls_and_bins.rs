//! Balls and bins: how full are all bins when the first one overflows, and can one promise a fill?
//!
//! Two questions about throwing balls at random into bins of bounded capacity until one overflows:
//! 1. With 1,000 bins of 30,000: is at least 97.5 % of the space used, at least 98 % of the time?
//! 2. Do 100 bins of 60,000 fill less well than 1,000 bins of 128,000? By the exact permutation test.
//!
//! `cargo run --release -p uncontended-stats --example balls_and_bins -- [TRIALS] [SEED] [PICTURE.svg]`
//! TRIALS (default 40) is the size of each group of the second question; the published run had 10,000.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use uncontended_stats::{
    Limits, MaxError, Method, Permutation, Question, Rate, Rng, Sides, Statistic, Verdict, drive,
    quantile,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let trials: usize = arguments.next().map_or(Ok(40), |a| a.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |a| a.parse())?;
    let mut rng = Rng::new(seed);
    println!("seed {seed}");

    let fills = promise(&mut rng)?;
    let small: Vec<f64> = (0..trials).map(|_| fill(100, 60_000, &mut rng)).collect();
    let large: Vec<f64> = (0..trials).map(|_| fill(1000, 128_000, &mut rng)).collect();
    compare(&small, &large, seed)?;

    if let Some(file) = arguments.next() {
        let groups = [
            ("1,000 bins of 30,000", &fills),
            ("100 of 60,000", &small),
            ("1,000 of 128,000", &large),
        ];
        std::fs::write(&file, picture(&groups)?)?;
        println!("picture: {file}");
    }
    Ok(())
}

/// The share of all space used when the first of `bins` bins is full.
fn fill(bins: u32, capacity: u32, rng: &mut Rng) -> f64 {
    let mut counts = vec![0u32; bins as usize];
    let mut thrown = 0u64;
    loop {
        let bin = &mut counts[rng.below_u32(bins) as usize];
        if *bin == capacity {
            return thrown as f64 / (f64::from(bins) * f64::from(capacity));
        }
        *bin += 1;
        thrown += 1;
    }
}

/// The first question, with an indifference zone of 96 to 98 %; returns the fills seen.
fn promise(rng: &mut Rng) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let question = Question::new(
        Rate::new(0.98)?,
        Some(Rate::new(0.96)?),
        Method::OneSided,
        MaxError::new(1e-3)?,
    )?;
    println!(
        "is the rate of fills of 97.5 % or more at least 98 % (or below 96 %)? wrong at most 1 in 1,000 times"
    );
    let mut fills = Vec::new();
    let trial = || {
        fills.push(fill(1000, 30_000, rng));
        fills.last().map(|&fill| fill >= 0.975)
    };
    let (report, _) = drive(
        question,
        Limits { trials: Some(5000), time: None },
        |_| ControlFlow::Continue(()),
        trial,
    );
    let (low, high) = report.interval;
    println!(
        "{}: {} of {} trials; the rate lies within {:.4}..{:.4}",
        match report.verdict {
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Undecided => "undecided",
        },
        report.counts.successes(),
        report.counts.trials(),
        low,
        high
    );
    Ok(fills)
}

/// The second question: significant below 1 %, not significant above; from 0.5 to 1 % either answer is right.
fn compare(small: &[f64], large: &[f64], seed: u64) -> Result<(), Box<dyn std::error::Error>> {
    let question = Question::new(
        Rate::new(0.01)?,
        Some(Rate::new(0.005)?),
        Method::OneSided,
        MaxError::new(1e-9)?,
    )?;
    let mut test = Permutation::new(small, large, Statistic::Mean, Sides::Upper, seed)?;
    let found = test.test(question, Limits { trials: Some(1_000_000), time: None }, |_| {
        ControlFlow::Continue(())
    });
    println!(
        "1,000 of 128,000 fill {:+.5} more than 100 of 60,000; {} in {} resamples as extreme, p ~ {:.1e}: {}",
        found.observed,
        found.report.counts.successes(),
        found.report.counts.trials(),
        found.p_value,
        match found.verdict {
            Verdict::Yes => "significant at 1 %",
            Verdict::No => "not significant at 0.5 %",
            Verdict::Undecided => "undecided",
        }
    );
    Ok(())
}

/// The empirical distribution of each group's fills as a step curve, one colour a group.
fn picture(groups: &[(&str, &Vec<f64>)]) -> Result<String, std::fmt::Error> {
    let (width, height, left) = (640.0, 320.0, 40.0);
    let (low, high) = (0.96, 1.0);
    let x = |fill: f64| left + (fill.clamp(low, high) - low) / (high - low) * (width - 2.0 * left);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" font-family=\"sans-serif\" font-size=\"11\">\n",
        height + 40.0
    );
    for percent in [96.0, 97.0, 97.5, 98.0, 99.0, 100.0] {
        let at = x(percent / 100.0);
        let base = height + 16.0;
        write!(svg, "<path d=\"M{at:.1} 8V{height}\" stroke=\"#ddd\"/>")?;
        writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{base}\" text-anchor=\"middle\">{percent} %</text>"
        )?;
    }
    for share in [0.5, 1.0] {
        let at = height - share * (height - 16.0);
        write!(svg, "<path d=\"M{left} {at:.1}H{:.1}\" stroke=\"#ddd\"/>", width - left)?;
        let left_of_it = left - 4.0;
        writeln!(
            svg,
            "<text x=\"{left_of_it}\" y=\"{:.1}\" text-anchor=\"end\">{} %</text>",
            at + 4.0,
            100.0 * share
        )?;
    }
    for (i, (name, fills)) in groups.iter().enumerate() {
        let mut sorted = (*fills).clone();
        sorted.sort_by(f64::total_cmp);
        let colour = ["#0072b2", "#d55e00", "#009e73"][i % 3];
        let mut path = format!("M{left} {height}");
        for (rank, &fill) in sorted.iter().enumerate() {
            let y = height - (rank + 1) as f64 / sorted.len() as f64 * (height - 16.0);
            write!(path, "H{:.1}V{y:.1}", x(fill))?;
        }
        let median = quantile::of_sorted(&sorted, Rate::HALF).unwrap_or(f64::NAN);
        writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
        )?;
        let y = 32 + 16 * i;
        writeln!(
            svg,
            "<text x=\"48\" y=\"{y}\" fill=\"{colour}\">{name}: median {:.2} %</text>",
            100.0 * median
        )?;
    }
    let base = height + 34.0;
    writeln!(
        svg,
        "<text x=\"48\" y=\"{base}\">space used when the first bin is full; share of trials at or below</text>\n</svg>"
    )?;
    Ok(svg)
}
