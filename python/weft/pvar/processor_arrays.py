"""Arrays of which every virtual processor has one of its own, indexed by a number or by each processor's own index."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft._core import UsageError
from weft.pvar import memory, words
from weft.pvar.execution import Send
from weft.pvar.native import Native, any_beyond
from weft.pvar.primitives import check_same, whole_number
from weft.pvar.variable import ParallelVariable

if TYPE_CHECKING:
    from weft.pvar.vpset import VPSet


class ProcessorArrays:
    """A small array on each virtual processor, of the same extents on all. `VPSet.arrays` makes them.

    `a[2]` is the parallel variable of all elements 2, and shares their memory: what is assigned to one, the other has.
    `a[i]` with a variable of integers is of each processor the element that its own index says (*Lisp's aref!!), a
    variable of its own, zero where not selected; `a[i] = x` and `a[i] += x` assign to these where processors are
    selected. Arrays of several axes take an index for each, of either sort. `a[...] = values` assigns all of them.

    Attributes
    ----------
    vp
        The VP set.
    extents
        Of the array that each processor has.
    data
        This process's elements as numpy's array; the axes of the processors' arrays come first.

    Examples
    --------
    A histogram of its own on each processor:

    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet(4)
    >>> counts = vp.arrays(3, np.int32)
    >>> for value in (vp.address() % 3, vp.full(2)):
    ...     counts[value] += 1
    >>> counts[2]
    <ParallelVariable (4,) of int32: [1 1 2 1]>
    >>> counts.numpy().tolist()
    [[1, 0, 1], [0, 1, 1], [0, 0, 2], [1, 0, 1]]
    """

    __slots__ = ("_execution", "data", "extents", "vp", "word")
    __hash__ = object.__hash__

    def __init__(
        self, vp: VPSet, extents: int | Sequence[int], dtype: DTypeLike = np.float64, *, bits: int | None = None
    ) -> None:
        self.vp = vp
        self.extents = _extents(extents)
        target = words.check_dtype(np.dtype(dtype))
        self.word = words.word_of(target, bits)
        if self.word is not None:
            vp.irregular()
        shape = (*self.extents, *vp.execution.shape)
        length = math.prod(shape) * target.itemsize
        memory.check(length, f"arrays of {self.extents} of {target} on {vp.shape} virtual processors")
        self.data = np.zeros(shape, target)
        self._execution = Native(vp.execution.shape)

    def __copy__(self) -> ProcessorArrays:
        return copy.deepcopy(self)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The elements' dtype."""
        dtype: np.dtype[Any] = self.data.dtype
        return dtype

    @property
    def bits(self) -> int:
        """The word length: 1 of booleans."""
        return self._variable((0,) * len(self.extents)).bits

    def __len__(self) -> int:
        return self.extents[0]

    def __iter__(self) -> Iterator[ParallelVariable]:
        if len(self.extents) > 1:
            raise UsageError(f"arrays of {len(self.extents)} axes are not gone through; index them: a[i, j]")
        return (self[index] for index in range(len(self)))

    def numpy(self) -> NDArray[Any]:
        """All elements, the processors' axes first and those of their arrays last. Over ranks, on every rank."""
        flat = self.data.reshape(math.prod(self.extents), *self.vp.execution.shape)
        whole = [self.vp.execution.whole(one) for one in flat]
        elements = np.array(whole, self.data.dtype).reshape(*self.extents, *self.vp.shape)
        order = [*range(len(self.extents), elements.ndim), *range(len(self.extents))]
        return np.ascontiguousarray(elements.transpose(order))

    def __getitem__(self, index: Any) -> ParallelVariable:
        numbers, offsets = self._index(index)
        vp, meter = self.vp, self.vp.meter
        if offsets is None:
            if meter is not None:
                meter.note(vp, "own element")
            return self._variable(numbers)
        if meter is not None:
            with meter.elsewhere(vp) as described:
                self._chosen_one_by_one(numbers)
            meter.include(described)
        data = self._execution.get(self.data.reshape(-1), offsets, vp.mask)
        if meter is not None:
            variables = _variables(numbers)
            meter.note(vp, "own get", data, self.data, *variables, coordinates=len(variables))
        return ParallelVariable(vp, data, self.word)

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is Ellipsis:
            self._assign(value)
            return
        numbers, offsets = self._index(index)
        if offsets is None:
            target = self._variable(numbers)
            if self.vp.meter is not None:
                self.vp.meter.note(self.vp, "own element")
            if not _is_same(target, value):  # what `a[2] += x` hands back
                target.assign(value)
            return
        meter = self.vp.meter
        if meter is None:
            self._store(offsets, value)
            return
        with meter.elsewhere(self.vp) as described:
            self._stored_one_by_one(numbers, value)
        meter.include(described)
        with meter.elsewhere(self.vp):
            self._store(offsets, value)
        variables = _variables(numbers)
        meter.note(self.vp, "own send", self.data, *variables, coordinates=len(variables))

    def _store(self, offsets: Any, value: Any) -> None:
        vp = self.vp
        new = ParallelVariable(vp, np.zeros(vp.execution.shape, self.data.dtype), self.word)
        new.assign(value)
        self._execution.send(new.data, offsets, self.data.reshape(-1), Send("overwrite", vp.mask))

    def _variable(self, numbers: tuple[Any, ...]) -> ParallelVariable:
        return ParallelVariable(self.vp, self.data[numbers], self.word)

    def _index(self, index: Any) -> tuple[tuple[Any, ...], Any]:
        """Numbers, and variables as they are, for each axis; and where there are variables, the offset of the element
        of each processor. Raises UsageError on every rank."""
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) != len(self.extents):
            raise UsageError(
                f"an element has {len(self.extents)} indices, not {len(parts)}: each processor has an array of "
                f"{self.extents}"
            )
        checked = tuple(self._part(one, axis) for axis, one in enumerate(parts))
        if not any(one.__class__ is ParallelVariable for one in checked):
            return checked, None
        mask, error = self.vp.mask, None
        total: Any = np.int64(0)
        for axis, (one, extent) in enumerate(zip(checked, self.extents, strict=True)):
            along = one.data.astype(np.int64) if one.__class__ is ParallelVariable else np.int64(one)
            if one.__class__ is ParallelVariable and any_beyond(one.data, extent, None):
                outside = (one.data < 0) | (one.data >= extent)
                outside = outside if mask is None else outside & mask
                if outside.any():
                    error = error or _outside(one.data[outside].flat[0], axis, extent)
                along = np.where((along < 0) | (along >= extent), 0, along)
            total = total * extent + along
        self.vp.execution.agree(error)
        processors = math.prod(self.vp.execution.shape)
        return checked, total * processors + np.arange(processors).reshape(self.vp.execution.shape)

    def _part(self, one: Any, axis: int) -> Any:
        if one.__class__ is ParallelVariable:
            check_same(self.vp, one, f"index {axis}")
            if one.data.dtype.kind not in "iu":
                raise UsageError(f"index {axis} is of {one.data.dtype}; expected integers")
            return one
        number, extent = whole_number(one, f"index {axis}"), self.extents[axis]
        if not -extent <= number < extent:
            raise UsageError(_outside(number, axis, extent))
        return number % extent

    def _alternatives(self, index: tuple[Any, ...]) -> Iterator[tuple[tuple[int, ...], ParallelVariable]]:
        """Every element that an index may mean, and where it does."""
        ranges = [
            range(extent) if one.__class__ is ParallelVariable else (one,)
            for one, extent in zip(index, self.extents, strict=True)
        ]
        for numbers in np.ndindex(*map(len, ranges)):
            at = tuple(one[number] for one, number in zip(ranges, numbers, strict=True))
            holds: Any = None
            for one, number in zip(index, at, strict=True):
                if one.__class__ is ParallelVariable:
                    holds = (one == number) if holds is None else holds & (one == number)
            yield at, holds

    def _chosen_one_by_one(self, index: tuple[Any, ...]) -> ParallelVariable:
        """As machines do without addresses of their own on each processor."""
        result = ParallelVariable(self.vp, np.zeros(self.vp.execution.shape, self.data.dtype), self.word)
        for at, holds in self._alternatives(index):
            with self.vp.where(holds):
                result.assign(self._variable(at))
        return result

    def _stored_one_by_one(self, index: tuple[Any, ...], value: Any) -> None:
        for at, holds in self._alternatives(index):
            with self.vp.where(holds):
                self._variable(at).assign(value)

    def _assign(self, value: Any) -> None:
        """A number, a variable, an array of this shape, or one for each processor, where processors are selected."""
        if isinstance(value, ProcessorArrays):
            value = value.numpy()
        if value.__class__ is ParallelVariable or not np.ndim(value):
            for at in np.ndindex(*self.extents):
                self._variable(at).assign(value)
            return
        values = np.asarray(value)
        shape = (*self.vp.shape, *self.extents)
        if values.shape not in (shape, self.extents):
            raise UsageError(f"the arrays have shape {shape}, or {self.extents} for all, not {values.shape}")
        values = np.broadcast_to(values, shape)
        for at in np.ndindex(*self.extents):
            one = self.vp.array(np.ascontiguousarray(values[(..., *at)]))
            self._variable(at).assign(one)

    def __bool__(self) -> NoReturn:
        raise UsageError("arrays of processors are neither true nor false; compare their elements")

    def __repr__(self) -> str:
        bits = f", {self.word} bits" if self.word is not None else ""
        return f"<ProcessorArrays of {self.extents} on {self.vp.shape}, {self.data.dtype}{bits}>"


def _outside(number: Any, axis: int, extent: int) -> str:
    return f"there is no element {number} along axis {axis} of the processors' arrays: its extent is {extent}"


def _variables(index: tuple[Any, ...]) -> list[Any]:
    """The elements of the indices that are variables."""
    return [one.data for one in index if one.__class__ is ParallelVariable]


def _is_same(target: ParallelVariable, value: Any) -> bool:
    if value.__class__ is not ParallelVariable or value.vp is not target.vp or value.data.dtype != target.data.dtype:
        return False
    return bool(value.data.__array_interface__["data"] == target.data.__array_interface__["data"])


def _extents(extents: Any) -> tuple[int, ...]:
    parts = [extents] if isinstance(extents, int | np.integer) else list(extents)
    if not parts:
        raise UsageError("the arrays of processors have at least one axis")
    lengths = tuple(whole_number(one, "an extent of the processors' arrays") for one in parts)
    if min(lengths) < 1:
        raise UsageError(f"the processors' arrays have extents {lengths}; expected whole numbers of 1 or more")
    return lengths
