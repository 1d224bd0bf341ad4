"""Tables 1 to 3 and figures 2 to 4: basic patterns."""

from __future__ import annotations

import polars as pl

from weft.papers.feldmann1993.given import Exchanges, Times
from weft.papers.feldmann1993.published import (
    CLOCK,
    NODES,
    OUT_DEGREE,
    PATTERNS,
    PHASES,
    WORD_BYTES,
    WORDS,
    conset_clocks,
    message_clocks,
    printed,
)
from weft.papers.reproduction import BLIND, INPUT, PREDICTED, Axes, ReproducedTable, with_error
from weft.papers.uncertainty import Uncertainties, Uncertainty

SERIES = ("ConSet predicted", "ConSet measured", "messages predicted", "messages measured")
FIGURES = {"2": "1", "3": "2", "4": "3"}
"""Figures by the table that they draw."""

_HEADS = {"1": "Torus", "2": "Hypercube (the paper: butterfly)", "3": "All-to-all"}

_FORMULA = (
    "Predicted: the paper's own formulas, 520 P + 2 d k clocks for ConSet with the paper's phases and "
    "400 (2 d) + 2 d k "
    "for messages; equal to what was printed but for slips."
)
_SIMULATED = (
    "Measured: ours is simulated, ConSet with the schedule of the paper's compiler (APR and AS), whose programs use "
    "their connections one after another while links are shared word by word, with a synchronisation at the end of "
    "every phase beside that of every switch (table 1, of one phase, has two of them). "
    "Weft's own schedule is shorter; the bound is what no schedule with 12 channels can be below."
)
_BLIND = (
    "The measured times were not known when ours were first computed: weft's own schedule and one random order of "
    "messages were the blind predictions. Messages measured is the median over random orders; the paper's was one."
)
_SLIPS = {
    "1": ("Printed 16,909 for 2048 words: the formula gives 16,904.",),
    "2": (
        "The program is a butterfly: words of a bit are sent when those of the bit before have come, by messages and "
        "by connections. These are in two phases of eight channels at every node, as in the paper: those of each axis. "
        "Messages at once are the prediction from before the measured times were known, 1.33 to 1.36 of them.",
    ),
    "3": (
        _BLIND,
        "Printed 19,631 for 32 words: the formula gives 19,632. ConSet counts 63 connections a node, messages 64.",
    ),
}


def _lines(pattern: str, words: int, times: Times) -> list[tuple[str, float | None, float, str]]:
    """Name, published, ours and kind of one line's cells."""
    known = printed(pattern, words)
    messages = message_clocks(64 if pattern == "all-to-all" else OUT_DEGREE[pattern], words)
    was_blind = pattern == "all-to-all"
    formula = conset_clocks(PHASES[pattern], OUT_DEGREE[pattern], words)
    return [
        (SERIES[0], known["predicted_conset_clocks"], formula, INPUT),
        (SERIES[1], known["measured_conset_clocks"], times.apr, PREDICTED),
        (SERIES[2], known["predicted_message_clocks"], messages, INPUT),
        (SERIES[3], known["measured_message_clocks"], times.messages, PREDICTED),
        ("weft's schedule", known["measured_conset_clocks"] if was_blind else None, times.conset,
         BLIND if was_blind else PREDICTED),
        ("bound", None, times.bound, PREDICTED),
        *_first(known["measured_message_clocks"], times.first_messages, was_blind),
    ]  # fmt: skip


def _first(
    published: float | None, ours: float | None, in_random_order: bool
) -> list[tuple[str, float | None, float, str]]:
    """The line of messages as they were predicted blind, where that was another model."""
    if ours is None:
        return []
    return [
        ("one random order", published, ours, BLIND) if in_random_order else ("messages at once", None, ours, BLIND)
    ]


def table(number: str, exchanges: Exchanges) -> ReproducedTable:
    """Table 1, 2 or 3."""
    pattern = PATTERNS[number]
    cells = []
    phases = set()
    for words in WORDS:
        times = exchanges.pattern(pattern, words)
        phases.add((times.phases, times.apr_phases))
        cells += [
            (words, name, known, ours, "clocks", kind) for name, known, ours, kind in _lines(pattern, words, times)
        ]
    said = "; ".join(f"{own} (APR and AS: {apr})" for own, apr in sorted(phases))
    notes = (_FORMULA, _SIMULATED, f"Phases: the paper {PHASES[pattern]}, ours {said}.", *_SLIPS[number])
    title = f"{_HEADS[number]} communication pattern, execution time in clocks"
    uncertain: Uncertainties = {
        (str(words), name): size for words in WORDS for name, size in own_predictions(pattern, words).items()
    }
    return ReproducedTable(
        number, title, ("words",), ("time",), _frame(cells, "time"), notes, uncertainties=uncertain
    )  # fmt: skip


def own_predictions(pattern: str, words: int | None) -> dict[str, Uncertainty]:
    """How far the paper's own predictions are from what it measured, by the names of its measured times."""
    known = printed(pattern, words)
    uncertain: dict[str, Uncertainty] = {}
    for name, column in (("ConSet measured", "conset_clocks"), ("messages measured", "message_clocks")):
        predicted, measured = known[f"predicted_{column}"], known[f"measured_{column}"]
        if predicted and measured:
            uncertain[name] = Uncertainty(abs(predicted / measured - 1), "the paper's own prediction of it")
    return uncertain


def _frame(cells: list[tuple[int, str, float | None, float, str, str]], column: str) -> pl.DataFrame:
    schema: dict[str, pl.DataType] = {
        "words": pl.Int64(), column: pl.String(), "published": pl.Float64(), "ours": pl.Float64(),
        "unit": pl.String(), "kind": pl.String(),
    }  # fmt: skip
    return with_error(pl.DataFrame(cells, schema=schema, orient="row"))


def bandwidth(pattern: str, words: int, clocks: float) -> float:
    """The aggregate bandwidth of 64 cells in MB/s, section 5.1."""
    return NODES * OUT_DEGREE[pattern] * words * WORD_BYTES / (clocks * CLOCK) * 1e-6


def figure(number: str, exchanges: Exchanges) -> ReproducedTable:
    """Figure 2, 3 or 4: the table's times as bandwidths."""
    pattern = PATTERNS[FIGURES[number]]
    cells = []
    for words in WORDS:
        for name, known, ours, kind in _lines(pattern, words, exchanges.pattern(pattern, words)):
            drawn = None if known is None else bandwidth(pattern, words, known)
            cells.append((words, name, drawn, bandwidth(pattern, words, ours), "MB/s", kind))
    notes = (
        f"The times of table {FIGURES[number]}; published where it prints them. The figure itself has no numbers.",
        f"The paper's bounds: access {NODES * 40} MB/s"
        + (", bisection 640 MB/s in either direction." if pattern == "all-to-all" else "."),
    )
    title = f"Aggregate bandwidth, {pattern} pattern, MB/s"
    axes = Axes("words", "aggregate bandwidth, MB/s", "words", ("series",), log_x=True)
    return ReproducedTable(
        number, title, ("words",), ("series",), _frame(cells, "series"), notes, "Figure", axes, redraws=True
    )
