"""Published studies run on the simulated catalogue."""

from __future__ import annotations

import inspect
import logging
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from weft._core import UsageError
from weft.catalogue import machine as find_machine
from weft.catalogue import operation_time
from weft.launch.request import every, unknown
from weft.launch.simulate import simulate
from weft.papers import PAPERS, Reproduction
from weft.study import echo_here, operations_here, shifts_here
from weft.study.fghc_programs import FghcPrograms
from weft.study.simulated_exchanges import SimulatedExchanges

_log = logging.getLogger(__name__)


_HERE: dict[str, Callable[[pl.DataFrame], Any]] = {
    "dunigan-1991": echo_here.echo_here,
    "george-1994": shifts_here.ShiftsHere,
    "wu-shu-1989": operations_here.OperationsHere,
}
"""Papers that have what was measured here beside theirs, and what they take of samples."""

_MEASURED_NOW: dict[str, Callable[[], pl.DataFrame]] = {
    "dunigan-1991": echo_here.measured_now,
    "george-1994": shifts_here.measured_now,
    "wu-shu-1989": operations_here.measured_now,
}


def reproduce(
    paper: str,
    table: str | None = None,
    figure: str | None = None,
    *,
    here: pl.DataFrame | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Reproduction:
    """A paper's tables and figures, published and ours.

    Parameters
    ----------
    paper
        Its name.
    table, figure
        One of its tables or figures; default: all.
    here
        Samples measured on this machine, for a column of their own where the paper has one.
    progress
        Told what is run, where that takes long.

    Raises
    ------
    UsageError
        For a paper that weft does not know, or that has no column for samples of here; for samples of other things.
    PaperError
        For a table or figure that is not reproduced.

    Examples
    --------
    >>> import weft
    >>> weft.reproduce("dunigan-1991", table="3")
    <weft reproduction of dunigan-1991: table 3>
    """
    if paper not in PAPERS:
        raise UsageError(unknown("paper", paper, PAPERS, "weft reproduce --help"))
    of_paper = PAPERS[paper].reproduce
    _log.info("reproduce %s", " ".join([paper, *filter(None, (table, figure))]))
    handed: dict[str, Any] = {
        "simulate": _simulate, "operation_time": operation_time, "describe": _describe, "benchmarks": every(),
        "exchanges": SimulatedExchanges(), "programs": FghcPrograms(progress=progress),
    }  # fmt: skip
    wanted = inspect.signature(of_paper).parameters
    if here is not None:
        check_column(paper)
        handed["here"] = _HERE[paper](here)
    reproduced: Reproduction = of_paper(
        table, figure, **{name: what for name, what in handed.items() if name in wanted}
    )
    return reproduced


def check_column(paper: str) -> None:
    """Refuse a paper without a column for what was measured here.

    Raises
    ------
    UsageError
        For such a paper, or one that weft does not know.
    """
    if paper not in PAPERS:
        raise UsageError(unknown("paper", paper, PAPERS, "weft reproduce --help"))
    if paper not in _HERE:
        raise UsageError(f"{paper} has no column for what was measured here; {', '.join(sorted(_HERE))} have")


def measured_now(paper: str) -> pl.DataFrame:
    """Samples of this machine for a paper's columns of it, measured now: up to a minute.

    Raises
    ------
    UsageError
        As :func:`check_column`.
    """
    check_column(paper)
    return _MEASURED_NOW[paper]()


def _simulate(
    machine: str, benchmark: str, bytes: Sequence[int], hops: Sequence[int] | None, **parameters: Any
) -> pl.DataFrame:
    return simulate(machine, benchmark, bytes=bytes or None, hops=hops, **parameters)


def _describe(machine: str) -> dict[str, Any]:
    return tomllib.loads(find_machine(machine).to_toml())
