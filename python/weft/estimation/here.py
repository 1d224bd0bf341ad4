"""Prices operations on this machine by measured costs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft._core import UsageError
from weft.data_parallel import Time
from weft.distributed.plans import Polyshift
from weft.estimation import kinds
from weft.estimation.costs_file import MeasuredCosts
from weft.estimation.curves import Curve
from weft.estimation.drift import Drift
from weft.pvar import Record
from weft.pvar.meter import Reach

_LIKE = {
    "float64": ("float32",),
    "float32": ("float64",),
    "float16": ("float32", "float64"),
    "int64": ("int32",),
    "int32": ("int64",),
    "int16": ("int32", "int8"),
    "int8": ("int16", "int32"),
    "bool": ("int8",),
    "1 bytes": ("4 bytes",),
    "2 bytes": ("4 bytes",),
    "4 bytes": ("8 bytes",),
    "8 bytes": ("4 bytes",),
}
"""Whose time stands in where a dtype or length was not measured, nearest first."""

_OPERATORS_LIKE = (
    ("multiply", "add"),
    ("logxor", "logior"),
    ("xor", "or"),
    ("max bool", "or bool"),
    ("logior bool", "or bool"),
    ("logand bool", "and bool"),
    ("or", "logior"),
    ("and", "logand"),
)
"""Of reductions, scans and sends: operators that are not measured, and those that take as long."""

_LESS = (
    (", by a kernel", ""),
    (" by a number", ""),
    (" by numpy", ""),
    ("scattered near", "scattered"),
    (", scattered", ", scattered near"),
    (", few", ""),
    (", filled", ""),
    (", segmented", ""),
    (", short", ""),
    (", narrow", ""),
    (" the last axis", " the last axis, short"),
    (" one line", " the last axis"),
    (" the last axis", " one line"),
    (" another axis", " another axis, narrow"),
    (", new", ""),
    ("rank, in order", "rank"),
    (", selected", ""),
)
"""What an operation does besides, or otherwise, and what stands in where that was not measured."""


class Here:
    """Prices operations on this machine.

    Parameters
    ----------
    costs
        What was measured.
    drift
        What this machine takes now, relative to that; None takes it to be as it was.
    """

    name = "here"
    has_context_flags = False
    model_error: float | None = None
    program_error: float | None = None

    def __init__(self, costs: MeasuredCosts, drift: Drift | None = None) -> None:
        self.costs = costs
        self.drift = drift
        self.stand_ins: dict[str, str] = {}
        """Kinds that were not measured, with those whose costs are taken for them."""
        self.timed: set[str] = set()
        """Operations by functions of the program's, which were timed while they were recorded."""

    def time(self, record: Record, since: int = 0, reach: Reach = (), recurs: int = 0) -> Time:
        """What an operation takes; there is no CM time here, so it is not a number.

        Raises
        ------
        UsageError
            For an operation whose kind, and what is like it, was not measured.
        """
        if record.spent:
            self.timed.add(record.name)
            return Time(record.spent, float("nan"))
        kind = kinds.of(record, since, reach, recurs)
        ratio = 1.0 if self.drift is None else self.drift.ratio
        call_factor = self.costs.recurrence.factor(recurs)
        return Time(ratio * self.curve(kind.name).seconds(kind.work, call_factor), float("nan"))

    def error(self, record: Record) -> float:
        """The relative error of an operation's time: root mean square of the fit; 0 of what was timed itself."""
        if record.spent:
            return 0.0
        return self.curve(kinds.of(record).name).error

    def planned(self, plan: Polyshift) -> Time | None:
        """Plans of shifts are not calibrated."""
        return None

    def curve(self, name: str) -> Curve:
        """The curve of a kind, or of one that is like it."""
        if name in self.costs.curves:
            return self.costs.curves[name]
        for other in _alike(name):
            if other in self.costs.curves:
                self.stand_ins[name] = other
                return self.costs.curves[other]
        raise UsageError(
            f"{self.costs.origin} has no cost of '{name}', nor of anything like it; "
            "weft calibrate measures again, with more programs by --programs"
        )


def _alike(name: str) -> Iterator[str]:
    """Names of kinds that may stand in, those that differ in fewest things first."""
    seen, level = {name}, [name]
    while level:
        nearest = dict.fromkeys(other for one in level for other in _nearest(one) if other not in seen)
        yield from nearest
        seen |= nearest.keys()
        level = list(nearest)


def _nearest(name: str) -> Iterator[str]:
    """Names that differ in one thing: the dtype or length, the operator, or what the operation does besides."""
    for dtype, others in _LIKE.items():
        if re.search(rf"\b{dtype}\b", name):
            yield from (re.sub(rf"\b{dtype}\b", other, name) for other in others)
            break
    if name.startswith(("reduce ", "scan ", "send ")):
        yield from (re.sub(rf"\b{operator}\b", other, name) for operator, other in _OPERATORS_LIKE)
    # What is added once is not added again: there would be no end of names.
    yield from (name.replace(besides, less) for besides, less in _LESS if besides not in less or less not in name)
