"""Where a transcription factor may bind: a weight matrix of a motif at every position of a genome, both strands.

    python programs/motif_search.py [--size 2000] [--machine here] [--seed 1]

A processor has a base. The score of a position is a sum of weights of the bases from there on (Stormo et al., Nucleic
Acids Research 10, 1982); of hits that overlap the best stays, the first of equal ones. Checked position by position.
Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LENGTH = 10
BOUND = 5.0
NONE = -1000.0


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Bases, 0 to 3, with some sites of the motif; and log odds by position of the motif and base."""
    generator = np.random.default_rng(seed)
    counts = generator.dirichlet([0.3] * 4, LENGTH) * 30 + 1
    odds = np.log2(counts / counts.sum(axis=1, keepdims=True) / 0.25)
    bases = generator.integers(0, 4, size)
    for start in generator.integers(0, max(1, size - LENGTH), size // 100):
        site = [generator.choice(4, p=row / row.sum()) for row in counts]
        if generator.random() < 0.5:
            site = [3 - one for one in reversed(site)]
        bases[start : start + LENGTH] = site[: len(bases) - start]
    return bases.astype(np.int8), odds.astype(np.float32)


def solve(genome: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, ...]:
    """Positions, scores and strands of sites, and how often each base is at each position of these."""
    bases, odds = genome
    vp, matrix = pvar.VPSet(len(bases), machine=machine), pvar.VPSet((LENGTH, 4), machine=machine)
    base, weight = vp.array(bases), matrix.array(odds)
    forward, backward = vp.zeros(np.float32), vp.zeros(np.float32)
    for at in range(LENGTH):
        there = pvar.shift(base, at, boundary=0).astype(np.int32)
        forward += pvar.get(weight, (at, there))
        backward += pvar.get(weight, (LENGTH - 1 - at, 3 - there))
    score, is_backward = pvar.maximum(forward, backward), backward > forward
    fits = (vp.address() <= len(bases) - LENGTH) & (score >= BOUND)
    score = pvar.where(fits, score, NONE)
    best = fits.copy()
    for at in range(1, LENGTH):
        best &= pvar.shift(score, at, boundary=NONE) <= score
        best &= pvar.shift(score, -at, boundary=NONE) < score
    sites = int(pvar.reduce(best, "sum"))
    found = pvar.VPSet(max(1, sites), machine=machine)
    with vp.where(best):
        number = vp.enumerate()
        table = [pvar.send(one, number, vp=found) for one in (vp.address(), score, is_backward)]
    profile = matrix.zeros(np.int32)
    for at in range(LENGTH):
        ahead = pvar.shift(base, at, boundary=0).astype(np.int32)
        behind = 3 - pvar.shift(base, LENGTH - 1 - at, boundary=0).astype(np.int32)
        own = pvar.where(is_backward, behind, ahead)
        with vp.where(best):
            pvar.send(1, (at, own), combine="add", into=profile)
    return *(np.asarray(one)[:sites] for one in table), np.asarray(profile)


def expected(genome: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, ...]:
    """The same, position by position, in 32 bits too, whose rounding decides between equal scores."""
    bases, odds = genome[0].tolist(), genome[1]
    scores, strands = {}, {}
    for start in range(len(bases) - LENGTH + 1):
        window, sums = bases[start : start + LENGTH], [np.float32(0), np.float32(0)]
        for at, base in enumerate(window):
            sums[0] += odds[at, base]
            sums[1] += odds[LENGTH - 1 - at, 3 - base]
        if max(sums) >= BOUND:
            scores[start], strands[start] = max(sums), sums[1] > sums[0]
    sites, profile = [], np.zeros((LENGTH, 4), int)
    for start, score in scores.items():
        others = [(near, scores[near]) for near in range(start - LENGTH + 1, start + LENGTH) if near in scores]
        if any(other > score or (other == score and near < start) for near, other in others if near != start):
            continue
        sites.append((start, score, strands[start]))
        window = bases[start : start + LENGTH]
        for at, base in enumerate([3 - one for one in reversed(window)] if strands[start] else window):
            profile[at, base] += 1
    starts, best, backward = zip(*sites, strict=True) if sites else ((), (), ())
    return np.array(starts, int), np.array(best, np.float32), np.array(backward, bool), profile


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "bases", "genome and motif")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one base")
    genome = problem(chosen.size, chosen.seed)
    answer = solve(genome, chosen.machine)
    print(f"{len(answer[0])} sites, {answer[2].sum()} of them on the other strand")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(genome), strict=True))
    return arguments.verdict(right, "sites must be those that are found position by position")


if __name__ == "__main__":
    sys.exit(main())
