"""How far each town is from some ports, on the sphere: sines and arcs, a town on each processor.

    python programs/great_circles.py [--size 2000] [--machine here] [--seed 1]

Distances are by the haversine formula, which is exact for near points too. Checked by the angle between vectors. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

RADIUS = 6371.0


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Latitudes and longitudes of the towns and of twelve ports, in radians."""
    generator = np.random.default_rng(seed)
    return tuple(
        np.stack([np.arcsin(generator.uniform(-1, 1, count)), generator.uniform(-np.pi, np.pi, count)])
        for count in (size, 12)
    )


def solve(places: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The nearest port of each town, and how far it is in kilometres."""
    towns, ports = places
    vp = pvar.VPSet(towns.shape[1], machine=machine)
    latitude, longitude = (vp.array(one) for one in towns)
    cosine = pvar.cos(latitude)
    nearest, least = vp.zeros("int64"), vp.full(np.inf)
    for number, (north, east) in enumerate(ports.T.tolist()):
        up, along = pvar.sin((latitude - north) * 0.5), pvar.sin((longitude - east) * 0.5)
        chord = up * up + cosine * np.cos(north) * along * along
        distance = pvar.asin(pvar.sqrt(pvar.minimum(chord, 1.0))) * (2 * RADIUS)
        nearest = pvar.where(distance < least, number, nearest)
        least = pvar.minimum(least, distance)
    return np.asarray(nearest), np.asarray(least)


def vectors(angles: np.ndarray) -> np.ndarray:
    """Points of the unit sphere."""
    (north, east) = angles
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "towns", "the towns and ports")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one town")
    towns, ports = problem(chosen.size, chosen.seed)
    nearest, least = solve((towns, ports), chosen.machine)
    print(f"a town is {least.mean():.0f} km from its port, {least.max():.0f} km at most")
    angles = np.arccos(np.clip(vectors(ports).T @ vectors(towns), -1, 1))
    right = np.array_equal(nearest, angles.argmin(axis=0)) and np.allclose(
        least, RADIUS * angles.min(axis=0), atol=1e-3
    )
    return arguments.verdict(right, "distances must be those of the angles between vectors")


if __name__ == "__main__":
    sys.exit(main())
