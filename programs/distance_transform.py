"""How far each point of a map is from the nearest obstacle, and where a disc between obstacles is largest.

    python programs/distance_transform.py [--size 80] [--machine here] [--seed 1]

The exact Euclidean distance, squared, in two steps: within a column by scans from both ends, then along rows, where
columns farther and farther away are tried as long as any could be nearer. Checked obstacle by obstacle. Ends with code
1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

FAR = 30_000
"""More than any map is wide, with a square that 32 bits hold."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Where obstacles are: points here and there, and walls."""
    generator = np.random.default_rng(seed)
    obstacles = generator.random((size, size)) < 0.002
    for _ in range(1 + size // 40):
        row, column, length = generator.integers(0, size, 3)
        obstacles[row, column : column + length // 3 + 1] = True
        obstacles[column : column + length // 4 + 1, row] = True
    return obstacles


def solve(obstacles: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squared distances, the centre of the largest disc, and how many points are within which whole distance."""
    vp = pvar.VPSet(obstacles.shape, machine=machine)
    size = len(obstacles)
    obstacle, row = vp.array(obstacles), vp.coordinate(0)
    above = pvar.scan(pvar.where(obstacle, row, -FAR), "max", axis=0)
    below = pvar.scan(pvar.where(obstacle, row, FAR), "min", axis=0, direction="down")
    nearest = pvar.minimum(pvar.minimum(row - above, below - row), FAR)
    in_column = nearest * nearest
    squared, distance = in_column.copy(), 1
    while distance < size and distance * distance < squared.max():
        left = pvar.shift(in_column, -distance, axis=1, boundary=FAR * FAR)
        right = pvar.shift(in_column, distance, axis=1, boundary=FAR * FAR)
        squared[...] = pvar.minimum(squared, pvar.minimum(left, right) + distance * distance)
        distance += 1
    whole = pvar.sqrt(squared.astype(np.float64)).astype(np.int32)
    widths = pvar.VPSet(int(whole.max()) + 1, machine=machine)
    within = pvar.scan(pvar.send(1, whole, combine="add", vp=widths), "add")
    return np.asarray(squared), np.array(squared.argmax()), np.asarray(within)


def expected(obstacles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by the distances to all obstacles."""
    rows, columns = np.nonzero(obstacles)
    across = np.arange(len(obstacles))
    squared = np.array(
        [((row - rows) ** 2 + (across[:, None] - columns) ** 2).min(axis=1) for row in range(len(obstacles))]
    )
    bounds = np.arange(1, int(squared.max() ** 0.5) + 2) ** 2
    within = np.searchsorted(np.sort(squared, axis=None), bounds)
    return squared, np.array(np.unravel_index(squared.argmax(), squared.shape)), within


def main() -> int:
    parser = arguments.parser(__doc__, 80, "points along each side", "the obstacles")
    chosen = parser.parse_args()
    if not 1 <= chosen.size < FAR:
        parser.error(f"expected 1 to {FAR - 1} points along each side")
    obstacles = problem(chosen.size, chosen.seed)
    answer = solve(obstacles, chosen.machine)
    print(f"the largest disc has a radius of {answer[0].max() ** 0.5:.2f}, and its centre at {answer[1].tolist()}")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(obstacles), strict=True))
    return arguments.verdict(right, "distances must be those to the nearest of all obstacles")


if __name__ == "__main__":
    sys.exit(main())
