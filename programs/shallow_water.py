"""Shallow water on a rotating, periodic plane by Sadourny's scheme: two updates of coupled fields on a staggered grid.

    python programs/shallow_water.py [--size 64] [--steps 100]
    mpiexec -n 4 python programs/shallow_water.py [...]
    weft run --on ipsc860 -n 4 programs/shallow_water.py [...]

Pressures stand on points, velocities half a cell before them along their own axis, vorticity half a cell before along
both (Sadourny 1975; the test case is that of Swarztrauber's program SWM, with rotation and a hill of water): leapfrog
in time with Robert's filter. Checked against the same steps by shifts of whole arrays of numpy; the mass is conserved
to rounding, and potential enstrophy, which the scheme conserves but for its steps in time, to one part in a million.
Ends with code 1 if a check fails.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np

import weft

SPACING = 1e5
STEP = 90.0
"""Metres and seconds, as in SWM."""

FILTER = 0.001

TURNING = 1e-4
"""Twice the rotation, a second."""

Fields = tuple[np.ndarray, np.ndarray, np.ndarray]


def beginning(size: int) -> Fields:
    """Velocities from a stream function, and the pressure, with a hill from which waves go out."""
    angle = 2 * math.pi / size
    points = np.arange(size)
    stream = 1e6 * np.sin((points + 0.5) * angle)[:, None] * np.sin((points + 0.5) * angle)[None, :]
    factor = math.pi**2 * 1e12 / (size * SPACING) ** 2
    pressure = factor * (np.cos(2 * points * angle)[:, None] + np.cos(2 * points * angle)[None, :]) + 50000.0
    away = (points / size - 0.4) ** 2
    pressure += 5000.0 * np.exp(-60 * (away[:, None] + away[None, :]))
    u = -(np.roll(stream, -1, 1) - stream) / SPACING
    v = (np.roll(stream, -1, 0) - stream) / SPACING
    return u, v, pressure


def at(*offsets: tuple[int, int], signs: tuple[float, ...] = ()) -> weft.arrays.Stencil:
    """The sum of an array at some offsets."""
    return weft.arrays.stencil(dict(zip(offsets, signs or (1.0,) * len(offsets), strict=True)))


def fluxes(
    u: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    v_x: np.ndarray,
    u_y: np.ndarray,
    p_corner: np.ndarray,
    p_x: np.ndarray,
    p_y: np.ndarray,
    u_next: np.ndarray,
    v_next: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Mass fluxes along both axes, potential vorticity, Bernoulli's head, and potential enstrophy."""
    turning = 4 / SPACING * (TURNING * SPACING + v_x - u_y) / p_corner
    head = p + 0.25 * (u_next**2 + u * u + v_next**2 + v * v)
    return 0.5 * p_x * u, 0.5 * p_y * v, turning, head, turning * turning * p_corner


