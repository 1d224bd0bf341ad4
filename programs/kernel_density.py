"""A density from samples: smoothed counts in a plane, with kernels that are wider where samples are few.

    python programs/kernel_density.py [--size 300] [--machine here] [--seed 1]

A processor has a sample, another a bin. Samples are shared among the four nearest bins, counts are smoothed by running
sums three times along both axes, which comes near to a Gaussian; then each sample looks up its density, whose root says
how wide its own kernel is (Abramson, Annals of Statistics 10, 1982), one of four. Checked sample by sample. Ends with
code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

BINS, PASSES = 48, 3
HALF_WIDTHS = (1, 2, 3, 5)


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Coordinates of samples in bins, of a few clusters, in rows."""
    generator = np.random.default_rng(seed)
    centers = generator.uniform(12, BINS - 12, (4, 2))
    spread = generator.uniform(0.6, 4, 4)
    which = generator.integers(0, 4, size)
    return np.clip(generator.normal(centers[which].T, spread[which]), 0, BINS - 1.001)


def smoothed(bins: pvar.VPSet, x: pvar.ParallelVariable, half: int) -> pvar.ParallelVariable:
    """Means of so many bins on both sides, by running sums, several times along both axes."""
    for _ in range(PASSES):
        for axis in (0, 1):
            sums = pvar.scan(x, "add", axis=axis)
            last = pvar.spread(sums, axis=axis, index=BINS - 1)
            along = bins.coordinate(axis)
            ahead = pvar.where(along + half < BINS, pvar.shift(sums, half, axis=axis, boundary=0.0), last)
            x = (ahead - pvar.shift(sums, -half - 1, axis=axis, boundary=0.0)) / (2 * half + 1)
    return x


def shared(
    bins: pvar.VPSet, corner: list, part: list, weight: pvar.ParallelVariable | float
) -> pvar.ParallelVariable:
    """Weights of the selected samples by the bins around each."""
    counts = bins.zeros()
    for down in (0, 1):
        for right in (0, 1):
            by = (part[0] if down else 1.0 - part[0]) * (part[1] if right else 1.0 - part[1])
            pvar.send(by * weight, (corner[0] + down, corner[1] + right), combine="add", into=counts)
    return counts


def solve(samples: np.ndarray, machine: str = "here") -> tuple[np.ndarray, ...]:
    """The density by bin, and at each sample; how many samples have each width."""
    size = samples.shape[1]
    vp, bins = pvar.VPSet(size, machine=machine), pvar.VPSet((BINS, BINS), machine=machine)
    at = [vp.array(one) for one in samples]
    corner = [pvar.floor(one).astype(np.int32) for one in at]
    part = [one - below.astype(np.float64) for one, below in zip(at, corner, strict=True)]
    pilot = smoothed(bins, shared(bins, corner, part, 1.0), HALF_WIDTHS[1]) / size
    own = pvar.get(pilot, tuple(corner))
    mean = pvar.exp(pvar.reduce(pvar.log(pvar.maximum(own, 1e-12)), "sum") * vp.full(1.0 / size))
    wide = pvar.sqrt(mean / pvar.maximum(own, 1e-12)) * HALF_WIDTHS[1]
    density, widths = bins.zeros(), []
    bounds = [0.0, 1.5, 2.5, 4.0, 1e9]
    for half, low, high in zip(HALF_WIDTHS, bounds, bounds[1:]):
        with vp.where((wide >= low) & (wide < high)):
            counts = shared(bins, corner, part, 1.0)
            widths.append(int(pvar.reduce(vp.full(1, np.int32), "sum", initial=0)))
        density += smoothed(bins, counts, half)
    density /= size
    return np.asarray(density), np.asarray(pvar.get(density, tuple(corner))), np.array(widths)


def expected(samples: np.ndarray) -> tuple[np.ndarray, ...]:
    """The same with matrices of means, sample by sample."""
    size = samples.shape[1]
    index = np.arange(BINS)
    means = {half: (abs(index[:, None] - index) <= half) / (2 * half + 1) for half in HALF_WIDTHS}
    matrices = {half: np.linalg.matrix_power(one, PASSES) for half, one in means.items()}
    corners = samples.astype(int)

    def counted(chosen: list[int]) -> np.ndarray:
        counts = np.zeros((BINS, BINS))
        for one in chosen:
            row, column = corners[:, one]
            part_row, part_column = samples[:, one] - corners[:, one]
            counts[row : row + 2, column : column + 2] += np.outer(
                [1 - part_row, part_row], [1 - part_column, part_column]
            )
        return counts

    pilot = matrices[HALF_WIDTHS[1]] @ counted(list(range(size))) @ matrices[HALF_WIDTHS[1]].T / size
    own = np.maximum(pilot[tuple(corners)], 1e-12)
    wide = np.sqrt(np.exp(np.log(own).mean()) / own) * HALF_WIDTHS[1]
    which = np.digitize(wide, [1.5, 2.5, 4.0])
    density = sum(
        matrices[half] @ counted(np.flatnonzero(which == number).tolist()) @ matrices[half].T / size
        for number, half in enumerate(HALF_WIDTHS)
    )
    return density, density[tuple(corners)], np.bincount(which, minlength=len(HALF_WIDTHS))


def main() -> int:
    parser = arguments.parser(__doc__, 300, "samples", "the samples")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one sample")
    samples = problem(chosen.size, chosen.seed)
    answer = solve(samples, chosen.machine)
    print(f"the largest density is {answer[0].max():.4f}; widths are those of {answer[2].tolist()} samples")
    pairs = zip(answer, expected(samples), strict=True)
    right = all(one.shape == other.shape and np.allclose(one, other, atol=1e-9) for one, other in pairs)
    return arguments.verdict(right, "densities must be those of the samples one by one")


if __name__ == "__main__":
    sys.exit(main())
