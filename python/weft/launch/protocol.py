"""The measurement protocol: several separate launches, until the medians over launches are known well enough.

Launches differ more than repetitions within one, so the unit of statistics is the launch: its median is one value, the
median over launches with its interval is the result; the interval allows for launches that are alike because they
follow each other. No value is thrown away.
"""

from __future__ import annotations

import contextlib
import math
import random
import statistics
import time
import typing
from collections.abc import Callable, Container, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weft._core import RunError
from weft.launch.environment import LaunchConditions
from weft.launch.request import Request
from weft.samples import DEFAULT_CONFIDENCE, PARAMETERS, median_interval
from weft.samples.summary import ASKED_ONCE, MINIMUM_LAUNCHES

Row = dict[str, Any]
Launch = Callable[[Sequence[Request]], Iterable[tuple[int, list[Row]]]]
"""Runs requests as one launch; yields the index of a request and its rows as they are done."""

Keep = Callable[[int, Sequence[Row]], None]
"""Is given the number and the rows of a launch as soon as it has ended, whole or not."""

POINT = tuple(name for name in PARAMETERS if name not in ("source", "machine"))
"""The columns that tell points apart."""

CONVERGED, NOT_CONVERGED, INTERRUPTED, ONE_LAUNCH = "converged", "not converged", "interrupted", "one launch"


LOOKS = 1.5
"""How many times as many launches there are at one look as at the look before."""

ASKED = ("memory",)
"""Benchmarks whose finding is what the system answers, not a time: one launch says all."""


@dataclass(frozen=True)
class Protocol:
    """How long to go on.

    Attributes
    ----------
    launches
        The fewest separate launches; 20 are the fewest with a 95% interval of the median.
    half_width
        A point is known well enough when the half-width of its interval is within this share of its median.
    budget
        Seconds after which no launch beyond the fewest is begun.
    most
        The most launches, however far the interval.
    limit
        Seconds after which even the fewest launches are given up, as on a machine that is busy with something else: the
        launch under way is ended, unless it is the first, and what it has measured is kept.
    """

    launches: int = 6
    half_width: float = 0.05
    budget: float = 60.0
    most: int = 60
    limit: float = math.inf


class Progress(typing.Protocol):
    """Who is told how a measurement comes along."""

    def launch(self, number: int, points: int, remaining: int) -> None:
        """A launch of `points` points begins; about `remaining` points are left in all, its own included."""

    def rows(self, number: int) -> None:
        """That many more points are measured."""


class Silent:
    """Progress that nobody watches."""

    def launch(self, number: int, points: int, remaining: int) -> None: ...

    def rows(self, number: int) -> None: ...


@dataclass
class Outcome:
    """What a measurement found.

    Attributes
    ----------
    rows
        One row a point and launch, with `repetition`, `time`, `load` and `stolen` of the launch.
    interrupted
        Whether someone stopped it.
    failure
        What ended it, if a launch failed after others, or some points, were done.
    spent
        Seconds it took.
    """

    rows: list[Row] = field(default_factory=list)
    interrupted: bool = False
    failure: RunError | None = None
    spent: float = 0.0


def point(row: Row) -> tuple[Any, ...]:
    """What rows that are repetitions of each other agree in."""
    return tuple(_parameter(row, name) for name in POINT)


def _parameter(row: Row, name: str) -> Any:
    """As a table has it, whether the row is one of a table or fresh from a launch."""
    value = row.get(name)
    return str(value).lower() if isinstance(value, bool) else value


