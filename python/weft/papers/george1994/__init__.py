"""W. George, R. G. Brickner, S. L. Johnsson, POLYSHIFT for the CM-200, Scientific Programming 3 (1994) 83-99.

Reproduces tables 1 to 4 and figures 8 to 11: `published.py` has what was printed, `tables.py` and `figures.py` put ours
beside it, `fitting.py` fits the machine file to them and says how well it predicts what is left out. Slips in
the published figures are footnotes; see `weft/papers/reference/george-1994/README.md`.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.papers.george1994.figures import FIGURES, figure
from weft.papers.george1994.published import CITATION, LENGTHS, MACHINE, NAME, text_figures, timings
from weft.papers.george1994.summary import summary
from weft.papers.george1994.tables import TABLES, Here, Ours, table_of
from weft.papers.reproduction import Describe, OperationTime, Reproduction, Simulate, chosen

__all__ = ["CITATION", "FIGURES", "LENGTHS", "MACHINE", "NAME", "TABLES", "reproduce", "text_figures", "timings"]


def reproduce(
    table: str | int | None = None,
    figure: str | int | None = None,
    *,
    simulate: Simulate,
    operation_time: OperationTime | None = None,
    describe: Describe | None = None,
    benchmarks: Collection[str] = (),
    here: Here | None = None,
) -> Reproduction:
    """Price the paper's calls on the described CM-200 and put the times beside the published ones.

    Parameters
    ----------
    table, figure
        One of `TABLES` (`text`: what the text says in numbers), one of `FIGURES`; default: all of both.
    simulate
        How a benchmark is priced.
    describe
        Where facts of machine files come from; without it the text's table lacks inputs.
    operation_time, benchmarks
        Not needed here.
    here
        What the calls take on this machine, for columns of their own in tables 1 to 4.

    Raises
    ------
    PaperError
        If the paper has no such table or figure of numbers.
    """
    ours = Ours(simulate)
    wanted = chosen(NAME, "table", table, TABLES, figure)
    drawn = chosen(NAME, "figure", figure, FIGURES, table, "figures 1 to 7 are drawings and listings")
    reproduced = [table_of(number, ours, describe, here) for number in wanted]
    reproduced += [_figure(number, ours) for number in drawn]
    overview, title = summary(reproduced)
    return Reproduction(NAME, CITATION, tuple(reproduced), overview, title)


_figure = figure
