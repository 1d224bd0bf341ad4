"""K. Taki, Measurements and evaluation for the Multi-PSI/V1 system, ICOT Technical Report TR-370, 1988.

Reproduces tables 1 to 4 and figures 4 to 6 and 8 to 11 (the others are drawings), on the simulated Multi-PSI/V1
and V2 and measured here on one and two PEs: `published.py` has what was printed, `runs.py` the runs, `tables.py`
and `figures.py` what is made of them. Slips in the published figures are footnotes; see
`weft/papers/reference/taki-1988/README.md`.
"""

from __future__ import annotations

import polars as pl

from weft.papers.reproduction import (
    SUMMARY,
    Describe,
    ReproducedTable,
    Reproduction,
    chosen,
)
from weft.papers.taki1988 import figures, tables
from weft.papers.taki1988.figures import FIGURES
from weft.papers.taki1988.given import RunPrograms
from weft.papers.taki1988.published import CITATION, DEPTHS, GRAINS, HERE, NAME, PES, V1, V2, goal, program
from weft.papers.taki1988.runs import Runs

__all__ = [
    "CITATION", "DEPTHS", "FIGURES", "GRAINS", "HERE", "NAME", "PES", "TABLES", "V1", "V2", "RunPrograms", "Runs",
    "goal", "program", "reproduce",
]  # fmt: skip

TABLES = ("1", "2", "3", "4", "messages", "text")
"""The tables that are reproduced; `messages` is ours, `text` is what the text says in words."""


def reproduce(
    table: str | int | None = None, figure: str | int | None = None, *, programs: RunPrograms, describe: Describe
) -> Reproduction:
    """Run the paper's programs and put the results beside the published ones.

    Parameters
    ----------
    table, figure
        One of `TABLES`, one of `FIGURES`; default: all.
    programs
        What runs programs.
    describe
        Where figures of machine files come from.

    Raises
    ------
    PaperError
        For a table or figure that is not reproduced.
    """
    wanted = chosen(NAME, "table", table, TABLES, figure)
    drawn = chosen(NAME, "figure", figure, FIGURES, table)
    runs = Runs(programs)
    reproduced = [_table(number, runs, describe) for number in wanted]
    reproduced += [figures.figure(number, runs) for number in drawn]
    title = (
        "The machine files were told tables 1 and 2 and program 1's times of table 4; the rest are predictions. "
        "'About' and 'more than' in the text are no figures to be met exactly."
    )
    return Reproduction(NAME, CITATION, tuple(reproduced), pl.DataFrame(schema=SUMMARY), title)


def _table(number: str, runs: Runs, describe: Describe) -> ReproducedTable:
    match number:
        case "1" | "2":
            return tables.communication(number, runs, describe)
        case "3":
            return tables.pe_performance(runs)
        case "4":
            return tables.relative_time(runs)
        case "messages":
            return tables.kinds(runs)
        case _:
            return tables.in_words(runs)
