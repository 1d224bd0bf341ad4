"""Figures within sentences of pages, from where they are computed or recorded, so that no page copies one.

`{{ paper feldmann-1993: table 1 (predicted), median }}` is a column of a row of a paper's errors,
`{{ record estimator: blind: median error }}` a figure of the newest record of a benchmark.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from benches import page as benches_page
from benches import recording
from weft.papers import Reproduction
from weft.papers.scores import scores
from weft.study import reproducing

_MARK = re.compile(r"\{\{ (paper|record) ([\w-]+): (.+?) \}\}", re.DOTALL)


class FigureError(ValueError):
    """A figure that there is not; the message names it."""


@functools.cache
def reproduction(paper: str) -> Reproduction:
    """A paper's tables and figures, computed once for all pages."""
    return reproducing.reproduce(paper)


def filled(text: str) -> str:
    """A page whose marks are replaced.

    Raises
    ------
    FigureError
        For a mark that names no figure.
    """
    return _MARK.sub(lambda mark: _figure(mark[1], mark[2], " ".join(mark[3].split())), text)


def _figure(kind: str, name: str, what: str) -> str:
    return _of_paper(name, what) if kind == "paper" else _of_record(name, what)


def _of_paper(paper: str, what: str) -> str:
    row, _, column = what.rpartition(", ")
    for of, figures in errors(paper):
        if of == row and column in figures:
            return f"{figures[column]:.1%}"
    raise FigureError(f"the summary of {paper} has no '{row}' with '{column}'")


def errors(paper: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a reproduction says of its errors: the rows of its own summary, then each table by kinds of cells."""
    reproduced = reproduction(paper)
    for row in reproduced.summary.iter_rows(named=True):
        yield row["of"], row
    for row in scores(reproduced).iter_rows(named=True):
        yield f"{row['of']} ({row['kind']})", row


def _of_record(benchmark: str, what: str) -> str:
    for figure in recording.figures(benches_page.newest()[benchmark]):
        if figure.name == what:
            return f"{figure.value:.1%}"
    raise FigureError(f"the newest record of {benchmark} has no figure '{what}'")
