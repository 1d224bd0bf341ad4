"""Parallel variables: one element on each virtual processor, operated on all at once.

>>> import numpy as np, weft
>>> vp = weft.pvar.VPSet((4, 4))
>>> row, column = vp.coordinate(0), vp.coordinate(1)
>>> x = vp.array(np.arange(16.0).reshape(4, 4))
>>> with vp.where(column == 0):
...     largest = weft.pvar.reduce(abs(x), "max")
>>> largest
12.0
>>> weft.pvar.spread(x, axis=0, index=2)[3, 1], weft.pvar.shift(x, 1, axis=1)[0, 3]
(9.0, 0.0)

The words are those of the Connection Machine (Wu and Shu 1989, sections 2 and 3): a VP set is a grid of virtual
processors, `where` selects some of them, NEWS shifts move along the grid, the router gets and sends by address, scans
and spreads go along an axis. Elementwise functions have the names of the Python array API standard
(`weft.pvar.sqrt`). A selection decides about effects: who is assigned to, who takes part in a reduction or scan, who
sends, who fetches. What has no effect (`x + y`, `spread`, `shift` by fetching) is computed for all.

The same program runs on this machine and, started with mpiexec, over ranks; within `metered()`, or on a VP set that
names a described machine, its operations are recorded with what their cost depends on.
"""

from weft.pvar import elementwise
from weft.pvar.combining import Combiner
from weft.pvar.elementwise import *  # noqa: F403  (its `__all__` names the functions)
from weft.pvar.meter import Meter, Record, metered
from weft.pvar.ordering import rank, sort
from weft.pvar.primitives import get, scan, send, shift, spread
from weft.pvar.processor_arrays import ProcessorArrays
from weft.pvar.randomness import Random
from weft.pvar.reductions import reduce
from weft.pvar.variable import ParallelVariable
from weft.pvar.vpset import VPSet

__all__ = [
    "Combiner",
    "Meter",
    "ParallelVariable",
    "ProcessorArrays",
    "Random",
    "Record",
    "VPSet",
    "get",
    "metered",
    "rank",
    "reduce",
    "scan",
    "send",
    "shift",
    "sort",
    "spread",
]
__all__ += elementwise.__all__
