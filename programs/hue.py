"""Hue, saturation and value of a picture's colours, a pixel on each processor.

    python programs/hue.py [--size 100] [--machine here] [--seed 1]

Which of red, green and blue is the largest decides the sector of the hue (Smith, Computer Graphics 12, 1978); then the
colours are turned by a third of the circle, and back to red, green and blue. Checked against Python's colorsys. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import colorsys
import sys

import arguments
import numpy as np

from weft import pvar

TURN = 1 / 3


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Red, green and blue of a square picture, some of it grey."""
    generator = np.random.default_rng(seed)
    picture = generator.random((3, size, size), np.float32)
    picture[:, : size // 4] = picture[0, : size // 4]
    return picture


def solve(picture: np.ndarray, machine: str = "here") -> np.ndarray:
    """The picture in other colours."""
    vp = pvar.VPSet(picture.shape[1:], machine=machine)
    red, green, blue = (vp.array(one) for one in picture)
    value = pvar.maximum(pvar.maximum(red, green), blue)
    span = value - pvar.minimum(pvar.minimum(red, green), blue)
    divisor = pvar.where(span == 0.0, 1.0, span)
    of_red, of_green, of_blue = ((green - blue) / divisor, (blue - red) / divisor + 2.0, (red - green) / divisor + 4.0)
    hue = pvar.where(value == red, of_red, pvar.where(value == green, of_green, of_blue)) * (1 / 6) + TURN
    hue = hue - pvar.floor(hue)
    turned = []
    for sector in (5.0, 3.0, 1.0):
        k = hue * 6.0 + sector
        k = pvar.where(k >= 6.0, k - 6.0, k)
        share = pvar.maximum(pvar.minimum(pvar.minimum(k, 4.0 - k), 1.0), 0.0)
        turned.append(np.asarray(value - span * share))
    return np.stack(turned)


def main() -> int:
    parser = arguments.parser(__doc__, 100, "pixels along a side", "the colours")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one pixel")
    picture = problem(chosen.size, chosen.seed)
    turned = solve(picture, chosen.machine)
    print(f"mean red {picture[0].mean():.3f} became {turned[0].mean():.3f}")
    colours = [colorsys.rgb_to_hsv(*map(float, picture[:, at, at])) for at in range(chosen.size)]
    wanted = np.array([colorsys.hsv_to_rgb((hue + TURN) % 1, *others) for hue, *others in colours]).T
    right = np.allclose(turned[:, np.arange(chosen.size), np.arange(chosen.size)], wanted, atol=1e-4)
    return arguments.verdict(right, "colours must be those of colorsys")


if __name__ == "__main__":
    sys.exit(main())
