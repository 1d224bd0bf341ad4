"""Program time from operation counts: what a program with parallel variables takes on this machine or another.

`estimates.py` counts and adds up, `pricing.py` knows machines. For this machine `calibrating.py` times random programs
(`random_programs.py`, of the `statements.py`, in a scene of `scenes.py`) and fits the `curves.py` of all `kinds.py`,
which `costs_file.py` keeps. The method of counting is that of Wu and Shu 1989, section 5.

>>> import weft
>>> def program():
...     x = weft.pvar.VPSet((64, 64)).zeros("float32") + 1
>>> weft.estimation.estimate(program, "cm2-8k").total.count
2
"""

from __future__ import annotations

from weft.estimation.calibrating import calibrate
from weft.estimation.costs_file import MeasuredCosts
from weft.estimation.estimates import Estimate, Line, estimate

__all__ = ["Estimate", "Line", "MeasuredCosts", "calibrate", "estimate"]
