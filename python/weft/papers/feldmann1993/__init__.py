"""A. Feldmann, T. M. Stricker, T. E. Warfel, Supporting sets of arbitrary connections on iWarp, SPAA 1993, 203-212.

Reproduces tables 1 to 6 and figures 2 to 6 (figure 1 is a drawing): `published.py` has what was printed and the
paper's formulas, `patterns.py` tables 1 to 3, `finite_elements.py` the solver's. Exchanges are compiled and executed
by whoever asks (`given.py`). Slips in the published figures are footnotes; see
`weft/papers/reference/feldmann-1993/README.md`.
"""

from __future__ import annotations

import polars as pl

from weft.extras import require
from weft.papers.feldmann1993 import finite_elements, patterns
from weft.papers.feldmann1993.given import Exchanges, MeshResult, Times
from weft.papers.feldmann1993.published import (
    CITATION,
    CLOCK,
    COPY_CLOCKS,
    ELEMENT_CLOCKS,
    MACHINE,
    MESHES,
    NAME,
    NODE_WORDS,
    PATTERNS,
    WORD_BYTES,
    WORDS,
    measured,
)
from weft.papers.reproduction import SUMMARY, ReproducedTable, Reproduction, chosen

__all__ = [
    "CITATION", "CLOCK", "COPY_CLOCKS", "ELEMENT_CLOCKS", "FIGURES", "MACHINE", "MESHES", "NAME", "NODE_WORDS",
    "PATTERNS", "TABLES", "WORDS", "WORD_BYTES", "Exchanges", "MeshResult", "Times", "measured", "reproduce",
]  # fmt: skip

TABLES = ("1", "2", "3", "4", "5", "6", "speed-ups")
"""The tables that are reproduced; `speed-ups` is ours."""
FIGURES = ("2", "3", "4", "5", "6")
"""The figures that have data."""
_OF_MESHES = ("4", "5", "6", "speed-ups")
"""Tables of meshes that are divided among processors."""
_FIGURES_OF_MESHES = ("5", "6")
"""Figures of such meshes."""


def reproduce(table: str | int | None = None, figure: str | int | None = None, *, exchanges: Exchanges) -> Reproduction:
    """Compile and execute the paper's patterns and put the results beside the published ones.

    Parameters
    ----------
    table, figure
        One of `TABLES`, one of `FIGURES`; default: all.
    exchanges
        What compiles and executes.

    Raises
    ------
    PaperError
        For a table or figure that is not reproduced.
    UsageError
        For one of meshes, where what divides them is not installed; before anything is compiled.
    """
    wanted = chosen(NAME, "table", table, TABLES, figure)
    drawn = chosen(NAME, "figure", figure, FIGURES, table, "figure 1 is a drawing")
    divided = [f"table {table}" for table in wanted if table in _OF_MESHES]
    divided += [f"figure {figure}" for figure in drawn if figure in _FIGURES_OF_MESHES]
    if divided:
        require(f"dividing the meshes of {divided[0]}", "meshio", "pymetis")
    reproduced = [_table(number, exchanges) for number in wanted] + [_figure(number, exchanges) for number in drawn]
    title = (
        "The machine file has the text's figures and was fitted to table 5 alone. The measured times of tables 2 "
        "and 3, and "
        "those of messages in table 6, were not known when ours were first computed. The meshes of tables 4 to 6 "
        "are not "
        "the paper's own."
    )
    return Reproduction(NAME, CITATION, tuple(reproduced), pl.DataFrame(schema=SUMMARY), title)


def _table(number: str, exchanges: Exchanges) -> ReproducedTable:
    match number:
        case "4":
            return finite_elements.table_4(exchanges)
        case "5":
            return finite_elements.table_5(exchanges)
        case "6":
            return finite_elements.table_6(exchanges)
        case "speed-ups":
            every = [(pattern, words) for pattern in PATTERNS.values() for words in WORDS]
            return finite_elements.speedups(exchanges, every)
        case _:
            return patterns.table(number, exchanges)


def _figure(number: str, exchanges: Exchanges) -> ReproducedTable:
    match number:
        case "5":
            return finite_elements.figure_5(exchanges)
        case "6":
            return finite_elements.figure_6(exchanges)
        case _:
            return patterns.figure(number, exchanges)
