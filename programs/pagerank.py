"""Which pages a surfer at random is on: each page sends its share along every link, and the shares are added.

    python programs/pagerank.py [--size 2000] [--links 8] [--rounds 20] [--machine here] [--seed 1]

A virtual processor stands for a link, the first ones for a page besides. Checked against scipy's sparse matrix in the
same iteration. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.sparse

from weft import pvar

DAMPING = 0.85


def problem(size: int, links: int = 8, rounds: int = 20, seed: int = 1) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Where each link starts and ends, how many pages there are, and how many rounds; few pages get most links."""
    made = np.random.default_rng(seed)
    source = np.repeat(np.arange(size), links)
    target = np.minimum((size * made.random(size * links) ** 3).astype(np.int64), size - 1)
    return source, target, size, rounds


def solve(given: tuple[np.ndarray, np.ndarray, int, int], machine: str = "here") -> np.ndarray:
    """The share of each page."""
    source, target, size, rounds = given
    links = len(source) // size
    vp = pvar.VPSet(source.shape, machine=machine)
    start, end = vp.array(source), vp.array(target)
    page = vp.coordinate(0) < size
    share = vp.zeros(np.float64)
    with vp.where(page):
        share[...] = 1.0 / size
    for _ in range(rounds):
        sent = pvar.get(share, start, collisions="many") * (DAMPING / links)
        share = pvar.send(sent, end, combine="add")
        with vp.where(page):
            share[...] = share + (1 - DAMPING) / size
    return np.asarray(share)[:size]


def error(given: tuple[np.ndarray, np.ndarray, int, int], found: np.ndarray) -> float:
    """The largest difference from scipy's, over the mean share."""
    source, target, size, rounds = given
    share = np.full(size, 1 / size)
    weights = np.full(len(source), size / len(source))
    matrix = scipy.sparse.csr_array((weights, (target, source)), shape=(size, size))
    for _ in range(rounds):
        share = DAMPING * (matrix @ share) + (1 - DAMPING) / size
    return float(np.abs(found - share).max() * size)


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "pages", "the links")
    parser.add_argument("--links", type=int, default=8, help="links of a page (default 8)")
    parser.add_argument("--rounds", type=int, default=20, help="rounds (default 20)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.links, chosen.rounds) < 1:
        parser.error("expected at least one page, one link and one round")
    given = problem(chosen.size, chosen.links, chosen.rounds, chosen.seed)
    found = solve(given, chosen.machine)
    off = error(given, found)
    print(f"largest share {found.max() * chosen.size:.1f} times the mean; largest difference from scipy's {off:.1e}")
    return arguments.verdict(off <= 1e-9, "shares must be scipy's")


if __name__ == "__main__":
    sys.exit(main())
