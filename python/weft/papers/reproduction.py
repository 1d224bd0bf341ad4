"""What every reproduction is made of: published figures, ours, and the relative errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from weft.papers import showing
from weft.papers.uncertainty import Uncertainty

if TYPE_CHECKING:
    from matplotlib.axes import Axes as MatplotlibAxes
    from matplotlib.figure import Figure

BLIND, PREDICTED, FITTED, INPUT, MEASURED = "blind", "predicted", "fitted", "input", "measured"
"""What a cell of ours is.

`blind`: the published figure was not known when ours was first computed. `predicted`: it was known, but neither it nor
a figure that determines it was used. `fitted`: one was, so the error is that of a fit. `input`: the machine file was
told. `measured`: measured on this machine, and compared with nothing.
"""

KINDS = (BLIND, PREDICTED, FITTED, INPUT)
"""The kinds of what is compared, from the one that says most of a model to the one that says nothing."""


MARKS = {BLIND: "b", PREDICTED: "p", FITTED: "f", INPUT: "=", MEASURED: ""}
"""One character for each kind, beside the errors of a table."""


class PaperError(ValueError):
    """A table that a paper does not have, or reference data that cannot be found."""


class Simulate(Protocol):
    """Runs a benchmark on a machine of the catalogue in virtual time."""

    def __call__(
        self, machine: str, benchmark: str, bytes: Sequence[int], hops: Sequence[int] | None, **parameters: Any
    ) -> pl.DataFrame:
        """Run one benchmark.

        Parameters
        ----------
        machine
            Name in the catalogue.
        benchmark
            Name in the suite.
        bytes
            Lengths.
        hops
            Links crossed, each with every length; None where the benchmark takes none.
        parameters
            What else the benchmark takes: `neighbours`, `background_bytes`, `ranks`…

        Returns
        -------
        polars.DataFrame
            Samples.
        """
        ...


class OperationTime(Protocol):
    """Looks up the time of a node's operation in the catalogue."""

    def __call__(self, machine: str, operation: str) -> float | None:
        """Seconds of `operation` (`float64_multiply`), or None if the machine file does not give it."""
        ...


class Describe(Protocol):
    """Looks up a machine's description in the catalogue."""

    def __call__(self, machine: str) -> dict[str, Any]:
        """The machine file as a dictionary."""
        ...


@dataclass(frozen=True)
class Axes:
    """How a figure is drawn.

    Attributes
    ----------
    x, y
        Titles of the axes.
    over
        The column of a table's cells that is the x axis.
    by
        Columns whose values name a curve; the first decides the colour.
    log_x, log_y
        Which axes are logarithmic.
    bars
        Whether values are bars over names, and not points over numbers.
    """

    x: str
    y: str
    over: str
    by: tuple[str, ...]
    log_x: bool = False
    log_y: bool = False
    bars: bool = False


