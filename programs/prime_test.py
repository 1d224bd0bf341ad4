"""Which of many odd numbers are prime, by the test of Miller and Rabin with bases that leave no doubt.

    python programs/prime_test.py [--size 1000] [--machine here] [--seed 1]

A processor has a number below 2**31, for which the bases 2, 3, 5 and 7 decide (Pomerance, Selfridge and Wagstaff,
Mathematics of Computation 35, 1980). Powers are by repeated squaring, where the exponents of all have other bits.
Checked by division. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

BASES = (2, 3, 5, 7)
PSEUDOPRIMES = (2_047, 1_373_653, 25_326_001)
"""The least composite numbers that the first one, two and three bases take for primes."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Odd numbers of all lengths, some of which are hard."""
    generator = np.random.default_rng(seed)
    numbers = (2 ** generator.uniform(4, 31, size)).astype(np.int64) | 1
    hard = min(size - 1, len(PSEUDOPRIMES))
    numbers[:hard] = PSEUDOPRIMES[:hard]
    return numbers


def solve(numbers: np.ndarray, machine: str = "here") -> np.ndarray:
    """Which are prime."""
    vp = pvar.VPSet(numbers.shape, machine=machine)
    number = vp.array(numbers)
    odd, twos = number - 1, vp.zeros(np.int64)
    while pvar.reduce(odd & 1 == 0, "or"):
        with vp.where(odd & 1 == 0):
            odd[...] = odd >> 1
            twos[...] += 1
    prime = vp.full(True)
    for base in BASES:
        power, square, exponent = vp.full(1), vp.full(base), odd.copy()
        while pvar.reduce(exponent, "max") > 0:
            power = pvar.where(exponent & 1 == 1, power * square % number, power)
            square = square * square % number
            exponent = exponent >> 1
        passes = (power == 1) | (power == number - 1)
        left = twos - 1
        while True:
            goes_on = prime & ~passes & (left > 0)
            if not pvar.reduce(goes_on, "or"):
                break
            with vp.where(goes_on):
                power[...] = power * power % number
                passes[...] = power == number - 1
                left[...] -= 1
        prime = prime & passes
    return np.asarray(prime)


def expected(numbers: np.ndarray) -> np.ndarray:
    """The same by division by all primes up to the square root."""
    limit = int(np.sqrt(numbers.max())) + 1
    sieve = np.ones(limit + 1, bool)
    sieve[:2] = False
    for factor in range(2, int(np.sqrt(limit)) + 1):
        sieve[factor * factor :: factor] = False
    prime = np.ones(len(numbers), bool)
    for factor in np.flatnonzero(sieve).tolist():
        prime &= (numbers % factor != 0) | (numbers == factor)
    return prime


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "numbers", "the numbers")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one number")
    numbers = problem(chosen.size, chosen.seed)
    prime = solve(numbers, chosen.machine)
    print(
        f"{np.count_nonzero(prime)} of {chosen.size} numbers are prime, the largest is {numbers[prime].max(initial=0)}"
    )
    return arguments.verdict(np.array_equal(prime, expected(numbers)), "primes must be those of divisions")


if __name__ == "__main__":
    sys.exit(main())
