//! Two streams of outcomes: which has the higher rate?
//!
//! # Contract
//! Outcomes come in pairs, one from each stream. With a chance of at least `1 - max_error`, no wrong direction is ever
//! claimed and the interval of the difference of the rates is never without it, over all looks. Nothing is assumed of
//! the rates but that they stay.
//! # Why it holds
//! Before each pair, rates a and b are guessed from the earlier ones. The pair's likelihood under the guess over that
//! under their mean for both is an e-variable for "B's rate is at most A's" if the guess has b > a: their mean is the
//! closest point of that hypothesis (reverse information projection). Two such tests and two rate intervals have a
//! quarter of the error bound each.
//! # Evidence
//! tests/truth_two_streams.rs.
//! # Sources
//! Turner, Ly and Gruenwald, arXiv 2106.02693; Turner and Gruenwald, arXiv 2203.09785.

use crate::ball::Ball;
use crate::eprocess::Prior;
use crate::ln::ln_ball;
use crate::rate::{Counts, MaxError};

/// The pseudo-count of the guesses, as the authors recommend for blocks of one and one.
const PSEUDO: f64 = 0.18;

/// Compares the rates of two streams, pair by pair.
///
/// ```
/// use uncontended_stats::{MaxError, two_streams::{Higher, TwoStreams}};
/// let mut streams = TwoStreams::new(MaxError::new(0.01)?);
/// let pairs = (1..).find(|i| {
///     streams.push(i % 4 == 0, i % 4 != 0); // A succeeds a quarter of the time, B three quarters.
///     streams.higher() != Higher::Unknown
/// });
/// assert!(streams.higher() == Higher::B && pairs.unwrap() < 60);
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct TwoStreams {
    share: MaxError,
    a: Counts,
    b: Counts,
    /// The logs of the e-processes for "B is higher" and "A is higher".
    evidence: [Ball; 2],
}

/// Which stream has the higher rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Higher {
    /// The first.
    A,
    /// The second.
    B,
    /// Not known yet.
    Unknown,
}

impl TwoStreams {
    /// A comparison without any outcomes.
    #[must_use]
    pub fn new(max_error: MaxError) -> TwoStreams {
        TwoStreams {
            share: max_error.split(4),
            a: Counts::default(),
            b: Counts::default(),
            evidence: [Ball::exact(0.0); 2],
        }
    }

    /// Takes one outcome of each stream.
    pub fn push(&mut self, a: bool, b: bool) {
        let guess =
            |c: Counts| (c.successes() as f64 + PSEUDO) / (c.trials() as f64 + 2.0 * PSEUDO);
        let (guess_a, guess_b) = (guess(self.a), guess(self.b));
        // A guess on the wrong side of a hypothesis stakes nothing against it.
        let side = usize::from(guess_b <= guess_a);
        let mean = Ball::exact(guess_a) + guess_b;
        let mean = mean * 0.5;
        let of = |p: Ball, success: bool| if success { p } else { -p + 1.0 };
        let ratio = (of(guess_a.into(), a) * of(guess_b.into(), b)) / (of(mean, a) * of(mean, b));
        self.evidence[side] = self.evidence[side] + ln_ball(ratio);
        self.a.push(a);
        self.b.push(b);
    }

    /// What stream A did.
    #[must_use]
    pub fn a(&self) -> Counts {
        self.a
    }

    /// What stream B did.
    #[must_use]
    pub fn b(&self) -> Counts {
        self.b
    }

    /// Lower bounds of the logs of the e-processes that B's rate is higher, and that A's is.
    #[must_use]
    pub fn log_evidence(&self) -> (f64, f64) {
        (self.evidence[0].lower(), self.evidence[1].lower())
    }

    /// What the log of an e-process has to reach.
    #[must_use]
    pub fn needed(&self) -> f64 {
        -self.share.log()
    }

    /// Which stream has the higher rate. A stream may ask after every pair and stop at the first answer.
    #[must_use]
    pub fn higher(&self) -> Higher {
        let (b, a) = self.log_evidence();
        match () {
            () if b >= self.needed() => Higher::B,
            () if a >= self.needed() => Higher::A,
            () => Higher::Unknown,
        }
    }

    /// Where B's rate minus A's lies; never on the side that was refuted.
    #[must_use]
    pub fn difference(&self) -> (f64, f64) {
        let [a, b] =
            [self.a, self.b].map(|counts| Prior::Jeffreys.price(counts).interval(self.share));
        let (low, high) = ((b.0 - a.1).next_down(), (b.1 - a.0).next_up());
        match self.higher() {
            Higher::B => (low.max(0.0), high.max(0.0)),
            Higher::A => (low.min(0.0), high.min(0.0)),
            Higher::Unknown => (low, high),
        }
    }
}
