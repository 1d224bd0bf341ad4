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
        "separate launches, intervals, a report, and the same benchmark on described machines; a ping-pong of 8 bytes "
        "takes {} of the same loop in C under MPICH, {} under Open MPI",
        (
            ("native-overhead", "mpich, 8 bytes: weft/C", ".2f"),
            ("native-overhead", "openmpi, 8 bytes: weft/C", ".2f"),
        ),
    ),
    (
        "Extra-P",
        "what is fitted is a machine that programs run on; lengths that were held out are {} off in the median",
        (("study-agreement", "run 1: held out, median error", "percent"),),
    ),
    (
        "SimGrid",
        "machines with a source for every figure, collectives, contended links; {} million messages a second on one "
        "core with 1,024 ranks",
        (("simulator", "all-to-all, 1024 ranks: weft", "millions"),),
    ),
    (
        "Devito, C by hand",
        "numpy arrays as they are, nothing is compiled at run time; {} times as fast as C for 7 points in three axes, "
        "{} for 27, and only {} for stars of radius 4",
        (
            ("stencil-cases", "7-point star 256x256x256 float64: C / weft", ".1f"),
            ("stencil-cases", "27-point box 256x256x256 float64: C / weft", ".1f"),
            ("stencil-cases", "25-point star 160x160x160 float64: C / weft", ".1f"),
        ),
    ),
    (
        "mpi4py by hand",
        "an exchange of ghosts in one line, begun and ended apart; on two ranks {} of the time of the best by hand",
        (("halo", "3-D 128^3, axis 0 divided: weft/the best by hand", ".2f"),),
    ),
    (
        "MPI_Neighbor_alltoallv",
        "how messages are sent is chosen by measurement; 8 bytes to each neighbour in a 3-D torus take {} of its time",
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
    lines = ["| you use | weft has, and is |", "|---|---|"]
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
