"""Heat on a periodic square: the 5-point stencil, many steps at a time, held against how a wave decays.

    python programs/heat.py [--size 256] [--steps 400] [--threads 1]
    mpiexec -n 4 python programs/heat.py [...]

A wave sin(2 pi k x) sin(2 pi l y) keeps its form under u_t = u_xx + u_yy and decays by exp(-(2 pi)^2 (k^2 + l^2) t).
The five points multiply it by the same factor in every step, which is known exactly; both are checked. Prints what was
found and ends with code 1 if a check fails.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import numpy as np

from weft import arrays

WAVES = (1, 2)
"""Periods of the wave along each axis."""


def five_points(share: float) -> arrays.Stencil:
    """One explicit step of the heat equation; `share` is the time step over the square of the grid spacing."""
    return arrays.stencil({(0, 0): 1 - 4 * share, (1, 0): share, (-1, 0): share, (0, 1): share, (0, -1): share})


def run(size: int, steps: int, threads: int) -> dict[str, float]:
    """Computes and compares: errors relative to the wave's height."""
    share = 0.2
    spacing = 1 / size
    place = 2 * math.pi * np.arange(size) / size
    wave = np.sin(WAVES[0] * place)[:, None] * np.sin(WAVES[1] * place)[None, :]
    geometry = arrays.Geometry(wave.shape)
    step = five_points(share)
    if geometry.ranks == 1:
        start = time.perf_counter()
        found = step(wave, steps=steps, threads=threads)
        seconds = time.perf_counter() - start
    else:
        plan = geometry.stencil(step, threads=threads)
        x = geometry.distribute(wave, halo=plan.halo)
        start = time.perf_counter()
        y = plan(x, steps=steps)
        seconds = time.perf_counter() - start
        found = y.gather(None)
    per_step = 1 - 4 * share * sum(math.sin(math.pi * k / size) ** 2 for k in WAVES)
    exact = per_step**steps
    analytic = math.exp(-((2 * math.pi) ** 2) * sum(k * k for k in WAVES) * share * spacing**2 * steps)
    return {
        "height": float(np.max(np.abs(found))),
        "decay": analytic,
        "error_of_the_grid": float(np.max(np.abs(found - exact * wave))) / exact,
        "error_of_the_equation": abs(exact - analytic) / analytic,
        "sites_per_second": size * size * steps / seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=256, help="points along each axis (default 256)")
    parser.add_argument("--steps", type=int, default=400, help="time steps (default 400)")
    parser.add_argument("--threads", type=int, default=1, help="threads (default 1)")
    chosen = parser.parse_args()
    found = run(chosen.size, chosen.steps, chosen.threads)
    if arrays.Geometry(1).rank == 0:
        report(chosen.steps, found)
    # The time step's error is first order: half of the exponent's terms of second order, relative to the decay.
    rate = (2 * math.pi) ** 2 * sum(k * k for k in WAVES) * 0.2 / chosen.size**2
    allowed = chosen.steps * rate**2
    passed = found["error_of_the_grid"] < 1e-12 * chosen.steps and found["error_of_the_equation"] < allowed
    if arrays.Geometry(1).rank == 0:
        print("passed" if passed else f"FAILED: the equation's decay must be met to {allowed:.1e}")
    return 0 if passed else 1


def report(steps: int, found: dict[str, float]) -> None:
    """What was found, in words."""
    print(f"after {steps} steps the wave is {found['height']:.6f} high; the equation says {found['decay']:.6f}")
    print(f"against the grid's own factor: {found['error_of_the_grid']:.1e} of the height")
    print(f"against the equation:          {found['error_of_the_equation']:.1e}")
    print(f"{found['sites_per_second'] / 1e6:.0f} million sites a second")


if __name__ == "__main__":
    sys.exit(main())
