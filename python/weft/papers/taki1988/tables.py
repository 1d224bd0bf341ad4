"""Tables 1 to 4 and the figures that the text gives in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from weft.model import FitError, held_out, largest_rate, predicted
from weft.papers.reproduction import BLIND, FITTED, INPUT, MEASURED, PREDICTED, Describe, ReproducedTable, with_error
from weft.papers.taki1988 import published
from weft.papers.taki1988.published import DEPTHS, EXCHANGE, HERE, PES, PROGRAMS, V1, V2, goal, grains, program
from weft.papers.taki1988.runs import Runs
from weft.papers.uncertainty import ROUNDING, Uncertainties, Uncertainty

Cell = tuple[str, str, float | None, float | None, str, str]
_HALF_DIGIT = 0.005
"""Milliseconds: tables 1 and 2 have two decimals."""
LEAVE_OUT = "one number of PEs left out in turn"


def frame(cells: list[Cell], rows: str, columns: str) -> pl.DataFrame:
    """Cells as a table with errors."""
    schema: dict[str, pl.DataType] = {
        rows: pl.String(), columns: pl.String(), "published": pl.Float64(), "ours": pl.Float64(), "unit": pl.String(),
        "kind": pl.String(),
    }  # fmt: skip
    return with_error(pl.DataFrame(cells, schema=schema, orient="row"))


def kind(machine: str) -> str:
    """How a machine's figures came about."""
    return MEASURED if machine == HERE else PREDICTED


def communication(number: str, runs: Runs, describe: Describe) -> ReproducedTable:
    """Table 1 or 2: a goal sent to a neighbour and the report of its termination."""
    machine, file = (V1, "table-1-v1.csv") if number == "1" else (V2, "table-2-v2.csv")
    printed = published.table(file)
    samples = runs.programs.text(machine, EXCHANGE, "main", 2)
    whole = samples.filter(pl.col("pe").is_null()).row(0, named=True)
    file_of = describe(machine)
    reduction = _figure(file_of["fghc"]["reduction_time"])
    # The run begins with a reduction of main, before the goal is sent.
    total = whole["seconds"] - reduction
    costs = {name: _figure(value) for name, value in file_of["fghc"].items() if name.endswith("_time")}
    # Both ends of the goal (its seven words and an argument) and of the report (three words).
    software = 2 * (2 * costs["message_time"] + 2 * costs["tree_time"] + (7 + 1 + 3) * costs["word_time"])
    # Both ends handle the same bytes at the same cost. Those of the first PE are counted: the second also takes the
    # message that ends the run, after the exchange.
    first = samples.filter(pl.col("pe") == 0).row(0, named=True)
    firmware = 2 * first["communication_s"] - software
    hardware = total - reduction - software - firmware
    ours = [
        ("reduction", reduction, INPUT), ("hardware", hardware, FITTED), ("firmware", firmware, FITTED),
        ("software", software, FITTED), ("total", total, FITTED),
    ]  # fmt: skip
    cells: list[Cell] = []
    for item, seconds, how in ours:
        known = printed[None, item]
        cells.append((item, "time", known, seconds * 1e3, "ms", how))
        base = printed[None, "reduction"]
        ratio = None if known is None or base is None else known / base
        cells.append((item, "ratio", ratio, seconds / reduction, "1", how))
    notes = (
        "Ours: the exchange of figure 3 simulated on two neighbouring PEs. The parts were given to the machine "
        "file (they "
        "are table 1's, divided over the steps and bytes of the two messages), so only the total and what is "
        "rounded can "
        "differ.",
        "Published ratios are computed from the printed times."
        if number == "2"
        else "The printed software contains the hardware and firmware: 38.32 is 2.25 and 36.07. Ours does not.",
    )
    uncertain: Uncertainties = {}
    for item, known in ((item, printed[None, item]) for item, _, _ in ours):
        base = printed[None, "reduction"]
        if known and base and item != "reduction":
            uncertain[item, "ratio"] = Uncertainty(
                _HALF_DIGIT / known + _HALF_DIGIT / base, f"{ROUNDING} of both times"
            )
    title = "Inter-PE communication time, " + ("Multi-PSI/V1" if number == "1" else "estimate for the Multi-PSI/V2")
    cells_of = frame(cells, "item", "figure")
    return ReproducedTable(number, title, ("item",), ("figure",), cells_of, notes, uncertainties=uncertain)


def _turned(cells: list[Cell]) -> list[Cell]:
    """Rows as columns."""
    return [(cell[1], cell[0], *cell[2:]) for cell in cells]


def _figure(value: Any) -> float:
    return float(value["value"] if isinstance(value, dict) else value)


