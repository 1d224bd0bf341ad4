"""Machines that price recorded operations: described ones by their machine file, this one by what was measured."""

from __future__ import annotations

import os
from typing import Protocol

from weft.catalogue import machine as find
from weft.data_parallel import Costs, Time
from weft.estimation import costs_file
from weft.estimation.here import Here
from weft.pvar import Record
from weft.pvar.meter import Reach

MODEL_ERROR = 0.10
"""Relative error within which the model of a described machine has its operations: every cell of tables 1 to 12 of Wu
and Shu 1989 that has no known slip."""


class Pricer(Protocol):
    """Prices operations."""

    name: str
    """The machine's."""
    has_context_flags: bool
    """Whether each processor has a flag that says if it stores: the time of a selection has the evaluation of its
    condition in it, and an operation in place needs no assignment after it."""

    def time(self, record: Record, since: int = 0, reach: Reach = ()) -> Time:
        """Seconds of an operation; UsageError where the machine has no cost of it.

        `since`: bytes that the program has touched since it was last there; `reach`: since it touched the arrays.
        """

    def error(self, record: Record) -> float:
        """The relative error that the time may have."""


class Described:
    """Prices operations on a described machine.

    Parameters
    ----------
    costs
        Of the machine.
    """

    has_context_flags = True

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.name = costs.machine

    def time(self, record: Record, since: int = 0, reach: Reach = ()) -> Time:
        """What an operation takes; a Connection Machine has no caches."""
        return self.costs.time(record.operation(self.costs.processors))

    def error(self, record: Record) -> float:
        """The same for all."""
        return MODEL_ERROR


def pricer(machine: str | os.PathLike[str], costs: str | os.PathLike[str] | None = None) -> Pricer:
    """What prices operations on a machine.

    Parameters
    ----------
    machine
        "here", a machine of the catalogue, or a path of a machine file.
    costs
        Of here: the file that `weft calibrate` wrote. Default: where it writes.

    Raises
    ------
    UsageError
        If here was not calibrated, or the machine file has no costs of data-parallel operations.
    MachineError
        If there is no such machine.
    """
    if machine == "here":
        return Here(costs_file.read(costs))
    return Described(Costs(find(machine)))
