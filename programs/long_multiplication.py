"""The product of two long numbers, a digit on each processor: as at school, with carries by a scan.

    python programs/long_multiplication.py [--size 500] [--machine here] [--seed 1]

Digits have 16 bits, the lowest first. One number passes by the other: each of its digits in turn multiplies the whole
other number, moved by one more. Then what is above a digit is carried to the next, until a carry is at most 1; those
that run through many digits are found by one scan. Checked against Python's whole numbers. Ends with code 1 if the
check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

Factors = tuple[np.ndarray, np.ndarray]
"""Digits of two numbers."""

BITS = 16
LARGEST = (1 << BITS) - 1


def problem(size: int, seed: int = 1) -> Factors:
    """Two numbers of so many digits."""
    digits = np.random.default_rng(seed).integers(0, LARGEST, (2, size), endpoint=True)
    return digits[0], digits[1]


def solve(factors: Factors, machine: str = "here") -> np.ndarray:
    """The digits of the product, as many as both have."""
    one, other = factors
    vp = pvar.VPSet(len(one) + len(other), machine=machine)
    moved, digit = vp.array(np.append(one, np.zeros_like(other))), vp.zeros(np.int64)
    for factor in other.tolist():
        digit += factor * moved
        moved = pvar.shift(moved, -1, boundary=0)
    while pvar.reduce(digit, "max") > 2 * LARGEST:
        digit = (digit & LARGEST) + pvar.shift(digit >> BITS, -1, boundary=0)
    # A digit that is the largest passes a carry on: what the nearest one below says that is not.
    passes = digit == LARGEST
    carries = pvar.scan(digit > LARGEST, "copy", segments=~passes)
    arrives = pvar.shift(carries, -1, boundary=False)
    return np.asarray((digit + arrives.astype(np.int64)) & LARGEST)


def number(digits: np.ndarray) -> int:
    """What the digits are as a whole number of Python."""
    return int.from_bytes(digits.astype("<u2").tobytes(), "little")


def expected(factors: Factors) -> int:
    """The product, by Python."""
    return number(factors[0]) * number(factors[1])


def main() -> int:
    parser = arguments.parser(__doc__, 500, "digits of each number", "the numbers")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one digit")
    factors = problem(chosen.size, chosen.seed)
    found = solve(factors, chosen.machine)
    print(f"two numbers of {BITS * chosen.size} bits have a product of {number(found).bit_length()}")
    return arguments.verdict(number(found) == expected(factors), "the product must be Python's")


if __name__ == "__main__":
    sys.exit(main())
