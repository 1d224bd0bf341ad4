"""An operation of a data-parallel program, as a meter records it and a cost model prices it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weft._core import UsageError

KINDS = {
    "add": "integer addition, subtraction, comparison or logical operation",
    "multiply": "integer multiplication",
    "divide": "integer division (converted to floating point)",
    "float_add": "floating-point addition, subtraction or comparison",
    "float_multiply": "floating-point multiplication",
    "float_divide": "floating-point division",
    "float_sqrt": "a floating-point square root",
    "float_function": "a floating-point power, exponential, logarithm or trigonometric function",
    "convert": "conversion to another type or word length",
    "assign": "assignment where processors are selected",
    "write": "the front end writes one element",
    "read": "the front end reads one element",
    "broadcast": "the front end gives a value to all selected processors",
    "reduce_sum": "a sum over all processors to the front end",
    "reduce_max": "a maximum or minimum to the front end, a bit at a time",
    "reduce_max_grid": "the same over a grid of more than one axis",
    "reduce_logand": "a bitwise and to the front end",
    "reduce_logior": "a bitwise or to the front end",
    "reduce_and": "a boolean and to the front end",
    "reduce_or": "a boolean or to the front end",
    "reduce_function": "a reduction to the front end by a function of the program's",
    "select": "choosing processors by a condition",
    "store_single": "one processor stores to another",
    "fetch_single": "one processor fetches from another",
    "store": "every processor stores to another, no two to the same",
    "fetch": "every processor fetches from another, no two from the same",
    "multiple_reduction": "every group of `ratio` processors sends to one, combining",
    "multiple_broadcast": "every group of `ratio` processors fetches from one",
    "send_function": "a send whose collisions are combined by a function of the program's",
    "news_store_single": "one processor stores over `hops` of the grid",
    "news_store": "every processor stores over `hops` of the grid",
    "news_fetch_single": "one processor fetches over `hops` of the grid",
    "news_fetch": "every processor fetches over `hops` of the grid",
    "rank": "the order of the elements of all processors",
    "random": "a random number on every processor",
    "spread": "one place along an axis of `extent` to all of it",
    "scan_copy": "a copy-scan",
    "scan_sum": "a sum-scan",
    "scan_max": "a maximum- or minimum-scan",
    "scan_logand": "a bitwise and-scan",
    "scan_logior": "a bitwise or-scan",
    "scan_and": "a boolean and-scan",
    "scan_or": "a boolean or-scan",
    "scan_function": "a scan by a function of the program's",
}
"""What there is, by name."""

MAX_COLLISIONS = 32
"""'At most 32 processors can access a single processor' with collisions allowed (Wu and Shu 1989, section 3)."""

Pattern = Literal["clustering", "distributing"]
Mode = Literal["allowed", "many", "backward"]


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes
    ----------
    kind
        A name of `KINDS`.
    bits
        Word length; of booleans 1 whatever is said.
    vp_ratio
        Virtual processors a processor.
    density
        Share of processors that are selected. All processors take part in the time of an instruction; only the router
        has less to do for fewer messages.
    pattern
        Of multiple reduction and broadcast: whether the groups' single processors are next to each other or scattered.
    mode
        Of multiple broadcast: how collisions are met.
    ratio
        Processors of a group.
    hops
        Of NEWS transfers.
    extent
        Of the axis of a spread.

    Raises
    ------
    UsageError
        For an unknown kind, and numbers that mean nothing.
    """

    kind: str
    bits: int = 32
    vp_ratio: int = 1
    density: float = 1.0
    pattern: Pattern = "distributing"
    mode: Mode = "many"
    ratio: int = 1
    hops: int = 1
    extent: int = 2

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"there is no operation '{self.kind}'; there are {', '.join(KINDS)}")
        for name in ("bits", "vp_ratio", "ratio", "hops", "extent"):
            if getattr(self, name) < 1:
                raise UsageError(f"{self.kind}: {name} must be at least 1, not {getattr(self, name)}")
        if not 0.0 <= self.density <= 1.0:
            raise UsageError(f"{self.kind}: density is a share from 0 to 1, not {self.density:g}")
        if self.pattern not in ("clustering", "distributing"):
            raise UsageError(f"{self.kind}: pattern '{self.pattern}' is neither clustering nor distributing")
        if self.mode not in ("allowed", "many", "backward"):
            raise UsageError(f"{self.kind}: mode '{self.mode}' is none of allowed, many, backward")
        if self.kind == "multiple_broadcast" and self.mode == "allowed" and self.ratio > MAX_COLLISIONS:
            raise UsageError(
                f"{self.kind}: with collisions allowed at most {MAX_COLLISIONS} processors fetch from one, "
                f"not {self.ratio}; use many or backward"
            )
