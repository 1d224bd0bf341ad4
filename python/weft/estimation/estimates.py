"""What a program takes on a machine: its operations, counted in one run, times what each takes there."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from weft import units
from weft._core import UsageError
from weft.data_parallel import Time
from weft.distributed.observed import note, observed
from weft.distributed.plans import Polyshift
from weft.estimation import drift
from weft.estimation.here import Here
from weft.estimation.pricing import Pricer, pricer
from weft.estimation.running import Program, run
from weft.estimation.streaming import Streaming
from weft.pvar import Meter, Record, VPSet, metered
from weft.pvar.meter import LOCAL, Reach

COVERAGE = 0.95
"""Of intervals made of held-out errors, where those are enough."""


@dataclass(frozen=True)
class Line:
    """All operations of one name.

    Attributes
    ----------
    operation
        The name, as `weft.pvar.Record` has it.
    count
        How often.
    real_s
        Seconds by the wall clock.
    cm_s
        Seconds in which a Connection Machine's sequencer executed; None on other machines.
    low_s, high_s
        The interval of `real_s`.
    """

    operation: str
    count: int
    real_s: float
    cm_s: float | None
    low_s: float
    high_s: float


@dataclass(frozen=True)
class Estimate:
    """The time of a program on a machine.

    Attributes
    ----------
    machine
        Its name.
    program
        The program's.
    lines
        By operation, in the order in which the program first used them.
    total
        The sum; its interval is not the sum of the others, since errors of different operations are different.
    notes
        What a reader must know.
    interval
        What the intervals are, in words: of how much coverage, or of which bound.
    """

    machine: str
    program: str
    lines: tuple[Line, ...]
    total: Line
    notes: tuple[str, ...] = ()
    interval: str = f"{COVERAGE:.0%} interval"

    def table(self) -> pl.DataFrame:
        """A row for each operation and one for the total, with the columns of :class:`Line`."""
        schema = {
            "operation": pl.String(),
            "count": pl.Int64(),
            "real_s": pl.Float64(),
            "cm_s": pl.Float64(),
            "low_s": pl.Float64(),
            "high_s": pl.Float64(),
        }
        rows = [[getattr(line, name) for name in schema] for line in (*self.lines, self.total)]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def __str__(self) -> str:
        total = self.total
        cm = "" if total.cm_s is None else f", CM time {units.seconds(total.cm_s)}"
        interval = f"{units.seconds(total.low_s)} to {units.seconds(total.high_s)}"
        return f"{self.program} on {self.machine}: {units.seconds(total.real_s)} ({interval}){cm}"


def estimate(
    program: Program,
    machine: str | os.PathLike[str] = "here",
    *,
    arguments: Sequence[str] = (),
    costs: str | os.PathLike[str] | None = None,
    vp_sets: Iterable[VPSet] = (),
    now: bool = False,
) -> Estimate:
    """What a program takes on a machine.

    The program is run once, here, and its operations are recorded with what their cost depends on; each is then priced
    by the machine's times (Wu and Shu 1989, section 5). What the program does besides, on the front end, is not
    counted.

    Parameters
    ----------
    program
        A function without arguments, or the path of a Python file, which is run as a program.
    machine
        "here", a machine with costs of data-parallel operations (cm2-8k, or cm200, hgx-h100 and tpu-v4 by what streams
        through their memory), or a path of a machine file.
    arguments
        Of a file: its words on the command line.
    costs
        Of here: the file that `weft calibrate` wrote. Default: where it writes.
    vp_sets
        Those that a function uses and does not make itself.
    now
        Of here: time some of the calibration's programs again first, which takes some seconds, and estimate for the
        pace that the machine has now. Else for the pace that it was calibrated at.

    Returns
    -------
    Estimate
        Times by operation, total, and an interval: of a described machine from the error of its model, of here from
        how well programs were predicted that its calibration had not seen.

    Raises
    ------
    UsageError
        If the machine has no costs, or lacks those of some operations (all are named, with where they are asked for);
        if the program uses no parallel variables; for `costs` and `now` on a described machine, and for `now` with
        a calibration whose programs cannot be timed again here.
    RunError
        If the program fails.

    Examples
    --------
    >>> import weft
    >>> def program():
    ...     x = weft.pvar.VPSet((64, 64)).zeros("float32")
    ...     for _ in range(100):
    ...         x = x + 1
    >>> estimated = weft.estimate(program, "cm2-8k")
    >>> estimated.total.count, round(estimated.total.real_s, 3)
    (101, 0.017)
    """
    prices = pricer(machine, costs)
    if now:
        prices = at_present_pace(prices)
    with observed() as exchanges:
        counts = record(program, arguments, vp_sets)
    return price(counts, prices, name_of(program), [plan for plan in exchanges if isinstance(plan, Polyshift)])


def at_present_pace(prices: Pricer) -> Here:
    """The prices of here, at the pace that this machine has now."""
    if not isinstance(prices, Here):
        raise UsageError(f"{prices.name} is described, so its pace does not change: now=True (--now) is for here")
    seed = int(prices.costs.about.get("seed", 1))
    return Here(prices.costs, drift.now(prices.costs.reference, seed))


class Counted(NamedTuple):
    """An operation of a program.

    Attributes
    ----------
    record
        As the meter has it.
    since
        How far back the program did an operation of this name, as the meter has it.
    reach
        How far back its arrays were touched, as the meter has it.
    recurs
        How many operations ago the run executed the statement last, rounded to a power of two; 0 where that is not
        known.
    """

    record: Record
    since: int
    reach: Reach
    recurs: int = 0


def record(program: Program, arguments: Sequence[str] = (), vp_sets: Iterable[VPSet] = ()) -> Counter[Counted]:
    """The operations of one run of a program, and how often it made each.

    Raises
    ------
    UsageError
        If there are none.
    RunError
        If the program fails.
    """
    with metered(*vp_sets) as meter, observed() as exchanges:
        run(program, arguments)
    # Who observes around this block is told too.
    for plan in exchanges:
        note(plan)
    if not meter.sequence and not any(isinstance(plan, Polyshift) for plan in exchanges):
        raise UsageError(
            f"{name_of(program)} made no operation on parallel variables that could be counted, and no planned shift "
            "of a distributed array: VP sets are recorded that the program makes itself, with weft.pvar.VPSet(…)"
        )
    return Counter(counted(meter))


def counted(meter: Meter) -> list[Counted]:
    """The operations of one run, those of the sequence first, as they are when the program runs once more.

    What it touches first is as far back as its end was: fresh pages of the system's have no price; memory that a
    program before has freed is used again.
    """
    of_arrays, of_code = meter.footprint
    operations = [*zip(meter.sequence, meter.since, meter.reaches, strict=True), *meter.aside]
    recurs = _recurrences([record for record, _, _ in operations], meter)
    return [
        Counted(
            record,
            min(since, of_code),
            tuple((min(distance, of_arrays), length) for distance, length in reach),
            ago,
        )
        for (record, since, reach), ago in zip(operations, recurs, strict=True)
    ]


def _recurrences(records: Sequence[Record], meter: Meter) -> list[int]:
    """Of each operation how many operations ago its statement was executed last; of the first time in a run, in a run
    just before. Operations aside come between those of the sequence."""
    aside = len(meter.sequence)
    times = [*((at, 1) for at in range(aside)), *((at, 0) for at in meter.aside_before)]
    order = sorted((at for at in range(len(records)) if not records[at].included), key=lambda at: times[at])
    positions: dict[tuple[str, int, str], int] = {}
    recurs = [0] * len(records)
    # Gone through twice: what the second run finds is what counts.
    for position, at in enumerate([*order, *order]):
        statement = (records[at].file, records[at].line, records[at].name)
        if statement in positions:
            recurs[at] = 1 << round(math.log2(position - positions[statement]))
        positions[statement] = position
    return recurs


def name_of(program: Program) -> str:
    """What to call a program."""
    if callable(program):
        return str(getattr(program, "__name__", type(program).__name__))
    return Path(program).name


def price(counts: Mapping[Counted, int], prices: Pricer, name: str, plans: Sequence[Polyshift] = ()) -> Estimate:
    """Recorded operations, and exchanges of plans of shifts, by the prices of a machine.

    Raises
    ------
    UsageError
        If the machine lacks costs of some, naming all of them.
    """
    by_operation: dict[str, list[tuple[int, Time, float]]] = {}
    lacking: dict[str, str] = {}
    for (one, since, reach, recurs), count in counts.items():
        if (one.selects or one.stores) and prices.has_context_flags:
            continue
        if one.included and isinstance(prices, Here):
            continue
        if one.kind == LOCAL and not isinstance(prices, Here):
            continue
        try:
            priced = count, prices.time(one, since, reach, recurs), prices.error(one)
        except UsageError as error:
            if one.kind == LOCAL:
                continue
            lacking.setdefault(
                f"{one.name} {one.dtype}", f"{one.name} (line {one.line} of {Path(one.file).name}): {error}"
            )
        else:
            by_operation.setdefault(one.name, []).append(priced)
    if lacking:
        raise UsageError(
            f"{prices.name} lacks the costs of {len(lacking)} operations of {name}:\n  " + "\n  ".join(lacking.values())
        )
    left = _price_plans(plans, prices, by_operation)
    if not by_operation:
        raise UsageError(f"{name}: {prices.name} has no costs of planned shifts ([shifts] of a machine file), and the "
                         "program does nothing else that is counted; cm200 has them")  # fmt: skip
    lines = tuple(_line(operation, parts) for operation, parts in by_operation.items())
    total = _total(lines, prices)
    return Estimate(prices.name, name, lines, total, (*_notes(prices), *left), _interval(prices))


def _price_plans(
    plans: Sequence[Polyshift], prices: Pricer, by_operation: dict[str, list[tuple[int, Time, float]]]
) -> tuple[str, ...]:
    """Add the exchanges of plans of shifts, each plan priced once; a note where the machine has no costs of them."""
    error = prices.model_error or 0.0
    for plan in dict.fromkeys(plans):
        time = prices.planned(plan)
        if time is None:
            return (f"{len(plans)} exchanges of planned shifts are not counted: {prices.name} has no costs of them.",)
        by_operation.setdefault("polyshift", []).append((plans.count(plan), time, error))
    return ()


def _line(operation: str, parts: list[tuple[int, Time, float]]) -> Line:
    # How operations are counted apart depends on where the run's arrays happened to lie; those of one time are one
    # product, so that the last digits do not depend on it.
    alike: dict[tuple[float, float | None, float], int] = {}
    for count, time, error in parts:
        key = (time.real, None if math.isnan(time.cm) else time.cm, error)
        alike[key] = alike.get(key, 0) + count
    real = math.fsum(count * seconds for (seconds, _, _), count in alike.items())
    cm = None
    if all(sequencer is not None for _, sequencer, _ in alike):
        cm = math.fsum(count * (sequencer or 0.0) for (_, sequencer, _), count in alike.items())
    # Errors of one kind of operation go together: they add, and do not cancel.
    off = math.fsum(count * seconds * error for (seconds, _, error), count in alike.items())
    return Line(operation, sum(alike.values()), real, cm, max(0.0, real - off), real + off)


def _total(lines: Sequence[Line], prices: Pricer) -> Line:
    real = math.fsum(line.real_s for line in lines)
    cm = None if any(line.cm_s is None for line in lines) else math.fsum(line.cm_s or 0.0 for line in lines)
    if isinstance(prices, Here) and prices.costs.held_out:
        low, high = (real / (1 + error) for error in quantiles(prices.costs.held_out))
    else:
        low, high = _program_range(lines, prices, real)
    return Line("total", sum(line.count for line in lines), real, cm, low, high)


def _program_range(lines: Sequence[Line], prices: Pricer, real: float) -> tuple[float, float]:
    """The interval of a program's time where that of no other program was measured with this file of costs."""
    if prices.program_error is not None:
        return max(0.0, real * (1 - prices.program_error)), real * (1 + prices.program_error)
    # Errors of different operations are different: their squares add.
    off = math.sqrt(math.fsum((line.high_s - line.real_s) ** 2 for line in lines))
    return max(0.0, real - off), real + off


