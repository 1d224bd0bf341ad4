"""The README's table of what weft is beside: in words, with figures of the newest records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from benches import recording

BEGIN, END = "<!-- of the records, by python -m benches.page -->", "<!-- end of the table of the records -->"

Cited = tuple[str, str, str]
"""A benchmark, one of its figures, and how that is written: a format, `percent`, or `millions`."""

ROWS: tuple[tuple[str, str, tuple[Cited, ...]], ...] = (
    (
        "OSU, IMB",
        "separate launches with 95% confidence intervals, a report, the same benchmark on described machines; its "
        "ping-pong of 8 bytes takes {} times as long as the same loop in C under MPICH, {} times under Open MPI",
        (
            ("native-overhead", "mpich, 8 bytes: weft/C", ".2f"),
            ("native-overhead", "openmpi, 8 bytes: weft/C", ".2f"),
        ),
    ),
    (
        "Extra-P",
        "fits a machine on which programs can be simulated; its predictions for message lengths left out of "
        "the fit have "
        "a median error of {}",
        (("study-agreement", "run 1: held out, median error", "percent"),),
    ),
    (
        "SimGrid",
        "cites a source for every figure of a machine; simulates collectives and contention on links, {} "
        "million messages "
        "a second on one core with 1,024 ranks",
        (("simulator", "all-to-all, 1024 ranks: weft", "millions"),),
    ),
    (
        "Devito, C by hand",
        "takes numpy arrays as they are and compiles nothing at run time; {} times as fast as C (`-O3 "
        "-march=native`, one "
        "thread) for 7-point stencils in three dimensions, {} times for 27-point ones and {} times for "
        "stars of radius 4",
        (
            ("stencil-cases", "7-point star 256x256x256 float64: C / weft", ".1f"),
            ("stencil-cases", "27-point box 256x256x256 float64: C / weft", ".1f"),
            ("stencil-cases", "25-point star 160x160x160 float64: C / weft", ".1f"),
        ),
    ),
    (
        "mpi4py by hand",
        "exchanges ghost cells in one call, or in two with computation between; takes {} times as long as the "
        "fastest hand-written version on two ranks",
        (("halo", "3-D 128^3, axis 0 divided: weft/the best by hand", ".2f"),),
    ),
    (
        "MPI_Neighbor_alltoallv",
        "sends in the way that it has measured to be fastest: takes {} times as long for 8 bytes to each "
        "neighbour in a 3-D torus",
        (("neighbor", "3-D torus, 8 bytes: weft/MPI", ".2f"),),
    ),
)


def table(records: Mapping[str, Mapping[str, Any]]) -> str:
    """The table.

    Raises
    ------
    KeyError
        If there is no record of a benchmark, or it has no such figure.
    """
    lines = ["| instead of | weft |", "|---|---|"]
    for baseline, words, cited in ROWS:
        lines.append(f"| {baseline} | {words.format(*(_written(records, *one) for one in cited))} |")
    return "\n".join(lines)


def _written(records: Mapping[str, Mapping[str, Any]], benchmark: str, name: str, form: str) -> str:
    values = {figure.name: figure.value for figure in recording.figures(records[benchmark])}
    if form == "percent":
        return f"{values[name]:.1%}"
    return f"{values[name] / 1e6:.1f}" if form == "millions" else f"{values[name]:{form}}"


def inserted(page: str, rows: str) -> str:
    """A page with the table between its marks.

    Raises
    ------
    ValueError
        If the page has not both marks, once.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise ValueError(f"the page needs {BEGIN} and {END}, each once")
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{rows}\n{END}", page, flags=re.DOTALL)
