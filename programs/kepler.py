"""Where planets are on their orbits: Kepler's equation by Newton's method, an orbit for each processor.

    python programs/kepler.py [--size 10000] [--machine here] [--seed 1]

The eccentric anomaly E of a mean anomaly M is where E - e sin E = M (Danby, Fundamentals of Celestial Mechanics, 1992,
section 6.6); iterations end when no orbit moves any more. Checked by putting the anomalies into the equation. Ends with
code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Mean anomalies in radians, and eccentricities."""
    generator = np.random.default_rng(seed)
    return generator.uniform(0, 2 * np.pi, size), generator.uniform(0, 0.8, size)


def solve(orbits: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eccentric anomalies, and positions in units of the semi-major axis."""
    vp = pvar.VPSet(orbits[0].shape, machine=machine)
    mean, eccentricity = (vp.array(one) for one in orbits)
    # Newton's method converges from here for every eccentricity below one.
    anomaly = mean + eccentricity * pvar.where(mean < np.pi, 1.0, -1.0)
    for _ in range(30):
        step = (anomaly - eccentricity * pvar.sin(anomaly) - mean) / (1.0 - eccentricity * pvar.cos(anomaly))
        anomaly = anomaly - step
        if pvar.reduce(abs(step), "max") < 1e-12:
            break
    x = pvar.cos(anomaly) - eccentricity
    y = pvar.sqrt(1.0 - eccentricity * eccentricity) * pvar.sin(anomaly)
    return np.asarray(anomaly), np.asarray(x), np.asarray(y)


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "orbits", "the orbits")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one orbit")
    mean, eccentricity = problem(chosen.size, chosen.seed)
    anomaly, x, y = solve((mean, eccentricity), chosen.machine)
    print(f"{chosen.size} orbits: the nearest planet is {np.hypot(x, y).min():.4f} axes away")
    right = np.allclose(anomaly - eccentricity * np.sin(anomaly), mean, atol=1e-9)
    right = right and np.allclose(np.hypot(x, y), 1 - eccentricity * np.cos(anomaly))
    return arguments.verdict(right, "anomalies must fulfil Kepler's equation")


if __name__ == "__main__":
    sys.exit(main())
