//! An oracle for Robbins' criterion with twice a double's precision, by another method than the library: log factorials
//! and plain logarithms in double-double arithmetic (106 bits), whose only defence against cancellation is precision.
//!
//! Its own error is below 1e-29 of the largest term, (n + 1) ln(n + 1), which is 4e-12 ulp at n = 10^12 and 1e-14 at
//! 2^53.

/// An unevaluated sum of two doubles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dd(pub(crate) f64, f64);

fn two_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    let t = s - a;
    Dd(s, (a - (s - t)) + (b - t))
}

impl Dd {
    pub(crate) fn from(x: f64) -> Dd {
        Dd(x, 0.0)
    }

    pub(crate) fn add(self, o: Dd) -> Dd {
        let (s, t) = (two_sum(self.0, o.0), two_sum(self.1, o.1));
        let r = two_sum(s.0, s.1 + t.0);
        two_sum(r.0, r.1 + t.1)
    }

    pub(crate) fn neg(self) -> Dd {
        Dd(-self.0, -self.1)
    }

    pub(crate) fn mul(self, o: Dd) -> Dd {
        let p = self.0 * o.0;
        let e = self.0.mul_add(o.0, -p);
        two_sum(p, e + (self.0 * o.1 + self.1 * o.0))
    }

    pub(crate) fn div(self, o: Dd) -> Dd {
        let q1 = self.0 / o.0;
        let r = self.add(o.mul(Dd::from(q1)).neg());
        let q2 = r.0 / o.0;
        let r = r.add(o.mul(Dd::from(q2)).neg());
        two_sum(q1, q2).add(Dd::from(r.0 / o.0))
    }

    /// The natural logarithm of a positive number, by the series of the inverse hyperbolic tangent.
    pub(crate) fn ln(self) -> Dd {
        let mut k = 0;
        let mut m = self;
        while m.0 > 1.5 {
            (m, k) = (Dd(m.0 / 2.0, m.1 / 2.0), k + 1);
        }
        while m.0 < 0.75 {
            (m, k) = (Dd(m.0 * 2.0, m.1 * 2.0), k - 1);
        }
        let one = Dd::from(1.0);
        let s = m.add(one.neg()).div(m.add(one));
        let z = s.mul(s);
        let mut sum = Dd::from(0.0);
        for i in (0..24).rev() {
            sum = sum.mul(z).add(one.div(Dd::from(f64::from(2 * i + 1))));
        }
        let ln2 = Dd(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
        sum.mul(s).mul(Dd::from(2.0)).add(ln2.mul(Dd::from(f64::from(k))))
    }
}

/// `ln n!` by Stirling's series at n >= 40, and by products below.
fn ln_factorial(n: u64) -> Dd {
    let mut shift = Dd::from(1.0);
    let mut x = n;
    while x < 40 {
        x += 1;
        shift = shift.mul(Dd::from(x as f64));
    }
    let (v, one) = (Dd::from(x as f64), Dd::from(1.0));
    // B(2j) / (2j (2j-1)), as numerators and denominators.
    let terms: [(f64, f64); 12] = [
        (1.0, 12.0),
        (-1.0, 360.0),
        (1.0, 1260.0),
        (-1.0, 1680.0),
        (1.0, 1188.0),
        (-691.0, 360_360.0),
        (1.0, 156.0),
        (-3617.0, 122_400.0),
        (43_867.0, 244_188.0),
        (-174_611.0, 125_400.0),
        (77_683.0, 5796.0),
        (-236_364_091.0, 1_506_960.0),
    ];
    let w = one.div(v.mul(v));
    let mut sum = Dd::from(0.0);
    for (a, b) in terms.into_iter().rev() {
        sum = sum.mul(w).add(Dd::from(a).div(Dd::from(b)));
    }
    let half_ln_tau = Dd(0.918_938_533_204_672_7, 3.878_294_158_067_242e-17);
    let stirling = v.add(Dd::from(0.5)).mul(v.ln()).add(v.neg()).add(half_ln_tau).add(sum.div(v));
    stirling.add(shift.ln().neg())
}

/// `ln((n+1) C(n,s) p^s (1-p)^(n-s))`, and a bound of this oracle's error.
pub(crate) fn criterion(n: u64, p: f64, s: u64) -> (Dd, f64) {
    let f = n - s;
    let q = two_sum(1.0, -p);
    let by = |d: Dd, k: u64| d.mul(Dd::from(k as f64));
    let parts = [
        Dd::from((n + 1) as f64).ln(),
        ln_factorial(n),
        ln_factorial(s).neg(),
        ln_factorial(f).neg(),
        by(Dd::from(p).ln(), s),
        by(q.ln(), f),
    ];
    let scale: f64 = parts.iter().map(|d| d.0.abs()).sum();
    (parts.into_iter().fold(Dd::from(0.0), Dd::add), scale * 2e-31 * 32.0)
}
