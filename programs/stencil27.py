"""The 27-point stencil of figure 7: in five calls of shifts, each using what the last one moved, and without moving.

    python programs/stencil27.py [--size 48] [--seed 1]
    mpiexec -n 4 python programs/stencil27.py [...]

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


class FiveCalls:
    """All 27 neighbours as shifted copies, in the order of figure 7, on the ranks of the run."""

    def __init__(self, geometry: weft.arrays.Geometry) -> None:
        self.calls = []
        for call in CALLS:
            shifts, names, sources = [], [], []
            for offset, axis in call:
                along = next(a for a, by in enumerate(offset) if by) if axis == "x" else axis
                source = tuple(0 if a == along else by for a, by in enumerate(offset))
                if source not in sources:
                    sources.append(source)
                shifts.append((offset[along], along, None, sources.index(source)))
                names.append(offset)
            plan = geometry.polyshift([np.float64] * len(sources), shifts=shifts)
            self.calls.append((plan, sources, names))

    def __call__(self, x: weft.arrays.DistributedArray) -> dict[tuple[int, ...], weft.arrays.DistributedArray]:
        """The copies, by the offset of the neighbour that each holds."""
        made = {(0, 0, 0): x}
        for plan, sources, names in self.calls:
            made |= zip(names, plan(*(made[source] for source in sources)), strict=True)
        return made


def by_arrays(size: int, seed: int) -> dict[str, float]:
    """27 arrays of coefficients: shifted copies against the stencil."""
    made = np.random.default_rng(seed)
    x = made.standard_normal((size,) * 3)
    a = {offset: made.standard_normal(x.shape) for offset in itertools.product((-1, 0, 1), repeat=3)}
    geometry = weft.arrays.Geometry(x.shape)
    five_calls = FiveCalls(geometry)
    own = {offset: geometry.distribute(values) for offset, values in a.items()}
    plan = geometry.stencil(weft.arrays.stencil(own))
    field, y = geometry.distribute(x, halo=plan.halo), geometry.zeros()
    start = time.perf_counter()
    copies = five_calls(geometry.distribute(x))
    expected = sum(own[offset].local * copies[offset].local for offset in a)
    shifts = time.perf_counter() - start
    plan(field, y)
    start = time.perf_counter()
    plan(field, y)
    seconds = time.perf_counter() - start
    by_shifts = geometry.zeros()
    by_shifts.local[...] = expected
    together, result = by_shifts.gather(None), y.gather(None)
    return {
        "error": float(np.max(np.abs(result - together)) / np.max(np.abs(together))),
        "seconds_by_shifts": shifts,
        "seconds": seconds,
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
    return float(np.max(np.abs(weft.arrays.stencil(points)(wave) - symbol * wave)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=48, help="points along each axis (default 48)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random arrays (default 1)")
    chosen = parser.parse_args()
    found = by_arrays(chosen.size, chosen.seed)
    wave = by_constants(chosen.size)
    passed = found["error"] < 1e-13 and wave < 1e-13
    if weft.arrays.Geometry(1).rank == 0:
        print(
            f"26 shifts in five calls: {found['seconds_by_shifts'] * 1e3:8.2f} ms, "
            f"{found['bytes_moved_by_shifts']} bytes moved"
        )
        print(f"one stencil:             {found['seconds'] * 1e3:8.2f} ms, none")
        print(f"largest difference {found['error']:.1e}; a wave's factor is met to {wave:.1e}")
        print("passed" if passed else "FAILED: the two must agree to rounding")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
