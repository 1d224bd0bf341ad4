"""What an operation takes on a described data-parallel machine: kind, word length, VP ratio and pattern to seconds.

>>> import weft
>>> add = weft.data_parallel.Operation("float_add", vp_ratio=4)
>>> round(weft.data_parallel.Costs(weft.machine("cm2-8k")).time(add).real, 6)          # seconds
0.000174
"""

from __future__ import annotations

from weft.data_parallel.costs import Costs, Time
from weft.data_parallel.operation import KINDS, Operation

__all__ = ["KINDS", "Costs", "Operation", "Time"]
