"""A gauge field on a lattice in three dimensions, whose energy demons carry about.

    python programs/gauge_field.py [--size 8] [--sweeps 3] [--machine here] [--seed 1]

A processor has the signs of the three links from its site (Wegner 1971), and a demon that pays for flips and saves what
they yield (Creutz, Phys. Rev. Lett. 50, 1983), so that the energy of all stays what it was. Links along one direction
from every other site are changed at once. Checked link by link. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

MAX_SAVINGS = 12


class Lattice(NamedTuple):
    """The signs of links along each axis, what each demon has, and how many sweeps to make."""

    links: np.ndarray
    demons: np.ndarray
    sweeps: int


def problem(size: int, sweeps: int = 3, seed: int = 1) -> Lattice:
    """Links of which some are turned, and demons with a little each."""
    generator = np.random.default_rng(seed)
    links = np.where(generator.random((3, size, size, size)) < 0.15, -1, 1).astype(np.int8)
    return Lattice(links, 4 * generator.integers(0, 3, (size, size, size), dtype=np.int8), sweeps)


def solve(lattice: Lattice, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The links in the end, the demons, and after each sweep the sum of plaquettes and of savings."""
    vp = pvar.VPSet(lattice.demons.shape, machine=machine)
    links = [vp.array(one, copy=True) for one in lattice.links]
    demons = vp.array(lattice.demons, copy=True)
    odd = (vp.coordinate(0) + vp.coordinate(1) + vp.coordinate(2)) % 2
    sums = []
    for sweep in range(lattice.sweeps):
        for along, link in enumerate(links):
            for parity in (0, 1):
                staples = vp.zeros(np.int8)
                for axis, other in enumerate(links):
                    if axis != along:
                        far = pvar.shift(other, 1, axis=along)
                        staples += other * pvar.shift(link, 1, axis=axis) * far
                        staples += pvar.shift(other * link * far, -1, axis=axis)
                price = link * staples * 2
                left = demons - price
                with vp.where((odd == parity) & (left >= 0) & (left <= MAX_SAVINGS)):
                    link[...] = -link
                    demons[...] = left
        demons[...] = pvar.shift(demons, 1, axis=sweep % 3)
        plaquettes = 0
        for first, second in ((0, 1), (0, 2), (1, 2)):
            around = links[first] * pvar.shift(links[second], 1, axis=first)
            around *= links[second] * pvar.shift(links[first], 1, axis=second)
            plaquettes += pvar.reduce(around, "sum")
        sums.append((plaquettes, pvar.reduce(demons, "sum")))
    return np.array([one.numpy() for one in links]), np.asarray(demons), np.array(sums)


def expected(lattice: Lattice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same link by link."""
    links, demons = lattice.links.astype(int), lattice.demons.astype(int)
    size = len(demons)
    sites = list(np.ndindex(demons.shape))

    def beside(site: tuple[int, ...], axis: int, by: int = 1) -> tuple[int, ...]:
        return tuple((one + by * (axis == other)) % size for other, one in enumerate(site))

    def around(site: tuple[int, ...], first: int, second: int) -> int:
        both = links[first][site] * links[second][beside(site, first)]
        return int(both * links[first][beside(site, second)] * links[second][site])

    sums = []
    for sweep in range(lattice.sweeps):
        for along in range(3):
            for site in [one for one in sites if sum(one) % 2 == 0] + [one for one in sites if sum(one) % 2]:
                others = [axis for axis in range(3) if axis != along]
                energy = sum(around(one, along, axis) for axis in others for one in (site, beside(site, axis, -1)))
                if 0 <= demons[site] - 2 * energy <= MAX_SAVINGS:
                    demons[site] -= 2 * energy
                    links[along][site] *= -1
        demons = np.roll(demons, -1, sweep % 3)
        pairs = ((0, 1), (0, 2), (1, 2))
        sums.append((sum(around(site, *pair) for site in sites for pair in pairs), demons.sum()))
    return links, demons, np.array(sums)


def main() -> int:
    parser = arguments.parser(__doc__, 8, "sites along each side", "links and demons")
    parser.add_argument("--sweeps", type=int, default=3, help="sweeps to make (default 3)")
    chosen = parser.parse_args()
    if chosen.size < 4 or chosen.size % 2 or chosen.sweeps < 1:
        parser.error("expected an even number of sites, at least four, and at least one sweep")
    lattice = problem(chosen.size, chosen.sweeps, chosen.seed)
    answer = solve(lattice, chosen.machine)
    print(f"plaquettes are {answer[2][-1][0] / (3 * chosen.size**3):.3f} in the mean")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(lattice), strict=True))
    return arguments.verdict(right, "links must be those that were changed one by one")


if __name__ == "__main__":
    sys.exit(main())
