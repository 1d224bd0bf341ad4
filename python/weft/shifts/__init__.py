"""Shifts of arrays in one process: one at a time, or many planned once and done at once.

>>> import numpy as np
>>> import weft
>>> x = np.array([1, 2, 3, 4])
>>> weft.arrays.cshift(x, 1, 0)
array([2, 3, 4, 1])
>>> weft.arrays.eoshift(x, -1, 0, boundary=9)
array([9, 1, 2, 3])

`by` and the direction are Fortran's: element `i` of the result is element `i + by` of the array. `numpy.roll` goes the
other way: `numpy.roll(x, 1)` is `weft.arrays.cshift(x, -1, 0)`. `axis` counts from 0 as everywhere in Python; Fortran's
dimension `d` of an array of rank `k` that C code sees in C order is axis `k - d`.

After George, Brickner, Johnsson, "POLYSHIFT Communications Software for the Connection Machine System CM-200",
Scientific Programming 3 (1994), sections 2.2 and 5.
"""

from weft.shifts.description import Shift
from weft.shifts.functions import cshift, eoshift
from weft.shifts.plan import ShiftPlan, polyshift

__all__ = ["Shift", "ShiftPlan", "cshift", "eoshift", "polyshift"]
