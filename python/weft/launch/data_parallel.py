"""Benchmarks of data-parallel machines: priced from the costs of a machine file, nothing runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from weft import _core
from weft._core import Machine, UsageError
from weft.launch import flit, primitives, ranges
from weft.parameters import Benchmark, Takes, taking
from weft.samples import from_rows

if TYPE_CHECKING:
    from weft.launch.protocol import Progress

SHIFTS_PROGRAM = (sys.executable, "-P", "-m", "weft.distributed.timing")
"""What measures `pshift` here: a process without MPI, as for the node suite."""

GROUP = "data-parallel"
"""The group of the benchmarks of data-parallel machines."""

Numbers = str | int | Iterable[int]

BENCHMARKS = {
    "pshift": Benchmark(
        name="pshift",
        summary="shifts in both directions along every axis of an array, planned (PSHIFT) and one by one (CSHIFT)",
        group=GROUP,
        example="weft measure pshift --axes 3\nweft measure pshift --on cm200 --axes 3 --extent 2,4,8,16",
        takes={
            **taking("axes", "distance", "seconds_per_point"),
            "extent": Takes("extent", of="node's subgrid"),
            "precision": Takes("precision", choices=("single", "double")),
        },
        alone=True,
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


def refuse_here(parameters: Iterable[str]) -> None:
    """Parameters that only a described machine has mean nothing here.

    Raises
    ------
    UsageError
        If one of the parameters is of such a machine.
    """
    for name in parameters:
        if name in flit.TAKES:
            raise UsageError(f"{name} is of a described network of routers; name one with --on (torus8x8-flit)")


def refuse_faults(machine: Machine, benchmark: str) -> None:
    """What runs no messages in virtual time knows no faults.

    Raises
    ------
    UsageError
        If the machine has some.
    """
    if machine.faults:
        raise UsageError(
            f"{benchmark} is of {machine.name} as it is described: faults ({', '.join(machine.faults)}) slow programs "
            "whose messages run in virtual time, as echo"
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
        For a machine without the costs or with faults, other benchmarks among these, or what they do not take.
    """
    names = [benchmark.name for benchmark in benchmarks]
    refuse_faults(machine, names[0])
    if names == ["router"] and flit.has_routers(machine):
        return flit.measured(machine, parameters, seed, progress)
    others = [name for name in names if name not in BENCHMARKS]
    if others:
        ours = next((name for name in names if name in BENCHMARKS), "pshift")
        raise UsageError(f"{ours} is priced and {others[0]} runs in virtual time: ask for one kind at a time")
    if "pshift" in names and len(set(names)) > 1:
        raise UsageError("pshift has columns of its own: ask for it alone")
    of_routers = [name for name in parameters if name in flit.TAKES]
    if names == ["router"] and of_routers:
        raise UsageError(
            f"{', '.join(of_routers)}: {machine.name} has no routers that are described flit by flit (its file has no "
            "[routers]); torus8x8-flit has"
        )
    priced_by = set(BENCHMARKS[names[0]].takes) - {"variant", "seconds_per_point"} - set(flit.TAKES)
    for name in parameters:
        if name not in priced_by:
            takes = ", ".join(name for name in BENCHMARKS[names[0]].takes if name in priced_by)
            raise UsageError(f"{names[0]} takes no {name}; on a described machine it takes {takes}")
    if names[0] != "pshift":
        return primitives.priced(machine, names, parameters.get("vp_ratio", ()))
    return from_rows([_pshift(machine, call) for call in shift_calls(parameters)])


@dataclass(frozen=True)
class ShiftCall:
    """A call of the benchmark `pshift`: shifts in both directions along every axis of one array.

    Attributes
    ----------
    axes, extent, distance, precision
        As the benchmark's parameters have them.
    """

    axes: int
    extent: int
    distance: int
    precision: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a node's array."""
        return (self.extent,) * self.axes

    @property
    def dtype(self) -> str:
        """Its elements, as numpy calls them."""
        return f"f{_ELEMENTS[self.precision]}"

    @property
    def shifts(self) -> list[tuple[int, int]]:
        """Axis and distance of each."""
        return [(axis, sign * self.distance) for axis in range(self.axes) for sign in (1, -1)]

    def columns(self) -> dict[str, object]:
        """What tells its rows apart, and how many shifts it is."""
        array = "x".join(map(str, self.shape))
        return {
            "axes": self.axes,
            "extent": self.extent,
            "shape": array,
            "variant": array,
            "distance": self.distance,
            "precision": self.precision,
            "shifts": len(self.shifts),
        }


def shift_calls(parameters: Mapping[str, Any]) -> list[ShiftCall]:
    """The calls that `pshift` is asked for; those of tables 1 to 4 where it is not said.

    Raises
    ------
    UsageError
        For a precision that there is not.
    """
    precision = parameters.get("precision") or "double"
    if precision not in _ELEMENTS:
        raise UsageError(f"precision: '{precision}' is neither single nor double")
    counts = parameters.get("axes") or tuple(EXTENTS)
    own = {axes: ranges.numbers(EXTENTS.get(axes, "2:8"), "extent", "double", lowest=1) for axes in counts}
    extents = {axes: parameters.get("extent") or own[axes] for axes in counts}
    distance = int(parameters.get("distance") or 1)
    return [ShiftCall(axes, n, distance, precision) for axes in counts for n in extents[axes]]


def _pshift(machine: Machine, call: ShiftCall) -> dict[str, object]:
    times = json.loads(_core.shift_times(machine, list(call.shape), _ELEMENTS[call.precision], call.shifts))
    return {
        **call.columns(),
        "source": "predicted",
        "machine": machine.name,
        "benchmark": "pshift",
        "cshift_cm_s": times["cshift"]["cm_s"],
        "pshift_cm_s": times["pshift"]["cm_s"],
        "cshift_elapsed_s": times["cshift"]["elapsed_s"],
        "pshift_elapsed_s": times["pshift"]["elapsed_s"],
        "by_exchange": sum(reason is None for reason in times["fallbacks"]),
        "ranks": None,
        "hops": None,
        "bytes": None,
        "repetition": 0,
        "seconds": times["pshift"]["elapsed_s"],
    }
