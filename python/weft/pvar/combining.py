"""Functions of the program's that combine elements: in reductions, scans and sends.

Elements are brought into order and combined pair by pair, neighbour with neighbour, so that a function need be
associative but not commutative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft._core import UsageError
from weft.pvar import words
from weft.pvar.execution import Array, Scan

NOT_ASSOCIATIVE = frozenset(
    (
        *(np.subtract, np.divide, np.floor_divide, np.remainder, np.fmod, np.power, np.float_power, np.arctan2),
        *(np.left_shift, np.right_shift, np.nextafter, np.heaviside, np.ldexp),
        *(np.less, np.less_equal, np.greater, np.greater_equal),
    )
)
"""Functions of numpy's that take two arrays, but combine nothing."""


class Combiner:
    """A function that combines elements, with what reductions, scans and sends need to know of it.

    A function alone will do wherever an operator is expected; a combiner says what its identity is, which exclusive
    scans begin with and which is the reduction of nobody.

    Parameters
    ----------
    function
        Called with two arrays of one axis and one length, elements that come earlier in the order of addresses (of a
        scan, in its direction) and elements that come later; returns an array of their combinations. Python's, one
        that numba has compiled, or numpy's (`np.gcd`). It has to be associative, else results depend on how many
        elements there are and on the ranks; it need not be commutative.
    identity
        What changes nothing when it is combined. Default: that of a function of numpy's, else there is none.
    name
        What messages and meters call it. Default: the function's own name.

    Raises
    ------
    UsageError
        If the function is none, or one of numpy's that is not associative or not of two arrays.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((4,))
    >>> x = vp.array(np.array([12, 18, 24, 30]))
    >>> weft.pvar.reduce(x, Combiner(np.gcd))
    6

    Affine maps t -> 2 t + b, two numbers in one, applied one after the other:

    >>> after = Combiner(lambda f, g: (f // 100) * (g // 100) * 100 + (g // 100 * (f % 100) + g % 100), identity=100)
    >>> weft.pvar.scan(vp.array(np.array([201, 203, 200, 201])), after, exclusive=True)
    <ParallelVariable (4,) of int64: [100 201 405 810]>
    """

    def __init__(self, function: Callable[[Any, Any], Any], *, identity: Any = None, name: str | None = None) -> None:
        if not callable(function):
            raise UsageError(f"{function!r} is no function of two arrays of elements")
        if isinstance(function, np.ufunc):
            _check_ufunc(function)
            identity = function.identity if identity is None else identity
        self.function = function
        self.identity = identity
        self.name: str = str(name or getattr(function, "__name__", type(function).__name__))

    def neutral(self, dtype: np.dtype[Any], word: int | None, what: str) -> Any:
        """The identity as an element.

        Raises
        ------
        UsageError
            If there is none, or a variable of this dtype cannot have it.
        """
        if self.identity is None:
            raise UsageError(f"{what}: {self.name} has no identity; weft.pvar.Combiner(function, identity=…) says it")
        element = np.asarray(self.identity)
        whole = isinstance(self.identity, int) and dtype.kind in "iufc"
        if element.ndim or not (whole or np.can_cast(element.dtype, dtype, "same_kind")):
            raise UsageError(f"{what}: the identity {self.identity!r} of {self.name} is no element of {dtype}")
        if dtype.kind in "iu":
            low, high = words.limits(dtype, word or dtype.itemsize * 8)
            if not low <= int(element) <= high:
                raise UsageError(f"{what}: the identity {self.identity!r} of {self.name} is no element of {dtype}")
        return dtype.type(self.identity)

    def combine(self, earlier: Array, later: Array, word: int | None) -> Array:
        """The combinations of elements, two by two.

        Raises
        ------
        UsageError
            If the function returns something else than as many elements of the same kind.
        """
        if not earlier.size:
            return later
        try:
            result = np.asarray(self.function(earlier, later))
        except TypeError:
            if not isinstance(self.function, np.ufunc):
                raise
            raise UsageError(f"np.{self.name} is not of elements of {earlier.dtype}") from None
        if result.shape != earlier.shape:
            raise UsageError(
                f"{self.name} was called with two arrays of {earlier.size} elements and returned one of shape "
                f"{result.shape}; it has to combine them element by element"
            )
        if not np.can_cast(result.dtype, earlier.dtype, "same_kind"):
            raise UsageError(f"{self.name} combined elements of {earlier.dtype} to {result.dtype}")
        with np.errstate(over="ignore"):
            combined: Array = result.astype(earlier.dtype, copy=False)
        return combined if word is None else words.wrap(combined, word)

    def __repr__(self) -> str:
        return f"<Combiner {self.name}>"


def _check_ufunc(function: np.ufunc) -> None:
    if function.nin != 2 or function.nout != 1 or function.signature is not None:
        raise UsageError(f"np.{function.__name__} is no function of two elements that gives one")
    if function in NOT_ASSOCIATIVE:
        raise UsageError(
            f"np.{function.__name__} is not associative, so that its result would depend on how elements are divided"
        )


def combined_runs(combiner: Combiner, values: Array, runs: Array, word: int | None) -> tuple[Array, Array]:
    """What each run of elements comes to, and its number.

    Parameters
    ----------
    values
        Elements in order.
    runs
        To which run each belongs, as numbers that never fall.
    """
    while True:
        index = _within(runs)
        odd = (index & 1).astype(bool)
        later = np.flatnonzero(odd)
        if not later.size:
            return values, runs
        values = values.copy()
        values[later - 1] = combiner.combine(values[later - 1], values[later], word)
        values, runs = values[~odd], runs[~odd]


