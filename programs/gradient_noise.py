"""Gradient noise, of which pictures of clouds are made, summed over several scales.

    python programs/gradient_noise.py [--size 128] [--machine here] [--seed 1]

A lattice has a random direction at each of its points. A pixel fetches those of the four around it and goes smoothly
from one's slope to the next's (Perlin, SIGGRAPH 1985, with the polynomial of 2002). Each scale has half the height of
the one before. Checked against the same by lattice points, each of which adds its own share to the pixels around it, in
double precision. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import Any

import arguments
import numpy as np

from weft import pvar

SCALES = (32, 16, 8, 4)
"""Pixels between points of the lattice."""

TABLE = 256
TOLERANCE = 1e-5

Tables = tuple[int, np.ndarray, np.ndarray]
"""Pixels of a side, a permutation, and the angles of directions."""


def problem(size: int, seed: int = 1) -> Tables:
    """A picture of so many pixels of a side, with a permutation and directions at random."""
    generator = np.random.default_rng(seed)
    return size, generator.permutation(TABLE).astype(np.int32), generator.uniform(0, 2 * np.pi, TABLE)


def smooth(part: Any) -> Any:
    """From 0 to 1 with no slope and no curvature at both."""
    return part * part * part * (part * (part * 6 - 15) + 10)


def solve(given: Tables, machine: str = "here") -> np.ndarray:
    """The height of each pixel."""
    size, permutation, angles = given
    vp, table = pvar.VPSet((size, size), machine=machine), pvar.VPSet(TABLE, machine=machine)
    order = table.array(permutation)
    along = [table.array(function(angles).astype(np.float32)) for function in (np.cos, np.sin)]
    row, column, height = vp.coordinate(0), vp.coordinate(1), vp.zeros(np.float32)
    for scale in SCALES:
        point = row // scale, column // scale
        # Centres of pixels lie between points of the lattice.
        y, x = [((one % scale).astype(np.float32) + 0.5) / scale for one in (row, column)]
        slopes = []
        for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
            hashed = pvar.get(order, (pvar.get(order, (point[0] + down) % TABLE) + point[1] + right) % TABLE)
            slopes.append(pvar.get(along[0], hashed) * (x - right) + pvar.get(along[1], hashed) * (y - down))
        across = smooth(x)
        above = slopes[0] + across * (slopes[1] - slopes[0])
        below = slopes[2] + across * (slopes[3] - slopes[2])
        height += (above + smooth(y) * (below - above)) * (scale / SCALES[0])
    return np.asarray(height)


def expected(given: Tables) -> np.ndarray:
    """The same by lattice points: around each a window of its slope, which ends at its neighbours."""
    size, permutation, angles = given
    margin = SCALES[0]
    height = np.zeros((size + 4 * margin, size + 4 * margin))
    for scale in SCALES:
        away = (np.arange(-scale, scale) + 0.5) / scale
        window = np.multiply.outer(smooth(1 - np.abs(away)), smooth(1 - np.abs(away)))
        for row in range(size // scale + 2):
            for column in range(size // scale + 2):
                angle = angles[permutation[(permutation[row % TABLE] + column) % TABLE]]
                top, left = margin + (row - 1) * scale, margin + (column - 1) * scale
                slope = np.cos(angle) * away[None, :] + np.sin(angle) * away[:, None]
                height[top : top + len(away), left : left + len(away)] += window * slope * (scale / SCALES[0])
    return height[margin : margin + size, margin : margin + size]


def main() -> int:
    parser = arguments.parser(__doc__, 128, "pixels of a side", "permutation and directions")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one pixel")
    given = problem(chosen.size, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"heights from {found.min():.3f} to {found.max():.3f}")
    same = np.allclose(found, expected(given), rtol=0, atol=TOLERANCE)
    return arguments.verdict(same, "heights must be those by lattice points")


if __name__ == "__main__":
    sys.exit(main())
