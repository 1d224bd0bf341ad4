"""Parallel variables in order: who comes where among the selected."""

from __future__ import annotations

from weft._core import UsageError
from weft.pvar.primitives import check_same, get, send, variable_set
from weft.pvar.reductions import reduce
from weft.pvar.variable import ParallelVariable


def rank(x: ParallelVariable | tuple[ParallelVariable, ...], *, descending: bool = False) -> ParallelVariable:
    """Where each selected processor's element comes among those of all selected, from 0.

    Equal elements are in the order of their processors' addresses, of 0.0 and -0.0 too; NaNs come last. The ranks are
    different numbers without a gap, so `send(y, rank(x))` brings any other variable into the order of `x`.

    Parameters
    ----------
    x
        A parallel variable, or a tuple of several: the last is the first to decide, as in `numpy.lexsort`.
    descending
        The largest first, of every key. Equal elements stay in the order of addresses.

    Returns
    -------
    ParallelVariable
        Of integers, as `VPSet.address` has them; zero where not selected.

    Raises
    ------
    UsageError
        If `x` is no parallel variable, or of complex numbers; for no keys, or keys of several VP sets.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((4,))
    >>> x = vp.array(np.array([3, 1, 4, 1]))
    >>> rank(x)
    <ParallelVariable (4,) of int32: [2 0 3 1]>
    >>> rank((vp.array(np.array([0, 2, 0, 1])), x))
    <ParallelVariable (4,) of int32: [2 1 3 0]>
    """
    if isinstance(x, tuple):
        return _by_several(x, descending)
    vp = variable_set(x, "rank")
    if x.data.dtype.kind == "c":
        raise UsageError("complex numbers have no order, to rank or sort them by; take abs(x), or the real part")
    ranks, passes = vp.execution.rank(x.data, descending, vp.mask, vp.address_dtype)
    if vp.meter is not None:
        vp.meter.record(vp, "rank", "rank", x.bits, arrays=(x.data, ranks), dtype=x.data.dtype.name, passes=passes)
    return ParallelVariable(vp, ranks)


def _by_several(keys: tuple[ParallelVariable, ...], descending: bool) -> ParallelVariable:
    """By the key that decides last first: a rank is stable, so that each later one keeps the order of those before."""
    if not keys:
        raise UsageError("rank: there is no key; expected a parallel variable, or a tuple of one or more")
    ranks = rank(keys[0], descending=descending)
    vp = ranks.vp
    count = vp.size if vp.mask is None else int(reduce(vp.full(True), "count"))
    for key in keys[1:]:
        check_same(vp, key, "rank: a key")
        in_order = send(key, ranks)
        # Those who have a key in order are the first of the VP set, whoever is selected.
        with vp.everywhere(), vp.where(vp.address() < count):
            later = rank(in_order, descending=descending)
        ranks = get(later, ranks)
    return ranks


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
