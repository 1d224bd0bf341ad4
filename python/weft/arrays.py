"""Arrays: shifts and stencils of them, in one process and divided over ranks.

>>> import numpy as np, weft
>>> x = np.array([0.0, 1.0, 4.0, 9.0, 16.0])
>>> weft.arrays.cshift(x, 1, 0)                 # one shift
array([ 1.,  4.,  9., 16.,  0.])
>>> with weft.arrays.polyshift(5, float, [(1, 0), (-1, 0)]) as plan:
...     right, left = plan(x)                   # several, planned once and done in one pass
>>> weft.arrays.stencil({-1: 1.0, 0: -2.0, +1: 1.0}, boundary="circular")(x)
array([ 17.,   2.,   2.,   2., -23.])
>>> geometry = weft.arrays.Geometry(5)          # over the ranks of this run: here one, under `mpiexec -n 4` four
>>> geometry.distribute(x).gather()
array([ 0.,  1.,  4.,  9., 16.])

Everything here also has a package of its own with more about it: `weft.shifts`, `weft.stencils` and `weft.distributed`.
"""

from weft.distributed import DistributedArray, DistributedStencilPlan, Geometry, HaloExchange, Polyshift
from weft.distributed.neighbor import neighbor_alltoallv
from weft.distributed.stored import load, save
from weft.shifts import Shift, ShiftPlan, cshift, eoshift, polyshift
from weft.stencils import Stencil, StencilPlan, Update, stencil

__all__ = [
    "DistributedArray",
    "DistributedStencilPlan",
    "Geometry",
    "HaloExchange",
    "Polyshift",
    "Shift",
    "ShiftPlan",
    "Stencil",
    "StencilPlan",
    "Update",
    "cshift",
    "eoshift",
    "load",
    "neighbor_alltoallv",
    "polyshift",
    "save",
    "stencil",
]