def pe_performance(runs: Runs) -> ReproducedTable:
    """Table 3: the programs on one PE."""
    printed = published.table("table-3-pe.csv")
    cells: list[Cell] = []
    for number in PROGRAMS:
        for machine in (V1, V2, HERE):
            row = runs.whole(machine, number, 1, grains(number)[0])
            if row is None:
                continue
            items = [
                ("time", row["seconds"], "s"),
                ("reductions", row["reductions"], "1"),
                ("performance", row["rate"], "reductions/s"),
            ]
            for item, ours, unit in items:
                known = printed[str(number), item] if machine == V1 else None
                cells.append((f"program {number}, {machine}", item, known, float(ours), unit, kind(machine)))
    notes = (
        "Program 1 at depth 1, program 2 with K = 1. Reductions are commitments to clauses of the program; 38,882 "
        "and 38,909 "
        "are not reproduced at any depth or K (README of the reference).",
        "Simulated with the reduction time of table 1 for both programs. A reduction of program 2 takes longer "
        "because of its "
        "arithmetic, for which nothing is charged: the times of built-in predicates are not printed.",
    )
    cells_of = frame(cells, "program", "item")
    return ReproducedTable(
        "3", "PE performance", ("program",), ("item",), cells_of, notes, uncertainties=_one_reduction_time(printed)
    )  # fmt: skip


def _one_reduction_time(printed: Mapping[tuple[str | None, str], float | None]) -> Uncertainties:
    """How far table 3 is from the reduction time of table 1, by the heads of table 3's cells."""
    why = "the reduction time of table 1, which other programs have too"
    reduction = (published.table("table-1-v1.csv")[None, "reduction"] or 0.0) * 1e-3
    uncertain: Uncertainties = {}
    for number in map(str, PROGRAMS):
        seconds, reductions, rate = (printed[number, item] or 0.0 for item in ("time", "reductions", "performance"))
        uncertain[f"program {number}, {V1}", "time"] = Uncertainty(abs(reduction * reductions / seconds - 1), why)
        uncertain[f"program {number}, {V1}", "performance"] = Uncertainty(abs(1 / (reduction * rate) - 1), why)
    return uncertain


def relative_time(runs: Runs) -> ReproducedTable:
    """Table 4: reductions that a message costs, and what the formula makes of it."""
    printed = published.relative_times()
    cells: list[Cell] = []
    notes = [
        "Each of our samples is one number of PEs and one depth (or K), (work rate / relative performance - 1) / "
        "communication rate, as in section 7.7.2. Average, maximum and minimum of program 1 on the V1 were fitted to "
        "by two figures of its machine file; those of program 2 were not.",
        "Blind: what was computed before the published times were known, every step of the software at the same cost.",
        "Fitted: the time with which the formula of section 7.8 has the smallest squared relative errors, with its "
        "95% interval. "
        f"Error of the formula: median over runs that the time was not fitted on, {LEAVE_OUT}; other program: with "
        "the time of "
        "the other program.",
        "Here, runs of a millisecond on threads that share cores: the scatter of the samples is that of the machine.",
    ]
    for (number, item), ours in published.blind_times().items():
        known = printed.get((str(number), item))
        cells.append((f"program {number}, {V1}, blind", item, known, ours, "reductions a message", BLIND))
    for number in PROGRAMS:
        for machine in (V1, V2, HERE):
            rates, fit = runs.rates(machine, number), runs.fit(machine, number)
            if rates is None or fit is None:
                continue
            rows = [
                ("average", fit.mean), ("maximum", fit.largest), ("minimum", fit.smallest),
                ("samples", float(fit.runs)),
                ("fitted", fit.relative_time), ("fitted, low", fit.low), ("fitted, high", fit.high),
            ]  # fmt: skip
            for item, ours in rows:
                known = printed.get((str(number), item)) if machine == V1 else None
                unit = "1" if item == "samples" else "reductions a message"
                how = FITTED if (machine, number) == (V1, 1) and known and item != "samples" else kind(machine)
                cells.append((f"program {number}, {machine}", item, known, ours, unit, how))
            other = runs.fit(machine, 3 - number)
            errors = [("formula's error", _median_held_out(rates)), ("with other program's", _median(rates, other))]
            for item, error in errors:
                cells.append((f"program {number}, {machine}", item, None, error, "1", kind(machine)))
    return ReproducedTable(
        "4", "Relative communication time, reductions a message", ("item",), ("program",),
        frame(_turned(cells), "item", "program"), tuple(notes), uncertainties=_range_of_samples(printed),
    )  # fmt: skip


def _range_of_samples(printed: Mapping[tuple[str | None, str], float | None]) -> Uncertainties:
    """How much the paper's own samples of a program differ, by the heads of table 4's cells."""
    uncertain: Uncertainties = {}
    for number in map(str, PROGRAMS):
        mean, most, least = (printed[number, item] or 0.0 for item in ("average", "maximum", "minimum"))
        half = Uncertainty((most - least) / 2 / mean, "half the range of the paper's own samples of the program")
        for item in ("average", "maximum", "minimum"):
            uncertain[item, f"program {number}, {V1}"] = half
            uncertain[item, f"program {number}, {V1}, blind"] = half
        runs = len(PES[1:]) * len(grains(int(number)))
        counted = Uncertainty(abs(runs / (printed[number, "samples"] or 1.0) - 1), "the runs that the paper describes")
        uncertain["samples", f"program {number}, {V1}"] = counted
    return uncertain


