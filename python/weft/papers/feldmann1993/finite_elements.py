"""Tables 4 to 6 and figures 5 and 6: the finite-element solver on meshes like the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from weft.papers.feldmann1993.given import Exchanges, MeshResult
from weft.papers.feldmann1993.published import (
    CLOCK,
    MESHES,
    NODES,
    WORD_BYTES,
    mesh_message_clocks,
    meshes,
    printed,
    solver,
)
from weft.papers.reproduction import BLIND, FITTED, INPUT, PREDICTED, Axes, ReproducedTable, with_error
from weft.papers.uncertainty import Uncertainties, Uncertainty

_OURS = (
    "The paper's meshes are not published: ours have the same numbers of nodes (q20k nearly) and the "
    "same character, so "
    "differences are of the meshes and of the partitioner first."
)
_EXCHANGE = (
    "An exchange sends a number of two words for every node that two processors share (so many make the "
    "paper's tables 4 "
    "to 6 agree), gathered and scattered word by word at ten clocks (section 5.2); a processor does either at a time."
)

Cell = tuple[str, str, float | None, float | None, str, str]


def _table(
    number: str,
    title: str,
    cells: Iterable[Cell],
    notes: tuple[str, ...],
    column: str = "quantity",
    label: str = "Table",
    axes: Axes | None = None,
    uncertainties: Mapping[tuple[str, ...], Uncertainty] | None = None,
) -> ReproducedTable:
    schema: dict[str, pl.DataType] = {
        "mesh": pl.String(), column: pl.String(), "published": pl.Float64(), "ours": pl.Float64(),
        "unit": pl.String(), "kind": pl.String(),
    }  # fmt: skip
    frame = with_error(pl.DataFrame(list(cells), schema=schema, orient="row"))
    return ReproducedTable(
        number, title, (column,), ("mesh",), frame, notes, label, axes, redraws=label == "Figure",
        uncertainties=uncertainties or {},
    )  # fmt: skip


_CHOSEN = ("nodes", "logical channels")
"""What our meshes were made to have, and what the compiler was told."""


def table_4(exchanges: Exchanges) -> ReproducedTable:
    """Structure of the partitioned meshes, and phases."""
    known = meshes()
    cells: list[Cell] = []
    for mesh in MESHES:
        outcome = exchanges.mesh(mesh)
        ours = {
            "elements": outcome.elements,
            "nodes": outcome.nodes,
            "elements per processor (least)": outcome.elements_per_processor[0],
            "elements per processor (most)": outcome.elements_per_processor[1],
            "words per processor (least)": outcome.words_per_processor[0],
            "words per processor (most)": outcome.words_per_processor[1],
            "in- and out-degree": outcome.degree,
            "logical channels": 12,
            "phases": outcome.times.phases,
            "phases of APR and AS": outcome.times.apr_phases,
        }
        cells += [
            (
                mesh,
                quantity,
                known.get((mesh, quantity)),
                float(value),
                "1",
                INPUT if quantity in _CHOSEN else PREDICTED,
            )
            for quantity, value in ours.items()
        ]
    notes = (
        _OURS,
        "Words per processor are those it sends, at two words a shared node. Phases are those of the "
        "compilers with 12 channels.",
    )
    return _table("4", "Structure of the partitioned finite-element meshes", cells, notes)


def table_5(exchanges: Exchanges) -> ReproducedTable:
    """One product with the matrix: computation and communication."""
    known = solver()
    cells: list[Cell] = []
    for mesh in MESHES:
        outcome = exchanges.mesh(mesh)
        seconds = outcome.computation * CLOCK
        ours = {
            "computation": (outcome.computation, "clocks"),
            "computation rate": (outcome.operations / seconds * 1e-6, "Mflop/s"),
            "communication": (outcome.times.apr, "clocks"),
            "communication bandwidth": (_bandwidth(outcome, outcome.times.apr), "MB/s"),
        }
        cells += [
            (
                mesh,
                quantity,
                known.get((mesh, quantity)),
                value,
                unit,
                FITTED if "computation" in quantity else PREDICTED,
            )
            for quantity, (value, unit) in ours.items()
        ]
    notes = (
        _OURS,
        "Computation was fitted to: the machine file's time of an operation is the geometric mean of this table's four "
        "rates, so the errors are what one time of an operation leaves. Ours counts two "
        "operations for every entry of a processor's own matrix; the paper's bandwidth is 64 times the most words. "
        "Communication is over the connections of the paper's compiler.",
    )
    rates = [known[mesh, "computation rate"] for mesh in MESHES]
    spread = max(rates) / min(rates)
    one_time = Uncertainty(
        (spread - 1) / (spread + 1), "one time of an operation for the paper's four rates, wherever it is between them"
    )
    uncertain: Uncertainties = _of_words("communication", "communication bandwidth", exchanges=exchanges)
    uncertain |= {(name, mesh): one_time for mesh in MESHES for name in ("computation", "computation rate")}
    title = "The kernel of conjugate gradients, one iteration over connections"
    return _table("5", title, cells, notes, uncertainties=uncertain)


def _of_words(*names: str, exchanges: Exchanges) -> Uncertainties:
    """How far the most words of a processor of our meshes are from the paper's, by the heads of cells so named."""
    uncertain: Uncertainties = {}
    known = meshes()
    for mesh in MESHES:
        ours = exchanges.mesh(mesh).words_per_processor[1]
        error = abs(ours / known[mesh, "words per processor (most)"] - 1)
        for name in names:
            uncertain[name, mesh] = Uncertainty(
                error, "the words of a processor of our mesh, not the paper's (table 4)"
            )
    return uncertain


