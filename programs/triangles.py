"""How many triangles a graph has, and how many each vertex is in.

    python programs/triangles.py [--size 100] [--machine here] [--seed 1]

Each processor has a pair of vertices. One vertex after the other, the pairs of which both are joined to it count it; of
pairs that are joined themselves the counts are triangles. Checked against products of numpy's matrices. Ends with code
1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Which pairs are joined, a tenth of them: symmetric, and nobody with itself."""
    upper = np.triu(np.random.default_rng(seed).random((size, size)) < 0.1, 1)
    return upper | upper.T


def solve(joined: np.ndarray, machine: str = "here") -> tuple[int, np.ndarray]:
    """Triangles in all, and of each vertex."""
    vp = pvar.VPSet(joined.shape, machine=machine)
    edge, common = vp.array(joined), vp.zeros(np.int32)
    for vertex in range(len(joined)):
        both = pvar.spread(edge, axis=0, index=vertex) & pvar.spread(edge, axis=1, index=vertex)
        with vp.where(both & edge):
            common += 1
    of_each = pvar.reduce(common, "sum", axis=1) // 2
    with vp.where(vp.coordinate(1) == 0):
        total = int(pvar.reduce(of_each, "sum"))
    return total // 3, np.asarray(of_each)[:, 0]


def main() -> int:
    parser = arguments.parser(__doc__, 100, "vertices", "the edges")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one vertex")
    joined = problem(chosen.size, chosen.seed)
    total, of_each = solve(joined, chosen.machine)
    matrix = joined.astype(np.int64)
    expected = np.diagonal(matrix @ matrix @ matrix) // 2
    print(f"{total} triangles")
    passed = total == expected.sum() // 3 and (of_each == expected).all()
    return arguments.verdict(bool(passed), "triangles must be those of products of matrices")


if __name__ == "__main__":
    sys.exit(main())
