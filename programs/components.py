"""Connected regions of a picture by propagation: every cell takes the least label around it, until none changes.

    python programs/components.py [--size 64] [--machine here] [--seed 1]

A cell's first label is its address. Cells are connected with the four beside them. Two cells must have one label if and
only if scipy's labels say so. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.ndimage

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A picture of blots: true where there is something."""
    noise = np.random.default_rng(seed).random((size, size))
    return scipy.ndimage.uniform_filter(noise, 3, mode="wrap") > 0.5


def solve(given: np.ndarray, machine: str = "here") -> np.ndarray:
    """The least address of each cell's region; the number of cells where there is nothing."""
    nothing = given.size
    vp = pvar.VPSet(given.shape, machine=machine)
    filled = vp.array(given)
    label = pvar.where(filled, vp.address(), np.int32(nothing))
    changed = True
    while changed:
        least = label
        for axis in (0, 1):
            for distance in (1, -1):
                least = pvar.minimum(least, pvar.shift(label, distance, axis=axis, boundary=nothing))
        with vp.where(filled):
            changed = bool(pvar.reduce(least < label, "or"))
            label[...] = least
    return np.asarray(label)


def regions(given: np.ndarray, found: np.ndarray) -> tuple[int, bool]:
    """How many regions there are, and whether they are scipy's."""
    labels, number = scipy.ndimage.label(given)
    pairs = np.unique(np.stack([labels[given], found[given]]), axis=1)
    same = pairs.shape[1] == number == len(np.unique(found[given])) and bool((found[~given] == given.size).all())
    return number, same


def main() -> int:
    parser = arguments.parser(__doc__, 64, "cells along each axis", "the picture")
    chosen = parser.parse_args()
    if chosen.size < 2:
        parser.error("expected at least two cells along each axis")
    given = problem(chosen.size, chosen.seed)
    number, same = regions(given, solve(given, chosen.machine))
    print(f"{number} regions in {chosen.size}x{chosen.size} cells")
    return arguments.verdict(same, "regions must be scipy's")


if __name__ == "__main__":
    sys.exit(main())
