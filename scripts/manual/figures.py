"""Figures within sentences of pages, from where they are computed or recorded, so that no page copies one.

`{{ paper dunigan-1991: all machines, median }}` is a column of a row of a paper's summary,
`{{ record estimator: blind: median error }}` a figure of the newest record of a benchmark.
"""

from __future__ import annotations

import functools
import re

from benches import page as benches_page
from benches import recording
from weft.papers import Reproduction
from weft.study import reproducing

_MARK = re.compile(r"\{\{ (paper|record) ([\w-]+): (.+?) \}\}", re.DOTALL)


class FigureError(ValueError):
    """A figure that there is not; the message names it."""


@functools.cache
def reproduction(paper: str) -> Reproduction:
    """A paper's tables and figures, computed once for all pages."""
    return reproducing.reproduction(paper)


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
    for found in reproduction(paper).summary.iter_rows(named=True):
        if found["of"] == row and column in found:
            return f"{found[column]:.1%}"
    raise FigureError(f"the summary of {paper} has no '{row}' with '{column}'")


def _of_record(benchmark: str, what: str) -> str:
    for figure in recording.figures(benches_page.newest()[benchmark]):
        if figure.name == what:
            return f"{figure.value:.1%}"
    raise FigureError(f"the newest record of {benchmark} has no figure '{what}'")
