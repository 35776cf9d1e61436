//! Bounds as people read them.

use uncontended_decide::question::error_bound;

#[test]
fn bounds_are_rounded_up() {
    for (share, text) in [
        (0.001, "0.1%"),
        (0.05, "5%"),
        (0.01 / 3.0, "0.3334%"),
        (1e-9, "1.000e-7%"),
        (0.999_999, "100%"),
        (1e-50, "1.000e-48%"),
    ] {
        assert_eq!(error_bound(share), text);
    }
}
