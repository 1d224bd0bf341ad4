"""The README's table of what weft is beside: in words, with figures of the newest records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from benches import recording

BEGIN, END = "<!-- of the records, by python -m benches.page -->", "<!-- end of the table of the records -->"

Cited = tuple[str, str, str]
"""A benchmark, one of its figures, and how that is written: a format, `percent`, `share`, or `millions`."""

ROWS: tuple[tuple[str, str, tuple[Cited, ...]], ...] = (
    (
        "OSU, IMB",
        "repeats launches, gives each median an interval, and runs the same benchmark on described machines; its "
        "ping-pong of 8 bytes takes {} times the time of the same loop in C under MPICH, {} times under Open MPI",
        (
            ("native-overhead", "mpich, 8 bytes: weft/C", ".2f"),
            ("native-overhead", "openmpi, 8 bytes: weft/C", ".2f"),
        ),
    ),
    (
        "Extra-P",
        "fits a description of the machine on which programs can be simulated; message lengths left out of the fit are "
        "predicted with a median error of {} on the machine that was measured",
        (("study-agreement", "run 1: held out, median error", "percent"),),
    ),
    (
        "SimGrid",
        "cites a source for every figure of a machine; its simulator handles {} million messages a second on one core, "
        "with contention on links, for 1,024 ranks",
        (("simulator", "all-to-all, 1024 ranks: weft", "millions"),),
    ),
    (
        "Devito, C by hand",
        "takes numpy arrays as they are and compiles nothing at run time; on one thread it is {} times as fast as a "
        "plain loop in C (`-O3 -march=native`) for 7-point stencils in three dimensions, {} times for 27-point ones "
        "and {} times for stars of radius 4",
        (
            ("stencil-cases", "7-point star 256x256x256 float64: C / weft", ".1f"),
            ("stencil-cases", "27-point box 256x256x256 float64: C / weft", ".1f"),
            ("stencil-cases", "25-point star 160x160x160 float64: C / weft", ".1f"),
        ),
    ),
    (
        "mpi4py by hand",
        "exchanges ghost cells with one call, or with two and computation between them; for a grid of 128^3 doubles on "
        "two ranks the exchange takes {} of the time of the fastest of seven ways in numpy and mpi4py",
        (("halo", "3-D 128^3, axis 0 divided: weft/the best by hand", "share"),),
    ),
    (
        "MPI_Neighbor_alltoallv",
        "measures several ways to send when an exchange is planned, and takes the fastest: {} of MPICH's time for 8 "
        "bytes to one neighbour, on two ranks",
        (("neighbor", "one neighbour, 8 bytes: weft/MPI", "share"),),
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
    if form in ("percent", "share"):
        return f"{values[name]:{'.1%' if form == 'percent' else '.0%'}}"
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
