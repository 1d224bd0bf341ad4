"""Machines that price recorded operations: described ones by their machine file, this one by what was measured."""

from __future__ import annotations

import os
from typing import Protocol

from weft._core import Machine, UsageError
from weft.catalogue import machine as find
from weft.data_parallel import Costs, Time
from weft.distributed.plans import Polyshift
from weft.estimation import costs_file, streaming
from weft.estimation.here import Here
from weft.pvar import Record
from weft.pvar.meter import Reach

MODEL_ERROR = 0.10
"""Relative error within which the model of a described machine has its operations: every cell of tables 1 to 12 of Wu
and Shu 1989 that has no known slip."""

PROGRAM_ERROR = 0.30
"""Relative error that is allowed for the real time of a whole program on such a machine: the largest of the three runs
that Wu and Shu 1989 print (table 13: 27%), rounded up. Errors of operations are not independent, so that they do not
cancel in a sum: three programs are few, but they are programs."""


class Pricer(Protocol):
    """Prices operations."""

    name: str
    """The machine's."""
    has_context_flags: bool
    """Whether each processor has a flag that says if it stores: the time of a selection has the evaluation of its
    condition in it, and an operation in place needs no assignment after it."""

    def time(self, record: Record, since: int = 0, reach: Reach = (), recurs: int = 0) -> Time:
        """Seconds of an operation; UsageError where the machine has no cost of it.

        `since`: bytes that the program has touched since it was last there; `reach`: since it touched the arrays;
        `recurs`: how many operations ago a run executed the statement last, 0 where that is not known.
        """

    model_error: float | None
    """The relative error that its operations' times may have; None where each has its own."""
    program_error: float | None
    """That of the time of a whole program; None where errors of programs were measured."""

    def error(self, record: Record) -> float:
        """The relative error that the time may have."""

    def planned(self, plan: Polyshift) -> Time | None:
        """Seconds of an exchange of a plan of shifts; None where the machine has no costs of shifts."""


class Described:
    """Prices operations on a described machine.

    Parameters
    ----------
    costs
        Of the machine.
    machine
        It, for what its costs of shifts are; without it plans of shifts are not priced.
    """

    has_context_flags = True
    model_error: float | None = MODEL_ERROR
    program_error: float | None = PROGRAM_ERROR

    def __init__(self, costs: Costs, machine: Machine | None = None) -> None:
        self.costs = costs
        self.name = costs.machine
        self._machine = machine

    def time(self, record: Record, since: int = 0, reach: Reach = (), recurs: int = 0) -> Time:
        """What an operation takes; a Connection Machine has no caches."""
        return self.costs.time(record.operation(self.costs.processors))

    def error(self, record: Record) -> float:
        """The same for all."""
        return MODEL_ERROR

    def planned(self, plan: Polyshift) -> Time | None:
        """A call of PSHIFT, where its costs are known."""
        if self._machine is None or not streaming.shifts(self._machine):
            return None
        estimated = plan.estimate(self._machine)
        return Time(estimated.planned_s, estimated.planned_cm_s)


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
        If here was not calibrated, or the machine file has no costs of data-parallel operations; for `costs` of
        another machine than here.
    MachineError
        If there is no such machine.
    """
    if machine == "here":
        return Here(costs_file.read(costs))
    described = find(machine)
    if costs is not None:
        raise UsageError(f"{described.name} is described, so its own file has its costs: costs=… (--costs) is for here")
    if streaming.streams(described):
        return streaming.Streaming(described)
    try:
        return Described(Costs(described), described)
    except UsageError as error:
        raise UsageError(
            f"{error}; or a table [{streaming.TABLE}], as hgx-h100, tpu-v4 and cm200 have: of the node's memory and "
            "arithmetic, for any GPU, vector node or processor (`weft machines show hgx-h100 --format toml` prints one)"
        ) from error
