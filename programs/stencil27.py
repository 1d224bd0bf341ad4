"""The 27-point stencil of figure 7: in five calls of shifts, each using what the last one moved, and without moving.

    python programs/stencil27.py [--size 48] [--seed 1]

The subroutine of George, Brickner and Johnsson (1994, figure 7) shifts an array 26 times, in five calls of at most six
shifts, and multiplies each copy by an array of coefficients. The same sum as a stencil moves nothing. Both are computed
and compared; then a stencil of constants is held against what it does to a wave, which is known exactly. Ends with code
1 if a check fails.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time

import numpy as np

import weft

CALLS = (
    (((1, 0, 0), "x"), ((-1, 0, 0), "x"), ((0, 1, 0), "x"), ((0, -1, 0), "x"), ((0, 0, 1), "x"), ((0, 0, -1), "x")),
    (((1, 0, 1), 0), ((-1, 0, 1), 0), ((1, 1, 0), 1), ((1, -1, 0), 1), ((0, 1, 1), 2), ((0, 1, -1), 2)),
    (((1, 0, -1), 0), ((-1, 0, -1), 0), ((-1, 1, 0), 1), ((-1, -1, 0), 1), ((0, -1, 1), 2), ((0, -1, -1), 2)),
    (((1, -1, 1), 0), ((-1, -1, 1), 0), ((-1, 1, -1), 1), ((-1, -1, -1), 1), ((1, 1, 1), 2), ((1, 1, -1), 2)),
    (((-1, 1, 1), 2), ((1, -1, -1), 2)),
)
"""The neighbours that each call makes, and along which axis an earlier one is shifted ("x": the array itself)."""


def five_calls(x: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    """All 27 neighbours as shifted copies, in the order of figure 7."""
    made = {(0, 0, 0): x}
    for call in CALLS:
        copies = {}
        for offset, axis in call:
            along = next(a for a, by in enumerate(offset) if by) if axis == "x" else axis
            source = tuple(0 if a == along else by for a, by in enumerate(offset))
            # CSHIFT by d is numpy's roll by -d.
            copies[offset] = np.roll(made[source], -offset[along], along)
        made |= copies
    return made


def by_arrays(size: int, seed: int) -> dict[str, float]:
    """27 arrays of coefficients: shifted copies against the stencil."""
    made = np.random.default_rng(seed)
    x = made.standard_normal((size,) * 3)
    a = {offset: made.standard_normal(x.shape) for offset in itertools.product((-1, 0, 1), repeat=3)}
    start = time.perf_counter()
    copies = five_calls(x)
    expected = sum(a[offset] * copies[offset] for offset in a)
    shifts = time.perf_counter() - start
    plan = weft.stencil(a).plan(x.shape)
    y = np.empty_like(x)
    plan(x, y)
    start = time.perf_counter()
    plan(x, y)
    return {
        "error": float(np.max(np.abs(y - expected)) / np.max(np.abs(expected))),
        "seconds_by_shifts": shifts,
        "seconds": time.perf_counter() - start,
        "bytes_moved_by_shifts": 26 * x.nbytes,
    }


def by_constants(size: int) -> float:
    """The 27-point Laplacian on a wave: the error against its symbol, relative to the wave."""
    weights = {0: -88 / 26, 1: 6 / 26, 2: 3 / 26, 3: 2 / 26}
    points = {o: weights[sum(map(abs, o))] for o in itertools.product((-1, 0, 1), repeat=3)}
    angles = [2 * math.pi * k / size for k in (1, 2, 3)]
    i, j, k = np.meshgrid(*[np.arange(size)] * 3, indexing="ij")
    wave = np.exp(1j * (angles[0] * i + angles[1] * j + angles[2] * k))
    symbol = sum(c * np.exp(1j * np.dot(angles, o)) for o, c in points.items())
    return float(np.max(np.abs(weft.stencil(points)(wave) - symbol * wave)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=48, help="points along each axis (default 48)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random arrays (default 1)")
    chosen = parser.parse_args()
    found = by_arrays(chosen.size, chosen.seed)
    wave = by_constants(chosen.size)
    print(
        f"26 shifts in five calls: {found['seconds_by_shifts'] * 1e3:8.2f} ms, "
        f"{found['bytes_moved_by_shifts']} bytes moved"
    )
    print(f"one stencil:             {found['seconds'] * 1e3:8.2f} ms, none")
    print(f"largest difference {found['error']:.1e}; a wave's factor is met to {wave:.1e}")
    passed = found["error"] < 1e-13 and wave < 1e-13
    print("passed" if passed else "FAILED: the two must agree to rounding")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
