"""Connection sets: patterns in, schedules out.

>>> import weft
>>> schedule = weft.conset.compile("hypercube", "iwarp64")
>>> schedule.phases
2
>>> schedule.verify()
"""

from __future__ import annotations

from weft._core import ConnectionSet, Schedule
from weft.conset.compiling import compile
from weft.conset.patterns import pattern

__all__ = ["ConnectionSet", "Schedule", "compile", "pattern"]
