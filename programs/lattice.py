"""The sum over nearest neighbours of a four-dimensional lattice with a (3, 2) spinor at each site, as in figure 6.

    python programs/lattice.py [--extents 8,8,8,16] [--sides 2] [--seed 1]
    mpiexec -n 4 python programs/lattice.py [...]

The communication of a code for quantum chromodynamics (George, Brickner and Johnsson 1994, figure 6): every site needs
the spinors of its eight neighbours. Space is periodic. Time is antiperiodic, as fermions have it: the sum changes sign
across its end, which is a coefficient along one axis. A plane wave with the right momenta is multiplied by 2 (cos p1 +
cos p2 + cos p3 + cos p4), which is checked for several right-hand sides at once. Ends with code 1 if a check fails.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import numpy as np

from weft import arrays

SPINOR = (3, 2)
"""Colours and half of the spins, as in the paper."""


def neighbours(extents: tuple[int, ...]) -> arrays.Stencil:
    """The sum over eight neighbours; the sign changes where time runs over its end."""
    length = extents[-1]
    points: dict[tuple[int, ...], float | np.ndarray] = {}
    for axis in range(3):
        for by in (-1, 1):
            points[tuple(by if a == axis else 0 for a in range(4))] = 1.0
    forward, backward = np.ones(length), np.ones(length)
    forward[-1] = backward[0] = -1
    points[(0, 0, 0, 1)], points[(0, 0, 0, -1)] = forward, backward
    return arrays.stencil(points, site_rank=2)


def run(extents: tuple[int, ...], sides: int, seed: int) -> dict[str, float]:
    """Waves with different momenta, one for each right-hand side: the largest error, and the rate."""
    made = np.random.default_rng(seed)
    x = np.empty((sides, *extents, *SPINOR), complex)
    expected = np.empty_like(x)
    for side in range(sides):
        momenta = [2 * math.pi * made.integers(extent) / extent for extent in extents[:3]]
        momenta.append((2 * made.integers(extents[3]) + 1) * math.pi / extents[3])
        phase = sum(p * i for p, i in zip(momenta, np.indices(extents), strict=True))
        spinor = made.standard_normal(SPINOR) + 1j * made.standard_normal(SPINOR)
        x[side] = np.exp(1j * phase)[..., None, None] * spinor
        expected[side] = 2 * sum(math.cos(p) for p in momenta) * x[side]
    # Sides and spinors stay together; space and time are divided over the ranks of the run.
    geometry = arrays.Geometry(x.shape, serial=[0, 5, 6])
    with geometry.stencil(neighbours(extents), x.dtype) as plan:
        a, b = geometry.distribute(x, halo=plan.halo), geometry.zeros(x.dtype)
        plan(a, b)
        start = time.perf_counter()
        plan(a, b)
        seconds = time.perf_counter() - start
    y = b.gather(None)
    return {"error": float(np.max(np.abs(y - expected))), "sites_per_second": sides * math.prod(extents) / seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extents", default="8,8,8,16", help="sites along x, y, z, t (default 8,8,8,16)")
    parser.add_argument("--sides", type=int, default=2, help="right-hand sides (default 2)")
    parser.add_argument("--seed", type=int, default=1, help="seed of momenta and spinors (default 1)")
    chosen = parser.parse_args()
    try:
        extents = tuple(int(word) for word in chosen.extents.split(","))
    except ValueError:
        extents = ()
    if len(extents) != 4 or min(extents) < 1 or chosen.sides < 1:
        parser.error("expected four extents, such as 8,8,8,16, and at least one right-hand side")
    found = run(extents, chosen.sides, chosen.seed)
    passed = found["error"] < 1e-11
    if arrays.Geometry(1).rank == 0:
        print(
            f"{chosen.sides} spinor fields on {extents}: {found['sites_per_second'] / 1e6:.1f} million sites a second"
        )
        print(f"largest error of a wave's factor: {found['error']:.1e}")
        print("passed" if passed else "FAILED: plane waves must keep their form")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
