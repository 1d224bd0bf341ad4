"""The contrast of a picture spread over all greys, by the histogram of its neighbourhoods.

    python programs/equalization.py [--size 200] [--machine here] [--seed 1]

The picture is divided into tiles. All pixels send a 1 to the counter of their grey in their tile; a scan along the
greys says how many are darker, which each pixel fetches as its new grey (adaptive equalization: Pizer and others,
Computer Vision, Graphics, and Image Processing 39, 1987, without interpolation). Checked against numpy, tile by tile.
Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

GREYS, TILES = 256, 4


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A picture with little contrast: a slope with noise."""
    generator = np.random.default_rng(seed)
    slope = np.add.outer(np.linspace(60, 120, size), np.linspace(0, 40, size))
    return np.clip(slope + generator.normal(0, 8, (size, size)), 0, GREYS - 1).astype(np.int32)


def solve(picture: np.ndarray, machine: str = "here") -> np.ndarray:
    """The picture with greys spread."""
    size = picture.shape[0]
    pixels = pvar.VPSet(picture.shape, machine=machine)
    counters = pvar.VPSet((TILES * TILES, GREYS), machine=machine)
    grey = pixels.array(picture)
    tile = pixels.coordinate(0) * TILES // size * TILES + pixels.coordinate(1) * TILES // size
    count = pvar.send(1, (tile, grey), combine="add", vp=counters)
    up_to = pvar.scan(count, "add", axis=1)
    in_tile = pvar.spread(up_to, axis=1, index=GREYS - 1)
    with counters.where(in_tile > 0):
        new = ((up_to - count) * (GREYS - 1)) // in_tile
    return np.asarray(pvar.get(new.astype(np.int32), (tile, grey)))


def expected(picture: np.ndarray) -> np.ndarray:
    """The same by numpy, for each tile by itself."""
    size = picture.shape[0]
    tile_of = np.arange(size) * TILES // size
    spread = np.zeros_like(picture)
    for row in range(TILES):
        for column in range(TILES):
            part = np.ix_(tile_of == row, tile_of == column)
            greys = picture[part]
            if greys.size:
                darker = np.searchsorted(np.sort(greys, axis=None), greys)
                spread[part] = darker * (GREYS - 1) // greys.size
    return spread


def main() -> int:
    parser = arguments.parser(__doc__, 200, "pixels of a side", "the noise")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one pixel")
    picture = problem(chosen.size, chosen.seed)
    found = solve(picture, chosen.machine)
    print(f"standard deviation of the greys: {picture.std():.1f} before, {found.std():.1f} after")
    return arguments.verdict(np.array_equal(found, expected(picture)), "greys must be those of numpy, tile by tile")


if __name__ == "__main__":
    sys.exit(main())
