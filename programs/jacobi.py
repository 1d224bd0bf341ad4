"""Jacobi's iteration for Poisson's equation on a square, by shifts along both axes of the grid.

    python programs/jacobi.py [--size 64] [--sweeps 200] [--machine here]

The right-hand side is the lowest mode of the discrete Laplacian, so the error of a start from zero is that mode too,
and every sweep multiplies it by cos(pi h), h = 1 / (size + 1): the height after any number of sweeps is known exactly.
The largest change is reduced to the front end every ten sweeps, as a program that waits for convergence does. Ends with
code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

WATCHED = 10
"""Sweeps between two looks at the change."""


def mode(size: int) -> np.ndarray:
    """The lowest mode, of height 1, at the inner points of the square."""
    along = np.sin(math.pi * np.arange(1, size + 1) / (size + 1))
    return along[:, None] * along[None, :]


def problem(size: int, sweeps: int = 200) -> tuple[np.ndarray, int]:
    """The right-hand side times h^2 / 4, in single precision, and how many sweeps: the solution is the mode itself."""
    return ((1 - math.cos(math.pi / (size + 1))) * mode(size)).astype(np.float32), sweeps


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, float]:
    """The field after the sweeps, from zero, and the largest change of the last sweep that was watched."""
    source, sweeps = given
    vp = pvar.VPSet(source.shape, machine=machine)
    right = vp.array(source)
    u = vp.zeros(source.dtype)
    change = math.inf
    for sweep in range(1, sweeps + 1):
        north_south = pvar.shift(u, 1, axis=0, boundary=0.0) + pvar.shift(u, -1, axis=0, boundary=0.0)
        east_west = pvar.shift(u, 1, axis=1, boundary=0.0) + pvar.shift(u, -1, axis=1, boundary=0.0)
        new = 0.25 * (north_south + east_west) + right
        if sweep % WATCHED == 0 or sweep == sweeps:
            change = float(pvar.reduce(abs(new - u), "max"))
        u = new
    return np.asarray(u), change


def error(given: tuple[np.ndarray, int], found: tuple[np.ndarray, float]) -> float:
    """The largest difference from the field and from the change that the decay of the mode gives."""
    source, sweeps = given
    size = len(source)
    decay = math.cos(math.pi / (size + 1))
    field, change = found
    expected = (1 - decay**sweeps) * mode(size)
    changed = decay ** (sweeps - 1) * (1 - decay) * mode(size).max()
    return max(float(np.abs(field - expected).max()), abs(change - changed))


def main() -> int:
    parser = arguments.parser(__doc__, 64, "points along each axis")
    parser.add_argument("--sweeps", type=int, default=200, help="iterations (default 200)")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.sweeps < 1:
        parser.error("expected at least two points along each axis and one sweep")
    given = problem(chosen.size, chosen.sweeps)
    answer = solve(given, chosen.machine)
    found = error(given, answer)
    print(f"after {chosen.sweeps} sweeps the last change is {answer[1]:.3e}; against the mode's decay: {found:.1e}")
    # Rounding of single precision, added up over the sweeps.
    allowed = 1e-7 * (10 + chosen.sweeps)
    passed = found <= allowed
    return arguments.verdict(passed, f"the decay of the mode must be met to {allowed:.1e}")


if __name__ == "__main__":
    sys.exit(main())
