//! Questions as people read them.

use uncontended_decide::question::{Bound, Decider, Side, Slo};

#[test]
fn a_question_has_the_figures_that_were_given_with_all_of_their_digits() {
    let slo = Slo {
        metric: "wall".to_string(),
        unit: "ns".to_string(),
        bound: Some(Bound { side: Side::AtMost, threshold: 1_234_567.0 }),
        rate: 0.9999,
        or_below: Some(0.07),
        max_error: 0.001,
        method: Decider::OneSided,
        bursts: None,
        quantile: None,
    };
    assert_eq!(
        slo.sentence(),
        "is wall at most 1.234567 ms in at least 99.99 % of the runs? (between 7 % and 99.99 % either answer is right)"
    );
}
