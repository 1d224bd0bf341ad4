"""From how many watchtowers each field of a terrain is seen, by scans along rays.

    python programs/line_of_sight.py [--size 64] [--towers 4] [--machine here] [--seed 1]

Rays go from a tower to every field of the border; a ray is a row of a second VP set, which fetches the heights that it
passes. A field is seen if it is steeper above the eye than all before it on its ray (Blelloch, Prefix sums and their
applications, 1990); sends say so to the fields. Checked against the same by walks along each ray. Ends with code 1 if
the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

Terrain = tuple[np.ndarray, np.ndarray]
"""Heights, and towers: a row of two coordinates for each."""

TOWER = np.float32(2.0)
"""How high the eye is above the ground, in sides of a field."""


def problem(size: int, towers: int = 4, seed: int = 1) -> Terrain:
    """Hills of several widths, and towers at random."""
    generator = np.random.default_rng(seed)
    across = np.arange(size) / size
    heights = np.zeros((size, size))
    for waves in (2, 3, 5, 8):
        row, column, begin = [*generator.uniform(-waves, waves, 2).tolist(), generator.uniform(0, 6)]
        heights += size / (4 * waves) * np.sin(6 * (row * across[:, None] + column * across[None, :]) + begin)
    return heights.astype(np.float32), generator.integers(0, size, (towers, 2))


def border(size: int) -> np.ndarray:
    """Rows and columns of the fields of the border."""
    inner = np.zeros((size, size), bool)
    inner[1:-1, 1:-1] = True
    return np.argwhere(~inner)


def solve(terrain: Terrain, machine: str = "here") -> np.ndarray:
    """How many of the towers see each field."""
    heights, towers = terrain
    size, ends = len(heights), border(len(heights))
    ground, rays = pvar.VPSet(heights.shape, machine=machine), pvar.VPSet((len(ends), size), machine=machine)
    height, seen = ground.array(heights), ground.zeros(np.int32)
    ray, step = rays.coordinate(0), rays.coordinate(1)
    target = pvar.VPSet(len(ends), machine=machine)
    to_row, to_column = [pvar.get(target.array(one.astype(np.int32)), ray) for one in (ends[:, 0], ends[:, 1])]
    for tower in towers.tolist():
        eye = height[tower[0], tower[1]] + TOWER
        down, right = to_row - tower[0], to_column - tower[1]
        length = pvar.maximum(pvar.abs(down), pvar.abs(right))
        is_seen = ground.zeros(bool)
        is_seen[tower[0], tower[1]] = True
        with rays.where((step >= 1) & (step <= length)):
            # The nearest field to the ray, in the direction in which it goes farther.
            row = tower[0] + (2 * down * step + length) // (2 * length)
            column = tower[1] + (2 * right * step + length) // (2 * length)
            away = pvar.sqrt(((row - tower[0]) ** 2 + (column - tower[1]) ** 2).astype(np.float32))
            slope = (pvar.get(height, (row, column)) - eye) / away
            is_steeper = slope > pvar.scan(slope, "max", axis=1, exclusive=True)
            pvar.send(is_steeper, (row, column), combine="or", into=is_seen)
        seen += is_seen.astype(np.int32)
    return np.asarray(seen)


def expected(terrain: Terrain) -> np.ndarray:
    """The same by walks along each ray."""
    heights, towers = terrain
    seen = np.zeros(heights.shape, np.int32)
    for tower in towers:
        eye, is_seen = heights[tuple(tower)] + TOWER, np.zeros(heights.shape, bool)
        is_seen[tuple(tower)] = True
        for end in border(len(heights)):
            length, steepest = int(np.abs(end - tower).max()), -np.inf
            for step in range(1, length + 1):
                row, column = tower + (2 * (end - tower) * step + length) // (2 * length)
                away = np.sqrt(np.float32((row - tower[0]) ** 2 + (column - tower[1]) ** 2))
                slope = (heights[row, column] - eye) / away
                is_seen[row, column] |= slope > steepest
                steepest = max(steepest, slope)
        seen += is_seen
    return seen


def main() -> int:
    parser = arguments.parser(__doc__, 64, "fields of a side", "terrain and towers")
    parser.add_argument("--towers", type=int, default=4, help="watchtowers (default 4)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.towers) < 1:
        parser.error("expected at least one field and at least one tower")
    terrain = problem(chosen.size, chosen.towers, chosen.seed)
    found = solve(terrain, chosen.machine)
    print(
        f"{np.count_nonzero(found)} of {found.size} fields are seen, {np.count_nonzero(found > 1)} from several towers"
    )
    return arguments.verdict(np.array_equal(found, expected(terrain)), "who is seen must be who is by walks along rays")


if __name__ == "__main__":
    sys.exit(main())
