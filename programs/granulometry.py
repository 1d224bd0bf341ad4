"""How large the grains of an image are: what is left of them by openings with larger and larger octagons.

    python programs/granulometry.py [--size 80] [--machine here] [--seed 1]

A processor has a pixel; erosions and dilations are minima and maxima of shifts. What survives the largest opening is
grown again within the image until it stays (Vincent, IEEE Transactions on Image Processing 2, 1993). Checked by windows
of octagons in numpy and by the widest paths to all pixels. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import heapq
import sys

import arguments
import numpy as np

from weft import pvar

RADII = 6
NEIGHBOURS = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
SQUARE, CROSS = NEIGHBOURS, [(i, j) for i, j in NEIGHBOURS if i * j == 0]


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Bright discs of several sizes on a dark ground."""
    generator = np.random.default_rng(seed)
    image = generator.integers(10, 40, (size, size))
    row, column = np.indices(image.shape)
    for _ in range(size * size // 90):
        i, j, radius = generator.integers(0, size), generator.integers(0, size), generator.integers(1, 8)
        disc = np.hypot(row - i, column - j) <= radius
        image[disc] = np.maximum(image[disc], generator.integers(80, 250))
    return image.astype(np.uint8)


def extreme(x: pvar.ParallelVariable, radius: int, *, largest: bool) -> pvar.ParallelVariable:
    """Of each pixel and its neighbours: eight or, for odd radii, four of them."""
    combine, result = (pvar.maximum if largest else pvar.minimum), x
    if radius % 2:
        for i, j in CROSS:
            result = combine(result, pvar.shift(x, i or j, axis=0 if i else 1, boundary=0 if largest else 255))
        return result
    for axis in (0, 1):
        sides = [pvar.shift(result, one, axis=axis, boundary=0 if largest else 255) for one in (-1, 1)]
        result = combine(result, combine(*sides))
    return result


def solve(pixels: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """How bright the image is after each opening, and what is reconstructed from the last."""
    vp = pvar.VPSet(pixels.shape, machine=machine)
    image = vp.array(pixels)
    eroded = opened = image
    sums = [int(pvar.reduce(image, "sum"))]
    for radius in range(1, RADII + 1):
        eroded = extreme(eroded, radius, largest=False)
        opened = eroded
        for back in range(radius, 0, -1):
            opened = extreme(opened, back, largest=True)
        sums.append(int(pvar.reduce(opened, "sum")))
    while True:
        grown = pvar.minimum(extreme(opened, 1, largest=True), image)
        if not pvar.reduce(grown != opened, "or"):
            return np.array(sums), np.asarray(grown)
        opened = grown


def octagon(radius: int) -> list[tuple[int, int]]:
    """The pixels that so many squares and crosses in turn reach."""
    reached = {(0, 0)}
    for step in range(1, radius + 1):
        reached |= {(i + a, j + b) for i, j in reached for a, b in (CROSS if step % 2 else SQUARE)}
    return sorted(reached)


def expected(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same with whole octagons, and from pixel to pixel, the brightest first."""
    size, opened, sums = len(image), image, [int(image.sum())]
    for radius in range(1, RADII + 1):
        pixels = octagon(radius)
        opened = image
        for fold, beyond in ((np.min, 255), (np.max, 0)):
            padded = np.pad(opened, radius, constant_values=beyond)
            opened = fold(
                [padded[radius + i : radius + i + size, radius + j : radius + j + size] for i, j in pixels], axis=0
            )
        sums.append(int(opened.sum()))
    grown = opened.astype(int)
    waiting = [(-grown[i, j], i, j) for i in range(size) for j in range(size)]
    heapq.heapify(waiting)
    while waiting:
        level, i, j = heapq.heappop(waiting)
        for a, b in CROSS:
            row, column = i + a, j + b
            if -level == grown[i, j] and 0 <= row < size and 0 <= column < size:
                reached = min(-level, int(image[row, column]))
                if reached > grown[row, column]:
                    grown[row, column] = reached
                    heapq.heappush(waiting, (-reached, row, column))
    return np.array(sums), grown


def main() -> int:
    parser = arguments.parser(__doc__, 80, "pixels along a side", "the grains")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one pixel")
    image = problem(chosen.size, chosen.seed)
    sums, grown = solve(image, chosen.machine)
    print(f"openings leave {' '.join(f'{100 * one / sums[0]:.0f}%' for one in sums[1:])} of the brightness")
    right = all(np.array_equal(one, other) for one, other in zip((sums, grown), expected(image), strict=True))
    return arguments.verdict(right, "pixels must be those of octagons and widest paths")


if __name__ == "__main__":
    sys.exit(main())
