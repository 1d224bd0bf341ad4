"""What a translucent body looks like from three sides: light along rays through a grid of densities.

    python programs/volume_rendering.py [--size 20] [--machine here] [--seed 1]

A processor has a cell of the volume. Gradients by shifts shade it, a scan with products says how much light reaches it,
and a reduction along the axis makes a picture (Levoy, IEEE Computer Graphics and Applications 8, 1988). Checked ray by
ray in numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LIGHT = (0.48, 0.6, 0.64)
AMBIENT = 0.25


def problem(size: int, seed: int = 1) -> np.ndarray:
    """The densities of some clouds."""
    generator = np.random.default_rng(seed)
    points = np.indices((size,) * 3) / size
    density = np.zeros((size,) * 3)
    for _ in range(8):
        centre, width = generator.uniform(0.2, 0.8, (3, 1, 1, 1)), generator.uniform(0.05, 0.2)
        density += np.exp(-((points - centre) ** 2).sum(axis=0) / (2 * width**2))
    return density.astype(np.float32)


def solve(densities: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """A picture along each axis, and how deep the densest cell of each of its rays is."""
    vp = pvar.VPSet(densities.shape, machine=machine)
    density = vp.array(densities)
    opacity = 1.0 - pvar.exp(density * (-8.0 / vp.shape[0]))
    slopes = [
        (pvar.shift(density, 1, axis=axis, boundary=0) - pvar.shift(density, -1, axis=axis, boundary=0)) * 0.5
        for axis in range(3)
    ]
    length = pvar.sqrt(slopes[0] * slopes[0] + slopes[1] * slopes[1] + slopes[2] * slopes[2]) + 1e-3
    facing = slopes[0] * LIGHT[0] + slopes[1] * LIGHT[1] + slopes[2] * LIGHT[2]
    shade = pvar.maximum(-facing / length, 0.0) * (1 - AMBIENT) + AMBIENT
    pictures, depths = [], []
    for axis in range(3):
        light = pvar.scan(1.0 - opacity, "multiply", axis=axis, exclusive=True)
        picture = pvar.reduce(light * opacity * shade, "sum", axis=axis)
        pictures.append(np.asarray(picture).take(0, axis=axis))
        depths.append(np.asarray(pvar.reduce(density, "argmax", axis=axis)).take(0, axis=axis))
    return np.array(pictures), np.array(depths)


def expected(densities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, cell by cell from the back to the front of all rays."""
    padded = np.pad(densities.astype(np.float64), 1)
    slopes = np.stack([one[1:-1, 1:-1, 1:-1] for one in np.gradient(padded)])
    normals = slopes / (np.linalg.norm(slopes, axis=0) + 1e-3)
    shade = AMBIENT + (1 - AMBIENT) * np.clip(-np.tensordot(LIGHT, normals, 1), 0, None)
    opacity = -np.expm1(-8 * padded[1:-1, 1:-1, 1:-1] / len(densities))
    pictures = np.zeros((3, *densities.shape[1:]))
    for axis in range(3):
        for depth in reversed(range(len(densities))):
            here = opacity.take(depth, axis=axis)
            pictures[axis] = here * shade.take(depth, axis=axis) + (1 - here) * pictures[axis]
    return pictures, np.stack([densities.argmax(axis=axis) for axis in range(3)])


def main() -> int:
    parser = arguments.parser(__doc__, 20, "cells along a side", "the clouds")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one cell")
    densities = problem(chosen.size, chosen.seed)
    pictures, depths = solve(densities, chosen.machine)
    print(f"the brightest points of the pictures: {pictures.max(axis=(1, 2)).round(3).tolist()}")
    wanted, deepest = expected(densities)
    right = np.allclose(pictures, wanted, atol=1e-4) and np.array_equal(depths, deepest)
    return arguments.verdict(right, "pictures must be those of rays from back to front")


if __name__ == "__main__":
    sys.exit(main())
