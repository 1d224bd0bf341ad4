"""How long patients survive with each of some treatments, where many have not been observed until their end.

    python programs/survival.py [--size 4000] [--machine here] [--seed 1]

A rank by treatment and time brings patients into order; scans within treatments count who is at risk, scans within days
count deaths, and a scan with products is the estimate of Kaplan and Meier (1958), with Greenwood's variance. Checked day
by day in numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

ARMS = 7
NEVER = 100_000


class Patients(NamedTuple):
    """Their treatments, the days that they were observed for, and whether they died then."""

    arm: np.ndarray
    day: np.ndarray
    died: np.ndarray


def problem(size: int, seed: int = 1) -> Patients:
    """Patients whose treatments differ in how good they are."""
    generator = np.random.default_rng(seed)
    arm = generator.integers(0, ARMS, size, dtype=np.int8)
    end, last = generator.weibull(1.3, size) * (200.0 + 60.0 * arm), generator.exponential(700, size)
    return Patients(arm, np.ceil(np.minimum(end, last)).astype(np.int32), end <= last)


def solve(patients: Patients, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The share that survives each patient's day and its variance, and the day that half of a treatment survive."""
    vp, arms = pvar.VPSet(patients.arm.shape, machine=machine), pvar.VPSet(ARMS, machine=machine)
    arm, day, died = (vp.array(one) for one in patients)
    order = pvar.rank((day, arm))
    arm, day, died = pvar.send(arm, order), pvar.send(day, order), pvar.send(died, order)
    begins = arm != pvar.shift(arm, -1, boundary=-1)
    new_day = begins | (day != pvar.shift(day, -1, boundary=-1))
    left = pvar.scan(vp.full(1, np.int32), "add", segments=begins, direction="down")
    at_risk = pvar.scan(left, "copy", segments=new_day).astype(np.float64)
    deaths = pvar.scan(died.astype(np.int32), "add", segments=new_day).astype(np.float64)
    ends = pvar.shift(new_day, 1, boundary=True)
    factor = pvar.where(ends, 1.0 - deaths / at_risk, 1.0)
    share = pvar.scan(factor, "multiply", segments=begins)
    term = pvar.where(ends & (deaths < at_risk), deaths / (at_risk * pvar.maximum(at_risk - deaths, 1.0)), 0.0)
    variance = share * share * pvar.scan(term, "add", segments=begins)
    median = arms.full(NEVER, np.int32)
    with vp.where(ends & (share < 0.5)):
        pvar.send(day, arm, combine="min", into=median)
    of_day = (
        pvar.scan(pvar.where(ends, one, 0.0), "max", segments=new_day, direction="down") for one in (share, variance)
    )
    share, variance = (np.asarray(pvar.get(one, order)) for one in of_day)
    return share, variance, np.asarray(median)


def expected(patients: Patients) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, treatment by treatment and day by day."""
    shares, variances = np.zeros((2, len(patients.arm)))
    median = np.full(ARMS, NEVER)
    for arm in range(ARMS):
        of_arm = patients.arm == arm
        share, total = 1.0, 0.0
        for day in np.unique(patients.day[of_arm]).tolist():
            at_risk = np.count_nonzero(patients.day[of_arm] >= day)
            today = of_arm & (patients.day == day)
            deaths = np.count_nonzero(patients.died[today])
            share *= (at_risk - deaths) / at_risk
            total += deaths / (at_risk * (at_risk - deaths)) if deaths < at_risk else 0.0
            shares[today], variances[today] = share, share**2 * total
            if share < 0.5 - 1e-12 and median[arm] == NEVER:
                median[arm] = day
    return shares, variances, median


def main() -> int:
    parser = arguments.parser(__doc__, 4000, "patients", "the patients")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one patient")
    patients = problem(chosen.size, chosen.seed)
    answer = solve(patients, chosen.machine)
    print(f"half of the patients survive days {answer[2].tolist()}")
    right = all(np.allclose(one, other, rtol=1e-9) for one, other in zip(answer, expected(patients), strict=True))
    return arguments.verdict(right, "shares must be those of numpy, day by day")


if __name__ == "__main__":
    sys.exit(main())
