"""How much substrate enzymes leave over: Michaelis and Menten's equation, each experiment in steps of its own length.

    python programs/enzyme_kinetics.py [--size 1000] [--machine here] [--seed 1]

Bogacki and Shampine's pair of orders 3 and 2 (Applied Mathematics Letters 2, 1989) estimates its error: a processor
whose error is too large tries again with a shorter step, while the others go on. Checked against the equation's
solution in closed form (Schnell and Mendoza 1997). Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

END = 0.7
TOLERANCE = 1e-6


class Experiments(NamedTuple):
    """Substrate at first, the fastest rate, and the substrate at which it is half as fast."""

    substrate: np.ndarray
    rate: np.ndarray
    half: np.ndarray


def problem(size: int, seed: int = 1) -> Experiments:
    """Experiments with different enzymes."""
    generator = np.random.default_rng(seed)
    return Experiments(*(generator.uniform(low, high, size) for low, high in ((0.5, 5), (0.2, 3), (0.2, 2))))


def solve(experiments: Experiments, machine: str = "here") -> tuple[np.ndarray, np.ndarray, float]:
    """The substrate that is left, the steps that were taken, and the mean of what has been converted."""
    vp = pvar.VPSet(experiments.substrate.shape, machine=machine)
    first, rate, half = (vp.array(one) for one in experiments)
    substrate, time, step, steps = first.copy(), vp.zeros(), vp.full(0.25), vp.zeros(np.int16)

    def slope(now):
        return -rate * now / (half + now)

    start = slope(substrate)
    going = time < END
    while pvar.reduce(going, "or"):
        with vp.where(going):
            step[...] = pvar.minimum(step, END - time)
            second = slope(substrate + step * 0.5 * start)
            third = slope(substrate + step * 0.75 * second)
            next_one = substrate + step * (start * 2.0 + second * 3.0 + third * 4.0) / 9.0
            last = slope(next_one)
            error = pvar.abs(step * (start * (-5 / 72) + second / 12.0 + third / 9.0 - last / 8.0))
            with vp.where(error <= TOLERANCE):
                time += step
                substrate[...] = next_one
                start[...] = last
                steps += 1
            factor = pvar.exp(pvar.log(TOLERANCE / pvar.maximum(error, 1e-9)) / 3.0) * 0.9
            step *= pvar.minimum(pvar.maximum(factor, 0.3), 3.0)
        going = time < END
    return np.asarray(substrate), np.asarray(steps), float((first - substrate).mean())


def expected(experiments: Experiments) -> np.ndarray:
    """The substrate that is left, by Newton's method for its logarithm in s + K ln s = s0 + K ln s0 - v t."""
    substrate, rate, half = experiments
    constant = substrate + half * np.log(substrate) - rate * END
    logarithm = np.log(substrate)
    for _ in range(60):
        logarithm -= (np.exp(logarithm) + half * logarithm - constant) / (np.exp(logarithm) + half)
    return np.exp(logarithm)


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "experiments", "the experiments")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one experiment")
    experiments = problem(chosen.size, chosen.seed)
    left, steps, converted = solve(experiments, chosen.machine)
    wanted = expected(experiments)
    print(f"{converted:.4f} is converted in the mean, in {steps.min()} to {steps.max()} steps")
    within = 2 * TOLERANCE * int(steps.max())  # errors of steps add up at most, for differences only shrink
    off = max(np.abs(left - wanted).max(), abs(converted - np.mean(experiments.substrate - wanted)))
    return arguments.verdict(bool(off <= within), "what is left must be that of the closed form")


if __name__ == "__main__":
    sys.exit(main())
