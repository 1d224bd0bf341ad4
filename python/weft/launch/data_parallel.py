"""Benchmarks of data-parallel machines: priced from the costs of a machine file, nothing runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import polars as pl

from weft import _core
from weft._core import Machine, UsageError
from weft.launch import primitives, ranges
from weft.launch.benchmark import Benchmark
from weft.samples import from_rows

GROUP = "data-parallel"
"""The group of the benchmarks of data-parallel machines."""

Numbers = str | int | Iterable[int]

BENCHMARKS = {
    "pshift": Benchmark(
        name="pshift",
        summary="shifts in both directions along every axis of an array, planned (PSHIFT) and one by one (CSHIFT)",
        group=GROUP,
        default_ranks=1,
    ),
    **{
        name: Benchmark(
            name=name,
            summary=summary,
            group=GROUP,
            default_ranks=1,
            fields=("vp_ratios",),
            variants=primitives.variants(name),
        )
        for name, summary in primitives.GROUPS.items()
    },
}
"""What data-parallel machines have, by name."""

LENGTHS = {1: "4:16384", 2: "2:128", 3: "2:16", 4: "2:8"}
"""Lengths of the subgrid's axes where nobody says, by rank: those of tables 1 to 4 of George 1994."""

_ELEMENTS = {"single": 4, "double": 8}


def refuse_here(names: Sequence[str]) -> None:
    """Benchmarks that only a described data-parallel machine has cannot be measured.

    Raises
    ------
    UsageError
        If one of `names` is such a benchmark.
    """
    for name in names:
        if name in BENCHMARKS and name not in primitives.GROUPS:
            raise UsageError(
                f"{name} is of data-parallel machines and nothing runs it here; name one with --on (cm200)"
            )


def refuse(names: Sequence[str], given: Sequence[str]) -> None:
    """Parameters that these benchmarks do not take.

    Raises
    ------
    UsageError
        If there are any.
    """
    if given:
        takes = "rank, length, distance and precision" if "pshift" in names else "vp-ratio"
        raise UsageError(f"{names[0]} takes no {given[0]}; it takes {takes}")


def priced(
    machine: Machine,
    names: Sequence[str],
    rank: Numbers | None = None,
    length: Numbers | None = None,
    distance: int | None = None,
    precision: str | None = None,
    vp_ratio: Numbers | None = None,
) -> pl.DataFrame:
    """What benchmarks of data-parallel machines take on one.

    Parameters
    ----------
    machine
        A machine whose file has the costs.
    names
        The benchmarks.
    rank
        Numbers of axes of the array. Default: 1 to 4.
    length
        Elements along each axis of the subgrid in a node; one array for each. Default: those of George 1994.
    distance
        By how many elements. Default: 1.
    precision
        `single` (4 bytes an element) or `double` (8, the default).
    vp_ratio
        Of the groups of primitives: virtual processors a processor.

    Returns
    -------
    polars.DataFrame
        Samples of source "predicted". Of `pshift`: `cshift_cm_s`, `pshift_cm_s`, `cshift_elapsed_s`,
        `pshift_elapsed_s`, and `seconds`, which is the elapsed time of PSHIFT. Of the groups: as
        :func:`weft.launch.primitives.priced`.

    Raises
    ------
    UsageError
        For a machine without the costs, other benchmarks among `names`, or numbers that mean nothing.
    """
    others = [name for name in names if name not in BENCHMARKS]
    if others:
        raise UsageError(f"{names[0]} is priced and {others[0]} runs in virtual time: ask for one kind at a time")
    if "pshift" not in names:
        shifts = {"rank": rank, "length": length, "distance": distance, "precision": precision}
        refuse(names, [name for name, value in shifts.items() if value is not None])
        return primitives.priced(machine, names, ranges.numbers(vp_ratio, "vp-ratio", "double", lowest=1))
    if len(set(names)) > 1:
        raise UsageError("pshift has columns of its own: ask for it alone")
    refuse(names, [] if vp_ratio is None else ["vp-ratio"])
    if precision not in (None, *_ELEMENTS):
        raise UsageError(f"precision: '{precision}' is neither single nor double")
    ranks = ranges.numbers(rank, "rank", "one", lowest=1) or tuple(LENGTHS)
    if max(ranks) > 31:
        raise UsageError(f"rank: an array has at most 31 axes, not {max(ranks)}")
    lengths = {r: ranges.numbers(length or LENGTHS.get(r, "2:8"), "length", "double", lowest=1) for r in ranks}
    element = _ELEMENTS[precision or "double"]
    rows = [_pshift(machine, r, n, 1 if distance is None else distance, element) for r in ranks for n in lengths[r]]
    return from_rows(rows)


def _pshift(machine: Machine, rank: int, length: int, distance: int, element: int) -> dict[str, object]:
    shifts = [(axis, sign * distance) for axis in range(rank) for sign in (1, -1)]
    found = json.loads(_core.shift_times(machine, [length] * rank, element, shifts))
    return {
        "source": "predicted",
        "machine": machine.name,
        "benchmark": "pshift",
        "rank": rank,
        "length": length,
        "shape": "x".join([str(length)] * rank),
        "distance": distance,
        "cshift_cm_s": found["cshift"]["cm_s"],
        "pshift_cm_s": found["pshift"]["cm_s"],
        "cshift_elapsed_s": found["cshift"]["elapsed_s"],
        "pshift_elapsed_s": found["pshift"]["elapsed_s"],
        "precision": "double" if element == _ELEMENTS["double"] else "single",
        "by_exchange": sum(reason is None for reason in found["fallbacks"]),
        "shifts": len(shifts),
        "ranks": None,
        "hops": None,
        "bytes": None,
        "repetition": 0,
        "seconds": found["pshift"]["elapsed_s"],
    }
