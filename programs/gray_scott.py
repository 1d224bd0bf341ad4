"""Gray and Scott's reaction of two substances that diffuse: spots that divide, in one update of both fields.

    python programs/gray_scott.py [--size 128] [--steps 200] [--seed 1] [--compiled]
    mpiexec -n 4 python programs/gray_scott.py [...]

u_t = Du lap u - u v^2 + F (1 - u), v_t = Dv lap v + u v^2 - (F + k) v on a periodic square (Pearson 1993), explicit in
time. Checked against the same steps with whole arrays of numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import weft

NINE = {(i, j): -1.0 if (i, j) == (0, 0) else 0.2 if 0 in (i, j) else 0.05 for i in (-1, 0, 1) for j in (-1, 0, 1)}
"""The sum over all eight neighbours, weighted; what a site has is taken off."""


def react(u: np.ndarray, v: np.ndarray, du: np.ndarray, dv: np.ndarray, feed: float, kill: float) -> tuple:
    """The next values of both, and how much the second changes."""
    uvv = u * v * v
    change = 0.5 * dv + uvv - (feed + kill) * v
    return u + du - uvv + feed * (1 - u), v + change, abs(change)


def beginning(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Only the first substance, with some of the second in a few squares."""
    random = np.random.default_rng(seed)
    u, v = np.ones((size, size)), np.zeros((size, size))
    for i, j in random.integers(0, size, (8, 2)):
        here = np.ix_(np.arange(i, i + 6) % size, np.arange(j, j + 6) % size)
        u[here], v[here] = 0.5, 0.25
    return u, v + 0.01 * random.random((size, size))


def expected(u: np.ndarray, v: np.ndarray, steps: int, values: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """The same by numpy."""
    for _ in range(steps):
        sums = [
            sum(by * np.roll(x, (-i, -j), (0, 1)) for (i, j), by in NINE.items())  # roll counts the other way
            for x in (u, v)
        ]
        u, v, _change = react(u, v, *sums, **values)
    return u, v


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128, help="points along each axis (default 128)")
    parser.add_argument("--steps", type=int, default=200, help="time steps (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the places where it begins (default 1)")
    parser.add_argument("--compiled", action="store_true", help="compile sums and function to one loop, by numba")
    chosen = parser.parse_args()
    values = {"feed": 0.037, "kill": 0.06}
    first = beginning(chosen.size, chosen.seed)
    geometry = weft.arrays.Geometry(first[0].shape)
    laplace = weft.arrays.stencil(NINE)
    update = weft.arrays.Update(
        react,
        {"du": (laplace, "u"), "dv": (laplace, "v")},
        ("next_u", "next_v"),
        {"change": "max"},
        compiled=chosen.compiled,
    )
    u, v = (geometry.distribute(x) for x in first)
    next_u, next_v = geometry.zeros(), geometry.zeros()
    change = 0.0
    for _ in range(chosen.steps):
        change = update(u=u, v=v, next_u=next_u, next_v=next_v, **values)["change"]
        u, v, next_u, next_v = next_u, next_v, u, v
    error = max(float(abs(x - y).max()) for x, y in zip((u, v), expected(*first, chosen.steps, values), strict=True))
    passed = error < 1e-12 * max(1, chosen.steps)
    if geometry.rank == 0:
        print(f"{chosen.steps} steps on {chosen.size} x {chosen.size} points; in the last v changes by {change:.2g}")
        print(f"it differs from whole arrays of numpy by {error:.1e}")
        print("passed" if passed else f"FAILED: it must be within {1e-12 * chosen.steps:.1e}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
