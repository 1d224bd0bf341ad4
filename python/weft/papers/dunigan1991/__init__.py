"""T. H. Dunigan, Performance of the Intel iPSC/860 and Ncube 6400 hypercubes, Parallel Computing 17 (1991) 1285-1302.

Reproduces every table and figure: `published.py` has what was printed, `inputs.py` tables 1 to 5, `rates.py` tables 6,
7 and appendix A, `text.py` the figures given in words, `figures.py` figures 1 to 12, `summary.py` how far ours are off.
Slips in the published figures are footnotes; see `weft/papers/reference/dunigan-1991/README.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from weft.papers.dunigan1991 import figures, inputs, rates, text
from weft.papers.dunigan1991.figures import FIGURES, NEEDS
from weft.papers.dunigan1991.published import (
    CITATION,
    HOPS,
    KB,
    LENGTHS,
    MACHINES,
    NAME,
    SHORT,
    data_rates,
    operations,
    published,
    text_figures,
)
from weft.papers.dunigan1991.rates import APPENDIX, least_squares
from weft.papers.dunigan1991.runs import Runs
from weft.papers.dunigan1991.summary import summary
from weft.papers.reproduction import Describe, OperationTime, PaperError, ReproducedTable, Reproduction, Simulate

__all__ = [
    "CITATION", "FIGURES", "HOPS", "KB", "LENGTHS", "MACHINES", "NAME", "SHORT", "TABLES", "data_rates",
    "least_squares", "operations", "published", "reproduce", "text_figures",
]  # fmt: skip

TABLES = ("1", "3", "4", "5", "6", "7", "A1", "A2", "A3", "A4", "A5", "text")
"""The tables that are reproduced. `A` stands for all of appendix A, `text` is what section 4 says in words."""


def reproduce(
    table: str | int | None = None,
    figure: str | int | None = None,
    *,
    simulate: Simulate,
    operation_time: OperationTime | None = None,
    describe: Describe | None = None,
    benchmarks: Collection[str] = (),
    here: Mapping[int, float] | None = None,
) -> Reproduction:
    """Run the paper's tests on the simulated machines and put the results beside the published ones.

    Parameters
    ----------
    table, figure
        One of `TABLES` (or `A` for all of appendix A), one of `FIGURES`; default: all tables and all figures.
    simulate
        How a benchmark is simulated.
    operation_time
        Where times of operations come from; without it tables 3 and 7 and figure 1 lack figures of ours.
    describe
        Where facts of machine files come from; without it tables 1 and 5 lack figures of ours.
    benchmarks
        Names of the benchmarks there are: figures 10 to 12 need programs and files.
    here
        Seconds of a message between neighbours on the machine at hand, by its bytes: a curve of figure 2.

    Raises
    ------
    PaperError
        If the paper has no such table or figure, this build lacks its benchmark, or figure 2 is not among what is
        wanted where there is something of `here`.
    """
    wanted = _tables(table) if table is not None or figure is None else ()
    drawn = _figures(figure, benchmarks) if figure is not None or table is None else ()
    if here is not None and figures.WITH_HERE not in drawn:
        raise PaperError(f"what was measured here is beside {NAME} in figure {figures.WITH_HERE} alone")
    runs = Runs(simulate)
    reproduced = [_table(number, runs, operation_time, describe) for number in wanted]
    reproduced += [figures.figure(number, runs, operation_time, benchmarks, here) for number in drawn]
    left = [f"figure {n} (needs {NEEDS[n]})" for n in FIGURES if n not in drawn and figure is None and table is None]
    title = (
        "Message costs in the machine files were fitted to the rates over 1 and 2 hops, to the host and of a node to "
        "itself; rates over 3 to 6 hops and the text's megaflops were not known then."
    )
    if left:
        title += f" Left out: {', '.join(left)}, not in this build."
    return Reproduction(NAME, CITATION, tuple(reproduced), summary(reproduced), title)


def _table(number: str, runs: Runs, operation_time: OperationTime | None, describe: Describe | None) -> ReproducedTable:
    match number:
        case "1":
            return inputs.table_1(describe)
        case "3":
            return inputs.table_3(operation_time)
        case "4":
            return inputs.table_4()
        case "5":
            return inputs.table_5(describe)
        case "6":
            return rates.table_6(runs)
        case "7":
            return rates.table_7(runs, operation_time)
        case "text":
            return text.table(runs, describe)
        case _:
            return rates.rates(number, runs)


def _tables(table: str | int | None) -> tuple[str, ...]:
    if table is None:
        return TABLES
    number = str(table).strip()
    number = number.lower() if number.lower() == "text" else number.upper()
    if number == "A":
        return tuple(name for name in TABLES if name.startswith("A"))
    if number not in TABLES:
        why = "; table 2 lists programs and has no numbers" if number == "2" else ""
        raise PaperError(
            f"table {table} of {NAME} is not reproduced{why}; there are 1 (configurations), 3 (arithmetic), 4 (test "
            "programs), 5 (memory), 6 (coefficients), 7 (summary), text (section 4 in words) and "
            f"A (data rates: {', '.join(f'A{i + 1} {title}' for i, title in enumerate(APPENDIX.values()))})"
        )
    return (number,)


def _figures(figure: str | int | None, benchmarks: Collection[str]) -> tuple[str, ...]:
    if figure is None:
        return tuple(number for number in FIGURES if NEEDS.get(number) is None or NEEDS[number] in benchmarks)
    number = str(figure).strip()
    if number not in FIGURES:
        raise PaperError(f"{NAME} has no figure {figure}; there are 1 to 12")
    return (number,)
