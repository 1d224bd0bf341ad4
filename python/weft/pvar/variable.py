"""A parallel variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft._core import UsageError
from weft.pvar import words

if TYPE_CHECKING:
    from weft.pvar.meter import Record
    from weft.pvar.vpset import VPSet


Axis = int | Sequence[int]


class ParallelVariable:
    """An element on each virtual processor of a VP set. `VPSet.array` and its neighbours make them.

    Arithmetic, comparisons and bit operations are Python's operators; further functions are in `weft.pvar`.
    `x[...] = y` (and `x += y`) assigns where processors are selected; `x[3, 5]` and `x[3, 5] = v` read and write one
    element from the front end, whoever is selected, and `x[3]` and `x[2:4, 5] = v` a part, as numpy's array; `x[c] = y`
    (and `x[c] += y`) with a boolean variable `c` is an assignment under `vp.where(c)`. By itself `x[c]` is a copy of
    all elements, of which numpy would keep those where `c` holds: their sum is `x.sum()` under `vp.where(c)`.

    numpy's functions of elements take variables (`np.sqrt(x)`), and reductions have numpy's names (`x.sum()`,
    `x.max(axis=0)`); both are of the selected, and with an axis each line's total is at every place of the line.

    Attributes
    ----------
    vp
        The VP set.
    data
        This process's elements as numpy's array: all of them, or this rank's block. Writing to it writes the variable.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((4,))
    >>> x = vp.array(np.array([3, 1, 4, 1]))
    >>> x[x > 2] = 0
    >>> x + 1
    <ParallelVariable (4,) of int64: [1 2 1 2]>
    """

    __slots__ = ("__weakref__", "data", "record", "vp", "word")
    __iter__ = None
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # weft.pvar.elementwise makes these

        def __add__(self, other: Any, /) -> ParallelVariable: ...
        def __radd__(self, other: Any, /) -> ParallelVariable: ...
        def __iadd__(self, other: Any, /) -> ParallelVariable: ...
        def __sub__(self, other: Any, /) -> ParallelVariable: ...
        def __rsub__(self, other: Any, /) -> ParallelVariable: ...
        def __isub__(self, other: Any, /) -> ParallelVariable: ...
        def __mul__(self, other: Any, /) -> ParallelVariable: ...
        def __rmul__(self, other: Any, /) -> ParallelVariable: ...
        def __imul__(self, other: Any, /) -> ParallelVariable: ...
        def __truediv__(self, other: Any, /) -> ParallelVariable: ...
        def __rtruediv__(self, other: Any, /) -> ParallelVariable: ...
        def __itruediv__(self, other: Any, /) -> ParallelVariable: ...
        def __floordiv__(self, other: Any, /) -> ParallelVariable: ...
        def __rfloordiv__(self, other: Any, /) -> ParallelVariable: ...
        def __ifloordiv__(self, other: Any, /) -> ParallelVariable: ...
        def __mod__(self, other: Any, /) -> ParallelVariable: ...
        def __rmod__(self, other: Any, /) -> ParallelVariable: ...
        def __imod__(self, other: Any, /) -> ParallelVariable: ...
        def __pow__(self, other: Any, /) -> ParallelVariable: ...
        def __rpow__(self, other: Any, /) -> ParallelVariable: ...
        def __ipow__(self, other: Any, /) -> ParallelVariable: ...
        def __and__(self, other: Any, /) -> ParallelVariable: ...
        def __rand__(self, other: Any, /) -> ParallelVariable: ...
        def __iand__(self, other: Any, /) -> ParallelVariable: ...
        def __or__(self, other: Any, /) -> ParallelVariable: ...
        def __ror__(self, other: Any, /) -> ParallelVariable: ...
        def __ior__(self, other: Any, /) -> ParallelVariable: ...
        def __xor__(self, other: Any, /) -> ParallelVariable: ...
        def __rxor__(self, other: Any, /) -> ParallelVariable: ...
        def __ixor__(self, other: Any, /) -> ParallelVariable: ...
        def __lshift__(self, other: Any, /) -> ParallelVariable: ...
        def __rlshift__(self, other: Any, /) -> ParallelVariable: ...
        def __ilshift__(self, other: Any, /) -> ParallelVariable: ...
        def __rshift__(self, other: Any, /) -> ParallelVariable: ...
        def __rrshift__(self, other: Any, /) -> ParallelVariable: ...
        def __irshift__(self, other: Any, /) -> ParallelVariable: ...
        def __lt__(self, other: Any, /) -> ParallelVariable: ...
        def __le__(self, other: Any, /) -> ParallelVariable: ...
        def __gt__(self, other: Any, /) -> ParallelVariable: ...
        def __ge__(self, other: Any, /) -> ParallelVariable: ...
        def __eq__(self, other: Any, /) -> ParallelVariable: ...  # type: ignore[override]
        def __ne__(self, other: Any, /) -> ParallelVariable: ...  # type: ignore[override]
        def __neg__(self) -> ParallelVariable: ...
        def __pos__(self) -> ParallelVariable: ...
        def __abs__(self) -> ParallelVariable: ...
        def __invert__(self) -> ParallelVariable: ...

    def __init__(self, vp: VPSet, data: NDArray[Any], word: int | None = None) -> None:
        self.vp = vp
        self.data = data
        self.word = word
        self.record: Record | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The elements' dtype."""
        return self.data.dtype

    @property
    def bits(self) -> int:
        """The word length: 1 of booleans."""
        if self.word is not None:
            return self.word
        return 1 if self.data.dtype.kind == "b" else self.data.dtype.itemsize * 8

    @property
    def shape(self) -> tuple[int, ...]:
        """Virtual processors along each axis."""
        return self.vp.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.vp.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.vp.size

    def __len__(self) -> int:
        return self.vp.shape[0]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **more: Any) -> Any:
        from weft.pvar.protocol import computed

        return computed(ufunc, method, operands, more)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        from weft.pvar.protocol import called

        return called(function, arguments, options)

    def _reduced(self, operator: str, axis: Axis | None, more: dict[str, Any]) -> Any:
        from weft.pvar.protocol import refuse
        from weft.pvar.reductions import reduce

        refuse(operator, more)
        return reduce(self, operator, axis=axis)

    def sum(self, axis: Axis | None = None, **more: Any) -> Any:
        """The sum of the selected (of booleans: how many are true), or of those of each line along an axis."""
        return self._reduced("sum", axis, more)

    def prod(self, axis: Axis | None = None, **more: Any) -> Any:
        """The product of the selected, or of those of each line along an axis."""
        return self._reduced("multiply", axis, more)

    def max(self, axis: Axis | None = None, **more: Any) -> Any:
        """The largest of the selected, or of those of each line along an axis. Raises UsageError if there are none."""
        return self._reduced("max", axis, more)

    def min(self, axis: Axis | None = None, **more: Any) -> Any:
        """The least of the selected, or of those of each line along an axis. Raises UsageError where there are none."""
        return self._reduced("min", axis, more)

    def any(self, axis: Axis | None = None, **more: Any) -> Any:
        """Whether one of the selected is not zero, in all or along each line of an axis."""
        return self._nonzero()._reduced("or", axis, more)

    def all(self, axis: Axis | None = None, **more: Any) -> Any:
        """Whether none of the selected is zero, in all or along each line of an axis."""
        return self._nonzero()._reduced("and", axis, more)

    def mean(self, axis: Axis | None = None, **more: Any) -> Any:
        """The mean of the selected, or of those of each line along an axis. Raises UsageError where there are none."""
        return self._reduced("mean", axis, more)

    def var(self, axis: Axis | None = None, **more: Any) -> Any:
        """The variance of the selected, or of those of each line along an axis."""
        return self._reduced("var", axis, more)

    def std(self, axis: Axis | None = None, **more: Any) -> Any:
        """The standard deviation of the selected, or of those of each line along an axis."""
        return self._reduced("std", axis, more)

    def count(self, axis: Axis | None = None) -> Any:
        """How many of the selected are not zero, in all or in each line along an axis."""
        return self._reduced("count", axis, {})

    def argmax(self, axis: int | None = None, **more: Any) -> Any:
        """Where the largest of the selected is, the first of several: its coordinates, or its index along an axis."""
        return self._reduced("argmax", axis, more)

    def argmin(self, axis: int | None = None, **more: Any) -> Any:
        """Where the least of the selected is, the first of several: its coordinates, or its index along an axis."""
        return self._reduced("argmin", axis, more)

    @property
    def real(self) -> ParallelVariable:
        """The real parts, as a variable of its own."""
        return ParallelVariable(self.vp, self.data.real.copy(), self.word)

    @property
    def imag(self) -> ParallelVariable:
        """The imaginary parts, as a variable of its own."""
        return ParallelVariable(self.vp, self.data.imag.copy(), self.word)

    def conj(self) -> ParallelVariable:
        """The complex conjugates."""
        return ParallelVariable(self.vp, self.data.conj().copy(), self.word)

    def fill(self, value: Any) -> None:
        """Gives the selected one value, as `x[...] = value`."""
        self.assign(value)

    def tolist(self) -> Any:
        """All elements in Python's lists, on every rank. Collective."""
        return self.numpy().tolist()

    def _nonzero(self) -> ParallelVariable:
        return self if self.data.dtype.kind == "b" else self != 0

    def numpy(self) -> NDArray[Any]:
        """All elements as numpy's array: the variable's own memory, no copy. Over ranks, gathered on every rank."""
        whole: NDArray[Any] = self.vp.execution.whole(self.data)
        return whole

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def copy(self) -> ParallelVariable:
        """A variable of its own with the same elements, whoever is selected."""
        return ParallelVariable(self.vp, self.data.copy(), self.word)

    def __copy__(self) -> ParallelVariable:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> ParallelVariable:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a parallel variable cannot be pickled, for its VP set cannot: pickle x.numpy()")

    def astype(self, dtype: DTypeLike, /, *, bits: int | None = None) -> ParallelVariable:
        """The same elements in another dtype, or in words of other length (`bits`, of integers).

        Floats lose what is behind the point; what does not fit a word wraps around.

        Raises
        ------
        UsageError
            For a dtype or word length that parallel variables do not have.
        """
        vp = self.vp
        target = words.check_dtype(np.dtype(dtype))
        word = words.word_of(target, bits)
        with np.errstate(all="ignore"):
            result = self.data.astype(target)
        if word is not None:
            result = words.wrap(result, word)
            vp.irregular()
        converted = ParallelVariable(vp, result, word)
        if vp.meter is not None:
            converted.record = vp.meter.record(
                vp, "astype", "convert", max(self.bits, converted.bits), arrays=(self.data, result)
            )
        return converted

    def assign(self, value: Any, *, in_place: bool = False) -> None:
        """Give the selected processors a value: a variable's elements, or one number for all. What `x[...] = …` does.

        `in_place`: as the end of an operation like `x += …`, which without a selection stores by itself.

        Raises
        ------
        UsageError
            If `value` is of another VP set, or its dtype cannot be had (`x[...] = y.astype(x.dtype)` converts).
        """
        vp = self.vp
        if value.__class__ is ParallelVariable and value.vp is vp and value.data.dtype == self.data.dtype:
            if vp.plain:
                np.copyto(self.data, value.data)
                return
            if vp.selecting:
                vp.execution.assign(self.data, value.data, vp.mask, None)
                return
        new = value
        if value.__class__ not in _NUMBERS:
            from weft.pvar.elementwise import operand

            new = operand(vp, value, "assignment")
        try:
            vp.execution.assign(self.data, new, vp.mask, self.word)
        except (TypeError, OverflowError):
            what = new.dtype if isinstance(new, np.ndarray | np.generic) else repr(new)
            raise UsageError(
                f"a variable of {self.data.dtype} cannot be given {what}; convert with astype({self.data.dtype})"
            ) from None
        if vp.meter is not None and not (in_place and vp.mask is None):
            if isinstance(value, ParallelVariable):
                vp.meter.record(vp, "assign", "assign", self.bits, arrays=(value.data, self.data), stores=in_place)
            else:
                vp.meter.record(vp, "broadcast", "broadcast", self.bits, arrays=(self.data,), into=True)

    def __getitem__(self, index: Any) -> Any:
        if index is Ellipsis or (index.__class__ is slice and index == _ALL):
            return self
        vp = self.vp
        if index.__class__ is ParallelVariable:
            # A copy: of `x[c] += y` Python makes y's sum with this first, and then assigns where c holds.
            with vp.where(index):
                return self.copy()
        one = (index.__class__ is tuple and len(index) == vp.ndim) or (index.__class__ is int and vp.ndim == 1)
        if one and vp.alone and vp.meter is None:
            try:
                return self.data.item(index)
            except (IndexError, TypeError, ValueError, OverflowError):
                pass  # what is wrong with it is said below
        if _is_part(index, vp.ndim):
            return vp.execution.part(self.data, vp.part(index, "read"))
        at = vp.position(index)
        value = vp.execution.read(self.data, at)
        if vp.meter is not None:
            vp.meter.record(vp, "read", "read", self.bits, arrays=(self.data,))
        return value

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is Ellipsis or (index.__class__ is slice and index == _ALL):
            if value is not self:
                self.assign(value)
            return
        vp = self.vp
        if index.__class__ is ParallelVariable:
            with vp.where(index):
                self.assign(value)
            return
        if _is_part(index, vp.ndim):
            self._put(vp.part(index, "written"), value)
            return
        at = vp.position(index)
        if value.__class__ is ParallelVariable:
            raise UsageError("one element cannot be given a parallel variable; x[...] = y assigns all of them")
        vp.execution.write(self.data, at, words.element(value, self.data.dtype, self.bits))
        if vp.meter is not None:
            vp.meter.record(vp, "write", "write", self.bits, arrays=(self.data,))

    def _put(self, key: tuple[Any, ...], value: Any) -> None:
        """Elements from the front end, whoever is selected."""
        if value.__class__ is ParallelVariable:
            raise UsageError("a part is written from a number or an array; x[...] = y assigns a parallel variable")
        new, dtype = np.asarray(value), self.data.dtype
        low, high = words.limits(dtype, self.bits) if dtype.kind in "iu" else (0, 0)
        # Integers of any type are taken where they fit.
        fits = np.can_cast(new.dtype, dtype, "same_kind") or (new.dtype.kind in "iub" and dtype.kind in "iufc")
        if not fits or (dtype.kind in "iu" and new.size and not (low <= int(new.min()) and int(new.max()) <= high)):
            raise UsageError(f"elements of {dtype} ({self.bits} bits) cannot be {value!r}")
        shape = tuple(
            len(range(*one.indices(n))) for one, n in zip(key, self.shape, strict=True) if isinstance(one, slice)
        )
        try:
            new = np.broadcast_to(new, shape)
        except ValueError:
            raise UsageError(f"a value of shape {new.shape} does not broadcast to the part's, {shape}") from None
        self.vp.execution.put(self.data, key, new)

    def __bool__(self) -> NoReturn:
        raise UsageError(
            "a parallel variable is true on some processors and false on others: use vp.where(x), or "
            "weft.pvar.reduce(x, 'or') and weft.pvar.reduce(x, 'and')"
        )

    def __repr__(self) -> str:
        words_of = f", {self.word} bits" if self.word is not None else ""
        inside = np.array2string(self.data, threshold=20, edgeitems=2) if self.vp.execution.ranks == 1 else "…"
        return f"<ParallelVariable {self.shape} of {self.data.dtype}{words_of}: {inside}>"


def _is_part(index: Any, ndim: int) -> bool:
    """Whether an index is of a row or another part, not of one element."""
    words = index if index.__class__ is tuple else (index,)
    if any(word.__class__ is slice or word is Ellipsis for word in words):
        return all(word.__class__ is slice or word is Ellipsis or isinstance(word, int | np.integer) for word in words)
    return len(words) < ndim and all(isinstance(word, int | np.integer) for word in words)


_ALL = slice(None)
_NUMBERS = frozenset((bool, int, float, complex))
