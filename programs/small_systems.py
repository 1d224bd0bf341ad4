"""Many small systems of linear equations, one on each processor, by elimination with partial pivoting.

    python programs/small_systems.py [--size 500] [--machine here] [--seed 1]

Each processor has a matrix of its own, as an array of variables, and chooses its own pivots: rows are exchanged by an
index that differs from processor to processor. Checked with numpy's solutions and determinants. Ends with code 1 if the
check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

ORDER = 5


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Matrices, and right-hand sides."""
    generator = np.random.default_rng(seed)
    return generator.normal(0, 1, (size, ORDER, ORDER)), generator.normal(0, 1, (size, ORDER))


def solve(systems: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The solutions, and the determinants."""
    matrices, right = systems
    vp = pvar.VPSet(len(right), machine=machine)
    a = vp.arrays((ORDER, ORDER + 1))
    for row in range(ORDER):
        for column in range(ORDER):
            a[row, column] = vp.array(np.ascontiguousarray(matrices[:, row, column]))
        a[row, ORDER] = vp.array(np.ascontiguousarray(right[:, row]))
    determinant = vp.full(1.0)
    for step in range(ORDER):
        largest, pivot = abs(a[step, step]), vp.full(step, np.int32)
        for row in range(step + 1, ORDER):
            magnitude = abs(a[row, step])
            with vp.where(magnitude > largest):
                largest[...] = magnitude
                pivot[...] = row
        for column in range(step, ORDER + 1):
            chosen = a[pivot, column]
            a[pivot, column] = a[step, column]
            a[step, column] = chosen
        determinant *= pvar.where(pivot == step, a[step, step], -a[step, step])
        inverse = 1 / a[step, step]
        for row in range(step + 1, ORDER):
            factor = a[row, step] * inverse
            for column in range(step + 1, ORDER + 1):
                a[row, column] -= factor * a[step, column]
    solution: list[pvar.ParallelVariable] = []
    for row in reversed(range(ORDER)):
        value = a[row, ORDER].copy()
        for column, known in zip(range(ORDER - 1, row, -1), solution, strict=True):
            value -= a[row, column] * known
        solution.append(value / a[row, row])
    return np.array([one.numpy() for one in reversed(solution)]).T, np.asarray(determinant)


def main() -> int:
    parser = arguments.parser(__doc__, 500, "systems", "the matrices")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one system")
    systems = problem(chosen.size, chosen.seed)
    solution, determinant = solve(systems, chosen.machine)
    print(f"determinants are from {determinant.min():.2f} to {determinant.max():.2f}")
    wanted = np.linalg.solve(systems[0], systems[1][..., None])[..., 0], np.linalg.det(systems[0])
    # A system's error grows with its condition.
    scale = np.linalg.cond(systems[0])[:, None] * (1 + abs(wanted[0]))
    right = np.all(abs(solution - wanted[0]) < 1e-12 * scale) and np.allclose(determinant, wanted[1], rtol=1e-6)
    return arguments.verdict(bool(right), "solutions and determinants must be numpy's")


if __name__ == "__main__":
    sys.exit(main())