def running(combiner: Combiner, values: Array, runs: Array, word: int | None) -> Array:
    """Of each element what its run comes to up to it.

    Pairs first, then what they come to, then those between (Ladner and Fischer 1980, with two calls for an element).
    """
    index = _within(runs)
    odd = np.flatnonzero(index & 1)
    if not odd.size:
        return values
    result = values.copy()
    pairs = combiner.combine(values[odd - 1], values[odd], word)
    result[odd] = running(combiner, pairs, runs[odd], word)
    even = np.flatnonzero((index > 0) & (index & 1 == 0))
    result[even] = combiner.combine(result[even - 1], values[even], word)
    return result


def _within(runs: Array) -> Array:
    """The number of each element within its run."""
    index = np.arange(runs.size)
    begins = np.ones(runs.size, bool)
    begins[1:] = runs[1:] != runs[:-1]
    return index - np.maximum.accumulate(np.where(begins, index, 0))


def combined_lines(combiner: Combiner, data: Array, chosen: Array | None, word: int | None) -> tuple[Array, Array]:
    """What the chosen of each line along the last axis come to (zero of nobody), and whether there are any."""
    lines, extent = data.shape[:-1], data.shape[-1]
    if chosen is None and extent:
        flat = data.reshape(-1, extent)
        while flat.shape[1] > 1:
            both = flat.shape[1] // 2 * 2
            earlier, later = flat[:, 0:both:2], flat[:, 1:both:2]
            pairs = combiner.combine(earlier.reshape(-1), later.reshape(-1), word).reshape(earlier.shape)
            flat = np.concatenate([pairs, flat[:, both:]], axis=1)
        return flat[:, 0].reshape(lines).copy(), np.ones(lines, bool)
    value, has = np.zeros(lines, data.dtype), np.zeros(lines, bool)
    if extent and chosen is not None:
        at = np.flatnonzero(chosen)
        values, runs = combined_runs(combiner, data.reshape(-1)[at], at // extent, word)
        value.reshape(-1)[runs], has.reshape(-1)[runs] = values, True
    return value, has


def combined_axes(
    combiner: Combiner, data: Array, axes: list[int], chosen: Array | None, word: int | None
) -> tuple[Array, Array]:
    """What the chosen along some axes come to, in the order of addresses; these axes keep an extent of 1."""
    others = [axis for axis in range(data.ndim) if axis not in axes]
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(data.shape))

    def lines(array: Array) -> Array:
        last = array.transpose([*others, *sorted(axes)])
        length = int(np.prod([data.shape[axis] for axis in axes]))
        return last.reshape(*(data.shape[axis] for axis in others), length)

    value, has = combined_lines(combiner, lines(data), None if chosen is None else lines(chosen), word)
    return value.reshape(kept), has.reshape(kept)


def joined(
    combiner: Combiner, earlier: tuple[Array, Array], later: tuple[Array, Array], word: int | None
) -> tuple[Array, Array]:
    """What stands before and what stands after, each with whether there is anything, in one."""
    (value, has), (other, there) = earlier, later
    both = has & there
    result = np.where(there, other, value)
    result[both] = combiner.combine(value[both], other[both], word)
    return result, has | there


def scanned(
    combiner: Combiner, data: Array, how: Scan, starts: Array | None, carried: tuple[Array, Array] | None = None
) -> Array:
    """A scan along the last axis, upwards.

    Parameters
    ----------
    data
        Elements, with the axis of the scan last and its direction upwards.
    how
        Mask, as the data are; whether exclusive; word length.
    starts
        Where segments begin.
    carried
        What comes in before the first of each line, and whether anything does.
    """
    word = how.word
    chosen = np.ones(data.shape, bool) if how.mask is None else how.mask
    begins = np.zeros(data.shape, bool) if starts is None else starts.copy()
    if carried is not None:
        data = np.concatenate([carried[0][..., None], data], axis=-1)
        chosen = np.concatenate([carried[1][..., None], chosen], axis=-1)
        begins = np.concatenate([np.zeros((*begins.shape[:-1], 1), bool), begins], axis=-1)
    result = np.zeros(data.shape, data.dtype)
    begins[..., :1] = True
    at = np.flatnonzero(chosen)
    runs = np.cumsum(begins.reshape(-1))[at]
    values = running(combiner, data.reshape(-1)[at], runs, word)
    if how.exclusive:
        nothing = combiner.neutral(data.dtype, word, "scan")
        before = np.full(values.shape, nothing, data.dtype)
        follows = np.flatnonzero(runs[1:] == runs[:-1]) + 1
        before[follows] = values[follows - 1]
        values = before
    result.reshape(-1)[at] = values
    return result if carried is None else result[..., 1:]


def last_segments(
    combiner: Combiner, data: Array, chosen: Array | None, starts: Array | None, word: int | None
) -> tuple[Array, Array]:
    """Of each line along the last axis, what its last segment comes to, and whether that has anybody."""
    if starts is None or not data.shape[-1]:
        return combined_lines(combiner, data, chosen, word)
    of_last = np.cumsum(starts, axis=-1)
    of_last = of_last == of_last[..., -1:]
    return combined_lines(combiner, data, of_last if chosen is None else of_last & chosen, word)


def delivered(combiner: Combiner, to: Array, values: Array, into: Array, fresh: bool, word: int | None) -> None:
    """Puts values to offsets, combined in their order, after what is there unless that is fresh."""
    order = np.argsort(to, kind="stable")
    arrived, offsets = combined_runs(combiner, values[order], to[order], word)
    flat = into.reshape(-1)
    flat[offsets] = arrived if fresh else combiner.combine(flat[offsets], arrived, word)
