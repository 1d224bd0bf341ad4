"""A wave packet that meets a wall with two slits: Schroedinger's equation on a grid, by links.

    python programs/schroedinger.py [--size 64] [--steps 20] [--machine here] [--seed 1]

The energy is a sum over links between neighbours, and each link turns the amplitudes of its two ends into each other.
Links are of four sets (even and odd ones of both axes) none of which has two at one point, so that a set acts at once
and exactly; potentials turn each amplitude's phase (De Raedt, Computer Physics Reports 7, 1987). Real and imaginary
parts are two variables. Checked against the same by numpy with complex numbers, a pair of slices at a time, and that
nothing of the packet is lost. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

Packet = tuple[np.ndarray, np.ndarray, int]
"""Amplitudes, potentials, and how many steps."""

TIME = 0.4
"""Of a step, where the energy of a link is 1."""

TOLERANCE = 1e-10


def problem(size: int, steps: int = 20, seed: int = 1) -> Packet:
    """A packet that goes to the right, on a rough ground, with a wall in the middle."""
    row, column = np.indices((size, size)) / size
    packet = np.exp(-((row - 0.5) ** 2 + (column - 0.25) ** 2) / 0.02 + 1j * 0.8 * size * column)
    potential = np.random.default_rng(seed).uniform(0.0, 0.1, (size, size))
    is_slit = np.abs(np.abs(row - 0.5) - 0.1) < 0.04
    potential[(np.abs(column - 0.5) < 0.02) & ~is_slit] = 3.0
    return packet / np.linalg.norm(packet), potential, steps


def solve(given: Packet, machine: str = "here") -> np.ndarray:
    """The amplitudes after all steps."""
    amplitudes, potentials, steps = given
    vp = pvar.VPSet(amplitudes.shape, machine=machine)
    real, imaginary = vp.array(amplitudes.real), vp.array(amplitudes.imag)
    angle = TIME * vp.array(potentials)
    cosine, sine = pvar.cos(angle), pvar.sin(angle)
    links = []
    for axis in (0, 1):
        position = vp.coordinate(axis)
        for parity in (0, 1):
            is_lower = position % 2 == parity
            has_partner = pvar.where(is_lower, position + 1 < len(amplitudes), position > 0)
            links.append((axis, is_lower, has_partner))
    stay, cross = math.cos(TIME), math.sin(TIME)
    for _ in range(steps):
        for axis, is_lower, has_partner in links:
            partners = [
                pvar.where(is_lower, pvar.shift(one, 1, axis=axis), pvar.shift(one, -1, axis=axis))
                for one in (real, imaginary)
            ]
            real, imaginary = (
                pvar.where(has_partner, stay * real - cross * partners[1], real),
                pvar.where(has_partner, stay * imaginary + cross * partners[0], imaginary),
            )
        real, imaginary = cosine * real + sine * imaginary, cosine * imaginary - sine * real
    return np.asarray(real) + 1j * np.asarray(imaginary)


def expected(given: Packet) -> np.ndarray:
    """The same by numpy: a link multiplies both of its ends by a matrix."""
    amplitudes, potentials, steps = given
    psi, size = amplitudes.copy(), len(amplitudes)
    link = np.array([[math.cos(TIME), 1j * math.sin(TIME)], [1j * math.sin(TIME), math.cos(TIME)]])
    for _ in range(steps):
        for lines in (psi, psi.T):
            for parity in (0, 1):
                end = parity + (size - parity) // 2 * 2
                pairs = lines[parity:end].reshape(-1, 2, size)
                lines[parity:end] = np.einsum("ij,pjc->pic", link, pairs).reshape(-1, size)
        psi *= np.exp(-1j * TIME * potentials)
    return psi


def main() -> int:
    parser = arguments.parser(__doc__, 64, "points of a side", "the ground")
    parser.add_argument("--steps", type=int, default=20, help="steps of time (default 20)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.steps) < 1:
        parser.error("expected at least one point and at least one step")
    given = problem(chosen.size, chosen.steps, chosen.seed)
    found = solve(given, chosen.machine)
    chances = np.abs(found) ** 2
    print(f"behind the wall with a chance of {chances[:, chosen.size // 2 :].sum():.3f}")
    same = np.allclose(found, expected(given), rtol=0, atol=TOLERANCE) and abs(chances.sum() - 1) < TOLERANCE
    return arguments.verdict(same, "amplitudes must be numpy's, and chances must come to 1")


if __name__ == "__main__":
    sys.exit(main())
