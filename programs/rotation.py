"""An image turned about its middle, step by step: each point fetches the four points around where it comes from.

    python programs/rotation.py [--size 64] [--steps 6] [--machine here] [--seed 1]

Points that come from outside are zero. Checked against scipy's interpolation of first order. Ends with code 1 if the
check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np
import scipy.ndimage

from weft import pvar

TOLERANCE = 1e-9


def problem(size: int, steps: int = 6, seed: int = 1) -> tuple[np.ndarray, int]:
    """An image, and in how many steps it is turned by a right angle."""
    return np.random.default_rng(seed).random((size, size)), steps


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> np.ndarray:
    """The image after all steps."""
    image, steps = given
    size = len(image)
    vp = pvar.VPSet(image.shape, machine=machine)
    middle, angle = (size - 1) / 2, math.pi / 2 / steps
    down, right = vp.coordinate(0) - middle, vp.coordinate(1) - middle
    row = math.cos(angle) * down + math.sin(angle) * right + middle
    column = math.cos(angle) * right - math.sin(angle) * down + middle
    inside = (row >= 0) & (row <= size - 1) & (column >= 0) & (column <= size - 1)
    top, left = pvar.floor(row), pvar.floor(column)
    lower, further = row - top, column - left
    rows = [top.astype(np.int64), pvar.minimum(top.astype(np.int64) + 1, size - 1)]
    columns = [left.astype(np.int64), pvar.minimum(left.astype(np.int64) + 1, size - 1)]
    point = vp.array(image)
    for _ in range(steps):
        turned = vp.zeros(np.float64)
        with vp.where(inside):
            above = (1 - further) * pvar.get(point, (rows[0], columns[0]))
            above = above + further * pvar.get(point, (rows[0], columns[1]))
            below = (1 - further) * pvar.get(point, (rows[1], columns[0]))
            below = below + further * pvar.get(point, (rows[1], columns[1]))
            turned[...] = (1 - lower) * above + lower * below
        point = turned
    return np.asarray(point)


def expected(given: tuple[np.ndarray, int]) -> np.ndarray:
    """The same by scipy."""
    image, steps = given
    middle, angle = (len(image) - 1) / 2, math.pi / 2 / steps
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    down, right = np.indices(image.shape) - middle
    sources = np.stack([turn[0, 0] * down + turn[0, 1] * right, turn[1, 1] * right + turn[1, 0] * down]) + middle
    for _ in range(steps):
        image = scipy.ndimage.map_coordinates(image, sources, order=1, mode="constant", cval=0.0)
    return image


def main() -> int:
    parser = arguments.parser(__doc__, 64, "points of a side", "the image")
    parser.add_argument("--steps", type=int, default=6, help="steps to a right angle (default 6)")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.steps < 1:
        parser.error("expected at least two points of a side and at least one step")
    given = problem(chosen.size, chosen.steps, chosen.seed)
    error = float(np.abs(solve(given, chosen.machine) - expected(given)).max())
    print(f"{chosen.size}x{chosen.size} points in {chosen.steps} steps: {error:.1e} from scipy's image")
    return arguments.verdict(error <= TOLERANCE, f"the image must be scipy's within {TOLERANCE:g}")


if __name__ == "__main__":
    sys.exit(main())
