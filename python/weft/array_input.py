"""Arrays that callers give: which are taken as numpy's, and which are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft._core import UsageError


def refuse_masked(what: str, value: Any) -> None:
    """Refuse a masked array, whose masked elements would be taken for values.

    Raises
    ------
    UsageError
        For a masked array.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise UsageError(
            f"{what} is a masked array, which has no element where it is masked: give its data or filled()"
        )


def own_array(what: str, value: Any) -> np.ndarray[Any, Any]:
    """An array of numpy: of a subclass the elements, of numbers and lists a new one.

    Raises
    ------
    UsageError
        For masked arrays, and for arrays of other libraries, which numpy would convert without a word (a lazy one would
        be computed, a labelled one lose its labels).
    """
    refuse_masked(what, value)
    if isinstance(value, (np.ndarray, np.generic, list, tuple, int, float, complex)):
        return np.asarray(value)
    raise UsageError(
        f"{what} is a {type(value).__name__} of {type(value).__module__.partition('.')[0]}, no array of numpy and none "
        "that follows the array API standard: convert it, with numpy.asarray or in its own way"
    )


def refuse_layout(function: str, what: str, options: Mapping[str, Any]) -> None:
    """Refuse what numpy's functions take for the memory of their result, but for what changes nothing.

    Raises
    ------
    UsageError
        For another shape or order than that of `what`, and for options that there are not.
    """
    known = {"order": ("K", "C", "A"), "subok": (True, False), "shape": (None,), "device": (None, "cpu")}
    for name, value in options.items():
        if name not in known or value not in known[name]:
            raise UsageError(f"{function} of {what} has its shape and order: leave {name} away")