def _bandwidth(outcome: MeshResult, clocks: float) -> float:
    return NODES * outcome.words_per_processor[1] * WORD_BYTES / (clocks * CLOCK) * 1e-6


def _times(mesh: str, outcome: MeshResult) -> list[tuple[str, float | None, float, str]]:
    known = printed(mesh, None)
    times = outcome.times
    return [
        ("ConSet predicted", known["predicted_conset_clocks"], times.apr_predicted, PREDICTED),
        ("ConSet measured", known["measured_conset_clocks"], times.apr, PREDICTED),
        (
            "messages predicted",
            known["predicted_message_clocks"],
            mesh_message_clocks(outcome.degree, outcome.words_per_processor[1]),
            PREDICTED,
        ),
        ("messages measured", known["measured_message_clocks"], times.messages, BLIND),
        ("weft's schedule predicted", None, times.predicted, PREDICTED),
        ("weft's schedule", None, times.conset, PREDICTED),
        ("bound", None, times.bound, PREDICTED),
    ]


def table_6(exchanges: Exchanges) -> ReproducedTable:
    """Predicted and measured times of the exchange."""
    cells: list[Cell] = []
    for mesh in MESHES:
        rows = _times(mesh, exchanges.mesh(mesh))
        cells += [(mesh, name, known, ours, "clocks", kind) for name, known, ours, kind in rows]
    notes = (
        _OURS,
        _EXCHANGE,
        "ConSet is the schedule of the paper's compiler (APR and AS); weft's own, which is shorter, has no published "
        "figures beside it. Predicted is what the schedule says, measured is simulated.",
        "Messages predicted: the paper's formula, 408 (2 d) + 14 w clocks, with the degree and the words of our "
        "meshes; "
        "with those of its own it is within 0.4% of its four figures. The measured times of message passing were not "
        "known when ours were first computed.",
    )
    uncertain: Uncertainties = _of_words(
        "ConSet predicted", "ConSet measured", "messages predicted", "messages measured", exchanges=exchanges
    )
    return _table(
        "6", "Exchange of the finite-element meshes, clocks", cells, notes, "time", uncertainties=uncertain
    )  # fmt: skip


_BINS = (1, 2, 5, 10, 20, 50, 100, 200)


def figure_5(exchanges: Exchanges) -> ReproducedTable:
    """How much pairs of processors exchange."""
    cells: list[Cell] = []
    for mesh in MESHES:
        words = exchanges.mesh(mesh).words
        for first, after in zip(_BINS, (*_BINS[1:], None), strict=True):
            count = sum(first <= each and (after is None or each < after) for each in words)
            name = (
                f"{first} and more" if after is None else str(first) if after == first + 1 else f"{first}-{after - 1}"
            )
            cells.append((mesh, name, None, float(count), "connections", PREDICTED))
    notes = (_OURS, "Connections by their words. The figure's bars have no numbers: ours stand alone.")
    axes = Axes("words of a connection", "connections", "words", ("mesh",), bars=True)
    title = "Words between pairs of processors, number of connections"
    return _table("5", title, cells, notes, "words", "Figure", axes)


def figure_6(exchanges: Exchanges) -> ReproducedTable:
    """The times of table 6 as bandwidths."""
    known_words = meshes()
    cells: list[Cell] = []
    for mesh in MESHES:
        outcome = exchanges.mesh(mesh)
        most = known_words[mesh, "words per processor (most)"]
        for name, known, ours, kind in _times(mesh, outcome):
            drawn = None if known is None else NODES * most * WORD_BYTES / (known * CLOCK) * 1e-6
            cells.append((mesh, name, drawn, _bandwidth(outcome, ours), "MB/s", kind))
    notes = (_OURS, "The times of table 6; 64 times the most words of a processor over the time, as in table 5.")
    axes = Axes("mesh", "aggregate bandwidth, MB/s", "mesh", ("series",), bars=True)
    return _table("6", "Aggregate bandwidth of the meshes' exchanges, MB/s", cells, notes, "series", "Figure", axes)


def speedups(exchanges: Exchanges, patterns: Iterable[tuple[str, int]]) -> ReproducedTable:
    """weft's schedules against simulated messages, against the paper's compiler, against the bound."""
    cells: list[Cell] = []
    named = [
        (f"{name}, {words} words", exchanges.pattern(name, words), printed(name, words)) for name, words in patterns
    ]
    named += [(mesh, exchanges.mesh(mesh).times, printed(mesh, None)) for mesh in MESHES]
    for name, times, known in named:
        conset, messages = known["measured_conset_clocks"], known["measured_message_clocks"]
        both = None if conset is None or messages is None else messages / conset
        cells += [
            (name, "APR and AS over messages", both, times.messages / times.apr, "1", PREDICTED),
            (name, "over messages", None, times.messages / times.conset, "1", PREDICTED),
            (name, "over APR and AS", None, times.apr / times.conset, "1", PREDICTED),
            (name, "bound / ours", None, times.bound / times.conset, "1", PREDICTED),
        ]
    notes = (
        "Ours: simulated times of weft's schedule against simulated message passing, against the paper's "
        "compiler in the same simulator, and the lower bound over it (1 cannot be surpassed). Published: measured over "
        "measured, with the paper's compiler; beside it stands that compiler, simulated.",
    )
    table = _table("speed-ups", "Speed-up of weft's schedules", cells, notes, "against")
    return ReproducedTable("speed-ups", table.title, ("mesh",), ("against",), table.cells, notes, redraws=True)