def leap(
    u: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    dt: float,
    z_x: np.ndarray,
    z_y: np.ndarray,
    cu_around: np.ndarray,
    cv_around: np.ndarray,
    h_x: np.ndarray,
    h_y: np.ndarray,
    cu_x: np.ndarray,
    cv_y: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """All three a time step after the last but one, and the mass."""
    new_p = p - dt / SPACING * (cu_x + cv_y)
    return (
        u + dt / 8 * z_y * cv_around - dt / SPACING * h_x,
        v - dt / 8 * z_x * cu_around - dt / SPACING * h_y,
        new_p,
        new_p,
    )


class Steps:
    """Steps of distributed fields."""

    def __init__(self, begin: Fields) -> None:
        self.geometry = weft.arrays.Geometry(begin[0].shape)
        self.now = [self.geometry.distribute(one) for one in begin]
        self.before = [one.copy() for one in self.now]
        self.after = [self.geometry.zeros() for _ in begin]
        self.between = {name: self.geometry.zeros() for name in ("cu", "cv", "z", "h")}
        down, right, both = (-1, 0), (0, -1), (-1, -1)
        self.fluxes = weft.arrays.Update(
            fluxes,
            {
                "v_x": (at((0, 0), down, signs=(1.0, -1.0)), "v"),
                "u_y": (at((0, 0), right, signs=(1.0, -1.0)), "u"),
                "p_corner": (at((0, 0), down, right, both), "p"),
                "p_x": (at((0, 0), down), "p"),
                "p_y": (at((0, 0), right), "p"),
                "u_next": (at((1, 0)), "u"),
                "v_next": (at((0, 1)), "v"),
            },
            ("cu", "cv", "z", "h"),
            {"enstrophy": "sum"},
        )
        self.leap = weft.arrays.Update(
            leap,
            {
                "z_y": (at((0, 0), (0, 1)), "z"),
                "z_x": (at((0, 0), (1, 0)), "z"),
                "cv_around": (at((0, 0), (0, 1), (-1, 0), (-1, 1)), "cv"),
                "cu_around": (at((0, 0), (1, 0), (0, -1), (1, -1)), "cu"),
                "h_x": (at((0, 0), down, signs=(1.0, -1.0)), "h"),
                "h_y": (at((0, 0), right, signs=(1.0, -1.0)), "h"),
                "cu_x": (at((1, 0), (0, 0), signs=(1.0, -1.0)), "cu"),
                "cv_y": (at((0, 1), (0, 0), signs=(1.0, -1.0)), "cv"),
            },
            ("new_u", "new_v", "new_p"),
            {"mass": "sum"},
        )

    def step(self, first: bool) -> tuple[float, float]:
        """One step; the mass after it, and the potential enstrophy before."""
        u, v, p = self.now
        enstrophy = self.fluxes(u=u, v=v, p=p, **self.between)["enstrophy"]
        names = dict(zip(("new_u", "new_v", "new_p"), self.after, strict=True))
        old = dict(zip("uvp", self.before, strict=True))
        mass = self.leap(**old, **names, **self.between, dt=STEP if first else 2 * STEP)["mass"]
        for old_one, one, new in zip(self.before, self.now, self.after, strict=True):
            old_one[...] = one if first else one + FILTER * (new - 2 * one + old_one)
        self.now, self.after = self.after, self.now
        return float(mass), float(enstrophy)


def expected(begin: Fields, steps: int) -> Fields:
    """The same by shifts of whole arrays, written out."""
    u, v, p = begin
    older = (u, v, p)
    for step in range(steps):
        dt = 2 * STEP if step else STEP
        cu, cv = 0.5 * (p + np.roll(p, 1, 0)) * u, 0.5 * (p + np.roll(p, 1, 1)) * v
        corners = p + np.roll(p, 1, 0)
        turning = TURNING + (v - np.roll(v, 1, 0) - u + np.roll(u, 1, 1)) / SPACING
        z = 4 * turning / (corners + np.roll(corners, 1, 1))
        h = p + 0.25 * (np.roll(u, -1, 0) ** 2 + u**2 + np.roll(v, -1, 1) ** 2 + v**2)
        along, across = cv + np.roll(cv, -1, 1), cu + np.roll(cu, -1, 0)
        new = (
            older[0] + dt / 8 * (z + np.roll(z, -1, 1)) * (along + np.roll(along, 1, 0))
            - dt / SPACING * (h - np.roll(h, 1, 0)),
            older[1] - dt / 8 * (z + np.roll(z, -1, 0)) * (across + np.roll(across, 1, 1))
            - dt / SPACING * (h - np.roll(h, 1, 1)),
            older[2] - dt / SPACING * (np.roll(cu, -1, 0) - cu + np.roll(cv, -1, 1) - cv),
        )  # fmt: skip
        now = (u, v, p)
        older = now if not step else tuple(
            one + FILTER * (after - 2 * one + old) for one, after, old in zip(now, new, older, strict=True)
        )  # fmt: skip
        u, v, p = new
    return u, v, p


def run(size: int, steps: int) -> dict[str, float]:
    """Relative errors of the fields, the mass and the potential enstrophy."""
    begin = beginning(size)
    water = Steps(begin)
    mass, enstrophy = zip(*(water.step(number == 0) for number in range(steps)), strict=True)
    errors = [
        float(abs(one - by_numpy).max() / abs(by_numpy).max())
        for one, by_numpy in zip(water.now, expected(begin, steps), strict=True)
    ]
    return {
        "fields": max(errors),
        "mass": abs(mass[-1] / begin[2].sum() - 1),
        "enstrophy": abs(enstrophy[-1] / enstrophy[0] - 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=64, help="points along each axis (default 64)")
    parser.add_argument("--steps", type=int, default=100, help="time steps (default 100)")
    chosen = parser.parse_args()
    if chosen.size < 4 or chosen.steps < 1:
        parser.error("expected 4 points along each axis or more, and a step")
    errors = run(chosen.size, chosen.steps)
    passed = errors["fields"] < 1e-12 * chosen.steps and errors["mass"] < 1e-13 and errors["enstrophy"] < 1e-6
    if weft.arrays.Geometry(1).rank == 0:
        print(
            f"{chosen.steps} steps on {chosen.size} x {chosen.size} points; the fields differ by {errors['fields']:.1e}"
        )
        print(f"the mass has changed by {errors['mass']:.1e}, potential enstrophy by {errors['enstrophy']:.1e}")
        print("passed" if passed else "FAILED: expected rounding errors in fields and mass, and 1e-6 of enstrophy")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
