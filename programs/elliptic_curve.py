"""Public keys from secret ones: multiples of a point on an elliptic curve, a key on each processor.

    python programs/elliptic_curve.py [--size 500] [--machine here] [--seed 1]

Doubled points are the same for all and are added where a key's bit is set, in Jacobian coordinates, which need no
division until the end (Cohen, Miyaji and Ono 1998); that one is a power (Fermat). The curve is a toy: its prime has 31
bits, so that products fit 64. Checked key by key with Python's inverses. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

PRIME = 2**31 - 1
LINEAR = 3
POINT = (1, 2_147_483_640)
"""On y^2 = x^3 + 3 x + 45; its multiples are 2147512823, a prime, so that no sum of keys below 2^24 meets itself."""
BITS = 24


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Secret keys."""
    return np.random.default_rng(seed).integers(1, 2**BITS, size, dtype=np.int64)


def doubled(x: int, y: int) -> tuple[int, int]:
    """Twice a point."""
    slope = (3 * x * x + LINEAR) * pow(2 * y, -1, PRIME) % PRIME
    twice = (slope * slope - 2 * x) % PRIME
    return twice, (slope * (x - twice) - y) % PRIME


def solve(keys: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, int]:
    """Both coordinates of each public key, and all first ones combined by exclusive or."""
    vp = pvar.VPSet(keys.shape, machine=machine)
    key = vp.array(keys)
    x, y, z = vp.zeros(np.int64), vp.zeros(np.int64), vp.zeros(np.int64)
    px, py = POINT
    for bit in range(BITS):
        is_set, is_first = (key >> bit) & 1 == 1, z == 0
        with vp.where(is_set & ~is_first):
            square = z * z % PRIME
            right = (square * px - x) % PRIME
            up = (square * z % PRIME * py - y) % PRIME
            right_square = right * right % PRIME
            cube, common = right_square * right % PRIME, x * right_square % PRIME
            x[...] = (up * up - cube - 2 * common) % PRIME
            y[...] = (up * (common - x) - y * cube % PRIME) % PRIME
            z[...] = z * right % PRIME
        with vp.where(is_set & is_first):
            x[...] = px
            y[...] = py
            z[...] = 1
        px, py = doubled(px, py)
    inverse, power = vp.full(1, np.int64), z
    for digit in reversed(f"{PRIME - 2:b}"):
        if digit == "1":
            inverse = inverse * power % PRIME
        power = power * power % PRIME
    square = inverse * inverse % PRIME
    x, y = x * square % PRIME, y * square % PRIME * inverse % PRIME
    return np.asarray(x), np.asarray(y), int(pvar.reduce(x, "logxor"))


def expected(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The same from the highest bit of each key on, with slopes and inverses."""

    def plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        (x1, y1), (x2, y2) = one, other
        above, below = (3 * x1 * x1 + LINEAR, 2 * y1) if one == other else (y2 - y1, x2 - x1)
        slope = above * pow(below, -1, PRIME)
        x3 = (slope * slope - x1 - x2) % PRIME
        return x3, (slope * (x1 - x3) - y1) % PRIME

    points, check = [], 0
    for key in keys.tolist():
        point = POINT
        for digit in f"{key:b}"[1:]:
            point = plus(point, point)
            if digit == "1":
                point = plus(point, POINT)
        points.append(point)
        check ^= point[0]
    return *np.array(points).T, check


def main() -> int:
    parser = arguments.parser(__doc__, 500, "keys", "the keys")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one key")
    keys = problem(chosen.size, chosen.seed)
    answer = solve(keys, chosen.machine)
    print(f"{keys[0]} times the point is ({answer[0][0]}, {answer[1][0]})")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(keys), strict=True))
    return arguments.verdict(right, "points must be those of the slopes")


if __name__ == "__main__":
    sys.exit(main())
