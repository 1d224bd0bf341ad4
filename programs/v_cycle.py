"""Multigrid with all its levels for Laplace's equation on 2^n+1 points along each axis, edges included.

    python programs/v_cycle.py [--power 7] [--cycles 12] [--before 2] [--after 1]
    mpiexec -n 4 python programs/v_cycle.py [...]
    weft run --on ipsc860 -n 4 programs/v_cycle.py [...]

u is x^3 - 3 x y^2 on the edge. That is harmonic, and five points are exact for polynomials of the third degree, so it
is the grid's solution too. A V-cycle smooths with damped Jacobi, carries the residual to every other point by full
weighting, corrects by bilinear interpolation, and goes down to 3 x 3 points, whose only inner one is solved for. Each
smoothing step is one update that gives the largest residual as well. Every level is divided over the ranks. Checked:
the solution is met, and from the second cycle on each leaves at most 0.3 of the largest error before it, whatever the
size. Ends with code 1 if a check fails.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np

from weft import arrays

DAMPING = 4 / 5
"""The damping of Jacobi's method that smooths best for five points."""

NEIGHBOURS = arrays.stencil({(1, 0): 1.0, (-1, 0): 1.0, (0, 1): 1.0, (0, -1): 1.0}, boundary=0)
WEIGHTS = {(i, j): 1 / (4 * 2 ** (abs(i) + abs(j))) for i in (-1, 0, 1) for j in (-1, 0, 1)}
WEIGHTING = arrays.stencil(WEIGHTS, boundary=0)
INTERPOLATION = arrays.stencil({offset: 4 * weight for offset, weight in WEIGHTS.items()}, boundary=0)


def smoothed(u: np.ndarray, f: np.ndarray, around: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A step of damped Jacobi for 4 u - around = f, and the size of the residual before it."""
    lacking = f + around - 4 * u
    return u + DAMPING / 4 * lacking, abs(lacking)


def residual(u: np.ndarray, f: np.ndarray, around: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the equation lacks, and its size."""
    lacking = f + around - 4 * u
    return lacking, abs(lacking)


class Level:
    """A grid of `points` along each axis and the coarser ones below it."""

    def __init__(self, points: int, before: int, after: int) -> None:
        self.geometry = arrays.Geometry((points, points))
        self.before, self.after = before, after
        inside = np.zeros((points, points), bool)
        inside[1:-1, 1:-1] = True
        self.inside = self.geometry.distribute(inside)
        self.lacking, self.new = self.geometry.zeros(), self.geometry.zeros()
        self.smooth = arrays.Update(smoothed, {"around": (NEIGHBOURS, "u")}, "new", {"residual": "max"})
        self.residual = arrays.Update(residual, {"around": (NEIGHBOURS, "u")}, "lacking", {"residual": "max"})
        self.coarse = Level(points // 2 + 1, before, after) if points > 3 else None

    def smooth_by(self, steps: int, u: arrays.DistributedArray, f: arrays.DistributedArray) -> arrays.DistributedArray:
        """Some steps of Jacobi's method; the edge stays."""
        for _ in range(steps):
            self.new[...] = u
            self.smooth(u=u, f=f, new=self.new, mask=self.inside)
            u, self.new = self.new, u
        return u

    def cycle(self, u: arrays.DistributedArray, f: arrays.DistributedArray) -> arrays.DistributedArray:
        """A V-cycle; the largest residual is that before the correction."""
        if self.coarse is None:
            u[1, 1] = (f[1, 1] + u[0, 1] + u[2, 1] + u[1, 0] + u[1, 2]) / 4
            return u
        u = self.smooth_by(self.before, u, f)
        self.residual(u=u, f=f, lacking=self.lacking, mask=self.inside)
        # Four times, since the spacing is twice as long and the equation is multiplied by its square.
        right = self.coarse.geometry.distribute(4 * WEIGHTING(self.lacking)[::2, ::2])
        right[~self.coarse.inside] = 0.0
        correction = self.coarse.cycle(self.coarse.geometry.zeros(), right)
        spread = self.geometry.zeros()
        spread[::2, ::2] = correction[:, :]
        u += np.where(self.inside, INTERPOLATION(spread), 0.0)
        return self.smooth_by(self.after, u, f)


def run(power: int, cycles: int, before: int, after: int) -> list[float]:
    """The largest error after every cycle."""
    level = Level(2**power + 1, before, after)
    along = np.linspace(0.0, 1.0, 2**power + 1)
    exact = along[:, None] ** 3 - 3 * along[:, None] * along[None, :] ** 2
    start = exact.copy()
    start[1:-1, 1:-1] = np.random.default_rng(7).standard_normal((2**power - 1,) * 2)
    u, f = level.geometry.distribute(start), level.geometry.zeros()
    errors = []
    for _ in range(cycles):
        u = level.cycle(u, f)
        errors.append(float(abs(u - exact).max()))
    return errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--power", type=int, default=7, help="2^power + 1 points along each axis (default 7)")
    parser.add_argument("--cycles", type=int, default=12, help="cycles, at least 4 (default 12)")
    parser.add_argument("--before", type=int, default=2, help="smoothing steps before (default 2)")
    parser.add_argument("--after", type=int, default=1, help="smoothing steps after (default 1)")
    chosen = parser.parse_args()
    if chosen.power < 2 or chosen.cycles < 4 or chosen.before + chosen.after < 3:
        parser.error("expected a power of at least 2, four cycles and three smoothing steps")
    errors = run(chosen.power, chosen.cycles, chosen.before, chosen.after)
    factors = [new / old for old, new in itertools.pairwise(errors) if new > 1e-12]
    passed = max(factors) < 0.3 and errors[-1] < max(1e-13, 0.3 ** (len(errors) - 1) * errors[0])
    if arrays.Geometry(1).rank == 0:
        print(f"{2**chosen.power + 1} points along each axis: a cycle leaves {max(factors):.3f} of the error at most")
        print(f"largest error after {chosen.cycles} cycles: {errors[-1]:.1e}")
        print("passed" if passed else "FAILED: a cycle leaves 0.3 of the error at most")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
