//! Intervals of what follows from the coefficients of a linear law, by Student's t.
//!
//! # Contract
//! A law says that each row, times the coefficients, yields 1 and an error; errors are independent, of mean 0 and of
//! one size, which is estimated from what the fit leaves over. [`Spread`] then has the interval at 95 % of any weighted
//! sum of the coefficients, and of the ratio of two such sums. It takes more rows than coefficients: with as many, the
//! law goes through every point, and nothing tells the errors.
//! # Evidence
//! The tests of `usl`: intervals contain planted laws as often as they say.
//! # Sources
//! Student 1908; Fieller, "Some problems in interval estimation", 1954 (ratios).

/// The number of coefficients.
pub(crate) const COEFFICIENTS: usize = 3;

/// Student's t that is exceeded, on either side, with a chance of 2.5 %, by degrees of freedom from 1 on.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

type Row = [f64; COEFFICIENTS];

/// The coefficients with their errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    means: Row,
    /// Their covariances, times the square of t.
    spread: [Row; COEFFICIENTS],
}

impl Spread {
    /// Of these rows; none if there are not more than coefficients, or if they do not determine these.
    pub(crate) fn of(rows: &[Row]) -> Option<Spread> {
        let free = rows.len().checked_sub(COEFFICIENTS).filter(|&free| free > 0)?;
        let mut products = [[0.0; COEFFICIENTS]; COEFFICIENTS];
        let mut sums = [0.0; COEFFICIENTS];
        for row in rows {
            for (i, cell) in row.iter().enumerate() {
                sums[i] += cell;
                row.iter().zip(&mut products[i]).for_each(|(other, sum)| *sum += cell * other);
            }
        }
        let inverse = inverse(&products)?;
        let means = inverse.map(|row| dot(&row, &sums));
        let left: f64 = rows.iter().map(|row| (dot(row, &means) - 1.0).powi(2)).sum();
        let t = T[free.min(T.len()) - 1];
        let scale = t * t * left / free as f64;
        Some(Spread { means, spread: inverse.map(|row| row.map(|cell| cell * scale)) })
    }

    /// The interval of the coefficients' sum with these weights.
    pub(crate) fn sum(&self, weights: &Row) -> (f64, f64) {
        let (middle, half) =
            (dot(weights, &self.means), self.common(weights, weights).max(0.0).sqrt());
        (middle - half, middle + half)
    }

    /// The interval of the ratio of two sums, the second of which is above 0: its part from 0 on; without an upper end
    /// if the second may be 0. None if the whole of it is below 0.
    pub(crate) fn ratio(&self, above: &Row, below: &Row) -> Option<(f64, Option<f64>)> {
        let (over, under) = (dot(above, &self.means), dot(below, &self.means));
        // Those ratios r for which 0 is in the interval of `above - r below`: a quadratic inequality.
        let square = under * under - self.common(below, below);
        let linear = over * under - self.common(above, below);
        let constant = over * over - self.common(above, above);
        if square <= 0.0 || under <= 0.0 {
            return Some((0.0, None));
        }
        let root = (linear * linear - square * constant).max(0.0).sqrt();
        let (low, high) = ((linear - root) / square, (linear + root) / square);
        (high >= 0.0).then(|| (low.max(0.0), Some(high)))
    }

    fn common(&self, one: &Row, other: &Row) -> f64 {
        one.iter().zip(&self.spread).map(|(weight, row)| weight * dot(row, other)).sum()
    }
}

fn dot(one: &Row, other: &Row) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The inverse by cofactors; none if there is next to none.
fn inverse(of: &[Row; COEFFICIENTS]) -> Option<[Row; COEFFICIENTS]> {
    let at = |row: usize, column: usize| of[row % COEFFICIENTS][column % COEFFICIENTS];
    // Indices that go round have the cofactors' signs in them.
    let cofactor = |row: usize, column: usize| {
        at(row + 1, column + 1) * at(row + 2, column + 2)
            - at(row + 1, column + 2) * at(row + 2, column + 1)
    };
    let whole: f64 = (0..COEFFICIENTS).map(|column| at(0, column) * cofactor(0, column)).sum();
    let size: f64 = (0..COEFFICIENTS).map(|diagonal| at(diagonal, diagonal)).product();
    (whole.abs() > 1e-14 * size).then(|| {
        std::array::from_fn(|row| std::array::from_fn(|column| cofactor(column, row) / whole))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_is_one() {
        let of = [[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]];
        let found = inverse(&of).unwrap();
        for (row, cells) in of.iter().enumerate() {
            for column in 0..COEFFICIENTS {
                let cell: f64 = (0..COEFFICIENTS).map(|at| cells[at] * found[at][column]).sum();
                let expected = if row == column { 1.0 } else { 0.0 };
                assert!((cell - expected).abs() < 1e-12, "{found:?}");
            }
        }
        assert!(inverse(&[[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]).is_none());
    }

    #[test]
    fn as_many_rows_as_coefficients_tell_no_errors() {
        let rows = [[1.0, 0.0, 0.0], [0.7, 0.3, 0.1], [0.5, 0.4, 0.5], [0.2, 0.5, 0.9]];
        assert!(Spread::of(&rows[..3]).is_none() && Spread::of(&rows).is_some());
    }

    #[test]
    fn an_interval_is_the_textbooks() {
        // One coefficient matters: the mean of four values of the first column's inverse, by least squares.
        let rows =
            [[1.0, 0.0, 0.0], [0.9, 0.0, 0.0], [1.1, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]];
        let spread = Spread::of(&rows).unwrap();
        // The last two rows are fitted exactly by the others' coefficients.
        let (sum, squares) = (3.0, 1.0 + 0.81 + 1.21);
        let mean = sum / squares;
        let left: f64 = [1.0, 0.9, 1.1].iter().map(|x: &f64| (x * mean - 1.0).powi(2)).sum();
        let half = 4.303 * (left / 2.0 / squares).sqrt();
        let (low, high) = spread.sum(&[1.0, 0.0, 0.0]);
        assert!((low - (mean - half)).abs() < 1e-9 && (high - (mean + half)).abs() < 1e-9);
    }

    #[test]
    fn a_ratio_has_no_end_where_what_is_below_may_be_nothing() {
        let rows =
            [[1.0, 0.1, 0.0], [0.9, 0.2, 0.1], [1.05, 0.4, 0.3], [0.97, 0.9, 0.8], [1.0, 1.3, 2.0]];
        let spread = Spread::of(&rows).unwrap();
        let (low, high) = spread.sum(&[0.0, 0.0, 1.0]);
        assert!(low < 0.0 && high > 0.0, "{low} {high}");
        assert_eq!(spread.ratio(&[1.0, 0.0, 0.0], &[0.0, 0.0, 1.0]), Some((0.0, None)));
        let (low, high) = spread.ratio(&[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0]).unwrap();
        assert!(low == 0.0 && high.unwrap() > 0.0, "its part from 0 on");
    }
}
