"""Particles that repel each other nearby, in cells whose lists are shifted to their neighbours.

    python programs/particles.py [--particles 400] [--cells 8] [--steps 50] [--seed 1]
    mpiexec -n 4 python programs/particles.py [...]

Particles in a periodic square are kept in cells as wide as the force reaches, so that a particle only meets those of
its own and the eight cells around. The cells' lists are an array: two calls of a planned polyshift bring all eight
neighbours (first along one axis, then of what that gave along the other), and every cell computes its forces on its
own. Over several ranks the cells are divided: each has its block of cells, the shifts bring the lists across, and the
forces are gathered. Molecular dynamics is one of the uses that George, Brickner and Johnsson (1994) name.

Checked: forces against the sum over all pairs, momentum, and energy over the steps. Ends with code 1 if a check fails.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from weft import arrays

STRENGTH = 40.0
"""Of the force: STRENGTH * (reach - distance) between particles nearer than the reach; unit masses."""

TIME_STEP = 2e-3


class Cells:
    """Cell lists of a unit square with `count` cells along each axis, `room` particles in each."""

    def __init__(self, count: int, room: int) -> None:
        self.count, self.room = count, room
        self.geometry = arrays.Geometry((count, count, room, 3), serial=[2, 3])
        self.along_first = self.geometry.polyshift(float, shifts=[(1, 0), (-1, 0)])
        self.along_second = self.geometry.polyshift(float, shifts=[(1, 1), (-1, 1)])

    def lists(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each cell its particles as (x, y, 1), zeros where there is room; and their numbers, or -1."""
        cell = np.minimum((places * self.count).astype(int), self.count - 1)
        flat = cell[:, 0] * self.count + cell[:, 1]
        order = np.argsort(flat, kind="stable")
        first = np.searchsorted(flat[order], np.arange(self.count**2))
        slot = np.arange(len(places)) - first[flat[order]]
        if slot.max() >= self.room:
            sys.exit(f"a cell holds {slot.max() + 1} particles, there is room for {self.room}: use more cells")
        held = np.zeros((self.count**2, self.room, 3))
        held[flat[order], slot, :2] = places[order]
        held[flat[order], slot, 2] = 1
        who = np.full((self.count**2, self.room), -1)
        who[flat[order], slot] = order
        return held.reshape(self.count, self.count, self.room, 3), who.reshape(self.count, self.count, self.room)

    def forces(self, places: np.ndarray) -> tuple[np.ndarray, float]:
        """The force on each particle, and the energy of all pairs."""
        every, who = self.lists(places)
        held = self.geometry.distribute(every)
        rows = (held, *self.along_first(held))
        around = [cell for row in rows for cell in (row, *self.along_second(row))]
        # Of every particle its force, and half of the energy of its pairs.
        own = self.geometry.zeros()
        for number, others in enumerate(around):
            force, pairs = repulsion(held.local, others.local, same=number == 0, reach=1 / self.count)
            own.local[..., :2] += force
            own.local[..., 2] += pairs / 2
        total = own.gather(None)
        forces = np.empty_like(places)
        there = who >= 0
        forces[who[there]] = total[..., :2][there]
        return forces, float(total[..., 2].sum())


def repulsion(held: np.ndarray, others: np.ndarray, same: bool, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Forces of the particles of one cell on those of another, for all cells, and the energy of each one's pairs."""
    apart = held[..., :, None, :2] - others[..., None, :, :2]
    apart -= np.round(apart)
    distance = np.sqrt((apart**2).sum(-1))
    meets = (held[..., :, None, 2] * others[..., None, :, 2] > 0) & (distance < reach)
    if same:
        meets &= ~np.eye(held.shape[-2], dtype=bool)
    near = np.where(meets, reach - distance, 0)
    share = STRENGTH * near / np.where(meets, distance, 1)
    return (share[..., None] * apart).sum(-2), (STRENGTH / 2 * near**2).sum(-1)


def all_pairs(places: np.ndarray, reach: float) -> np.ndarray:
    """The same forces, every particle with every other."""
    held = np.concatenate([places, np.ones((len(places), 1))], axis=1)
    return repulsion(held, held, same=True, reach=reach)[0]


def run(particles: int, cells: int, steps: int, seed: int) -> dict[str, float]:
    """Moves the particles by velocity Verlet: errors of forces, momentum and energy."""
    made = np.random.default_rng(seed)
    places, speeds = made.random((particles, 2)), 0.1 * made.standard_normal((particles, 2))
    speeds -= speeds.mean(0)
    lists = Cells(cells, room=4 * max(4, particles // cells**2))
    forces, energy = lists.forces(places)
    error = float(np.max(np.abs(forces - all_pairs(places, 1 / cells))))
    before = energy + 0.5 * float((speeds**2).sum())
    for _ in range(steps):
        speeds += TIME_STEP / 2 * forces
        places = (places + TIME_STEP * speeds) % 1
        forces, energy = lists.forces(places)
        speeds += TIME_STEP / 2 * forces
    return {
        "forces": error / float(np.max(np.abs(forces))),
        "momentum": float(np.max(np.abs(speeds.sum(0)))),
        "energy": abs(energy + 0.5 * float((speeds**2).sum()) - before) / before,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--particles", type=int, default=400, help="particles (default 400)")
    parser.add_argument("--cells", type=int, default=8, help="cells along each axis, at least 3 (default 8)")
    parser.add_argument("--steps", type=int, default=50, help="time steps (default 50)")
    parser.add_argument("--seed", type=int, default=1, help="seed of places and speeds (default 1)")
    chosen = parser.parse_args()
    if chosen.cells < 3 or chosen.particles < 2 or chosen.steps < 0:
        parser.error("expected at least 3 cells along each axis and 2 particles")
    found = run(chosen.particles, chosen.cells, chosen.steps, chosen.seed)
    passed = found["forces"] < 1e-12 and found["momentum"] < 1e-11 and found["energy"] < 1e-3
    if arrays.Geometry(1).rank == 0:
        print(f"forces against all pairs: {found['forces']:.1e} of the largest")
        print(f"momentum after {chosen.steps} steps: {found['momentum']:.1e}")
        print(f"energy changed by {found['energy']:.1e} of itself")
        print("passed" if passed else "FAILED: forces and momentum must agree to rounding, energy to a thousandth")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
