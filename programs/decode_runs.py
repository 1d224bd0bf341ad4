"""Runs decoded: a value and a length for each run become as many equal values, a processor for each.

    python programs/decode_runs.py [--size 10000] [--machine here] [--seed 1]

Runs and values are two VP sets. A scan of the lengths says where each run begins; there it sends its number, which a
scan of the largest carries to the end of the run; and each processor fetches the value of its run. Checked against
numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The values and lengths of so many runs; some are empty."""
    generator = np.random.default_rng(seed)
    lengths = generator.geometric(0.1, size) - 1
    lengths[0] += 1
    return generator.integers(0, 1000, size), lengths


def solve(given: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The values of all runs, and how far each is from the beginning of its run."""
    values, lengths = given
    runs, decoded = pvar.VPSet(values.shape, machine=machine), pvar.VPSet((int(lengths.sum()),), machine=machine)
    value, length = runs.array(values), runs.array(lengths)
    begin = pvar.scan(length, "add", axis=0, exclusive=True)
    with runs.where(length > 0):
        mark = pvar.send(runs.address().astype(np.int64), begin, vp=decoded)
    run = pvar.scan(mark, "max", axis=0)
    offset = decoded.address() - pvar.get(begin, run)
    return np.asarray(pvar.get(value, run)), np.asarray(offset)


def expected(given: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The same by numpy."""
    values, lengths = given
    return np.repeat(values, lengths), np.concatenate([np.arange(length) for length in lengths])


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "runs", "the runs")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one run")
    given = problem(chosen.size, chosen.seed)
    found, wanted = solve(given, chosen.machine), expected(given)
    print(f"{chosen.size} runs are {len(found[0])} values")
    same = all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))
    return arguments.verdict(same, "values must be numpy's")


if __name__ == "__main__":
    sys.exit(main())
