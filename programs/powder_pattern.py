"""The X-ray pattern of a crystal's powder: the strength of all reflections, summed by the angle that they appear at.

    python programs/powder_pattern.py [--size 12] [--machine here] [--seed 1]

A processor has a reflection, by its three Miller indices; every atom of the cell adds a wave to it. A send adds the
reflections of one angle. Checked with complex numbers in numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

ATOMS = 30
BINS = 360
WAVELENGTH = 1.5406
"""Of copper's K-alpha line, in angstroms."""


class Crystal(NamedTuple):
    """The largest index, the lengths of the cell, and positions in it, electrons and thermal factors of the atoms."""

    largest: int
    cell: np.ndarray
    position: np.ndarray
    electrons: np.ndarray
    thermal: np.ndarray


def problem(size: int, seed: int = 1) -> Crystal:
    """A cell with three right angles."""
    generator = np.random.default_rng(seed)
    cell = generator.uniform(4, 12, 3)
    electrons = generator.integers(6, 30, ATOMS).astype(float)
    return Crystal(size, cell, generator.random((ATOMS, 3)), electrons, generator.uniform(0.5, 3, ATOMS))


def solve(crystal: Crystal, machine: str = "here") -> tuple[np.ndarray, np.ndarray, float]:
    """Intensities by angle, reflections by angle, and the greatest intensity."""
    n = crystal.largest
    vp, bins = pvar.VPSet((2 * n + 1, 2 * n + 1, n + 1), machine=machine), pvar.VPSet(BINS, machine=machine)
    index = [vp.coordinate(axis).astype(np.float64) - (n if axis < 2 else 0) for axis in range(3)]
    square = sum(pvar.square(one / length) for one, length in zip(index, crystal.cell.tolist(), strict=True)) / 4
    real, imaginary = vp.zeros(), vp.zeros()
    for (x, y, z), electrons, thermal in zip(
        (2 * np.pi * crystal.position).tolist(), crystal.electrons.tolist(), crystal.thermal.tolist(), strict=True
    ):
        phase = index[0] * x + index[1] * y + index[2] * z
        amplitude = electrons * pvar.exp(square * -thermal)
        real += amplitude * pvar.cos(phase)
        imaginary += amplitude * pvar.sin(phase)
    sine = WAVELENGTH * pvar.sqrt(square)
    pattern, number = bins.zeros(), bins.zeros(np.int32)
    with vp.where((square > 0) & (sine < 1)):
        angle = 2 * pvar.asin(pvar.minimum(sine, 1.0))
        polarized = (1 + pvar.square(pvar.cos(angle))) / (sine * pvar.sin(angle))
        intensity = (real * real + imaginary * imaginary) * polarized
        address = pvar.floor(angle * (BINS / np.pi)).astype(np.int32)
        pvar.send(intensity, address, combine="add", into=pattern)
        pvar.send(1, address, combine="add", into=number)
        greatest = pvar.reduce(intensity, "max", initial=0.0)
    return np.asarray(pattern), np.asarray(number), float(greatest)


def expected(crystal: Crystal) -> tuple[np.ndarray, np.ndarray, float]:
    """The same with complex numbers, atom by atom."""
    n = crystal.largest
    axes = np.arange(-n, n + 1), np.arange(-n, n + 1), np.arange(n + 1)
    h, k, l = np.meshgrid(*axes, indexing="ij")  # noqa: E741
    spacing = np.linalg.norm(np.stack([h, k, l], axis=-1) / crystal.cell, axis=-1)
    wave = np.zeros(spacing.shape, complex)
    for atom, electrons, thermal in zip(crystal.position, crystal.electrons, crystal.thermal, strict=True):
        one, two, three = (np.exp(2j * np.pi * axis * x) for axis, x in zip(axes, atom, strict=True))
        wave += np.einsum("i,j,k->ijk", one, two, three) * electrons * np.exp(-thermal * spacing**2 / 4)
    seen = (spacing > 0) & (WAVELENGTH * spacing / 2 < 1)
    theta = np.arcsin(WAVELENGTH * spacing[seen] / 2)
    intensity = abs(wave[seen]) ** 2 * (1 + np.cos(2 * theta) ** 2) / (np.sin(theta) * np.sin(2 * theta))
    bins = (np.degrees(2 * theta) * BINS / 180).astype(int)
    return np.bincount(bins, intensity, BINS), np.bincount(bins, minlength=BINS), intensity.max(initial=0)


def main() -> int:
    parser = arguments.parser(__doc__, 12, "the largest index of a reflection", "the crystal")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected indices up to at least one")
    crystal = problem(chosen.size, chosen.seed)
    answer = solve(crystal, chosen.machine)
    print(f"{answer[1].sum()} reflections; most of them at {answer[0].argmax() * 180 / BINS} degrees")
    right = all(np.allclose(one, other) for one, other in zip(answer, expected(crystal), strict=True))
    return arguments.verdict(right, "intensities must be those of complex waves")


if __name__ == "__main__":
    sys.exit(main())
