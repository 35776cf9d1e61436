//! Bit-identical results on every machine: one hash over thousands of results.
//!
//! A deliberate change of the arithmetic changes these numbers, and its commit says so. A change of machine, compiler
//! or optimisation must not: x86-64 and AArch64 (under qemu) agree, debug and release.

use uncontended_stats::{Counts, MaxError, Method, Prior, Question, Rate, Rng, robbins};

/// FNV-1a over the bits of the results.
struct Hash(u64);

impl Hash {
    fn add(&mut self, value: f64) {
        for byte in value.to_bits().to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[test]
fn results_have_the_same_bits_everywhere() {
    let mut rng = Rng::new(2026);
    let mut hashes = [(); 3].map(|()| Hash(0xcbf2_9ce4_8422_2325));
    for _ in 0..3000 {
        let bits = rng.below(53);
        let n = 1 + rng.below(1 << bits);
        let s = rng.below(n + 1);
        let rate = Rate::new((rng.next_u64() >> 12 | 1) as f64 / (1u64 << 52) as f64).unwrap();
        let counts = Counts::new(n, s).unwrap();
        hashes[0].add(robbins::log_criterion(counts, rate));
        for prior in [Prior::Jeffreys, Prior::Above(rate), Prior::Below(rate)] {
            hashes[1].add(prior.log_evidence(counts, rate));
        }
    }
    for method in [Method::Csm, Method::OneSided, Method::Jeffreys] {
        for n in [1u64, 17, 1000, 123_456] {
            let question =
                Question::about(Rate::new(0.9).unwrap(), method, MaxError::new(0.01).unwrap());
            let report = question.report(Counts::new(n, n - n / 11).unwrap());
            for end in [report.interval.0, report.interval.1, report.credible.0, report.credible.1]
            {
                hashes[2].add(end);
            }
        }
    }
    let seen = hashes.map(|hash| hash.0);
    assert_eq!(
        seen,
        [11_428_946_006_729_429_412, 14_817_469_212_534_815_298, 5_159_335_893_489_621_045]
    );
}
