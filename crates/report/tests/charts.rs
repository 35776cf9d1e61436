//! The pictures of a verdict draw what they are given, and no input breaks them.
//! `UNC_PAGES=DIR` keeps a page of them for inspection.

use uncontended_figures as figures;
use uncontended_report::html::Page;
use uncontended_report::svg::{
    Arm, Column, Look, MOST_POINTS, Marked, Scale, Within, distribution, evidence, flame, in_order,
    rate, ratios,
};

fn path(slope: f64, looks: u64) -> Vec<Look> {
    (0..looks)
        .map(|n| Look { n: n * 5, log10_e: slope * n as f64 + (n as f64 * 0.9).sin() * 0.4 })
        .collect()
}

fn scale() -> Scale {
    Scale { label: "wall time".to_owned(), format: figures::duration_f, is_alone: false }
}

fn arm(name: &str, values: impl Iterator<Item = Option<f64>>) -> Arm {
    Arm { name: name.to_owned(), runs: (1..).zip(values).collect(), quantile: Some((1.1e8, 1.2e8)) }
}

/// Points, of all widths in which a chart is drawn.
fn points(chart: &str) -> usize {
    chart.matches("h0").count()
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
    let arms = [
        arm("A: sort", pairs.iter().map(|(a, _)| Some(*a))),
        arm("B: sort --parallel=2", pairs.iter().map(|(_, b)| Some(*b)).chain([None])),
    ];
    let marked = Marked { quantile: Some(("median".to_owned(), 0.5)), threshold: None };
    let spread = distribution(&arms, &marked, &scale(), false);
    let ordered = in_order(&arms, &[(3, 9)], &marked, &scale());
    assert!(
        known.0.contains("interval of the rate")
            && known.0.contains("or below")
            && known.0.contains("99 %")
    );
    assert!(grown.0.contains("decided") && grown.0.contains("against at most 98 %"));
    assert!(spread.0.contains("B: sort --parallel=2") && spread.0.contains("median"));
    assert_eq!(points(&ordered.0), 2 * 121, "the one that failed is shown too");
    assert!(ordered.0.contains("slow runs in a row") && ordered.0.contains("failed"));
    let within: Vec<Within> = (1..=60)
        .map(|n| Within { n, low: 1.0 - 1.0 / n as f64, high: 1.0 + 2.0 / n as f64 })
        .collect();
    let quotients: Vec<f64> = pairs.iter().map(|(a, b)| b / a).collect();
    let narrowed = ratios(&quotients, &within, (1.0 / 1.02, 1.02), "median ratio", true);
    assert_eq!(points(&narrowed.0), 3 * 60, "a picture that stands alone has a third width");
    assert!(narrowed.0.contains("margin") && narrowed.0.contains("interval of the median"));
    // The names of the marks are text of the page, which wraps: they do not overlap.
    let key = narrowed.0.split("<p class=\"key\"").nth(1).unwrap().split("</p>").next().unwrap();
    assert_eq!(key.matches("<span").count(), 4, "{key}");
    assert!(key.contains("pairs") && key.contains("interval of the median"), "{key}");
    if let Some(folder) = std::env::var_os("UNC_PAGES") {
        let page = Page::new(
            "unc slo --at-least 1 --rate 0.99",
            &["yes".to_owned(), "n = 4000".to_owned()],
        )
        .section("What is known of the rate", "", &known)
        .section("How the evidence grew", "", &grown)
        .section("Distribution", "", &spread)
        .section("In order", "", &ordered)
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
            let arms =
                [Arm { quantile: Some((a, b)), ..arm("a", [Some(a), None, Some(b)].into_iter()) }];
            let marked = Marked {
                quantile: Some(("q".to_owned(), a)),
                threshold: Some(("t".to_owned(), b)),
            };
            svgs.push(distribution(&arms, &marked, &scale(), true));
            svgs.push(in_order(&arms, &[(u64::MAX, 0)], &marked, &scale()));
            svgs.push(evidence(&[("e", &[Look { n: u64::MAX, log10_e: a }])], b));
            svgs.push(ratios(
                &[a, b],
                &[Within { n: u64::MAX, low: a, high: b }],
                (a, b),
                "x",
                true,
            ));
        }
    }
    svgs.push(distribution(&[], &Marked::default(), &scale(), false));
    svgs.push(in_order(&[], &[], &Marked::default(), &scale()));
    svgs.push(evidence(&[], 2.0));
    for svg in svgs {
        let svg = svg.0;
        assert!(svg.contains("<svg ") && svg.ends_with("</svg></div></div>"));
        assert!(!svg.contains("NaN") && !svg.contains("\"inf") && !svg.contains(" inf"), "{svg}");
    }
}

/// However many runs there are, a picture has about a screen's points, and the extremes are among them.
#[test]
fn many_runs_are_thinned_and_keep_their_extremes() {
    let value = |nth: u64| Some(if nth == 4_321 { 9e9 } else { 1e6 + (nth * 37 % 101) as f64 });
    let arms = [arm("a", (0..10_000).map(value))];
    let alone = in_order(&arms, &[], &Marked::default(), &scale()).0;
    assert!((600..=2 * MOST_POINTS + 8).contains(&points(&alone)), "{}", points(&alone));
    // The greatest value is near the upper edge: 30 units down, and 4 % of the height.
    let path = alone.split("class=\"c2 point\"").nth(1).unwrap().split("d=\"").nth(1).unwrap();
    let heights = path
        .split('"')
        .next()
        .unwrap()
        .split("h0")
        .filter_map(|dot| dot.split(' ').nth(1)?.parse::<f64>().ok());
    assert!(heights.fold(f64::INFINITY, f64::min) < 45.0);
    let steps = distribution(&arms, &Marked::default(), &scale(), false).0;
    assert!(steps.matches('H').count() <= 2 * MOST_POINTS + 4, "{}", steps.matches('H').count());
}

/// Marks of an axis that would overlap are omitted.
#[test]
fn texts_along_an_axis_do_not_overlap() {
    let arms = [arm("a", (0..40).map(|nth| Some(1.001_234e9 + f64::from(nth) * 1e3)))];
    let chart = distribution(&arms, &Marked::default(), &scale(), false).0;
    for svg in chart.split("<svg").skip(1) {
        let grid = svg.split("class=\"label\"").next().unwrap();
        let texts = grid.split("<text").skip(1).filter(|text| text.contains("middle"));
        let placed: Vec<(f64, f64)> = texts
            .map(|text| {
                let x = text.split("x=\"").nth(1).unwrap().split('"').next().unwrap();
                let shown = text.split('>').nth(1).unwrap().split('<').next().unwrap();
                (x.parse::<f64>().unwrap(), 6.0 * shown.chars().count() as f64)
            })
            .collect();
        assert!(!placed.is_empty(), "{svg}");
        for pair in placed.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= (pair[0].1 + pair[1].1) / 2.0, "{placed:?}");
        }
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
