"""How much slower a node of a described machine computes than this one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from weft._core import Machine, UsageError
from weft.catalogue import operation_time

__all__ = ["Rate", "factor", "rates"]

OPERATIONS = ("float64_sum_of_products", "copy_byte")
"""What nodes are compared by: arithmetic, and memory."""

LAUNCHES, BUDGET = 3, 5.0
"""Of the measurement here: separate launches, and seconds after which none begins."""


@dataclass(frozen=True)
class Rate:
    """The seconds of one operation, on a node of the machine and measured here on one processor.

    Examples
    --------
    >>> Rate("copy_byte", 2e-8, 1e-10)
    Rate(operation='copy_byte', there=2e-08, here=1e-10)
    """

    operation: str
    there: float
    here: float

    def __str__(self) -> str:
        return f"{self.operation} {self.there * 1e9:.3g} ns there and {self.here * 1e9:.3g} ns here"


def rates(machine: Machine, measured: Callable[[Sequence[str]], Mapping[str, float]] | None = None) -> list[Rate]:
    """The rates of the operations that the machine file gives.

    Parameters
    ----------
    machine
        The machine.
    measured
        Seconds of operations on this machine, by their names; by default they are measured, which takes some seconds.

    Raises
    ------
    weft.UsageError
        If the machine file gives none.

    Examples
    --------
    >>> import weft
    >>> rates(weft.machine("ipsc860"), lambda names: dict.fromkeys(names, 1e-9))[0].there
    5e-08
    """
    there = {name: time for name in OPERATIONS if (time := operation_time(machine, name))}
    if not there:
        raise UsageError(
            f"the file of {machine.name} says of neither {' nor '.join(OPERATIONS)} how long it takes: give a factor "
            "on processor time here, as --compute 50"
        )
    here = (measured or _measure)(list(there))
    return [Rate(name, time, here[name]) for name, time in there.items()]


def factor(compared: Sequence[Rate]) -> float:
    """By how much longer computation takes on the machine: the geometric mean over operations.

    Examples
    --------
    >>> factor([Rate("float64_sum_of_products", 5e-8, 5e-10), Rate("copy_byte", 4e-9, 1e-9)])
    20.0
    """
    return math.prod(rate.there / rate.here for rate in compared) ** (1 / len(compared))


def _measure(names: Sequence[str]) -> dict[str, float]:
    """Medians over some launches here."""
    # Runs that measure nothing do without what tables need, which takes long to load.
    from weft.launch.measure import measure_requests
    from weft.launch.protocol import Protocol
    from weft.launch.request import parsed, requests

    wanted = requests(["arithmetic"], parsed({"variant": list(names)}))
    measurement = measure_requests(wanted, Protocol(launches=LAUNCHES, budget=BUDGET))
    if measurement.failure is not None:
        raise measurement.failure
    rows = measurement.table.select("variant", "seconds").rows()
    return {name: statistics.median(seconds for variant, seconds in rows if variant == name) for name in names}
