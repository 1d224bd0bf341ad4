"""A slice of a body from its shadows: filtered back projection, as computed tomography does it.

    python programs/tomography.py [--size 48] [--machine here] [--seed 1]

Each shadow is convolved with a short kernel of Ramachandran and Lakshminarayanan (1971), by shifts along the detector,
and every point of the picture fetches from each shadow what it has where the ray through the point ends. Checked with
numpy's convolution and interpolation. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

ANGLES = 16
REACH = 7
DIRECTIONS = [(number + 0.5) * math.pi / ANGLES for number in range(ANGLES)]


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Shadows of some discs: how long the rays run within them, by angle and along the detector."""
    generator = np.random.default_rng(seed)
    along = np.linspace(-1, 1, size) if size > 1 else np.zeros(1)
    shadows = np.zeros((ANGLES, size))
    for _ in range(6):
        distance, angle = generator.uniform(0, 0.5), generator.uniform(0, 2 * math.pi)
        radius, density = generator.uniform(0.1, 0.4), generator.uniform(0.5, 2)
        for number, direction in enumerate(DIRECTIONS):
            off = along - distance * math.cos(angle - direction)
            shadows[number] += density * np.sqrt(np.maximum(radius**2 - off**2, 0))
    return (shadows * size).astype(np.float32)


def solve(shadows: np.ndarray, machine: str = "here") -> tuple[np.ndarray, float, float]:
    """The picture, the densest point of it, and its mean within the circle that all shadows cover."""
    size = shadows.shape[1]
    rays, points = pvar.VPSet(shadows.shape, machine=machine), pvar.VPSet((size, size), machine=machine)
    shadow = rays.array(shadows)
    filtered = shadow * 0.25
    for distance in range(1, REACH + 1, 2):
        both = pvar.shift(shadow, distance, axis=1, boundary=0) + pvar.shift(shadow, -distance, axis=1, boundary=0)
        filtered -= both / (math.pi * distance) ** 2
    middle = (size - 1) / 2
    down, right = (points.coordinate(axis).astype(np.float32) - middle for axis in (0, 1))
    picture = points.zeros(np.float32)
    for number, direction in enumerate(DIRECTIONS):
        ray = right * math.cos(direction) + down * math.sin(direction) + middle
        whole = pvar.floor(ray)
        index = whole.astype(np.int32)
        with points.where((index >= 0) & (index < size - 1)):
            before = pvar.get(filtered, (number, index))
            after = pvar.get(filtered, (number, index + 1))
            picture += before + (ray - whole) * (after - before)
    picture *= math.pi / ANGLES
    with points.where(down * down + right * right <= size * size / 4):
        return np.asarray(picture), float(picture.max()), float(picture.mean())


def expected(shadows: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The same by numpy in double precision."""
    size = shadows.shape[1]
    kernel = np.zeros(2 * REACH + 1)
    for distance in range(-REACH, REACH + 1):
        kernel[REACH + distance] = -1 / (math.pi * distance) ** 2 if distance % 2 else 0.25 * (distance == 0)
    at = np.arange(size) - (size - 1) / 2
    picture = np.zeros((size, size))
    for shadow, direction in zip(shadows.astype(float), DIRECTIONS, strict=True):
        filtered = np.convolve(np.pad(shadow, REACH), kernel, "valid")
        ray = np.add.outer(at * math.sin(direction), at * math.cos(direction))
        if size > 1:
            picture += np.interp(ray, at, filtered, left=0, right=0)
    picture *= math.pi / ANGLES
    inside = np.add.outer(at**2, at**2) <= (size / 2) ** 2
    return picture, picture[inside].max(), picture[inside].mean()


def main() -> int:
    parser = arguments.parser(__doc__, 48, "points along each side", "the body")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    shadows = problem(chosen.size, chosen.seed)
    answer = solve(shadows, chosen.machine)
    print(f"densities up to {answer[1]:.3f}, {answer[2]:.3f} in the mean")
    pairs = zip(answer, expected(shadows), strict=True)
    right = all(np.allclose(one, other, rtol=1e-4, atol=1e-4 * chosen.size) for one, other in pairs)
    return arguments.verdict(right, "the picture must be that of numpy's interpolation")


if __name__ == "__main__":
    sys.exit(main())
