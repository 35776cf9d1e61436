"""Judges lines of `n s p uniform jeffreys above below` (the last five as the bits of doubles) in Arb's ball arithmetic: no log evidence may
exceed that of its prior, integrated exactly. Prints cases, violations, and by prior the largest shortfall where the
evidence is at least 3 (one to twenty). Needs python-flint. See compare/src/evidence.rs."""
import math
import struct
import sys

from flint import arb, ctx

ctx.prec = 300


def double(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def exact(x):
    numerator, denominator = x.as_integer_ratio()
    return arb(numerator) / arb(denominator)


def log_beta(a, b):
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


def above(s, f, p, q, p_double):
    """The prior above p: uniform for p >= 1/2, else Beta(1, floor(1/p)) cut off at p."""
    m = 1 if p_double >= 0.5 else math.floor(1.0 / p_double)
    a, b = arb(s + 1), arb(f + m)
    mass = q.beta_lower(b, a, regularized=True)
    return log_beta(a, b) + mass.log() + arb(m).log() - m * q.log() - s * p.log() - f * q.log()


def truths(n, s, p_double):
    p, f = exact(p_double), n - s
    q = 1 - p
    likelihood = s * p.log() + f * q.log()
    half = arb(1) / 2
    yield "uniform", log_beta(arb(s + 1), arb(f + 1)) - likelihood
    yield "jeffreys", log_beta(s + half, f + half) - arb.pi().log() - likelihood
    yield "above", above(s, f, p, q, p_double)
    # Below p is above q with successes and failures exchanged; q rounds to the double that the crate looks at.
    yield "below", above(f, s, q, p, 1.0 - p_double)


cases = violations = unclear = 0
worst = {}
for line in sys.stdin:
    n, s, p, *ours = line.split()
    for (name, truth), bits in zip(truths(int(n), int(s), double(p)), ours):
        claimed = double(bits)
        cases += 1
        if math.isinf(claimed):
            continue
        short = truth - exact(claimed)
        if short < 0:
            violations += 1
            print("VIOLATION", name, line.strip(), short)
        elif not short >= 0:
            unclear += 1
        elif truth > 3:
            worst[name] = max(worst.get(name, 0.0), float(short.mid()))
print(f"{cases} values, {violations} violations, {unclear} too close to call; worst shortfall {worst}")
sys.exit(violations > 0)
