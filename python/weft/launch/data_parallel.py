"""Benchmarks of data-parallel machines: priced from the costs of a machine file, nothing runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from weft import _core
from weft._core import Machine, UsageError
from weft.launch import flit, primitives, ranges
from weft.parameters import Benchmark, Takes, taking
from weft.samples import from_rows

if TYPE_CHECKING:
    from weft.launch.protocol import Progress

GROUP = "data-parallel"
"""The group of the benchmarks of data-parallel machines."""

Numbers = str | int | Iterable[int]

BENCHMARKS = {
    "pshift": Benchmark(
        name="pshift",
        summary="shifts in both directions along every axis of an array, planned (PSHIFT) and one by one (CSHIFT)",
        group=GROUP,
        example="weft measure pshift --on cm200 --axes 3 --extent 2,4,8,16",
        takes={
            **taking("axes", "distance"),
            "extent": Takes("extent", of="node's subgrid"),
            "precision": Takes("precision", choices=("single", "double")),
        },
    ),
    **{
        name: Benchmark(
            name=name,
            summary=summary,
            group=GROUP,
            example=f"weft measure {name} --on cm2-8k --vp-ratio 1,4",
            takes=taking("vp_ratio", "variant", "seconds_per_point"),
            variants=primitives.variants(name),
            alone=True,
        )
        for name, summary in primitives.GROUPS.items()
    },
}
_ROUTER = BENCHMARKS["router"]
BENCHMARKS["router"] = replace(
    _ROUTER,
    summary=f"{_ROUTER.summary}; on a machine whose file has routers, latency against load, flit by flit",
    example=f"{_ROUTER.example}\nweft measure router --on torus8x8-flit --load 0.01,0.05,0.1 --vcs 2 --buffer 4",
    takes={**_ROUTER.takes, **flit.TAKES},
)
"""What data-parallel machines have, by name."""

EXTENTS = {1: "4:16384", 2: "2:128", 3: "2:16", 4: "2:8"}
"""Extents of the subgrid's axes where nobody says, by number of axes: those of tables 1 to 4 of George 1994."""

_ELEMENTS = {"single": 4, "double": 8}


def refuse_here(names: Sequence[str], parameters: Iterable[str] = ()) -> None:
    """Benchmarks that only a described data-parallel machine has cannot be measured.

    Raises
    ------
    UsageError
        If one of `names` is such a benchmark, or one of the parameters is of such a machine.
    """
    for name in parameters:
        if name in flit.TAKES:
            raise UsageError(f"{name} is of a described network of routers; name one with --on (torus8x8-flit)")
    for name in names:
        if name in BENCHMARKS and name not in primitives.GROUPS:
            raise UsageError(
                f"{name} is of data-parallel machines and nothing runs it here; name one with --on (cm200)"
            )


def priced(
    machine: Machine,
    benchmarks: Sequence[Benchmark],
    parameters: Mapping[str, Any],
    seed: int = 0,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """What benchmarks of data-parallel machines take on one.

    Parameters
    ----------
    machine
        A machine whose file has the costs.
    benchmarks
        What is priced.
    parameters
        Parameters as :func:`weft.launch.request.parsed` gives them: of `pshift` `axes` (default: 1 to 4), `extent` (one
        array for each; default: those of George 1994), `distance` and `precision`; of the groups of primitives
        `vp_ratio`.
    seed, progress
        Of a network of routers, which is run: as for :func:`weft.launch.flit.measured`.

    Returns
    -------
    polars.DataFrame
        Samples of source "predicted". Of `pshift`: `cshift_cm_s`, `pshift_cm_s`, `cshift_elapsed_s`,
        `pshift_elapsed_s`, and `seconds`, which is the elapsed time of PSHIFT. Of the groups: as
        :func:`weft.launch.primitives.priced`.

    Raises
    ------
    UsageError
        For a machine without the costs, other benchmarks among these, or what they do not take.
    """
    names = [benchmark.name for benchmark in benchmarks]
    if names == ["router"] and flit.has_routers(machine):
        return flit.measured(machine, parameters, seed, progress)
    others = [name for name in names if name not in BENCHMARKS]
    if others:
        raise UsageError(f"{names[0]} is priced and {others[0]} runs in virtual time: ask for one kind at a time")
    if "pshift" in names and len(set(names)) > 1:
        raise UsageError("pshift has columns of its own: ask for it alone")
    priced_by = set(BENCHMARKS[names[0]].takes) - {"variant", "seconds_per_point"} - set(flit.TAKES)
    for name in parameters:
        if name not in priced_by:
            takes = ", ".join(name for name in BENCHMARKS[names[0]].takes if name in priced_by)
            raise UsageError(f"{names[0]} takes no {name}; on a described machine it takes {takes}")
    if names[0] != "pshift":
        return primitives.priced(machine, names, parameters.get("vp_ratio", ()))
    return _shifts(machine, parameters)


def _shifts(machine: Machine, parameters: Mapping[str, Any]) -> pl.DataFrame:
    precision = parameters.get("precision", "double")
    if precision not in _ELEMENTS:
        raise UsageError(f"precision: '{precision}' is neither single nor double")
    counts = parameters.get("axes") or tuple(EXTENTS)
    own = {axes: ranges.numbers(EXTENTS.get(axes, "2:8"), "extent", "double", lowest=1) for axes in counts}
    distance, element = parameters.get("distance", 1), _ELEMENTS[precision]
    extents = {axes: parameters.get("extent") or own[axes] for axes in counts}
    return from_rows([_pshift(machine, axes, n, distance, element) for axes in counts for n in extents[axes]])


def _pshift(machine: Machine, axes: int, extent: int, distance: int, element: int) -> dict[str, object]:
    shifts = [(axis, sign * distance) for axis in range(axes) for sign in (1, -1)]
    times = json.loads(_core.shift_times(machine, [extent] * axes, element, shifts))
    return {
        "source": "predicted",
        "machine": machine.name,
        "benchmark": "pshift",
        "axes": axes,
        "extent": extent,
        "shape": "x".join([str(extent)] * axes),
        "distance": distance,
        "cshift_cm_s": times["cshift"]["cm_s"],
        "pshift_cm_s": times["pshift"]["cm_s"],
        "cshift_elapsed_s": times["cshift"]["elapsed_s"],
        "pshift_elapsed_s": times["pshift"]["elapsed_s"],
        "precision": "double" if element == _ELEMENTS["double"] else "single",
        "by_exchange": sum(reason is None for reason in times["fallbacks"]),
        "shifts": len(shifts),
        "ranks": None,
        "hops": None,
        "bytes": None,
        "repetition": 0,
        "seconds": times["pshift"]["elapsed_s"],
    }
