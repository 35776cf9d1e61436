//! The ranges of the values that flags take; `crates/figures/tests/read.rs` tests how they are read.

use uncontended_decide::value::{duration, margin, percentile, rate, stretch};

#[test]
fn a_rate_is_between_none_and_all() {
    assert_eq!((rate("98%"), rate("98 %"), rate(".999")), (Ok(0.98), Ok(0.98), Ok(0.999)));
    for text in ["0", "1", "100%", "-1", "nan", "2", "", "%"] {
        assert!(rate(text).is_err(), "{text}");
    }
}

#[test]
fn a_share_that_was_meant_in_percent_is_suggested() {
    let ends = |read: Result<f64, String>, words: &str| read.unwrap_err().ends_with(words);
    assert!(ends(margin("2"), "; for 2 % write 2%"), "{:?}", margin("2"));
    assert!(ends(rate("99"), "; for 99 % write 99%"), "{:?}", rate("99"));
    assert!(ends(rate("99.9"), "; for 99.9 % write 99.9%"));
    // 1 may be 100 %, and with a sign, or from 100 on, a percentage would not help.
    for no_percentage in ["1", "-2", "100", "250%", "2000"] {
        assert!(!rate(no_percentage).unwrap_err().contains("write"), "{no_percentage}");
        assert!(margin(no_percentage).map_or_else(|why| !why.contains("write"), |_| true));
    }
}

#[test]
fn a_margin_may_be_nothing() {
    assert_eq!((margin("0"), margin("2 %")), (Ok(0.0), Ok(0.02)));
    assert!(margin("100%").is_err() && margin("-1%").is_err());
}

#[test]
fn a_limit_of_time_is_above_zero_and_a_stretch_at_least_one() {
    assert_eq!(duration("5 s"), duration("5s"));
    assert!(duration("0s").is_err() && duration("5").is_err());
    assert_eq!((stretch("1"), stretch("1e6")), (Ok(1.0), Ok(1e6)));
    assert!(stretch("0.9").is_err() && stretch("2e6").is_err() && stretch("5ms").is_err());
    assert_eq!(percentile("p99.9"), Ok(0.999));
}
