"""What bodies under the ground add to gravity above it, and where the anomaly falls off most steeply.

    python programs/gravity_anomaly.py [--size 20] [--machine here] [--seed 1]

A processor is a station of a survey; each body is a prism, whose attraction is a sum over its corners (Nagy, Geophysics
31, 1966). Means along the lines of the survey are taken off. Checked by Gauss' quadrature over the bodies. Ends with
code 1 if the check fails.
"""

from __future__ import annotations

import itertools
import sys

import arguments
import numpy as np

from weft import pvar

WIDTH = 10.0
"""Of the survey, in km."""
MILLIGALS = 6.674
"""The constant of gravity in mGal for km and 1000 kg/m3."""
BODIES = 3


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray]:
    """Stations along each side; of each body its bounds to the south and north, west and east, and density."""
    generator = np.random.default_rng(seed)
    low = generator.uniform((1, 1, 1.2), (7, 7, 2.5), (BODIES, 3))
    high = low + generator.uniform(0.5, 2, (BODIES, 3))
    return size, np.column_stack([low, high, generator.uniform(-0.5, 0.8, BODIES)])


def solve(survey: tuple[int, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray, float]:
    """The anomaly, its residual along the lines, and the steepest slope from station to station."""
    size, bodies = survey
    vp = pvar.VPSet((size, size), machine=machine)
    north, east = (vp.coordinate(axis).astype(np.float64) * (WIDTH / size) for axis in (0, 1))
    anomaly = vp.zeros()
    for *bounds, density in bodies.tolist():
        attraction = vp.zeros()
        for corner in itertools.product((0, 1), repeat=3):
            x, y = bounds[3 * corner[0]] - north, bounds[3 * corner[1] + 1] - east
            z = bounds[3 * corner[2] + 2]
            distance = pvar.sqrt(x * x + y * y + z * z)
            term = x * pvar.log(y + distance) + y * pvar.log(x + distance)
            term -= pvar.atan2(x * y, distance * z) * z
            if sum(corner) % 2:
                attraction -= term
            else:
                attraction += term
        anomaly += attraction * (MILLIGALS * density)
    residual = anomaly - pvar.reduce(anomaly, "sum", axis=1) / float(size)
    slope = vp.zeros()
    for axis, along in enumerate((north, east)):
        with vp.where((along > 0) & (vp.coordinate(axis) < size - 1)):
            change = pvar.shift(anomaly, 1, axis=axis) - pvar.shift(anomaly, -1, axis=axis)
            slope += pvar.square(change * (size / WIDTH / 2))
    return np.asarray(anomaly), np.asarray(residual), float(pvar.reduce(pvar.sqrt(slope), "max"))


def expected(survey: tuple[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray, float]:
    """The same by masses at the points of a quadrature."""
    size, bodies = survey
    at = np.arange(size) * WIDTH / size
    nodes, weights = np.polynomial.legendre.leggauss(10)
    anomaly = np.zeros((size, size))
    for body in bodies:
        low, half = body[:3], (body[3:6] - body[:3]) / 2
        for index in itertools.product(range(len(nodes)), repeat=3):
            x, y, z = low + half * (1 + nodes[list(index)])
            mass = MILLIGALS * body[6] * half.prod() * weights[list(index)].prod()
            anomaly += mass * z * np.add.outer((x - at) ** 2, (y - at) ** 2 + z**2) ** -1.5
    slopes = np.zeros((2, size, size))
    slopes[0, 1:-1] = anomaly[2:] - anomaly[:-2]
    slopes[1, :, 1:-1] = anomaly[:, 2:] - anomaly[:, :-2]
    return anomaly, anomaly - anomaly.mean(axis=1, keepdims=True), np.hypot(*slopes).max() * size / WIDTH / 2


def main() -> int:
    parser = arguments.parser(__doc__, 20, "stations along each side", "the bodies")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one station")
    survey = problem(chosen.size, chosen.seed)
    answer = solve(survey, chosen.machine)
    print(f"from {answer[0].min():.2f} to {answer[0].max():.2f} mGal, by up to {answer[2]:.2f} mGal a km")
    right = all(np.allclose(one, other, atol=1e-5) for one, other in zip(answer, expected(survey), strict=True))
    return arguments.verdict(right, "anomalies must be those of the quadrature")


if __name__ == "__main__":
    sys.exit(main())
