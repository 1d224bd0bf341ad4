"""How uncertain published figures are: what no model can be expected to come below.

A figure printed as 0.1 may be anything from 0.05 to 0.15, and two figures of one paper may contradict each other. Both
are computed from published figures alone, so that they say nothing of weft's models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import linprog

ROUNDING = "rounding of the printed digits"

_DECIMALS = 6
"""Published figures with more decimals than this were computed from others that are printed."""


class Uncertainty(NamedTuple):
    """A relative error that a cell may have for reasons of the publication, and which reason."""

    size: float
    why: str


Uncertainties = dict[tuple[str, ...], Uncertainty]
"""Of the cells of a table, by the heads of each."""


def rounding(cells: pl.DataFrame, row: int) -> Uncertainty | None:
    """Half a unit of the last printed digit of one cell, over the cell.

    Trailing zeros are lost where figures are read, so that the digits are those of the most precise figure of the
    table with the same unit: the least that rounding can be.

    Parameters
    ----------
    cells
        Cells of a table: `unit` and `published`.
    row
        Which of them.

    Returns
    -------
    Uncertainty or None
        None where the published figure is 0, or was computed from others.

    Examples
    --------
    >>> import polars
    >>> from weft.papers.uncertainty import rounding
    >>> cells = polars.DataFrame({"unit": ["ms", "ms"], "published": [0.2, 0.05]})
    >>> round(rounding(cells, 0).size, 3)
    0.025
    """
    unit, published = cells["unit"][row], cells["published"][row]
    alike = cells.filter(pl.col("unit").eq_missing(unit) & pl.col("published").is_not_null())["published"]
    decimals = max(_decimals(value) for value in alike)
    if not published or decimals > _DECIMALS:
        return None
    return Uncertainty(0.5 * 10.0**-decimals / abs(published), ROUNDING)


def _decimals(value: float) -> int:
    _, _, digits = f"{value:.12f}".rstrip("0").partition(".")
    return len(digits)


def straight_line(lengths: Sequence[float], seconds: Sequence[float]) -> float:
    """The least worst relative error of a straight line through times: no startup and byte time come below it.

    Parameters
    ----------
    lengths
        Bytes.
    seconds
        Times, s.

    Returns
    -------
    float
        The optimum of a linear program: minimise e where `|startup + byte_time n - t| <= e t` for every length n, and
        neither is negative.

    Examples
    --------
    >>> from weft.papers.uncertainty import straight_line
    >>> round(straight_line([1, 2, 3], [1.0, 3.0, 3.0]), 3)
    0.2
    """
    n, t = np.asarray(lengths, dtype=float), np.asarray(seconds, dtype=float)
    # Over the times, so that all coefficients of the program are of the order of one.
    line = np.stack([np.ones_like(n), n / n.max()], axis=1) / t[:, None] * t.max()
    slack = -np.ones((len(n), 1))
    above, below = np.hstack([line, slack]), np.hstack([-line, slack])
    ones = np.ones(len(n))
    solution = linprog(
        [0.0, 0.0, 1.0], A_ub=np.vstack([above, below]), b_ub=np.concatenate([ones, -ones]), bounds=[(0, None)] * 3
    )
    return float(solution["fun"])


def greatest(*candidates: Uncertainty | None) -> Uncertainty | None:
    """The largest of some; None where there is none."""
    known = [one for one in candidates if one is not None]
    return max(known, key=lambda one: one.size, default=None)
