//! Summaries of values.

use uncontended_decide::spread::Spread;

#[test]
fn the_middle_the_mean_and_the_ends() {
    let spread = Spread::of(&[4.0, 1.0, 9.0, 2.0]).unwrap();
    assert_eq!((spread.runs, spread.median, spread.mean), (4, 3.0, 4.0));
    assert_eq!((spread.min, spread.max), (1.0, 9.0));
    assert_eq!(Spread::of(&[5.0]).unwrap().median, 5.0);
    assert_eq!(Spread::of(&[f64::MAX; 3]).unwrap().mean, f64::MAX);
    assert_eq!(Spread::of(&[]), None);
}
