"""Parallel variables in order: who comes where among the selected."""

from __future__ import annotations

from weft._core import UsageError
from weft.pvar.primitives import get, send, variable_set
from weft.pvar.variable import ParallelVariable


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
    ranks, passes = vp.execution.rank(x.data, descending, vp.mask, vp.address_dtype)
    if vp.meter is not None:
        vp.meter.record(vp, "rank", "rank", x.bits, arrays=(x.data, ranks), dtype=x.data.dtype.name, passes=passes)
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
