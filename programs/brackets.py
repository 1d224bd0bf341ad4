"""Brackets matched: which closing bracket belongs to each opening one, in a text with as many of both.

    python programs/brackets.py [--size 10000] [--machine here] [--seed 1]

A scan of +1 and -1 says how deep each bracket is. In the order of depth, which is stable, brackets that belong together
follow each other, so that each fetches its partner from beside it. Checked against a stack. Ends with code 1 if the
check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """+1 for each opening bracket and -1 for each closing one: so many pairs, none closed before it is opened."""
    steps = np.random.default_rng(seed).permutation(np.repeat([1, -1], size))
    # What is turned to begin behind its lowest point never falls below where it began.
    return np.roll(steps, -1 - int(np.argmin(np.cumsum(steps))))


def solve(steps: np.ndarray, machine: str = "here") -> tuple[np.ndarray, int]:
    """The index of each bracket's partner, and the greatest depth."""
    vp = pvar.VPSet(steps.shape, machine=machine)
    step, here = vp.array(steps), vp.coordinate(0)
    opens = step > 0
    # A closing bracket is as deep as the one that it closes.
    depth = pvar.scan(step, "add", axis=0) + pvar.where(opens, 0, 1)
    order = pvar.rank(depth)
    in_order = pvar.send(here, order)
    partner = pvar.get(in_order, pvar.where(opens, order + 1, order - 1))
    return np.asarray(partner), int(pvar.reduce(depth, "max"))


def expected(steps: np.ndarray) -> tuple[np.ndarray, int]:
    """The same with a stack."""
    partner, stack, deepest = np.zeros(len(steps), dtype=np.int64), [], 0
    for index, step in enumerate(steps.tolist()):
        if step > 0:
            stack.append(index)
            deepest = max(deepest, len(stack))
        else:
            other = stack.pop()
            partner[index], partner[other] = other, index
    return partner, deepest


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "pairs of brackets", "the text")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one pair")
    steps = problem(chosen.size, chosen.seed)
    (found, depth), (wanted, deepest) = solve(steps, chosen.machine), expected(steps)
    print(f"{len(steps)} brackets, {depth} deep")
    return arguments.verdict(np.array_equal(found, wanted) and depth == deepest, "partners must be those of a stack")


if __name__ == "__main__":
    sys.exit(main())
