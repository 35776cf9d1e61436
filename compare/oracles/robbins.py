"""Judges lines of `n s p L` (hexadecimal; p and L as the bits of doubles) in Arb's ball arithmetic: L must never be below
ln((n+1) C(n,s) p^s (1-p)^(n-s)). Prints the number of cases, of violations, and the largest slack relative to max(1, |L|).
Needs python-flint. See compare/src/robbins.rs."""
import struct
import sys

from flint import arb, ctx

ctx.prec = 220


def double(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def exact(x):
    numerator, denominator = x.as_integer_ratio()
    return arb(numerator) / arb(denominator)


cases = violations = undecided = 0
worst = {"n <= 10^12": 0.0, "n <= 2^53": 0.0}
for line in sys.stdin:
    n, s, p, ours = line.split()
    n, s, p, ours = int(n, 16), int(s, 16), exact(double(p)), exact(double(ours))
    truth = arb(n + 1).log() + arb(n + 1).lgamma() - arb(s + 1).lgamma() - arb(n - s + 1).lgamma()
    truth += s * p.log() + (n - s) * (-p).log1p()
    above = ours - truth
    cases += 1
    if above < 0:
        violations += 1
        print("VIOLATION", line.strip(), above)
    elif not above >= 0:
        undecided += 1
    slack = float((above / max(1.0, abs(float(truth.mid())))).mid())
    key = "n <= 10^12" if n <= 10**12 else "n <= 2^53"
    worst[key] = max(worst[key], slack)
print(f"{cases} cases, {violations} violations, {undecided} too close to call at {ctx.prec} bits; worst slack {worst}")
sys.exit(violations > 0)
