"""Stencils: weighted sums of neighbours, computed where they lie.

A stencil is what shifted copies of an array are usually for. `weft.arrays.stencil` takes the neighbours and their
coefficients and computes the sum without making the copies: only what lies beyond the ends is put in, on the fly.

>>> import numpy as np, weft
>>> second_difference = weft.arrays.stencil({-1: 1.0, 0: -2.0, +1: 1.0})
>>> second_difference(np.array([0.0, 1.0, 4.0, 9.0, 16.0]))
array([ 17.,   2.,   2.,   2., -23.])
>>> weft.arrays.stencil({-1: 1.0, 0: -2.0, +1: 1.0}, boundary=0)(np.array([0.0, 1.0, 4.0, 9.0, 16.0]))
array([  1.,   2.,   2.,   2., -23.])

Source: George, Brickner and Johnsson 1994 (polyshift), figures 5 and 7 for what is computed, section 7 for why nothing
should be moved.
"""

from weft.stencils.description import Stencil, stencil
from weft.stencils.plan import StencilPlan
from weft.stencils.update import Update

__all__ = ["Stencil", "StencilPlan", "Update", "stencil"]
