"""Maps of the whole globe, which turns under a tilted axis, in the projection of Mollweide.

    python programs/map_projection.py [--size 60] [--machine here] [--seed 1]

A processor has a point of the map, finds its latitude and longitude on the tilted globe, and for each map fetches four
points of an image of it, which is a second VP set. Checked by vectors and matrices in numpy. Ends with code 1 if the
check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

ROWS, COLUMNS = 60, 120
TILT = 0.6
EASTS = (0.35, 1.55, 2.75, 4.4)
SEA = 100
OUTSIDE = -1.0


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray]:
    """The rows of the map, and an image of the globe by latitude and longitude."""
    generator = np.random.default_rng(seed)
    south, east = np.indices((ROWS, COLUMNS)) * np.pi / ROWS
    image = 128 + 12 * generator.random((ROWS, COLUMNS))
    for wide, high, phase in generator.uniform([1, 1, 0], [6, 6, 6], (6, 3)).tolist():
        image += 18 * np.sin(round(wide) * east + phase) * np.sin(high * south)
    return size, np.clip(image, 0, 255).astype(np.uint8)


def solve(request: tuple[int, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The maps, and the share of each that is sea."""
    size, pixels = request
    vp, globe = pvar.VPSet((size, 2 * size), machine=machine), pvar.VPSet(pixels.shape, machine=machine)
    image = globe.array(pixels)
    up = 1 - (2 * vp.coordinate(0).astype(np.float64) + 1) / size
    right = (2 * vp.coordinate(1).astype(np.float64) + 1) / size - 2
    maps, seas = [], []
    with vp.where(pvar.square(up) + 0.25 * pvar.square(right) < 1):
        angle = pvar.asin(up)
        sine = (2 * angle + pvar.sin(2 * angle)) / np.pi
        cosine = pvar.sqrt(1 - sine * sine)
        longitude = np.pi / 2 * right / pvar.cos(angle)
        ahead = cosine * pvar.cos(longitude)
        latitude = pvar.asin(pvar.minimum(np.cos(TILT) * sine + np.sin(TILT) * ahead, 1.0))
        longitude = pvar.atan2(cosine * pvar.sin(longitude), np.cos(TILT) * ahead - np.sin(TILT) * sine)
        row = pvar.maximum(pvar.minimum((0.5 - latitude / np.pi) * ROWS - 0.5, ROWS - 1.0), 0.0)
        top = pvar.minimum(row, ROWS - 2.0).astype(np.int32)
        down = row - top.astype(np.float64)
        for east in EASTS:
            column = pvar.remainder(((longitude + east) / (2 * np.pi) + 0.5) * COLUMNS - 0.5, float(COLUMNS))
            left = column.astype(np.int32) % COLUMNS
            across, lines = column - left.astype(np.float64), []
            for i in (0, 1):
                one, other = (pvar.get(image, (top + i, (left + j) % COLUMNS)).astype(np.float64) for j in (0, 1))
                lines.append(one + across * (other - one))
            brightness = vp.full(OUTSIDE)
            brightness[...] = lines[0] + down * (lines[1] - lines[0])
            maps.append(np.asarray(brightness))
            seas.append(pvar.reduce(brightness < SEA, "mean"))
    return np.array(maps), np.array(seas)


def expected(request: tuple[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The same, of the points inside only, by vectors."""
    size, pixels = request
    up, right = np.meshgrid(1 - np.arange(1, 2 * size, 2) / size, np.arange(1, 4 * size, 2) / size - 2, indexing="ij")
    inside = np.hypot(up, right / 2) < 1
    auxiliary = np.arcsin(up[inside])
    latitude = np.arcsin((2 * auxiliary + np.sin(2 * auxiliary)) / np.pi)
    longitude = np.pi * right[inside] / (2 * np.cos(auxiliary))
    vectors = np.stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], axis=1
    )
    about_y = np.array([[np.cos(TILT), 0, -np.sin(TILT)], [0, 1, 0], [np.sin(TILT), 0, np.cos(TILT)]])
    wrapped = np.pad(pixels.astype(float), ((0, 1), (1, 2)), mode="wrap")
    maps = np.full((len(EASTS), *up.shape), OUTSIDE)
    for one, east in zip(maps, EASTS, strict=True):
        about_z = np.array([[np.cos(east), -np.sin(east), 0], [np.sin(east), np.cos(east), 0], [0, 0, 1]])
        x, y, z = about_z @ about_y @ vectors.T
        row = np.clip(np.arccos(np.clip(z, -1, 1)) * ROWS / np.pi - 0.5, 0, ROWS - 1)
        column = np.arctan2(y, x) * COLUMNS / (2 * np.pi) + COLUMNS / 2 + 0.5
        i, j = row.astype(int), column.astype(int)
        down, across = row - i, column - j
        one[inside] = (1 - down) * ((1 - across) * wrapped[i, j] + across * wrapped[i, j + 1]) + down * (
            (1 - across) * wrapped[i + 1, j] + across * wrapped[i + 1, j + 1]
        )
    return maps, np.mean(maps[:, inside] < SEA, axis=1)


def main() -> int:
    parser = arguments.parser(__doc__, 60, "rows of the map", "the globe")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one row")
    request = problem(chosen.size, chosen.seed)
    maps, seas = solve(request, chosen.machine)
    print(f"{100 * seas.mean():.1f} percent of the maps are sea")
    wanted, shares = expected(request)
    right = np.allclose(maps, wanted, atol=1e-6) and np.all(abs(seas - shares) * wanted[0].size < 2)
    return arguments.verdict(bool(right), "brightness must be that of vectors")


if __name__ == "__main__":
    sys.exit(main())
