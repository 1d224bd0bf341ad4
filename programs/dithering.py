"""A colour picture in eight colours: what each point is off by goes to its neighbours.

    python programs/dithering.py [--size 40] [--machine here] [--seed 1]

A point takes from four neighbours (Floyd and Steinberg 1976), so that row after row can follow two columns behind. A
processor has a row of a colour and keeps the errors of its last three points. Checked point by point. Ends with code 1
if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

COLORS = 3


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Red, green and blue, which change slowly."""
    generator = np.random.default_rng(seed)
    down, right = np.indices((size, size)) / size
    tilt = generator.uniform(-2, 2, (2, COLORS, 1, 1))
    return (127 + 120 * np.sin(3 * (tilt[0] * down + tilt[1] * right))).astype(np.uint8)


def solve(picture: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """Which colours are on, point by point, and the error that has left each row by its last point."""
    size = picture.shape[1]
    points, vp = pvar.VPSet(picture.shape, machine=machine), pvar.VPSet((COLORS, size), machine=machine)
    values, on = points.array(picture), points.zeros(np.bool_)
    color, row = vp.coordinate(0), vp.coordinate(1)
    last, second, third = (vp.zeros(np.int32) for _ in range(3))
    leaving = vp.zeros(np.int32)
    for wave in range(3 * size - 2):
        column = wave - 2 * row
        above = [pvar.shift(one, -1, axis=1, boundary=0) for one in (last, second, third)]
        error = vp.zeros(np.int32)
        with vp.where((column >= 0) & (column < size)):
            value = pvar.get(values, (color, row, column)).astype(np.int32)
            value += (7 * last + 3 * above[0] + 5 * above[1] + above[2]) >> 4
            bright = value >= 128
            pvar.send(bright, (color, row, column), into=on)
            error[...] = value - pvar.where(bright, 255, 0)
        with vp.where(column == size - 1):
            leaving[...] = error
        last, second, third = error, last, second
    return np.asarray(on), np.asarray(leaving)


def expected(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, from left to right and downwards."""
    colors, size, _ = picture.shape
    on, leaving = np.zeros(picture.shape, bool), np.zeros((colors, size), int)
    for color in range(colors):
        errors = np.zeros((size + 1, size + 2), int)  # a row above, and a column on both sides
        for row in range(size):
            for column in range(size):
                upper = errors[row, column : column + 3]
                carried = 7 * errors[row + 1, column] + upper @ (1, 5, 3)
                value = int(picture[color, row, column]) + carried // 16
                on[color, row, column] = value > 127
                errors[row + 1, column + 1] = value - 255 * (value > 127)
        leaving[color] = errors[1:, size]
    return on, leaving


def main() -> int:
    parser = arguments.parser(__doc__, 40, "points along each side", "the picture")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    picture = problem(chosen.size, chosen.seed)
    answer = solve(picture, chosen.machine)
    print(f"{answer[0].mean():.1%} of the points are on")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(picture), strict=True))
    return arguments.verdict(right, "colours must be those of the points one by one")


if __name__ == "__main__":
    sys.exit(main())
