"""Charges in their own field, by particle in cell in one dimension: particles and cells are two VP sets.

    python programs/particle_in_cell.py [--size 20000] [--steps 10] [--machine here] [--seed 1]

Particles send their charge to the two cells beside them, which add it up; the field is a running sum over the cells;
and each particle fetches the field of its two cells. Positions are whole numbers of parts of a cell, so that sums do
not depend on their order. Checked against the same steps by numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

PARTS = 1 << 10
"""Parts of a cell: positions, speeds and charges are numbers of them."""

PER_CELL = 20
"""Particles of a cell in the mean."""


def problem(size: int, steps: int = 10, seed: int = 1) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Positions and speeds of the particles, how many cells, and how many steps."""
    generator = np.random.default_rng(seed)
    cells = max(2, size // PER_CELL)
    return generator.integers(0, cells * PARTS, size), generator.integers(-PARTS, PARTS, size), cells, steps


def solve(given: tuple[np.ndarray, np.ndarray, int, int], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """Positions and speeds after all steps."""
    positions, speeds, cells, steps = given
    particles, grid = pvar.VPSet(positions.shape, machine=machine), pvar.VPSet((cells,), machine=machine)
    position, speed = particles.array(positions), particles.array(speeds)
    for _ in range(steps):
        cell, part = position // PARTS, position % PARTS
        beside = (cell + 1) % cells
        charge = pvar.send(PARTS - part, cell, combine="add", vp=grid)
        pvar.send(part, beside, combine="add", into=charge)
        mean = int(pvar.reduce(charge, "sum")) // cells
        field = pvar.scan(charge - mean, "add", axis=0) // PARTS
        force = pvar.get(field, cell) * (PARTS - part) + pvar.get(field, beside) * part
        speed = speed + force // PARTS
        position = (position + speed) % (cells * PARTS)
    return np.asarray(position), np.asarray(speed)


def expected(given: tuple[np.ndarray, np.ndarray, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The same by numpy."""
    position, speed, cells, steps = given
    for _ in range(steps):
        cell, part = np.divmod(position, PARTS)
        charge = np.zeros(cells, np.int64)
        np.add.at(charge, cell, PARTS - part)
        np.add.at(charge, (cell + 1) % cells, part)
        field = np.cumsum(charge - charge.sum() // cells) // PARTS
        speed = speed + (field[cell] * (PARTS - part) + field[(cell + 1) % cells] * part) // PARTS
        position = (position + speed) % (cells * PARTS)
    return position, speed


def main() -> int:
    parser = arguments.parser(__doc__, 20_000, "particles", "positions and speeds")
    parser.add_argument("--steps", type=int, default=10, help="steps of time (default 10)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.steps) < 1:
        parser.error("expected at least one particle and at least one step")
    given = problem(chosen.size, chosen.steps, chosen.seed)
    found, wanted = solve(given, chosen.machine), expected(given)
    print(
        f"{chosen.size} particles on {given[2]} cells: the fastest goes {abs(found[1]).max() / PARTS:.1f} cells a step"
    )
    same = all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))
    return arguments.verdict(same, "positions and speeds must be numpy's")


if __name__ == "__main__":
    sys.exit(main())
