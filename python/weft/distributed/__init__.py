"""Arrays divided over ranks: their geometry, shifts of them, and the ghosts around their blocks.

>>> import numpy as np, weft
>>> geometry = weft.arrays.Geometry((8, 8))          # over the ranks of this run: here one, under `mpiexec -n 4` four
>>> x = geometry.distribute(np.arange(64.0).reshape(8, 8))
>>> with geometry.polyshift(shifts=[(1, 0), (-1, 0), (1, 1), (-1, 1)]) as plan:
...     north, south, west, east = plan(x)
>>> float(north.gather()[0, 0])               # element (1, 0): a shift by +1 brings the next element, as CSHIFT does
8.0

Every rank runs the same program. What the ranks must do together (making geometries of a run, plans, `scatter`,
`gather`) is checked on all of them first, so that a mistake on one raises on every one.
"""

from weft.distributed.array import DistributedArray
from weft.distributed.geometry import Geometry
from weft.distributed.plans import HaloExchange, Polyshift
from weft.distributed.stencils import DistributedStencilPlan

__all__ = ["DistributedArray", "DistributedStencilPlan", "Geometry", "HaloExchange", "Polyshift"]
