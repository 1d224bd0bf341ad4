"""Values of a function from a table, by cubic polynomials through four of its entries.

    python programs/interpolation.py [--size 5000] [--machine here] [--seed 1]

A processor has an argument; it fetches the entries around from the processors of the table (Catmull and Rom, 1974).
Checked against numpy's evaluation of the same polynomials. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

ENTRIES = 1000


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Arguments from 0 to 1, and a table of a function."""
    at = np.linspace(0, 1, ENTRIES)
    return np.random.default_rng(seed).random(size), np.sin(20 * at * at) + at


def solve(asked: tuple[np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """The value at each argument."""
    arguments_, table = asked
    vp, entries = pvar.VPSet(arguments_.shape, machine=machine), pvar.VPSet(table.shape, machine=machine)
    scaled = vp.array(arguments_) * (ENTRIES - 1)
    below = pvar.minimum(pvar.floor(scaled).astype("int32"), ENTRIES - 2)
    t = scaled - below.astype("float64")
    values = entries.array(table)
    a = pvar.get(values, pvar.maximum(below - 1, 0))
    b = pvar.get(values, below)
    c = pvar.get(values, below + 1)
    d = pvar.get(values, pvar.minimum(below + 2, ENTRIES - 1))
    cubic = ((b - c) * 3.0 - a + d) * t + (a * 2.0 - b * 5.0 + c * 4.0 - d)
    return np.asarray(b + (cubic * t + (c - a)) * t * 0.5)


def expected(asked: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The same by numpy: tangents at both entries, and Hermite's polynomials."""
    at = asked[0] * (ENTRIES - 1)
    below = np.minimum(at.astype(int), ENTRIES - 2)
    padded = np.pad(asked[1], 1, mode="edge")
    tangents = (padded[2:] - padded[:-2]) / 2
    t, low, high = at - below, asked[1][below], asked[1][below + 1]
    s = t * t * (3 - 2 * t)
    return low * (1 - s) + high * s + t * (1 - t) * ((1 - t) * tangents[below] - t * tangents[below + 1])


def main() -> int:
    parser = arguments.parser(__doc__, 5000, "arguments", "the arguments")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one argument")
    asked = problem(chosen.size, chosen.seed)
    values = solve(asked, chosen.machine)
    print(f"{chosen.size} values from {values.min():.3f} to {values.max():.3f}")
    return arguments.verdict(np.allclose(values, expected(asked)), "values must be those of Hermite's polynomials")


if __name__ == "__main__":
    sys.exit(main())