def _interval(prices: Pricer) -> str:
    """What is said of intervals, before 'of the total': those of a described machine have no known coverage."""
    if prices.model_error is not None and prices.program_error is not None:
        return f"range within {prices.model_error:.0%} of each operation and {prices.program_error:.0%}"
    assert isinstance(prices, Here)
    if not prices.costs.held_out:
        return "range within the errors of the fit"
    return f"{coverage(len(prices.costs.held_out)):.0%} interval"


def quantiles(errors: Sequence[float]) -> tuple[float, float]:
    """The errors that make the largest and the least of an interval around a prediction.

    Between the i-th smallest and the i-th largest of n errors that of one more program is with the probability
    1 - 2 i / (n + 1), whatever the distribution (V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random
    World, 2005, section 2.2); between ranks it is interpolated. Fewer errors than :func:`coverage` asks for give their
    range.
    """
    ordered, last = sorted(errors), len(errors) - 1
    beyond = max((1 - COVERAGE) / 2 * (len(ordered) + 1) - 1, 0.0)
    high, low = np.interp([last - beyond, beyond], np.arange(len(ordered)), ordered)
    return float(high), float(low)


def coverage(count: int) -> float:
    """What an interval of so many held-out errors covers: `COVERAGE`, or less where they are too few for that."""
    return min(COVERAGE, (count - 1) / (count + 1))


def _notes(prices: Pricer) -> tuple[str, ...]:
    if isinstance(prices, Streaming):
        return (
            f"{prices.name}: each operation is one pass through memory after another, none fused; by peak rates and "
            "estimates, whose sources its machine file has (weft machines show). What the program does besides "
            "operations on parallel variables and planned shifts is not counted.",
        )
    if not isinstance(prices, Here):
        return (
            "Arrays that go to or come from the front end as a whole, and what it computes itself, are not counted.",
        )
    taken = [f"'{missing}' was not measured and is priced as '{other}'." for missing, other in prices.stand_ins.items()]
    if prices.timed:
        names = ", ".join(sorted(prices.timed))
        taken.append(f"{names}: by a function of the program's; the time is what it took while it was recorded.")
    if prices.drift is not None:
        ratio, low, high = prices.drift
        taken.append(
            f"This machine takes {ratio:.2f} ({low:.2f} to {high:.2f}) times as long now as when it was calibrated."
        )
    return (*taken, "What the program does besides operations on parallel variables is not counted.")
