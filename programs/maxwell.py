"""A wave in a closed box on a Yee grid: electric and magnetic fields that leap over each other, in two updates.

    python programs/maxwell.py [--size 64] [--steps 200]
    mpiexec -n 4 python programs/maxwell.py [...]

The electric field stands on grid points, the magnetic ones half a cell further along one axis each (Yee 1966), all in
arrays of one shape: row 0 and column 0 are walls, which a mask keeps at 0, and the other walls lie beyond the ends. A
mode of the box keeps its form and swings with a frequency that is known exactly for the grid; that is checked. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np

import weft

MODE = (2, 3)
"""Half waves along each axis."""

STEP = 0.6
"""Time step, in cells over the speed of light; below 1/sqrt(2) it is stable."""


def difference(axis: int, forward: bool) -> weft.arrays.Stencil:
    """To the next, or from the one before: half a cell further, or back."""
    unit = tuple(int(one == axis) for one in range(2))
    if forward:
        return weft.arrays.stencil({unit: 1.0, (0, 0): -1.0}, boundary=0)
    return weft.arrays.stencil({(0, 0): 1.0, tuple(-by for by in unit): -1.0}, boundary=0)


def magnetic(hx: np.ndarray, hy: np.ndarray, ex: np.ndarray, ey: np.ndarray, dt: float) -> tuple[np.ndarray, ...]:
    """Half a step later."""
    return hx - dt * ey, hy + dt * ex


def electric(ez: np.ndarray, yx: np.ndarray, xy: np.ndarray, dt: float) -> tuple[np.ndarray, ...]:
    """Half a step later, and its square."""
    new = ez + dt * (yx - xy)
    return new, new * new


def run(size: int, steps: int) -> tuple[float, float]:
    """The largest difference from the exact field, and the sum of its squares at the end."""
    waves = [np.sin(math.pi * count * np.arange(size) / size) for count in MODE]
    mode = np.outer(*waves)
    inside = np.ones((size, size), bool)
    inside[0] = inside[:, 0] = False
    geometry = weft.arrays.Geometry((size, size))
    ez, hx, hy = geometry.distribute(mode), geometry.zeros(), geometry.zeros()
    to_h = weft.arrays.Update(
        magnetic, {"ex": (difference(0, True), "ez"), "ey": (difference(1, True), "ez")}, ("hx", "hy")
    )
    to_e = weft.arrays.Update(
        electric, {"yx": (difference(0, False), "hy"), "xy": (difference(1, False), "hx")}, "ez", {"energy": "sum"}
    )
    energy = 0.0
    for step in range(steps):
        to_h(ez=ez, hx=hx, hy=hy, dt=STEP if step else STEP / 2)
        energy = to_e(ez=ez, hx=hx, hy=hy, dt=STEP, mask=inside)["energy"]
    half = STEP * math.sqrt(sum(math.sin(math.pi * count / (2 * size)) ** 2 for count in MODE))
    exact = math.cos(2 * math.asin(half) * steps) * mode
    return float(abs(ez - exact).max()), float(energy)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=64, help="cells along each axis (default 64)")
    parser.add_argument("--steps", type=int, default=200, help="time steps (default 200)")
    chosen = parser.parse_args()
    error, energy = run(chosen.size, chosen.steps)
    allowed = 1e-13 * chosen.steps
    if weft.arrays.Geometry(1).rank == 0:
        print(f"{chosen.steps} steps on {chosen.size} x {chosen.size} cells: sum of squares {energy:.6g}")
        print(f"the field differs from the grid's exact one by {error:.1e}")
        print("passed" if error < allowed else f"FAILED: it must be within {allowed:.1e}")
    return 0 if error < allowed else 1


if __name__ == "__main__":
    sys.exit(main())