def _median_held_out(rates: pl.DataFrame) -> float | None:
    for by in ("ranks", "goal"):
        try:
            return _median_of(held_out(rates, by))
        except FitError:
            continue
    return None


def _median(rates: pl.DataFrame, other: Any) -> float | None:
    return None if other is None else _median_of(predicted(rates, other.relative_time))


def _median_of(rates: pl.DataFrame) -> float:
    return float(str(rates["error"].abs().median()))


def in_words(runs: Runs) -> ReproducedTable:
    """What the text says in words, and section 8."""
    printed = published.table("text-figures.csv")
    fits = {(machine, number): runs.fit(machine, number) for machine in (V1, V2) for number in PROGRAMS}
    times = {machine: [fit.mean for number in PROGRAMS if (fit := fits[machine, number])] for machine in (V1, V2)}
    v1 = sum(times[V1]) / len(times[V1])
    v2 = sum(times[V2]) / len(times[V2])
    of_v1 = runs.rates(V1, 1)
    assert of_v1 is not None
    rates = of_v1["communication_rate"]
    best = max(DEPTHS, key=lambda depth: (runs.whole(V1, 1, 6, depth) or {"rate": 0.0})["rate"])
    mine: dict[tuple[str | None, str], float] = {
        ("1", "throw_goal share of messages"): runs.share_of_throws(1),
        ("2", "throw_goal share of messages"): runs.share_of_throws(2),
        ("1", "best depth on 6 PEs"): float(best),
        ("1", "highest over lowest communication rate (more than)"): float(str(rates.max())) / float(str(rates.min())),
        (None, "relative communication time (about)"): v1,
        (None, "largest communication rate for 50% on V1"): largest_rate(0.5, v1),
        (None, "largest communication rate on V2 over that on V1 (about)"): v1 / v2,
    }
    cells: list[Cell] = []
    for (number, quantity), known in printed.items():
        who = "both" if number is None else f"program {number}"
        cells.append((quantity, who, known, mine.get((number, quantity)), "", PREDICTED))
    notes = (
        "Shares, rates and times of V1 over two to six PEs and all depths (K for program 2). Arguments are those "
        "of the program "
        "text. Nothing was fitted to any of these figures; 'about' and 'more than' are the paper's. What is more than "
        "'more than' has no error.",
    )
    stated = frame(cells, "quantity", "of")
    is_more = pl.col("quantity").str.contains("(more than)", literal=True) & (pl.col("error") > 0.0)
    stated = stated.with_columns(pl.when(is_more).then(0.0).otherwise(pl.col("error")).alias("error"))
    return ReproducedTable(
        "text", "What the text says in words", ("quantity",), ("of",), stated, notes, uncertainties=_in_tables(printed)
    )


def _in_tables(printed: Mapping[tuple[str | None, str], float | None]) -> Uncertainties:
    """How far figures of the text are from the tables that they sum up, by the heads of their cells."""
    known = published.relative_times()
    mean = sum(known[str(number), "average"] or 0.0 for number in PROGRAMS) / len(PROGRAMS)
    v1, v2 = published.table("table-1-v1.csv"), published.table("table-2-v2.csv")
    totals = [(table[None, "total"] or 0.0) / (table[None, "reduction"] or 1.0) for table in (v1, v2)]
    time, rate = "relative communication time (about)", "largest communication rate on V2 over that on V1 (about)"
    return {
        (time, "both"): Uncertainty(abs(mean / (printed[None, time] or 1.0) - 1), "the averages of table 4"),
        (rate, "both"): Uncertainty(abs(totals[0] / totals[1] / (printed[None, rate] or 1.0) - 1), "tables 1 and 2"),
    }


def kinds(runs: Runs) -> ReproducedTable:
    """Messages by kind of both programs: ours, since the paper has only the goals' share."""
    cells: list[Cell] = []
    for number in PROGRAMS:
        for grain in grains(number):
            counts = runs.programs.kinds(V1, str(program(number)), goal(number, PES[-1], grain), PES[-1])
            for name, count in counts.items():
                if name != "control" and count:
                    what = f"program {number}, {published.grain_name(number)} {grain}"
                    cells.append((name, what, None, float(count), "messages", PREDICTED))
    notes = ("Sent by six PEs of the simulated Multi-PSI/V1. The paper prints no counts.",)
    return ReproducedTable(
        "messages",
        "Messages by kind",
        ("run",),
        ("message",),
        frame(_turned(cells), "run", "message"),
        notes,
    )
