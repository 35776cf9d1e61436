//! The pictures of a verdict draw what they are given, and no input breaks them.
//! `UNC_PAGES=DIR` keeps a page of them for inspection.

use uncontended_figures as figures;
use uncontended_report::html::Page;
use uncontended_report::svg::{Column, Look, Within, evidence, flame, paired, rate, ratios};

fn path(slope: f64, looks: u64) -> Vec<Look> {
    (0..looks)
        .map(|n| Look { n: n * 5, log10_e: slope * n as f64 + (n as f64 * 0.9).sin() * 0.4 })
        .collect()
}

#[test]
fn a_verdict_has_its_pictures() {
    let known = rate(3_972, 4_000, (0.9885, 0.9961), &[("at least", 0.99), ("or below", 0.98)]);
    let grown = evidence(
        &[("against at most 98 %", &path(0.06, 120)), ("against at least 99 %", &path(-0.02, 120))],
        6.0,
    );
    let pairs: Vec<(f64, f64)> =
        (0..60).map(|n| (1e8 + f64::from(n % 7) * 3e6, 1.02e8 + f64::from(n % 11) * 2e6)).collect();
    let compared = paired(("A: sort", "B: sort --parallel=2"), &pairs, figures::duration_f);
    assert!(
        known.0.contains("interval of the rate")
            && known.0.contains("or below")
            && known.0.contains("99 %")
    );
    assert!(grown.0.contains("decided") && grown.0.contains("against at most 98 %"));
    assert_eq!(compared.0.matches("<circle").count(), 60);
    let within: Vec<Within> = (1..=60)
        .map(|n| Within { n, low: 1.0 - 1.0 / n as f64, high: 1.0 + 2.0 / n as f64 })
        .collect();
    let quotients: Vec<f64> = pairs.iter().map(|(a, b)| b / a).collect();
    let narrowed = ratios(&quotients, &within, (1.0 / 1.02, 1.02));
    assert_eq!(narrowed.0.matches("<circle").count(), 60);
    assert!(narrowed.0.contains("margin") && narrowed.0.contains("interval of the median"));
    // The names of the series are one text: however large its font, they do not overlap.
    let legend = narrowed.0.split("<text class=\"legend\"").nth(1).unwrap();
    let legend = legend.split("</text>").next().unwrap();
    assert_eq!(legend.matches("<tspan").count(), 4, "{legend}");
    assert!(legend.contains("pairs") && legend.contains("interval of the median"), "{legend}");
    if let Some(folder) = std::env::var_os("UNC_PAGES") {
        let page = Page::new(
            "unc slo --at-least 1 --rate 0.99",
            &["yes".to_owned(), "n = 4000".to_owned()],
        )
        .section("What is known of the rate", "", &known)
        .section("How the evidence grew", "", &grown)
        .section("Pairs", "", &compared)
        .section("Ratios", "", &narrowed);
        std::fs::write(std::path::Path::new(&folder).join("verdict.html"), page.html()).unwrap();
    }
}

#[test]
fn odd_figures_leave_no_trace_of_themselves() {
    let odd = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        1.0,
        -1e300,
        1e300,
        f64::MIN_POSITIVE,
    ];
    let mut svgs = Vec::new();
    for (trials, successes) in [(0, 0), (1, 0), (1, 1), (u64::MAX, 5), (5, 9)] {
        for low in odd {
            svgs.push(rate(successes, trials, (low, 1.0), &[("x", low)]));
        }
    }
    for a in odd {
        for b in odd {
            svgs.push(paired(("a", "b"), &[(a, b), (b, a)], figures::duration_f));
            svgs.push(evidence(&[("e", &[Look { n: u64::MAX, log10_e: a }])], b));
            svgs.push(ratios(&[a, b], &[Within { n: u64::MAX, low: a, high: b }], (a, b)));
        }
    }
    svgs.push(paired(("", ""), &[], figures::number));
    svgs.push(evidence(&[], 2.0));
    for svg in svgs {
        let svg = svg.0;
        assert!(svg.contains("<svg ") && svg.ends_with("</svg></div>"));
        assert!(!svg.contains("NaN") && !svg.contains("\"inf") && !svg.contains(" inf"), "{svg}");
    }
}

#[test]
fn a_flame_graph_merges_neighbours_with_the_same_frames() {
    let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let column = |middle: &str, above: &str, below: &str, weight: f64| Column {
        middle: middle.to_owned(),
        above: names(above),
        below: names(below),
        colour: 2,
        weight,
    };
    let columns = [
        column("lock", "pop worker main", "push main", 30.0),
        column("lock", "pop worker main", "push other", 20.0),
        column("lock", "pop worker main", "<idle>", 10.0),
        column("gate", "pop worker main", "push main", 40.0),
        column("gone", "none", "none", 0.0),
        column("gone", "none", "none", f64::NAN),
    ];
    let drawn = flame("who waits", &columns, |weight| format!("{weight:.0} ms")).0;
    let count = |text: &str| drawn.matches(text).count();
    // The first lock's columns share their middle, the frames above, and one below.
    for (title, times) in [
        ("<title>lock: 60 ms</title>", 1),
        ("<title>worker: 60 ms</title>", 1),
        ("<title>worker: 40 ms</title>", 1),
        ("<title>push: 50 ms</title>", 1),
        ("<title>push: 40 ms</title>", 1),
        ("<title>main: 30 ms</title>", 1),
        ("<title>other: 20 ms</title>", 1),
        ("<title>&lt;idle&gt;: 10 ms</title>", 1),
    ] {
        assert_eq!(count(title), times, "{title}: {drawn}");
    }
    assert_eq!(count("gone"), 0);
    assert_eq!(count("<rect"), 14);
    let empty = flame("nothing", &[], |weight| weight.to_string()).0;
    assert!(empty.contains("<svg") && !empty.contains("<rect"));
    let deep = column("lock", &"f ".repeat(50), &"g ".repeat(50), 1.0);
    assert_eq!(flame("deep", &[deep], |_| String::new()).0.matches("<rect").count(), 21);
}