@dataclass(frozen=True, repr=False)
class ReproducedTable:
    """One table of a paper.

    Attributes
    ----------
    number
        As the paper counts it.
    title
        What it shows.
    rows, columns
        Columns of `cells` whose values head the rows and the columns of the printed table.
    cells
        One row a cell: heads, `unit`, `published` (null where withheld or never given), `ours` (null where weft has
        none), `error` and `kind` (one of `KINDS`, or `measured`).
    footnotes
        What a reader should know about it.
    label
        `Table` or `Figure`.
    axes
        How a figure is drawn.
    points
        What is drawn, where that is not `cells`: the columns that `axes` names, `published`, `ours` and `kind`.
    redraws
        Whether it draws what tables print, so that its cells do not count twice.
    uncertainties
        How uncertain published figures are for other reasons than rounding, by the heads of their cells (those of
        `rows`, then those of `columns`) as text.
    """

    number: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: pl.DataFrame
    footnotes: tuple[str, ...] = ()
    label: str = "Table"
    axes: Axes | None = None
    points: pl.DataFrame | None = None
    redraws: bool = False
    uncertainties: Mapping[tuple[str, ...], Uncertainty] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`table 3`, `figure 9`, `the text`: for sentences and for addresses."""
        return "the text" if self.number == "text" else f"{self.label.lower()} {self.number}"

    def plot(self, ax: MatplotlibAxes | None = None) -> MatplotlibAxes:
        """Draws a figure of the paper: what was published as marks, ours as lines (bars: beside each other).

        Parameters
        ----------
        ax
            Axes of matplotlib to draw on; default: new ones.

        Raises
        ------
        UsageError
            Where matplotlib is not installed.
        PaperError
            For a table, which has no axes.
        """
        return showing.plot_figure(self, ax)

    def _repr_html_(self) -> str:
        return showing.table_html(self)

    def __repr__(self) -> str:
        return f"<weft reproduction of {self.name}: {self.title}, {len(self.cells)} cells>"


@dataclass(frozen=True, repr=False)
class Reproduction:
    """A paper's tables, published and ours.

    Attributes
    ----------
    paper
        Name of the paper, as on the command line.
    citation
        Author, title, journal, year, pages.
    tables
        In the paper's order.
    summary
        Parts of the paper that deserve a line beside those that `scores` has for every table; may be empty.
    summary_title
        What is said of the errors.
    """

    paper: str
    citation: str
    tables: tuple[ReproducedTable, ...]
    summary: pl.DataFrame
    summary_title: str

    @property
    def figures(self) -> tuple[ReproducedTable, ...]:
        """Those of its tables that the paper has as figures, which can be drawn."""
        return tuple(table for table in self.tables if table.axes is not None)

    def plot(self) -> Figure:
        """Draws all figures of the paper, each on axes of its own.

        Raises
        ------
        UsageError
            Where matplotlib is not installed.
        PaperError
            Where no figure is reproduced.
        """
        return showing.plot_reproduction(self)

    def _repr_html_(self) -> str:
        return showing.reproduction_html(self)

    def __repr__(self) -> str:
        return showing.reproduction_line(self)

    def cells(self) -> pl.DataFrame:
        """All cells of all tables under one another, with the columns `label` and `number` in front."""
        parts = [
            table.cells.select(
                pl.lit(table.label.lower()).alias("label"), pl.lit(table.number).alias("number"), pl.all()
            )
            for table in self.tables
        ]
        return pl.concat(parts, how="diagonal_relaxed")


def with_error(cells: pl.DataFrame, kind: str = PREDICTED) -> pl.DataFrame:
    """`cells` with `error`: ours / published - 1, the difference where 0 was published; and `kind` if it is missing."""
    ours, published = pl.col("ours"), pl.col("published")
    cells = cells.with_columns(
        pl.when(published == 0.0).then(ours).otherwise(ours / published - 1.0).alias("error"),
    )
    return cells if "kind" in cells.columns else cells.with_columns(pl.lit(kind).alias("kind"))


SUMMARY: dict[str, pl.DataType] = {
    "of": pl.String(),
    "cells": pl.Int64(),
    "median": pl.Float64(),
    "worst": pl.Float64(),
    "worst_at": pl.String(),
}
"""Columns of a summary: what it is of, how many cells, median and worst absolute relative error, and where that is."""


def summary_row(of: str, cells: pl.DataFrame, heads: Sequence[str]) -> tuple[object, ...]:
    """The row of a summary for some cells.

    Parameters
    ----------
    of
        What it is called.
    cells
        Cells with `error`; those without one do not count.
    heads
        The columns that say which cell is the worst.
    """
    sized = cells.filter(pl.col("error").is_not_null()).with_columns(pl.col("error").abs().alias("size"))
    if sized.is_empty():
        return of, 0, None, None, None
    worst = sized.sort("size", descending=True).row(0, named=True)
    return of, len(sized), sized["size"].median(), worst["size"], ", ".join(str(worst[name]) for name in heads)


def chosen(
    paper: str, kind: str, wanted: str | int | None, known: tuple[str, ...], other: str | int | None, why: str = ""
) -> tuple[str, ...]:
    """The tables, or the figures, that someone asked for.

    Parameters
    ----------
    paper
        Name of the paper.
    kind
        `table` or `figure`.
    wanted
        The one asked for; None for all, or for none if one of the `other` kind is asked for.
    known
        Those that are reproduced.
    other
        What is wanted of the other kind.
    why
        What the message says of those that are not.

    Raises
    ------
    PaperError
        For one that is not reproduced.
    """
    if wanted is None:
        return () if other is not None else known
    number = str(wanted).strip().lower()
    if number not in known:
        reason = f"; {why}" if why else ""
        raise PaperError(f"{kind} {wanted} of {paper} is not reproduced{reason}; there are {', '.join(known)}")
    return (number,)


def reference_folder(paper: str) -> Path:
    """The folder with what a paper published, which is data of the package `weft.papers`.

    Parameters
    ----------
    paper
        `dunigan-1991`.

    Raises
    ------
    PaperError
        If the package has no such folder.
    """
    folder = Path(str(files("weft.papers"))) / "reference" / paper
    if not folder.is_dir():
        raise PaperError(f"the published figures of {paper} are missing: there is no folder {folder}")
    return folder
