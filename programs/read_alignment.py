"""Short reads of a genome, each aligned near where it is thought to come from.

    python programs/read_alignment.py [--size 100] [--machine here] [--seed 1]

A processor is a diagonal of a read's band (Sellers, Journal of Algorithms 1, 1980: ends of the reference are free).
All bases of the reads are taken one after the other: mismatches and inserted bases come from the processor itself and
its neighbour, and left-out ones by a minimum scan along the band. Checked read by read. Ends with code 1 if the check
fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

LENGTH, BAND, GENOME = 32, 13, 4_000
FAR = 1_000


class Reads(NamedTuple):
    """Bases of the genome and of the reads, 0 to 3, and where in the genome the band of each read begins."""

    genome: np.ndarray
    reads: np.ndarray
    begin: np.ndarray


def problem(size: int, seed: int = 1) -> Reads:
    """Reads with errors of all kinds."""
    generator = np.random.default_rng(seed)
    genome = generator.integers(0, 4, GENOME, dtype=np.uint8)
    begin = generator.integers(0, GENOME - 2 * LENGTH - BAND, size, dtype=np.int32)
    offset = begin + generator.integers(0, BAND, size)
    # A base more or less now and then, so that the rest of the read comes from another diagonal.
    drift = np.cumsum(generator.choice([0, 1, -1], (size, LENGTH), p=[0.96, 0.02, 0.02]), axis=1)
    reads = genome[np.clip(offset[:, None] + np.arange(LENGTH) + drift, 0, GENOME - 1)]
    errors = generator.random(reads.shape) < 0.06
    return Reads(genome, np.where(errors, (reads + 1) % 4, reads).astype(np.uint8), begin)


def solve(data: Reads, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The errors of each read's best alignment, the first diagonal that ends it, and a histogram of the errors."""
    size = len(data.begin)
    vp, line = pvar.VPSet((size, BAND), machine=machine), pvar.VPSet(size, machine=machine)
    genome = pvar.VPSet(GENOME, machine=machine).array(data.genome)
    reads = pvar.VPSet((size, LENGTH), machine=machine).array(data.reads)
    read, diagonal = vp.coordinate(0), vp.coordinate(1)
    begin = pvar.get(line.array(data.begin), read) + diagonal
    slope = diagonal.astype(np.int16)
    errors = vp.zeros(np.int16)
    for base in range(LENGTH):
        differs = pvar.get(genome, begin + base) != pvar.get(reads, (read, base))
        inserted = pvar.shift(errors, 1, axis=1, boundary=FAR) + 1
        best = pvar.minimum(errors + differs, inserted)
        errors = pvar.scan(best - slope, "min", axis=1) + slope
    least, where = errors.min(axis=1), errors.argmin(axis=1)
    counts = pvar.VPSet(LENGTH + 1, machine=machine)
    with vp.where(diagonal == 0):
        histogram = pvar.send(1, least, combine="add", vp=counts)
    ends = [pvar.get(one, (line.address(), 0)).numpy() for one in (least, where)]
    return *ends, np.asarray(histogram)


def expected(data: Reads) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by the whole table of each read, without what is outside its band."""
    results = []
    for bases, begin in zip(data.reads.tolist(), data.begin.tolist(), strict=True):
        text = data.genome[begin : begin + LENGTH + BAND].tolist()
        above = [0 if column < BAND else FAR for column in range(len(text) + 1)]
        for number, base in enumerate(bases):
            here = [FAR] * len(above)
            for column in range(number + 1, number + 1 + BAND):
                here[column] = min(above[column - 1] + (text[column - 1] != base), above[column] + 1)
                here[column] = min(here[column], here[column - 1] + 1)
            above = here
        results.append((min(above), above.index(min(above)) - LENGTH))
    errors, diagonals = np.array(results).T
    return errors, diagonals, np.bincount(errors, minlength=LENGTH + 1)


def main() -> int:
    parser = arguments.parser(__doc__, 100, "reads", "genome and reads")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one read")
    data = problem(chosen.size, chosen.seed)
    answer = solve(data, chosen.machine)
    print(f"{answer[0].mean():.2f} errors in the mean")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(data), strict=True))
    return arguments.verdict(right, "alignments must be those of the reads' tables")


if __name__ == "__main__":
    sys.exit(main())
