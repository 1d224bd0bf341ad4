"""The table of samples as a class: polars's table that was checked, says in a line what it has, and can be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from weft import drawing
from weft.samples.schema import PARAMETERS, SamplesError, validate
from weft.samples.summary import summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ACROSS = ("bytes", "words", "extent", "ranks", "hops", "pes")
"""What is drawn across where several parameters vary, first the most usual."""


class Samples(pl.DataFrame):
    """A table of samples: a `polars.DataFrame` with the columns of `weft.samples.COLUMNS`.

    What polars makes of it (a filter, a join) is a table of polars; `Samples(table)` checks that one again.

    Parameters
    ----------
    table
        A table of samples, or what `polars.DataFrame` makes one of.

    Raises
    ------
    SamplesError
        If it does not keep to the schema; the message names row and column.

    Examples
    --------
    >>> import weft
    >>> samples = weft.simulate("ipsc860", "echo", bytes="8:8K")
    >>> samples
    <weft samples: 11 rows of echo on ipsc860, simulated>
    >>> weft.Samples(samples.filter(samples["bytes"] > 1024))
    <weft samples: 3 rows of echo on ipsc860, simulated>
    """

    def __init__(self, table: Any) -> None:
        super().__init__(validate(table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)))

    def __repr__(self) -> str:
        """One line; `print` and `str` show rows."""
        if not {"benchmark", "machine", "source"} <= set(self.columns):
            return super().__repr__()
        benchmarks, machines, sources = (_named(self[name]) for name in ("benchmark", "machine", "source"))
        rows = f"{len(self)} row{'s' * (len(self) != 1)}"
        return f"<weft samples: {rows} of {benchmarks} on {machines}, {sources}>"

    def plot(self, ax: Axes | None = None, *, x: str | None = None) -> Axes:  # type: ignore[override]
        """Draws the median time of each point with its interval, a line for each machine and setting.

        Parameters
        ----------
        ax
            Axes of matplotlib to draw on; default: new ones.
        x
            The parameter across; default: lengths, or another one that varies.

        Returns
        -------
        matplotlib.axes.Axes
            For titles, limits and `figure.savefig`.

        Raises
        ------
        UsageError
            Where matplotlib is not installed.
        SamplesError
            If there is nothing to draw: no parameter has numbers, or `x` is none.
        """
        points = summarise(self)
        across = x or _across(points)
        if across not in points.columns or not points[across].dtype.is_numeric() or points[across].is_null().all():
            raise SamplesError(f"there are no numbers in {across!r} to draw times against; choose a parameter with x=")
        ax = drawing.axes(ax)
        keys = [name for name in PARAMETERS if name in points.columns and name != across]
        varying = [name for name in keys if points[name].n_unique() > 1]
        drawn = points.filter(pl.col(across).is_not_null())
        for names, line in drawn.group_by(varying, maintain_order=True) if varying else [((), drawn)]:
            _line(ax, line.sort(across), across, _label(points, varying, names))
        drawing.time_axis(ax, "time of one operation")
        if across == "bytes":
            drawing.length_axis(ax)
        else:
            ax.set_xlabel(across)
        if varying:
            ax.legend()
        return ax


def _label(points: pl.DataFrame, columns: list[str], values: tuple[Any, ...]) -> str:
    """Names as they are, numbers with what they are of: `ipsc860, hops 3`."""
    named = [(column, value) for column, value in zip(columns, values, strict=True) if value is not None]
    return ", ".join(
        str(value) if points[column].dtype == pl.String else f"{column} {value}" for column, value in named
    )


def _line(ax: Axes, line: pl.DataFrame, across: str, label: str) -> None:
    seconds = line["seconds"]
    errors = [(seconds - line["seconds_low"]).fill_null(0.0).clip(0), (line["seconds_high"] - seconds).fill_null(0.0)]
    spread = [errors[0].to_list(), errors[1].clip(0).to_list()]
    ax.errorbar(line[across].to_list(), seconds.to_list(), yerr=spread, marker="o", capsize=2, label=label)


def _across(points: pl.DataFrame) -> str:
    numbers = [name for name in PARAMETERS if name in points.columns and points[name].dtype.is_numeric()]
    varying = [name for name in numbers if points[name].drop_nulls().n_unique() > 1]
    return next((name for name in (*_ACROSS, *numbers) if name in varying), "bytes")


def _named(column: pl.Series, most: int = 3) -> str:
    names = [str(name) for name in column.unique(maintain_order=True)]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
