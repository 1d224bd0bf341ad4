"""Elements of all dtypes as numbers that one way of sorting does for."""

from __future__ import annotations

import numpy as np

from weft.pvar.execution import Array

_SIGN = 1 << 63
_LAST = (1 << 64) - 1


def sort_keys(data: Array, descending: bool, mask: Array | None) -> Array:
    """Numbers of 64 bits without sign in the order of the selected elements, in one axis.

    They are equal for 0.0 and -0.0, and the last for NaNs.

    Parameters
    ----------
    data
        Of any dtype but complex ones.
    descending
        The largest first.
    mask
        Which elements are selected; None for all.
    """
    data = data.reshape(-1) if mask is None else data[mask]
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
