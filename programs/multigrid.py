"""Two grids for Poisson's equation on a square, with smoothing, restriction and prolongation as stencils.

    python programs/multigrid.py [--size 127] [--cycles 20] [--before 1] [--after 1]
    mpiexec -n 4 python programs/multigrid.py [...]

-u_xx - u_yy = f with u = 0 on the edge: 5 points, damped Jacobi (factor 4/5) before and after, full weighting, the
coarse problem solved exactly, bilinear interpolation. How much a cycle leaves of an error is predicted by Fourier
analysis of two grids (Trottenberg, Oosterlee and Schueller 2001, Multigrid, chapter 4), and checked against what is
measured; with one smoothing step on either side it is (3/5)^2. Over several ranks the fine grid is divided; the coarse
one, a quarter of it, is gathered and solved on every rank. Ends with code 1 if a check fails.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from scipy.fft import dstn, idstn

from weft import arrays

DAMPING = 4 / 5
"""The damping of Jacobi's method that smooths best for five points."""

LAPLACIAN = {(0, 0): 4.0, (1, 0): -1.0, (-1, 0): -1.0, (0, 1): -1.0, (0, -1): -1.0}
"""Times the square of the spacing."""

WEIGHTS = {(i, j): 1 / (4 * 2 ** (abs(i) + abs(j))) for i in (-1, 0, 1) for j in (-1, 0, 1)}
"""Full weighting; four times it is bilinear interpolation."""


class TwoGrids:
    """A cycle on `size` x `size` inner points; `size` is odd."""

    def __init__(self, size: int, before: int, after: int) -> None:
        self.geometry = arrays.Geometry((size, size))
        self.spacing = 1 / (size + 1)
        self.before, self.after = before, after
        self.laplacian = self.geometry.stencil(arrays.stencil(LAPLACIAN, boundary=0))
        self.weighting = self.geometry.stencil(arrays.stencil(WEIGHTS, boundary=0))
        self.interpolation = self.geometry.stencil(arrays.stencil({o: 4 * c for o, c in WEIGHTS.items()}, boundary=0))
        self.halo = self.laplacian.halo
        coarse = size // 2
        waves = 2 - 2 * np.cos(math.pi * np.arange(1, coarse + 1) / (coarse + 1))
        self.eigenvalues = (waves[:, None] + waves[None, :]) / (2 * self.spacing) ** 2

    def field(self, values: np.ndarray) -> arrays.DistributedArray:
        """An array of the fine grid with room for ghosts, from this rank's part of it."""
        made = self.geometry.zeros(halo=self.halo)
        made.local[...] = values
        return made

    def residual(self, u: arrays.DistributedArray, f: arrays.DistributedArray) -> np.ndarray:
        """What the equation lacks, on this rank."""
        return f.local - self.laplacian(u).local / self.spacing**2

    def smooth(self, u: arrays.DistributedArray, f: arrays.DistributedArray) -> None:
        """One step of damped Jacobi."""
        u.local[...] += DAMPING / 4 * self.spacing**2 * self.residual(u, f)

    def cycle(self, u: arrays.DistributedArray, f: arrays.DistributedArray) -> None:
        """One cycle: smooth, correct on the coarse grid, smooth."""
        for _ in range(self.before):
            self.smooth(u, f)
        weighted = self.weighting(self.field(self.residual(u, f))).gather(None)
        correction = np.zeros_like(weighted)
        coarse = np.ascontiguousarray(weighted[1::2, 1::2])
        correction[1::2, 1::2] = idstn(dstn(coarse, type=1) / self.eigenvalues, type=1)
        u.local[...] += self.interpolation(self.geometry.distribute(correction, halo=self.halo)).local
        for _ in range(self.after):
            self.smooth(u, f)


def predicted(smoothing: int, samples: int = 32) -> float:
    """The largest factor of two grids over all waves: four waves that look alike on the coarse grid mix."""
    worst = 0.0
    angles = (np.arange(samples) + 0.5) / samples * math.pi - math.pi / 2
    for first in angles:
        for second in angles:
            shifts = [(0, 0), (1, 1), (1, 0), (0, 1)]
            alike = [(first + math.pi * a, second + math.pi * b) for a, b in shifts]
            fine = np.array([4 - 2 * math.cos(p) - 2 * math.cos(q) for p, q in alike])
            smooth = np.diag(1 - DAMPING / 4 * fine)
            weight = np.array([(1 + math.cos(p)) * (1 + math.cos(q)) / 4 for p, q in alike])
            coarse = (4 - 2 * math.cos(2 * first) - 2 * math.cos(2 * second)) / 4
            correction = np.eye(4) - np.outer(weight, weight * fine) / coarse
            matrix = correction @ np.linalg.matrix_power(smooth, smoothing)
            worst = max(worst, float(np.max(np.abs(np.linalg.eigvals(matrix)))))
    return worst


def run(size: int, cycles: int, before: int, after: int) -> dict[str, float]:
    """Measured and predicted factors, and the error of the solution against the one that the right-hand side has."""
    grids = TwoGrids(size, before, after)
    place = np.arange(1, size + 1) * grids.spacing
    solution = np.sin(math.pi * place)[:, None] * np.sin(2 * math.pi * place)[None, :]
    # The right-hand side of the grid's own equation, so that the solution is met to rounding.
    f = grids.field(grids.laplacian(grids.geometry.distribute(solution, halo=grids.halo)).local / grids.spacing**2)
    start = np.random.default_rng(7).standard_normal((size, size))
    u = grids.geometry.distribute(start, halo=grids.halo)
    lengths = []
    for _ in range(cycles):
        grids.cycle(u, f)
        lengths.append(float(np.linalg.norm(u.gather(None) - solution)))
    return {
        "factor": lengths[-1] / lengths[-2],
        "predicted": predicted(before + after),
        "error": float(np.max(np.abs(u.gather(None) - solution))),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=127, help="inner points along each axis, odd (default 127)")
    parser.add_argument("--cycles", type=int, default=20, help="cycles, at least 2 (default 20)")
    parser.add_argument("--before", type=int, default=1, help="smoothing steps before (default 1)")
    parser.add_argument("--after", type=int, default=1, help="smoothing steps after (default 1)")
    chosen = parser.parse_args()
    if chosen.size < 3 or chosen.size % 2 == 0 or chosen.cycles < 2 or chosen.before + chosen.after < 1:
        parser.error("expected an odd size of at least 3, two cycles and one smoothing step")
    found = run(chosen.size, chosen.cycles, chosen.before, chosen.after)
    passed = abs(found["factor"] / found["predicted"] - 1) < 0.05
    if arrays.Geometry(1).rank == 0:
        print(f"a cycle leaves {found['factor']:.4f} of the error; predicted {found['predicted']:.4f}")
        print(f"largest error after {chosen.cycles} cycles: {found['error']:.1e}")
        print("passed" if passed else "FAILED: the factor must be within 5% of the prediction")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
