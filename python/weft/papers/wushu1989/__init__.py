"""M.-Y. Wu, W. Shu, Performance study on the Connection Machine, YALEU/DCS/TR-717 (1989).

Reproduces tables 1 to 15 and figures 2 to 10 on the modelled CM-2: `published.py` has what was printed, `tables.py` and
`figures.py` put ours beside it, `gauss.py` walks the program of figure 11, `fitting.py` fits the machine file. Slips in
the published figures are footnotes; see `weft/papers/reference/wu-shu-1989/README.md`.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.catalogue import machine
from weft.data_parallel import Costs
from weft.papers.reproduction import Describe, OperationTime, Reproduction, Simulate, chosen
from weft.papers.wushu1989 import figures, tables
from weft.papers.wushu1989.figures import FIGURES
from weft.papers.wushu1989.here import Here
from weft.papers.wushu1989.published import CITATION, MACHINE, MATRICES, NAME, cells
from weft.papers.wushu1989.summary import summary
from weft.papers.wushu1989.tables import TABLES

__all__ = ["CITATION", "FIGURES", "MACHINE", "MATRICES", "NAME", "TABLES", "cells", "reproduce"]


def reproduce(
    table: str | int | None = None,
    figure: str | int | None = None,
    *,
    simulate: Simulate | None = None,
    operation_time: OperationTime | None = None,
    describe: Describe | None = None,
    benchmarks: Collection[str] = (),
    here: Here | None = None,
) -> Reproduction:
    """Price the paper's operations on the modelled CM-2 and put the times beside the published ones.

    Parameters
    ----------
    table, figure
        One of `TABLES`, one of `FIGURES`; default: all of both.
    simulate, operation_time, describe, benchmarks
        Not needed: operations are priced, nothing runs.
    here
        What the operations take on this machine, for columns of their own.

    Raises
    ------
    PaperError
        If the paper has no such table or figure of numbers.
    """
    costs = Costs(machine(MACHINE))
    wanted = chosen(NAME, "table", table, TABLES, figure)
    drawn = chosen(NAME, "figure", figure, FIGURES, table, "figure 1 is a drawing and figure 11 a listing")
    reproduced = [tables.table_of(number, costs, here) for number in wanted]
    reproduced += [figures.figure(number, costs, here) for number in drawn]
    overview, title = summary(reproduced)
    return Reproduction(NAME, CITATION, tuple(reproduced), overview, title)
