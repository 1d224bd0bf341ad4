"""Networks of routers with virtual channels, run flit by flit: latency against load."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from weft import _core
from weft._core import Machine, UsageError
from weft.parameters import taking
from weft.samples import from_rows

if TYPE_CHECKING:
    from weft.launch.protocol import Progress

TAKES = taking(
    "load", "vcs", "buffer", "packet", "tail_credit", "credit_cycles", "traffic", "routing", "level", "cycles"
)  # fmt: skip
"""What a network of routers takes."""

LOADS = (0.01, 0.05, 0.1, 0.15, 0.2)
"""Loads where nobody says, flits a node and cycle."""

CYCLES = 200_000
"""Cycles that are measured where nobody says."""


def has_routers(machine: Machine) -> bool:
    """Whether a machine's file describes routers with virtual channels."""
    return "routers" in json.loads(machine.to_json())


def measured(machine: Machine, parameters: Mapping[str, Any], seed: int, progress: Progress | None) -> pl.DataFrame:
    """Latency and accepted traffic of a machine's routers at some loads.

    Parameters
    ----------
    machine
        A machine whose file has a table `[routers]`, from which what is not asked for is taken.
    parameters
        Of `TAKES`, as :func:`weft.launch.request.parsed` gives them.
    seed
        Of the traffic.
    progress
        Who is told how it comes along.

    Returns
    -------
    polars.DataFrame
        Samples of source "simulated", one for each load: `load`, `latency_cycles` with `latency_half_width`,
        `accepted`, `offered`, `saturated`, `link_hops`, and `seconds`, which is the latency in time.

    Raises
    ------
    UsageError
        For parameters of other machines, and for what no router has.
    """
    for name in parameters:
        if name not in TAKES:
            raise UsageError(f"router takes no {name} on {machine.name}, which has {', '.join(TAKES)}")
    figures = {key: figure["value"] for key, figure in json.loads(machine.to_json())["routers"].items()}
    options = {
        "vcs": parameters.get("vcs", figures["virtual_channels"]),
        "buffer": parameters.get("buffer", figures["buffer_flits"]),
        "packet": parameters.get("packet", figures["packet_flits"]),
        "tail_credit": parameters.get("tail_credit", False),
        "credit_cycles": parameters.get("credit_cycles", figures["credit_cycles"]),
        "traffic": parameters.get("traffic", "uniform"),
        "routing": parameters.get("routing", "deterministic"),
        "level": parameters.get("level", "flit"),
        "cycles": parameters.get("cycles", CYCLES),
    }
    loads = parameters.get("load", LOADS)
    if progress is not None:
        progress.launch(0, len(loads), len(loads))
    rows = []
    for load in loads:
        rows.append(_row(machine, load, options, seed, figures))
        if progress is not None:
            progress.rows(1)
    return from_rows(rows)


_UNTRUSTED = "the model of messages is not trusted"

TRUSTED = 1.1
"""The model of messages is within 8% of the routers where it has packets take at most so many times what they take in
an empty network (docs/routers.md)."""


def _note(point: Mapping[str, Any], options: Mapping[str, Any], nodes: int) -> str | None:
    """What a reader of the model of messages should know: whether packets wait longer than it can be trusted."""
    flits = point["offered"] * nodes * options["cycles"] * 1.1  # Warm-up included.
    empty = 5 * point["link_hops"] / flits + 6 + options["packet"]
    return _beyond(point["latency_cycles"] / empty, "packets", "run the routers flit by flit")


def noted(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a run in virtual time, with a note where messages waited longer than their model can be trusted."""
    waiting = row.pop("waiting", None)
    note = waiting and _beyond(waiting, "messages", "times are too long, since virtual channels let messages pass")
    return {**row, "note": note} if note else row


def _beyond(waiting: float, what: str, advice: str) -> str | None:
    if waiting <= TRUSTED:
        return None
    times = f"{waiting:.0f}" if waiting >= 100 else f"{waiting:.3g}"
    return f"{what} take {times} times what they take in an empty network; beyond {TRUSTED:g} {_UNTRUSTED}: {advice}"


def notes(samples: pl.DataFrame) -> list[str]:
    """What a reader of samples should know of the model of messages, a line for each benchmark, variant and note."""
    if "note" not in samples.columns:
        return []
    chosen = samples.filter(pl.col("note").str.contains(_UNTRUSTED, literal=True))
    named = (
        " ".join(filter(None, (row["benchmark"], row.get("variant")))) + f": {row['note']}"
        for row in chosen.iter_rows(named=True)
    )
    return list(dict.fromkeys(named))


def _row(
    machine: Machine, load: float, options: Mapping[str, Any], seed: int, figures: Mapping[str, Any]
) -> dict[str, object]:
    point = json.loads(_core.flit_latency(machine, json.dumps({"load": load, "seed": seed, **options})))
    point.pop("packets")
    seconds = point["latency_cycles"] and point["latency_cycles"] * figures["cycle_time"]
    if seconds is None:
        raise UsageError(f"no packet was made in {options['cycles']} cycles at a load of {load:g}; ask for more cycles")
    return {
        "note": _note(point, options, machine.nodes) if options["level"] == "message" else None,
        "source": "simulated",
        "machine": machine.name,
        "benchmark": "router",
        "variant": f"{options['traffic']} {load:g}",
        "load": load,
        **options,
        **point,
        "tail_credit": str(options["tail_credit"]).lower(),
        "saturated": str(point["saturated"]).lower(),
        "ranks": machine.nodes,
        "hops": None,
        "bytes": options["packet"] * figures["flit_bytes"],
        "repetition": 0,
        "seconds": seconds,
    }