def seconds_by_point(rows: Iterable[Row]) -> dict[tuple[Any, ...], list[float]]:
    """The seconds of each launch, by point."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        values.setdefault(point(row), []).append(row["seconds"])
    return values


def is_converged(values: Sequence[float], protocol: Protocol) -> bool:
    """Whether the median of one point over launches, in their order, is known well enough."""
    if len(values) < protocol.launches:
        return False
    interval = median_interval(values)
    return interval.coverage >= DEFAULT_CONFIDENCE and interval.half_width <= protocol.half_width


def is_settled(values: Sequence[float], protocol: Protocol) -> bool:
    """Whether no further launch of a point is wanted: it converged at two looks, one after the other.

    To stop at whichever launch makes the interval narrow is to pick intervals that are narrow by chance. So they are
    looked at seldom, at the fewest launches that have one and whenever there are `LOOKS` times as many, and what one
    look finds is confirmed by the next, which has half as many launches more.
    """
    if not is_converged(values, protocol):
        return False
    look, confirmed = float(max(protocol.launches, MINIMUM_LAUNCHES)), False
    while round(look) <= len(values):
        before, confirmed = confirmed, is_converged(values[: round(look)], protocol)
        if before and confirmed:
            return True
        look *= LOOKS
    return False


def run(
    requests: Sequence[Request],
    launch: Launch,
    protocol: Protocol,
    progress: Progress | None = None,
    before: Sequence[Row] = (),
    clock: Callable[[], float] = time.monotonic,
    keep: Keep = lambda number, rows: None,
) -> Outcome:
    """Launch until every point is known well enough, the budget is spent, or someone interrupts.

    Each launch runs every point that is not yet known well enough, its lengths in an order that is random but the same
    for the same number of the launch. A launch that was ended before it had measured all of its points is completed
    first, so that a measurement that was interrupted comes to the launches of one that was not.

    Parameters
    ----------
    requests, launch
        What is measured, and how one launch is done.
    protocol
        When to stop.
    progress
        Who is told.
    before
        Rows of earlier launches of the same points, which this measurement continues.
    clock
        Seconds, for tests.
    keep
        Is given the rows of each launch when it ends. A RunError of it ends the measurement as that of a launch does.

    Raises
    ------
    RunError
        If a launch fails and nothing was measured before.
    """
    progress = progress or Silent()
    start = clock()
    outcome = Outcome()
    first = max((row["repetition"] for row in before), default=0)
    try:
        for number in range(first, protocol.most):
            rows = [*before, *outcome.rows]
            left = _to_launch(requests, rows, protocol, number)
            if not left:
                if number > first or not before:
                    break
                continue
            enough = number - first >= protocol.launches or _launches(left, rows) >= protocol.launches
            if enough and clock() - start >= protocol.budget:
                break
            points = sum(request.points for request in left)
            progress.launch(number, points, points * max(1, protocol.launches - number))
            measured: list[Row] = []
            try:
                with contextlib.closing(launched(left, launch, number)) as running:
                    for row in running:
                        measured.append(row)
                        outcome.rows.append(row)
                        progress.rows(1)
                        if number > first and clock() - start >= protocol.limit:
                            break
            finally:
                if measured:
                    keep(number, measured)
            if clock() - start >= protocol.limit:
                break
    except KeyboardInterrupt:
        outcome.interrupted = True
    except RunError as error:
        if not outcome.rows:
            raise
        outcome.failure = error
    outcome.spent = clock() - start
    return outcome


def launched(requests: Sequence[Request], launch: Launch, number: int) -> Generator[Row, None, None]:
    """The rows of one launch, with its number and what disturbed it; those of a request share `stolen`.

    A request of several passes gives one row a point when the last is done: see `joined`.
    """
    most = max((request.passes for request in requests), default=0)
    asked = [(position, i) for i in range(most) for position, request in enumerate(requests) if i < request.passes]
    passes: list[list[list[Row]]] = [[] for _ in requests]
    conditions = LaunchConditions()
    for index, rows in launch([_shuffled(requests[position], number, i) for position, i in asked]):
        position = asked[index][0]
        done = passes[position]
        done.append(rows)
        if len(done) < requests[position].passes:
            continue
        stolen = conditions.stolen()
        for row in joined(done):
            yield {**row, "repetition": number, "time": conditions.time, "load": conditions.load, "stolen": stolen}


def joined(passes: Sequence[Sequence[Row]]) -> list[Row]:
    """One row a point of the rows of several passes of one launch, in the order of the first.

    A disturbance lasts longer than the iterations of a pass: `seconds` is the median of the passes' medians, and
    `seconds_p10` that of the pass with the lowest, which was disturbed least. Iterations are those of all passes.
    """
    if len(passes) == 1:
        return list(passes[0])
    points: dict[tuple[Any, ...], list[Row]] = {}
    for rows in passes:
        for row in rows:
            points.setdefault(point(row), []).append(row)
    return [_one(rows) for rows in points.values()]


def _one(rows: Sequence[Row]) -> Row:
    seconds = statistics.median(row["seconds"] for row in rows)
    row = {
        **rows[0],
        "seconds": seconds,
        "seconds_p10": min(row["seconds_p10"] for row in rows),
        "iterations": sum(row["iterations"] for row in rows),
        "share_above_3x": statistics.fmean(row["share_above_3x"] for row in rows),
    }
    if row.get("rate") is not None and seconds:
        row["rate"] = rows[0]["rate"] * rows[0]["seconds"] / seconds
    return row


def _shuffled(request: Request, number: int, i: int) -> Request:
    """What launch `number` is asked in its pass `i`."""
    order = random.Random(number * request.passes + i)
    shuffled: dict[str, Any] = {}
    for name in ("bytes", "extent"):
        if sizes := list(request.several(name)):
            order.shuffle(sizes)
            shuffled[name] = tuple(sizes)
    if (seconds := request.parameters.get("seconds_per_point")) is not None:
        shuffled["seconds_per_point"] = seconds / request.passes
    return replace(request.with_parameters(**shuffled), seed=number * request.passes + i + 1)


def _to_launch(requests: Sequence[Request], rows: Sequence[Row], protocol: Protocol, number: int) -> list[Request]:
    """What launch `number` measures: what was not known well enough before it, less what it has measured already."""
    earlier = seconds_by_point(row for row in rows if row["repetition"] < number)
    done = {key for key, seconds in earlier.items() if key[0] in ASKED or is_settled(seconds, protocol)}
    done |= {point(row) for row in rows if row["repetition"] == number}
    return _unfinished(requests, {point(row): None for row in rows}, done)


def _launches(requests: Sequence[Request], rows: Sequence[Row]) -> int:
    """How many launches there are of every point of some requests; 0 where a request has none yet."""
    values = [(dict(zip(POINT, key, strict=True)), len(seconds)) for key, seconds in seconds_by_point(rows).items()]
    return min(
        (
            min((count for parameters, count in values if _is_of(request, parameters)), default=0)
            for request in requests
        ),
        default=0,
    )


def _is_of(request: Request, parameters: Row) -> bool:
    """Whether a request measures a point."""
    if (parameters["benchmark"], parameters["ranks"]) != (request.benchmark, request.ranks):
        return False
    if request.node:
        return request.wants(parameters["variant"])
    lengths = request.several("bytes")
    return not lengths or parameters["bytes"] in lengths


def _unfinished(
    requests: Sequence[Request], points: Iterable[tuple[Any, ...]], done: Container[tuple[Any, ...]]
) -> list[Request]:
    """The requests with those of their lengths or variants of which some point is not done."""
    known: dict[tuple[str, int], list[tuple[Row, bool]]] = {}
    for key in points:
        parameters = dict(zip(POINT, key, strict=True))
        known.setdefault((parameters["benchmark"], parameters["ranks"]), []).append((parameters, key in done))
    left = []
    for request in requests:
        narrowed = _narrowed(request, known.get((request.benchmark, request.ranks), []))
        if narrowed is not None:
            left.append(narrowed)
    return left


def _narrowed(request: Request, points: Sequence[tuple[Row, bool]]) -> Request | None:
    """What of a request is left, by its points so far; None if nothing is."""
    if request.node:
        return _narrowed_node(request, points)
    done: dict[int | None, bool] = {}
    for parameters, is_done in points:
        done[parameters["bytes"]] = done.get(parameters["bytes"], True) and is_done
    lengths: Sequence[int | None] = request.several("bytes") or (None,)
    if not request.several("bytes") and points:
        # Programs and other benchmarks that take no lengths but have several points.
        return None if all(is_done for _, is_done in points) else request
    missing = [n for n in lengths if not done.get(n, False)]
    if not missing:
        return None
    return request if missing == [None] else request.only(n for n in missing if n is not None)


def _narrowed_node(request: Request, points: Sequence[tuple[Row, bool]]) -> Request | None:
    """The variants that are left: which there are is known from the first launch."""
    wanted = [(parameters, done) for parameters, done in points if request.wants(parameters["variant"])]
    if not wanted:
        return request
    loose = dict.fromkeys(parameters["variant"] for parameters, done in wanted if not done)
    return request.with_parameters(variant=tuple(loose)) if loose else None


def status(rows: Sequence[Row], protocol: Protocol, interrupted: bool, is_rank: bool) -> dict[tuple[Any, ...], str]:
    """For each point what the protocol came to: `CONVERGED`, `NOT_CONVERGED`, `INTERRUPTED`, `ONE_LAUNCH` or, where the
    system was asked and nothing timed, `ASKED_ONCE`."""
    states = {}
    for key, values in seconds_by_point(rows).items():
        if key[0] in ASKED:
            states[key] = ASKED_ONCE
        elif is_converged(values, protocol):
            states[key] = CONVERGED
        elif interrupted:
            states[key] = INTERRUPTED
        else:
            states[key] = ONE_LAUNCH if is_rank and len(values) == 1 else NOT_CONVERGED
    return states
