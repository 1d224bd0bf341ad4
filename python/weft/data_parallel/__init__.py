"""What an operation takes on a described data-parallel machine: kind, word length, VP ratio and pattern to seconds."""

from __future__ import annotations

from weft.data_parallel.costs import Costs, Time
from weft.data_parallel.operation import KINDS, Operation

__all__ = ["KINDS", "Costs", "Operation", "Time"]
