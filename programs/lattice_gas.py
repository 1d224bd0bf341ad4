"""A gas of particles that are a bit each, which collide on a lattice of triangles and stream around obstacles.

    python programs/lattice_gas.py [--size 40] [--steps 12] [--machine here] [--seed 1]

A site has a bit for each of six directions (Frisch, Hasslacher and Pomeau, Phys. Rev. Lett. 56, 1986). A table says
what collisions make of the six, and shifts move each direction's bits. Rows lean, so that neighbours are at the same
distances everywhere. Checked site by site with sets. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

STEPS = ((0, 1), (1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1))
"""Where each direction leads, down and right; each is a sixth of a circle after the one before."""
ALL = 63


class Gas(NamedTuple):
    """The bits of each site, where there are obstacles, and how many steps to make."""

    sites: np.ndarray
    obstacles: np.ndarray
    steps: int


def problem(size: int, steps: int = 12, seed: int = 1) -> Gas:
    """A gas that drifts to the right, and a block in the middle."""
    generator = np.random.default_rng(seed)
    density = np.array([0.45, 0.3, 0.2, 0.1, 0.2, 0.3])
    bits = generator.random((size, size, 6)) < density
    down, right = abs(np.indices((size, size)) - size // 2)
    return Gas((bits << np.arange(6)).sum(axis=2).astype(np.uint8), (down < size // 6) & (right < size // 9), steps)


def collisions() -> np.ndarray:
    """What becomes of each site's bits, where pairs turn to the left (first half), and where they turn to the right."""
    table = np.tile(np.arange(64, dtype=np.uint8), 2)
    for pair in (0b001001, 0b010010, 0b100100):
        table[pair] = (pair << 1 | pair >> 5) & ALL
        table[64 + pair] = (pair >> 1 | pair << 5) & ALL
    for triple in (0b010101, 0b101010):
        table[[triple, 64 + triple]] = ALL ^ triple
    return table


def solve(gas: Gas, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bits in the end, how many particles each row has, and how many move to the right after each step."""
    vp, entries = pvar.VPSet(gas.sites.shape, machine=machine), pvar.VPSet(128, machine=machine)
    sites, obstacles = vp.array(gas.sites, copy=True), vp.array(gas.obstacles)
    table = entries.array(collisions())
    sides = ((vp.coordinate(0) + vp.coordinate(1)) & 1).astype(np.uint8) << 6
    drift = []
    for _ in range(gas.steps):
        after = pvar.get(table, sites | sides)
        with vp.where(obstacles):
            after[...] = ((sites << 3) | (sites >> 3)) & ALL
        sites = vp.zeros(np.uint8)
        for bit, (down, right) in enumerate(STEPS):
            sites |= pvar.shift(after & (1 << bit), (-down, -right), axis=(0, 1))
        sides ^= 64
        drift.append(pvar.reduce((sites & 0b100001) != 0, "count") - pvar.reduce((sites & 0b001100) != 0, "count"))
    particles = vp.zeros(np.uint8)
    for bit in range(6):
        particles += (sites >> bit) & 1
    return np.asarray(sites), particles.sum(axis=1).numpy()[:, 0], np.array(drift)


def expected(gas: Gas) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with a set of directions for each site."""
    size = len(gas.sites)
    sites = {one: {bit for bit in range(6) if gas.sites[one] >> bit & 1} for one in np.ndindex(size, size)}
    drift = []
    for step in range(gas.steps):
        moved: dict[tuple[int, ...], set[int]] = {one: set() for one in sites}
        for (row, column), own in sites.items():
            turned = 0
            if gas.obstacles[row, column]:
                turned = 3
            elif len(own) == 3 and own in ({0, 2, 4}, {1, 3, 5}):
                turned = 1
            elif len(own) == 2 and max(own) - min(own) == 3:
                turned = 1 if (row + column + step) % 2 == 0 else 5
            for direction in own:
                new = (direction + turned) % 6
                moved[(row + STEPS[new][0]) % size, (column + STEPS[new][1]) % size].add(new)
        sites = moved
        drift.append(sum(bool(own & {0, 5}) - bool(own & {2, 3}) for own in sites.values()))
    bits = np.array([sum(1 << one for one in own) for own in sites.values()]).reshape(size, size)
    rows = [sum(len(sites[row, column]) for column in range(size)) for row in range(size)]
    return bits, np.array(rows), np.array(drift)


def main() -> int:
    parser = arguments.parser(__doc__, 40, "sites along each side", "the particles")
    parser.add_argument("--steps", type=int, default=12, help="steps to make (default 12)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.steps) < 1:
        parser.error("expected at least one site and one step")
    gas = problem(chosen.size, chosen.steps, chosen.seed)
    answer = solve(gas, chosen.machine)
    print(f"{answer[1].sum()} particles, and a drift of {answer[2][0]} that has become {answer[2][-1]}")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(gas), strict=True))
    return arguments.verdict(right, "particles must be where those of the sets are")


if __name__ == "__main__":
    sys.exit(main())
