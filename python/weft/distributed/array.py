"""Arrays whose blocks lie on ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from weft import _core
from weft._core import UsageError
from weft.array_input import refuse_masked
from weft.distributed.geometry import Geometry
from weft.distributed.operations import ArrayOperations, shifted

Halo = int | Sequence[int | Sequence[int]]
"""Ghosts around a block: a number for all sides, one for each axis, or a pair (before, after) for each axis."""

Storage = tuple[int, list[int], int, list[tuple[int, int]]]
"""As `_core` describes memory: bytes of an element, strides, bytes to the first element, ghosts of each axis."""

_LINE = 64
_WORD = 16
"""Bytes of a dtype's name that the root of a scatter tells the others."""


class DistributedArray(ArrayOperations):
    """One rank's block of an array, with ghosts around it if asked for.

    Parameters
    ----------
    geometry
        Which rank has which elements.
    dtype
        Any numpy dtype but those of objects.
    halo
        Memory for ghosts: a number for all sides, one for each axis, or a pair (before, after) for each axis.

    Attributes
    ----------
    local
        This rank's elements: a numpy view, no copy. Writing to it writes the array.
    local_with_halo
        The same with the ghosts around them.
    padded
        All of this rank's memory but the ghosts: a full block, elements and padding (see `Geometry.garbage_mask`).

    Operators, ufuncs and `out=` work element by element, with numbers, arrays of the same geometry, and arrays that
    broadcast: distributed ones of another shape, or numpy arrays that every rank has. Reductions (`sum`, `max`, `mean`,
    `std`, `argmax`, `norm`, `dot`; `axis=` and `keepdims=` too), and parts such as `x[2, 1:3]` and `x[x > 0]`, a numpy
    array on every rank, are collective, and so are functions along an axis (`np.sort`, `np.cumsum`, `np.fft.fft`),
    `x.T` and `x @ y`. `redistribute` divides the array in another way.

    Examples
    --------
    >>> import weft
    >>> x = weft.arrays.DistributedArray(weft.arrays.Geometry((4, 6)), float, halo=1)
    >>> x.local[...] = 1.0
    >>> x.local.shape, x.local_with_halo.shape
    ((4, 6), (6, 8))
    >>> y = 2 * x + 1
    >>> float(y.sum()), y[1, 2:4].tolist(), weft.arrays.cshift(y, 1, 0)
    (72.0, [3.0, 3.0], <DistributedArray (4, 6) of float64 over (1, 1) ranks>)
    """

    def __init__(self, geometry: Geometry, dtype: DTypeLike = np.float64, halo: Halo = 0) -> None:
        self.geometry = geometry
        self.dtype = np.dtype(dtype)
        if self.dtype.hasobject or self.dtype.itemsize == 0:
            raise UsageError(f"elements of {self.dtype} cannot be sent to other ranks; expected numbers or booleans")
        self.halo = widths(halo, geometry.ndim)
        extents = [before + block + after for block, (before, after) in zip(geometry.block, self.halo, strict=True)]
        length = int(np.prod(extents)) * self.dtype.itemsize
        # Elements begin at a cache line: faces then touch as few lines as they can.
        raw = np.zeros(length + 2 * _LINE, dtype=np.uint8)
        memory = np.ndarray(extents, self.dtype, raw.data)
        origin = sum(before * stride for (before, _), stride in zip(self.halo, memory.strides, strict=True))
        skip = -(raw.ctypes.data + origin) % _LINE
        self._memory: NDArray[Any] = np.ndarray(extents, self.dtype, raw.data, offset=skip)
        self.memory = _core.Memory(self._memory)
        """The memory, for `_core`, which keeps it."""
        self.storage: Storage = (self.dtype.itemsize, list(memory.strides), origin, list(self.halo))
        """How it lies there, for `_core`."""
        lengths = geometry.local_shape()
        self.local: NDArray[Any] = self._part(lengths, [(0, 0)] * geometry.ndim)
        self.local_with_halo: NDArray[Any] = self._part(lengths, self.halo)
        self.padded: NDArray[Any] = self._part(geometry.block, [(0, 0)] * geometry.ndim)

    def _part(self, lengths: Sequence[int], around: Sequence[tuple[int, int]]) -> NDArray[Any]:
        sides = zip(lengths, self.halo, around, strict=True)
        return self._memory[tuple(slice(own - b, own + n + a) for n, (own, _), (b, a) in sides)]

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements of each axis of the whole array."""
        return self.geometry.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.geometry.ndim

    @property
    def size(self) -> int:
        """Elements of the whole array."""
        return int(np.prod(self.shape))

    def copy(self) -> DistributedArray:
        """An array of its own with the same elements and ghosts."""
        result = DistributedArray(self.geometry, self.dtype, self.halo)
        result._memory[...] = self._memory
        return result

    def __copy__(self) -> DistributedArray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> DistributedArray:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a distributed array cannot be pickled, for each rank has a part of it: pickle x.gather(None), or write it "
            "with weft.arrays.save"
        )

    def gather(self, root: int | None = 0) -> NDArray[Any] | None:
        """The whole array on `root`, or, with None, on every rank. Collective.

        Returns
        -------
        numpy.ndarray or None
            None on the other ranks.

        Raises
        ------
        UsageError
            On every rank, if there is no such root or the ranks name different ones.
        """
        ranks, geometry = self.geometry.communicator, self.geometry

        def prepare() -> tuple[object, int]:
            target = _root(root, ranks.size)
            return ("gather", root, geometry.shape, self.dtype.str), target

        target = ranks.agreed("gather", prepare)
        if ranks.rank != target and root is not None:
            ranks.native.gather(geometry.blocks, target, (None, []), self.storage, self.memory)
            return None
        whole = np.empty(geometry.shape, self.dtype)
        memory = _core.Memory(whole)
        destination = memory if ranks.rank == target else None
        ranks.native.gather(geometry.blocks, target, (destination, list(whole.strides)), self.storage, self.memory)
        if root is None and ranks.size > 1:
            ranks.native.broadcast(target, memory)
        return whole

    def __weft_stencil__(
        self, stencil: Any, *, out: Any = None, steps: int = 1, threads: int | None = None
    ) -> DistributedArray:
        """What a stencil gives for this array; see `weft.distributed.DistributedStencilPlan`."""
        from weft.distributed.stencils import applied

        return applied(stencil, self, out=out, steps=steps, threads=threads)

    def __weft_update__(self, update: Any, values: dict[str, Any], mask: Any) -> dict[str, Any]:
        """A step of `weft.arrays.Update` for distributed fields. Collective."""
        from weft.distributed.updates import updated

        return updated(update, values, mask)

    def __weft_shift__(self, by: Any, axis: Any, boundary: Any = None, out: Any = None) -> DistributedArray:
        """What `cshift` and `eoshift` of `weft.arrays` give for this array: one that is divided alike. Collective."""
        return shifted(self, by, axis, boundary, out)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """On one rank the array itself; with more, numpy cannot see it all."""
        if self.geometry.ranks > 1:
            raise UsageError("this array lies on several ranks; use .local for this rank's part, or gather()")
        return np.array(self.local, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<DistributedArray {self.shape} of {self.dtype} over {self.geometry.grid} ranks>"


def scattered(
    geometry: Geometry, array: ArrayLike | None, root: int, dtype: DTypeLike | None, halo: Halo
) -> DistributedArray:
    """See `Geometry.scatter`."""
    ranks = geometry.communicator

    def prepare() -> tuple[object, tuple[NDArray[Any] | None, int]]:
        target = _root(root, ranks.size)
        if ranks.rank != target:
            return ("scatter", root), (None, target)
        if array is None:
            raise UsageError(f"scatter: rank {target} is the root and has to give the array")
        refuse_masked("scatter: the array", array)
        whole = np.asarray(array, dtype)
        geometry.check_shape(whole, "the array")
        if whole.dtype.hasobject:
            raise UsageError(f"elements of {whole.dtype} cannot be sent to other ranks; expected numbers or booleans")
        if len(whole.dtype.str) > _WORD:
            raise UsageError(f"scatter has no name for elements of {whole.dtype}; expected numbers or booleans")
        return ("scatter", root), (whole, target)

    whole, target = ranks.agreed("scatter", prepare)
    code = np.zeros(_WORD, dtype=np.uint8)
    if whole is not None:
        word = whole.dtype.str.encode()
        code[: len(word)] = np.frombuffer(word, np.uint8)
    ranks.native.broadcast(target, _core.Memory(code))
    result = DistributedArray(geometry, np.dtype(code.tobytes().rstrip(b"\0").decode()), halo)
    source, strides = (None, []) if whole is None else (_core.Memory(whole), list(whole.strides))
    ranks.native.scatter(geometry.blocks, target, (source, strides), result.storage, result.memory)
    return result


def _root(root: int | None, size: int) -> int:
    if root is None:
        return 0
    if not 0 <= root < size:
        raise UsageError(f"there is no rank {root} to be the root: the ranks are 0 to {size - 1}")
    return root


def widths(halo: Halo, ndim: int) -> tuple[tuple[int, int], ...]:
    """Ghosts before and after the elements of each axis."""
    sides: Sequence[Any] = [halo] * ndim if isinstance(halo, int | np.integer) else list(halo)
    if len(sides) != ndim:
        raise UsageError(f"halo has {len(sides)} entries, but the array has {ndim} axes")
    pairs = [(side, side) if isinstance(side, int | np.integer) else tuple(side) for side in sides]
    for pair in pairs:
        if len(pair) != 2 or any(not isinstance(width, int | np.integer) or width < 0 for width in pair):
            raise UsageError(f"halo has {pair!r}; expected a width of 0 or more, or a pair (before, after) of them")
    return tuple((int(before), int(after)) for before, after in pairs)
