//! Any text is throughput by number of threads, to which a law with finite figures is fitted, or a reported error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uncontended_survey::{throughput, usl};

fuzz_target!(|text: &str| {
    let points = match throughput::parse(text) {
        Ok(points) => points,
        Err(why) => return assert!(!why.is_empty() && !why.contains('\u{1b}')),
    };
    let fit = usl::fit(&points, &[2_000_000]).expect("three numbers of threads");
    let figures = [fit.sigma.value, fit.kappa.value, fit.gamma.value, fit.off_by.unwrap_or(0.0)];
    assert!(figures.iter().all(|figure| figure.is_finite() && *figure >= 0.0), "{fit:?}");
    assert!(fit.gamma.value > 0.0);
    // None of as many numbers of threads as the law has parameters.
    assert!(fit.predicted.iter().all(|it| it.throughput.value.is_finite()));
});
