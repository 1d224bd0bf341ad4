"""Records brought into the order of their keys, and the mean, the least and the largest of each group.

    python programs/group_means.py [--size 5000] [--machine here] [--seed 1]

Ranks bring records together, segmented scans combine those of a key, and the last of each group says what they come
to. Checked against numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

KEYS = 300


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Keys, some of them frequent, and values."""
    generator = np.random.default_rng(seed)
    return (KEYS * generator.random(size) ** 3).astype(np.int32), generator.normal(10, 3, size)


def solve(records: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, least and largest by key; NaN where there is no record."""
    vp, groups = pvar.VPSet(records[0].shape, machine=machine), pvar.VPSet(KEYS, machine=machine)
    key, value = (vp.array(one) for one in records)
    order = pvar.rank(key)
    key, value = pvar.send(key, order), pvar.send(value, order)
    begins = key != pvar.shift(key, -1, boundary=-1)
    ends = key != pvar.shift(key, 1, boundary=-1)
    count = pvar.scan(vp.array(np.ones(vp.shape)), "add", segments=begins)
    combined = (
        pvar.scan(value, "add", segments=begins) / count,
        pvar.scan(value, "min", segments=begins),
        pvar.scan(value, "max", segments=begins),
    )
    of_groups = [groups.full(np.nan) for _ in combined]
    with vp.where(ends):
        for one, of in zip(combined, of_groups, strict=True):
            pvar.send(one, key, into=of)
    mean, least, largest = map(np.asarray, of_groups)
    return mean, least, largest


def main() -> int:
    parser = arguments.parser(__doc__, 5000, "records", "the records")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one record")
    key, value = problem(chosen.size, chosen.seed)
    found = solve((key, value), chosen.machine)
    print(f"{np.count_nonzero(~np.isnan(found[0]))} groups; the largest mean is {np.nanmax(found[0]):.2f}")
    groups = [value[key == one] for one in range(KEYS)]
    wanted = [[of(one) if one.size else np.nan for one in groups] for of in (np.mean, np.min, np.max)]
    return arguments.verdict(np.allclose(found, wanted, equal_nan=True), "groups must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())
