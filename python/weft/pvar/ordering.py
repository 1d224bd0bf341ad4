"""Parallel variables in order: who comes where among the selected."""

from __future__ import annotations

import numpy as np

from weft._core import UsageError
from weft.pvar.execution import Array
from weft.pvar.primitives import get, send, variable_set
from weft.pvar.variable import ParallelVariable

_SIGN = 1 << 63
_LAST = (1 << 64) - 1


def rank(x: ParallelVariable, *, descending: bool = False) -> ParallelVariable:
    """Where each selected processor's element comes among those of all selected, from 0.

    Equal elements are in the order of their processors' addresses, of 0.0 and -0.0 too; NaNs come last. The ranks are
    different numbers without a gap, so `send(y, rank(x))` brings any other variable into the order of `x`.

    Parameters
    ----------
    x
        A parallel variable.
    descending
        The largest first. Equal elements stay in the order of addresses.

    Returns
    -------
    ParallelVariable
        Of integers, as `VPSet.address` has them; zero where not selected.

    Raises
    ------
    UsageError
        If `x` is no parallel variable, or of complex numbers.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((4,))
    >>> rank(vp.array(np.array([3, 1, 4, 1])))
    <ParallelVariable (4,) of int32: [2 0 3 1]>
    """
    vp = variable_set(x, "rank")
    if x.data.dtype.kind == "c":
        raise UsageError("rank: complex numbers have no order; rank abs(x), or the real part")
    ranks = vp.execution.rank(_keys(x.data, descending), vp.mask).astype(vp.address_dtype, copy=False)
    if vp.meter is not None:
        vp.meter.record(vp, "rank", "rank", x.bits, arrays=(x.data, ranks), dtype=x.data.dtype.name)
    return ParallelVariable(vp, ranks)


def sort(x: ParallelVariable, *, descending: bool = False) -> ParallelVariable:
    """The selected elements in order, the first at the selected processor with the lowest address.

    Parameters
    ----------
    x
        A parallel variable.
    descending
        The largest first.

    Returns
    -------
    ParallelVariable
        Of the dtype and word length of `x`; zero where not selected. NaNs come last.

    Raises
    ------
    UsageError
        If `x` is no parallel variable, or of complex numbers.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((4,))
    >>> x = vp.array(np.array([3, 1, 4, 1]))
    >>> sort(x)
    <ParallelVariable (4,) of int64: [1 1 3 4]>
    >>> with vp.where(x != 4):
    ...     sort(x, descending=True)
    <ParallelVariable (4,) of int64: [3 1 0 1]>
    """
    vp = variable_set(x, "sort")
    to = rank(x, descending=descending)
    if vp.mask is not None:
        to = get(send(vp.address(), vp.enumerate()), to)
    return send(x, to)


def _keys(data: Array, descending: bool) -> Array:
    """Numbers of 64 bits in the order of the elements, so that one way of sorting does for all dtypes."""
    nan = None
    if data.dtype.kind == "f":
        # Of -0.0 the sum is 0.0. What a float32 or float16 holds a float64 holds exactly.
        number = data.astype(np.float64) + 0.0
        nan = np.isnan(number)
        bits = number.view(np.uint64)
        keys = np.where(bits >> np.uint64(63), ~bits, bits | np.uint64(_SIGN))
    elif data.dtype.kind == "i":
        keys = data.astype(np.int64).view(np.uint64) ^ np.uint64(_SIGN)
    else:
        keys = data.astype(np.uint64)
    if descending:
        keys = ~keys
    if nan is not None:
        keys[nan] = np.uint64(_LAST)
    return keys
