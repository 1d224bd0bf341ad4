"""Points in space in the order of an octree, and how deep each of its leaves is.

    python programs/octree.py [--size 1000] [--machine here] [--seed 1]

The bits of three coordinates are interleaved to a code of 48 bits (Morton 1966); in the order of codes, whoever is in
one cell follows each other, on every level. A point's leaf is the first cell that it has for itself, which its
neighbours in the order say. Checked with Python's counts of cells. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import collections
import sys

import arguments
import numpy as np

from weft import pvar

LEVELS = 16
MASKS = (
    *((32, 0x1F00000000FFFF), (16, 0x1F0000FF0000FF), (8, 0x100F00F00F00F00F), (4, 0x10C30C30C30C30C3)),
    (2, 0x1249249249249249),
)
"""By how much bits move apart, and which of them stay."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Points of some clusters, and others anywhere, in the unit cube."""
    generator = np.random.default_rng(seed)
    centres = generator.random((5, 3))
    points = centres[generator.integers(0, 5, size)] + generator.normal(0, 0.02, (size, 3))
    anywhere = generator.random((size, 3))
    points = np.where(generator.random((size, 1)) < 0.3, anywhere, points)
    return np.clip(points, 0, 0.9999).astype(np.float32).T.copy()


def solve(points: np.ndarray, machine: str = "here") -> tuple[np.ndarray, ...]:
    """Codes in order, each point's level of its leaf, and cells and the most points of one on every level."""
    vp = pvar.VPSet(points.shape[1], machine=machine)
    code = vp.zeros(np.uint64)
    for axis, line in enumerate(points):
        bits = pvar.floor(vp.array(line) * 2.0**LEVELS).astype(np.uint64)
        for distance, mask in MASKS:
            bits = (bits | (bits << distance)) & mask
        code |= bits << (2 - axis)
    order = pvar.rank(code)
    code = pvar.send(code, order)
    outside = (1 << 3 * LEVELS) | 7
    differs = code ^ pvar.shift(code, -1, boundary=outside)
    leaf, cells, fullest = vp.full(LEVELS, np.int8), [], []
    one = vp.full(1, np.int32)
    for level in range(LEVELS, 0, -1):
        begins = (differs >> 3 * (LEVELS - level)) != 0
        cells.append(begins.count())
        fullest.append(pvar.scan(one, "add", segments=begins).max())
        with vp.where(begins & pvar.shift(begins, 1, boundary=True)):
            leaf[...] = level
    leaf = pvar.get(leaf, order)
    return np.asarray(code), np.asarray(leaf), np.array(cells[::-1]), np.array(fullest[::-1])


def expected(points: np.ndarray) -> tuple[np.ndarray, ...]:
    """The same by counts of the cells of every level."""
    whole = (points.astype(float) * 2**LEVELS).astype(int).T.tolist()
    codes = [
        sum((one >> bit & 1) << (3 * bit + 2 - axis) for axis, one in enumerate(point) for bit in range(LEVELS))
        for point in whole
    ]
    leaf, cells, fullest = np.full(len(codes), LEVELS), [], []
    for level in range(LEVELS, 0, -1):
        scale = 2 ** (LEVELS - level)
        of_points = [(x // scale, y // scale, z // scale) for x, y, z in whole]
        counts = collections.Counter(of_points)
        leaf[[counts[cell] == 1 for cell in of_points]] = level
        cells.append(len(counts))
        fullest.append(max(counts.values()))
    return np.array(sorted(codes)), leaf, np.array(cells[::-1]), np.array(fullest[::-1])


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "points", "the points")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    points = problem(chosen.size, chosen.seed)
    answer = solve(points, chosen.machine)
    print(f"leaves are on level {answer[1].mean():.2f} in the mean; level 4 has {answer[2][3]} cells")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(points), strict=True))
    return arguments.verdict(right, "cells must be those that hold points")


if __name__ == "__main__":
    sys.exit(main())
