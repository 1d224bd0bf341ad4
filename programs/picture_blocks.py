"""A picture with less to store: blocks of eight by eight points as cosine waves, of which most are left out.

    python programs/picture_blocks.py [--size 50] [--machine here] [--seed 1]

A processor has a point of a block. Both axes of all blocks are transformed, by spreads and the cosines of each
processor, as baseline JPEG has it (Wallace, Communications of the ACM 34, 1991); coefficients are rounded to steps that
grow with the frequency, and transformed back. Checked with numpy's matrices. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

SIDE = 8
PHASES = np.outer(np.arange(SIDE), np.arange(SIDE) + 0.5) * (math.pi / SIDE)
COSINES = np.cos(PHASES) * np.sqrt(np.where(np.arange(SIDE) > 0, 2, 1) / SIDE)[:, None]
"""Orthogonal: a row for each wave."""
STEP, GROWTH = 9.7, 5.3


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Blocks of a picture with edges and noise."""
    generator = np.random.default_rng(seed)
    down, right = np.indices((SIDE, SIDE))
    slopes = generator.normal(0, 1, (2, size, 1, 1))
    edge = slopes[0] * (down - 4) + slopes[1] * (right - 4) > generator.normal(0, 2, (size, 1, 1))
    return np.clip(90 + 80 * edge + generator.normal(0, 6, edge.shape), 0, 255).astype(np.uint8)


def solve(blocks: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Coefficients in steps, the picture they give, how many are not 0 in each block, and the mean square error."""
    vp, table = pvar.VPSet(blocks.shape, machine=machine), pvar.VPSet((SIDE, SIDE), machine=machine)
    points = vp.array(blocks)
    cosines = table.array(COSINES.astype(np.float32))
    down, right = vp.coordinate(1), vp.coordinate(2)
    step = (STEP + GROWTH * (down + right)).astype(np.float32)
    waves = points.astype(np.float32) - 128.0
    for axis, own in ((1, down), (2, right)):
        waves = combined(waves, axis, [pvar.get(cosines, (own, index)) for index in range(SIDE)])
    rounded = pvar.floor(waves / step + 0.5).astype(np.int16)
    back = rounded.astype(np.float32) * step
    for axis, own in ((1, down), (2, right)):
        back = combined(back, axis, [pvar.get(cosines, (index, own)) for index in range(SIDE)])
    picture = pvar.minimum(pvar.maximum(pvar.floor(back + 128.5), 0), 255).astype(np.uint8)
    kept = pvar.reduce((rounded != 0).astype(np.uint8), "sum", axis=(1, 2))
    error = pvar.reduce((points.astype(np.int32) - picture.astype(np.int32)) ** 2, "mean")
    return np.asarray(rounded), np.asarray(picture), kept.numpy()[:, 0, 0], float(error)


def combined(x: pvar.ParallelVariable, axis: int, factors: list[pvar.ParallelVariable]) -> pvar.ParallelVariable:
    """The elements along an axis, each times what the processor has for it, added up."""
    total = factors[0] * pvar.spread(x, axis=axis, index=0)
    for index, factor in enumerate(factors[1:], 1):
        total += factor * pvar.spread(x, axis=axis, index=index)
    return total


def right(blocks: np.ndarray, answer: tuple[np.ndarray, np.ndarray, np.ndarray, float]) -> bool:
    """Whether the coefficients are the nearest steps, and the rest is what they give."""
    rounded, picture, kept, error = answer
    step = STEP + GROWTH * np.add.outer(np.arange(SIDE), np.arange(SIDE))
    waves = COSINES @ (blocks - 128.0) @ COSINES.T
    back = 128 + COSINES.T @ (rounded * step) @ COSINES
    return bool(
        np.all(abs(waves / step - rounded) < 0.501)
        and np.all(abs(np.clip(back, 0, 255) - picture) < 0.501)
        and np.array_equal(kept, np.count_nonzero(rounded, axis=(1, 2)))
        and math.isclose(error, np.mean((blocks - picture.astype(float)) ** 2), rel_tol=1e-5)
    )


def main() -> int:
    parser = arguments.parser(__doc__, 50, "blocks", "the picture")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one block")
    blocks = problem(chosen.size, chosen.seed)
    answer = solve(blocks, chosen.machine)
    print(f"{answer[2].mean():.1f} of 64 coefficients are kept, and the error is {math.sqrt(answer[3]):.2f}")
    return arguments.verdict(right(blocks, answer), "coefficients and points must be those of numpy's matrices")


if __name__ == "__main__":
    sys.exit(main())
