"""Spheres over a floor of squares, lit from one side, each with its shadow and one reflection.

    python programs/ray_tracing.py [--size 60] [--machine here] [--seed 1]

A processor has the ray through a point of the picture (Whitted, Communications of the ACM 23, 1980). Rays meet one
sphere after another, and a selection keeps the nearest. Checked with one array of all rays and spheres. Ends with code
1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

SPHERES, FAR = 6, 1e6
LIGHT = np.array([0.6, 0.7, -0.4]) / np.sqrt(0.36 + 0.49 + 0.16)
AMBIENT, SHINE = 0.15, 0.3
TILES = 0.1371
"""Where the squares of the floor begin: where no ray of a picture ends on an edge."""

Vector = tuple[pvar.ParallelVariable, pvar.ParallelVariable, pvar.ParallelVariable]


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray]:
    """The side of the picture; of each sphere its center, radius and brightness."""
    generator = np.random.default_rng(seed)
    center = generator.uniform((-2, -0.6, 3), (2, 1.5, 7), (SPHERES, 3))
    return size, np.column_stack([center, generator.uniform(0.3, 0.9, SPHERES), generator.uniform(0.4, 1, SPHERES)])


def dot(one: Vector, other: Vector) -> pvar.ParallelVariable:
    """The scalar product."""
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def meet(vp: pvar.VPSet, start: Vector, ray: Vector, spheres: list[list[float]]) -> tuple[pvar.ParallelVariable, ...]:
    """How far it is to the nearest sphere, and which that is; -1 for none."""
    nearest, which = vp.full(FAR), vp.full(-1, np.int32)
    for number, (x, y, z, radius, _) in enumerate(spheres):
        off = start[0] - x, start[1] - y, start[2] - z
        half = dot(off, ray)
        root = half * half - dot(off, off) + radius * radius
        distance = -half - pvar.sqrt(pvar.maximum(root, 0.0))
        with vp.where((root > 0) & (distance > 1e-6) & (distance < nearest)):
            nearest[...] = distance
            which[...] = number
    return nearest, which


def shade(vp: pvar.VPSet, start: Vector, ray: Vector, spheres: list[list[float]]) -> tuple:
    """Brightness of what rays meet; where that is, the direction away from it, and whether it is a sphere."""
    nearest, which = meet(vp, start, ray, spheres)
    down = pvar.where(ray[1] < -1e-9, ray[1], -1e-9)
    floor = (-1.0 - start[1]) / down
    on_floor = (floor > 1e-6) & (floor < nearest) & (floor < 50.0)
    distance = pvar.where(on_floor, floor, nearest)
    point = tuple(one + distance * along for one, along in zip(start, ray, strict=True))
    squares = pvar.floor(point[0] + TILES) + pvar.floor(point[2] + TILES)
    bright = pvar.where(on_floor, 0.4 + 0.5 * (pvar.remainder(squares, 2.0) == 0.0).astype(np.float64), 0.0)
    normal = vp.zeros(), on_floor.astype(np.float64), vp.zeros()
    is_sphere = (which >= 0) & ~on_floor
    for number, (x, y, z, radius, own) in enumerate(spheres):
        with vp.where(is_sphere & (which == number)):
            bright[...] = own
            for one, at, middle in zip(normal, point, (x, y, z), strict=True):
                one[...] = (at - middle) / radius
    lit = pvar.maximum(dot(normal, tuple(LIGHT.tolist())), 0.0)
    above = tuple(one + 1e-4 * along for one, along in zip(point, normal, strict=True))
    toward = tuple(vp.full(one) for one in LIGHT.tolist())
    in_shadow = meet(vp, above, toward, spheres)[1] >= 0
    bright *= AMBIENT + (1 - AMBIENT) * pvar.where(in_shadow, 0.0, lit)
    return bright, above, normal, is_sphere


def solve(scene: tuple[int, np.ndarray], machine: str = "here") -> np.ndarray:
    """The brightness of each point."""
    size, spheres = scene[0], scene[1].tolist()
    vp = pvar.VPSet((size, size), machine=machine)
    up = 0.8 - (vp.coordinate(0).astype(np.float64) + 0.5) * (1.6 / size)
    right = (vp.coordinate(1).astype(np.float64) + 0.5) * (1.6 / size) - 0.8
    length = pvar.sqrt(up * up + right * right + 1.0)
    ray = right / length, up / length, 1.0 / length
    bright, point, normal, is_sphere = shade(vp, (vp.zeros(), vp.zeros(), vp.zeros()), ray, spheres)
    twice = 2.0 * dot(ray, normal)
    mirrored = tuple(one - twice * along for one, along in zip(ray, normal, strict=True))
    again = shade(vp, point, mirrored, spheres)[0]
    with vp.where(is_sphere):
        bright += SHINE * again
    return np.asarray(bright)


def hits(start: np.ndarray, ray: np.ndarray, spheres: np.ndarray) -> np.ndarray:
    """Distances of all rays to all spheres."""
    off = start[:, None] - spheres[:, :3]
    half = np.einsum("rsk,rk->rs", off, ray)
    with np.errstate(invalid="ignore"):
        distance = -half - np.sqrt(half**2 - (off**2).sum(axis=2) + spheres[:, 3] ** 2)
    return np.where(distance > 1e-6, distance, FAR)


def traced(start: np.ndarray, ray: np.ndarray, spheres: np.ndarray, depth: int) -> np.ndarray:
    """The same of rays in rows, spheres in columns."""
    distances = hits(start, ray, spheres)
    which, nearest = distances.argmin(axis=1), distances.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        floor = np.where(ray[:, 1] < -1e-9, (-1 - start[:, 1]) / ray[:, 1], FAR)
    on_floor = (floor > 1e-6) & (floor < nearest) & (floor < 50)
    bright = np.zeros(len(ray))
    for one in np.flatnonzero(on_floor | (nearest < FAR)):
        point = start[one] + min(floor[one] if on_floor[one] else FAR, nearest[one]) * ray[one]
        if on_floor[one]:
            squares = np.floor(point[[0, 2]] + TILES).sum()
            normal, own = np.array([0.0, 1, 0]), 0.4 + 0.5 * (squares % 2 == 0)
        else:
            normal = (point - spheres[which[one], :3]) / spheres[which[one], 3]
            own = spheres[which[one], 4]
        above = point + 1e-4 * normal
        shadow = hits(above[None], LIGHT[None], spheres).min() < FAR
        bright[one] = own * (AMBIENT + (1 - AMBIENT) * (0 if shadow else max(normal @ LIGHT, 0)))
        if depth and not on_floor[one]:
            mirrored = ray[one] - 2 * (ray[one] @ normal) * normal
            bright[one] += SHINE * traced(above[None], mirrored[None], spheres, depth - 1)[0]
    return bright


def expected(scene: tuple[int, np.ndarray]) -> np.ndarray:
    """The picture ray by ray, behind the first hits."""
    size, spheres = scene
    along = (np.arange(size) + 0.5) * 1.6 / size - 0.8
    right, up = np.meshgrid(along, -along)
    ray = np.stack([right, up, np.ones((size, size))], axis=2).reshape(-1, 3)
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    return traced(np.zeros_like(ray), ray, spheres, 1).reshape(size, size)


def main() -> int:
    parser = arguments.parser(__doc__, 60, "points of a side", "the spheres")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    scene = problem(chosen.size, chosen.seed)
    picture = solve(scene, chosen.machine)
    print(f"the mean brightness is {picture.mean():.3f}")
    # A ray that just passes an edge may be on either side of it.
    off = abs(picture - expected(scene)) > 1e-6
    return arguments.verdict(bool(off.mean() <= 2e-3), "points must have the brightness that each ray by itself has")


if __name__ == "__main__":
    sys.exit(main())
