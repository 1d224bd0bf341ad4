"""What runs counted, as samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.samples import from_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from weft.fghc.running import ProcessingElement, Run

BENCHMARK = "fghc"
"""What samples of runs are called; a run is told apart by `program`, `goal` and `ranks`."""

_COUNTS = ("reductions", "suspensions", "resumptions", "collections", "messages", "throw_goal", "work_s", "idle_s")
_NAMES = (
    *("source", "machine", "benchmark", "program", "goal", "ranks", "pe", "hops", "bytes", "repetition", "seconds"),
    *("rate", "rate_unit", *_COUNTS, "communication_s"),
)


def table(runs: Iterable[Run], repetition: int = 0) -> pl.DataFrame:
    """Samples of runs: for each a row of all processing elements together and a row of each.

    Parameters
    ----------
    runs
        What `weft.fghc.run` returned.
    repetition
        Number of the first run; those of the same program, goal, machine and number of PEs count on from it.

    Returns
    -------
    polars.DataFrame
        Samples of `fghc` with source `simulated` or, here, `measured`. `seconds` is the elapsed time of the run, `rate`
        its reductions a second (of the PE, in a row of one); counters are sums, and `work_s` and `idle_s` of the row
        of all are sums too, so that `work_s / (ranks * seconds)` is the average work rate of Taki 1988, section 7.5.
    """
    rows: list[dict[str, object]] = []
    numbers: dict[tuple[object, ...], int] = {}
    for run in runs:
        key = (run.machine, run.program, run.goal, len(run.pes))
        number = numbers[key] = numbers.get(key, repetition - 1) + 1
        rows.append(_row(run, number, None, run.pes))
        rows += [_row(run, number, pe.pe, [pe]) for pe in run.pes]
    return from_rows(rows, _NAMES)


def _row(run: Run, repetition: int, pe: int | None, counted: list[ProcessingElement]) -> dict[str, object]:
    is_here = run.machine == "here"
    sums = {name: sum(getattr(element, name) for element in counted) for name in _COUNTS}
    # A clock may not have moved on during the shortest of runs.
    seconds = max(run.seconds, 1e-9)
    return {
        "source": "measured" if is_here else "simulated",
        "machine": run.machine,
        "benchmark": BENCHMARK,
        "program": run.program,
        "goal": run.goal,
        "ranks": len(run.pes),
        "pe": pe,
        "hops": None,
        "bytes": None,
        "repetition": repetition,
        "seconds": seconds,
        "rate": sums["reductions"] / seconds,
        "rate_unit": "reductions/s",
        "communication_s": None if is_here else sum(element.communication_s for element in counted),
        **sums,
    }
