"""Parallel variables of this process alone, by the native kernels (`crates/kernels`, primitives)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft import _core
from weft._core import UsageError
from weft.pvar import domains, local, memory, words
from weft.pvar.combining import Combiner
from weft.pvar.execution import Array, Scan, Send
from weft.pvar.local import Local
from weft.pvar.memory import LARGE
from weft.pvar.operators import beyond_kernels, is_by_numpy, neutral
from weft.pvar.vectorized import EXACT

_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum", "negative", "abs", "square")
_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert")
_BIT_SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")
_LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
_ROUNDING = ("floor", "ceil", "trunc", "round")
_CLASSES = ("isnan", "isinf", "isfinite")

TESTS = frozenset(_COMPARISONS + _CLASSES)
"""Functions whose results are booleans, whatever their operands are."""

WITHOUT_WARNING_OF_WHOLE = frozenset((*_ARITHMETIC, *_ROUNDING, "sign", "positive"))
"""Functions that numpy computes of whole numbers without a warning."""

KERNELS = (
    dict.fromkeys((*_COMPARISONS, *_ARITHMETIC, "sign"), "iuf")
    | dict.fromkeys(_BITWISE, "iub")
    | dict.fromkeys(_BIT_SHIFTS, "iu")
    | dict.fromkeys(_LOGICAL, "b")
    | dict.fromkeys((*_ROUNDING, *_CLASSES), "f")
)
"""Elementwise functions whose kernels give what numpy gives, bit for bit and without a warning: of which kinds."""

WITHOUT_WARNING = frozenset(name for name, kinds in KERNELS.items() if "f" in kinds) | {
    "divide",
    "sqrt",
    *domains.DTYPES,
}
"""Functions of floats that a kernel computes where numpy would have to be kept from warning of the unselected."""

FEW = 1 << 16
"""Elements up to which numpy's own indexing is the faster."""

_MAX_FLOAT32 = float(np.finfo(np.float32).max)

_OF_NUMBERS = {(one, other): np.result_type(one, other) for one in EXACT for other in EXACT}
"""The dtype of a choice between two of Python's numbers."""


class Native(Local):
    """As `Local`, which numpy computes and this is compared with.

    What the kernels do not have (float16, complex numbers, words of other lengths than numpy's where they need neutral
    elements, shifts of small arrays) is left to numpy.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(shape)
        self._workspaces: list[_core.SendWorkspace] = []

    def take_workspace(self, data: Array, into: Array) -> _core.SendWorkspace | None:
        """Where a large send sorts its messages: kept for the next, since fresh pages take as long as the send does.

        It is out of its place while it is used: a send of another thread must not sort in it too.
        """
        if data.nbytes < LARGE:
            return None
        needed = _core.array_send_workspace_bytes(data, into)
        if not needed:
            return None
        try:
            workspace = self._workspaces.pop()
        except IndexError:
            pass
        else:
            if workspace.nbytes >= needed:
                return workspace
            del workspace
        there = memory.available()
        return _core.SendWorkspace(needed) if there is None or needed <= there else None

    def keep_workspace(self, workspace: _core.SendWorkspace) -> None:
        """Puts back what `take_workspace` gave."""
        self._workspaces[:] = [workspace]

    def assign(self, data: Array, value: Any, mask: Array | None, word: int | None) -> None:
        """Masked by the kernel, and filled by numpy, where nothing is converted."""
        dtype, is_array = data.dtype, value.__class__ is np.ndarray
        if is_array:
            alike = mask is not None and (value.dtype is dtype or value.dtype == dtype)
        else:
            alike = dtype.kind in EXACT.get(value.__class__, "")
        if not alike or word is not None or beyond_kernels(dtype):
            super().assign(data, value, mask, word)
        elif mask is None:
            data.fill(value)
        else:
            _core.array_elementwise("copy", (value if is_array else np.array(value, dtype),), data, mask)

    def elementwise(self, name: str, operands: list[Any]) -> Array | None:
        """Large arrays of one dtype by the kernel, which knows threads and non-temporal stores; else None."""
        arrays = [one for one in operands if isinstance(one, np.ndarray)]
        dtype = arrays[0].dtype
        if arrays[0].nbytes < LARGE:
            return None
        if name in domains.DTYPES:
            return domains.computed(name, tuple(operands), self.empty)
        if dtype.kind not in KERNELS.get(name, "") or dtype.char == "e" or any(one.dtype != dtype for one in arrays):
            return None
        exact = []
        for one in operands:
            if isinstance(one, np.ndarray):
                exact.append(one)
            else:
                known = dtype.kind in EXACT.get(one.__class__, "")
                # numpy compares with numbers that the dtype does not hold, and refuses to add them.
                element = domains.one_element(one, dtype) if known else None
                if element is None:
                    return None
                exact.append(element)
        out = self.empty(self.shape, np.dtype(bool) if name in TESTS else dtype)
        _core.array_elementwise(name, exact, out)
        return out

    def reduce(self, data: Array, operator: str, mask: Array | None) -> Any:
        """By the kernel, which multiplies float32 in float64."""
        if is_by_numpy(operator, data.dtype):
            return super().reduce(data, operator, mask)
        value = _core.array_reduce(data, operator, mask)
        if value is None or operator != "multiply" or data.dtype.char != "f":
            return value
        if abs(value) <= _MAX_FLOAT32:
            return np.float32(value).item()
        with np.errstate(over="ignore"):
            return np.float32(value).item()

    def reduce_axis(
        self, data: Array, operator: str, axis: int, mask: Array | None, initial: Any = None
    ) -> Array | None:
        """By the kernel."""
        dtype = data.dtype
        if is_by_numpy(operator, dtype):
            return None
        if operator in ("add", "multiply") and dtype.kind in "iu":
            dtype = np.dtype(np.int64 if dtype.kind == "i" else np.uint64)
        out = self.empty(data.shape, dtype)
        if _core.array_reduce_axis(data, out, operator, axis, mask):
            if initial is None or mask is None:
                return None
            anyone = np.empty(data.shape, bool)
            _core.array_reduce_axis(mask, anyone, "or", axis)
            np.copyto(out, dtype.type(initial), where=~anyone)
        return out

    def spread(self, data: Array, axis: int, index: int) -> Array:
        """By the kernel."""
        if beyond_kernels(data.dtype):
            return super().spread(data, axis, index)
        result = self.empty(data.shape, data.dtype)
        _core.array_spread(data, result, axis, index)
        return result

    def rank(self, data: Array, descending: bool, mask: Array | None, dtype: Any) -> tuple[Array, int]:
        """By the kernel; a float32 holds what a float16 does."""
        ranks = self.empty(data.shape, dtype)
        known = data.astype(np.float32) if data.dtype.char == "e" else data
        return ranks, _core.array_rank(known, ranks, descending, mask)

    def shift(self, data: Array, distance: int, axis: int, boundary: Any) -> Array:
        """Large arrays by the kernel of `weft.arrays.cshift`, which has non-temporal stores."""
        if data.nbytes < LARGE:
            return super().shift(data, distance, axis, boundary)
        from weft.shifts import cshift, eoshift

        out = self.empty(data.shape, data.dtype)
        if boundary is None:
            cshift(data, distance, axis, out)
        else:
            eoshift(data, distance, axis, boundary, out)
        return out

    def scan(self, data: Array, how: Scan) -> Array:
        """By the kernel."""
        operator, axis, mask, segments, exclusive, down, word = how
        if (
            isinstance(operator, Combiner)
            or is_by_numpy(operator, data.dtype)
            or (word is not None and operator in ("max", "min"))
        ):
            return super().scan(data, how)
        result = self.empty(data.shape, data.dtype) if mask is None else np.zeros(data.shape, data.dtype)
        _core.array_scan(data, result, operator, axis, segments, mask, exclusive, down)
        return result if word is None else words.wrap(result, word)

    def get(self, data: Array, addresses: Array, mask: Array | None, source: Any = None) -> Array:
        """By the kernel."""
        if beyond_kernels(data.dtype):
            return super().get(data, addresses, mask, source)
        if mask is None and addresses.size < FEW:
            # No bit is set that an address cannot have: that is quicker to know than the least and the largest.
            if not 0 <= np.bitwise_or.reduce(addresses, axis=None) < data.size:
                local.check_addresses(addresses, data.size, "get")
            return data.reshape(-1)[addresses]
        shape = addresses.shape
        result = self.empty(shape, data.dtype) if mask is None else np.zeros(shape, data.dtype)
        try:
            _core.array_gather(data, indices(addresses), result, mask, clobber=True)
        except UsageError:
            local.check_addresses(addresses if mask is None else addresses[mask], data.size, "get")
            raise
        return result

    def send(self, data: Array, addresses: Array, into: Array, how: Send, target: Any = None) -> None:
        """By the kernel; a target that is fresh begins with what changes nothing, and is zero where nothing arrives."""
        operator, mask, word, fresh = how
        if isinstance(operator, Combiner) or is_by_numpy(operator, data.dtype):
            super().send(data, addresses, into, how, target)
            return
        index = indices(addresses)
        nothing = neutral(operator, data.dtype, word) if fresh and operator not in (None, "overwrite") else None
        if nothing is not None and nothing != 0:
            into.fill(nothing)
        # A number that all send is read once.
        values = data[(slice(1),) * data.ndim] if data.size and not any(data.strides) else data
        try:
            workspace = self.take_workspace(values, into)
            _core.array_send(values, index, into, operator, mask, None, workspace, fresh)
            if workspace is not None:
                self.keep_workspace(workspace)
        except UsageError:
            to, _ = how.messages(data, addresses)
            local.check_addresses(to, into.size, "send")
            if operator is None and (collided := local.collision(to)) is not None:
                raise UsageError(local.refusal(*collided)) from None
            raise
        if nothing is not None and nothing != 0:
            arrived = np.zeros(into.shape, dtype=bool)
            _core.array_send(np.ones(1, dtype=bool), index, arrived, "overwrite", mask)
            into[~arrived] = 0
        if word is not None:
            into[...] = words.wrap(into, word)


def quietly(name: str, x: Any, y: Any = None) -> Array | None:
    """A function of floats, of one array, of two of one dtype or of an array and a number, without a warning; None
    where there is no kernel."""
    if name in domains.DTYPES:
        return domains.computed(name, (x,) if y is None else (x, y))
    array = x if x.__class__ is np.ndarray else y
    dtype = array.dtype
    if dtype.kind != "f" or dtype.itemsize < 4:
        return None
    operands: tuple[Any, ...]
    if y is None:
        operands = (x,)
    elif x.__class__ is y.__class__:
        if x.dtype is not y.dtype and x.dtype != y.dtype:
            return None
        operands = (x, y)
    else:
        number = y if array is x else x
        if number.__class__ not in EXACT and number.__class__ is not dtype.type:
            return None
        if dtype.itemsize == 4 and _MAX_FLOAT32 < abs(number) < math.inf:
            with np.errstate(over="ignore"):
                element = domains.one_element(number, dtype)
        else:
            element = domains.one_element(number, dtype)
        if element is None:
            return None
        operands = (x, element) if array is x else (element, y)
    out = np.empty(array.shape, bool if name in TESTS else dtype)
    _core.array_elementwise(name, operands, out)
    return out


def chosen(condition: Array, x: Any, y: Any) -> Any:
    """numpy's `where`, to the bit: the element of `x` where the condition is true, else that of `y`.

    Integers that do not fit are an OverflowError; numpy wraps them around. It branches at each element, too, which
    takes ten times as long where a processor cannot foresee the condition; the kernel has masks. What is converted, and
    what there is no kernel for, numpy does.
    """
    dtype = dtype_of_choice(condition, x, y)
    if dtype is None:
        return np.where(condition, x, y)
    out = np.empty(condition.shape, dtype)
    if x.__class__ is not np.ndarray:
        x = np.array([x], dtype)
    if y.__class__ is not np.ndarray:
        y = np.array([y], dtype)
    _core.array_choose(condition, x, y, out)
    return out


def dtype_of_choice(condition: Array, x: Any, y: Any) -> np.dtype[Any] | None:
    """The dtype of what the kernel chooses, of arrays and Python's numbers; None where numpy does: it converts."""
    if not condition.flags.c_contiguous:
        return None
    if x.__class__ is np.ndarray or y.__class__ is np.ndarray:
        dtype: np.dtype[Any] = (x if x.__class__ is np.ndarray else y).dtype
        return dtype if not beyond_kernels(dtype) and _is_of(x, dtype) and _is_of(y, dtype) else None
    dtype_of_numbers = _OF_NUMBERS.get((x.__class__, y.__class__))
    return None if _is_beyond_int64(x) or _is_beyond_int64(y) else dtype_of_numbers


def _is_beyond_int64(number: Any) -> bool:
    return number.__class__ is int and not -(1 << 63) <= number < 1 << 63


def _is_of(operand: Any, dtype: Any) -> bool:
    """Whether the elements of an operand are of a dtype as they are, and where a kernel reads them."""
    if operand.__class__ is np.ndarray:
        return (operand.dtype is dtype or operand.dtype == dtype) and operand.flags.c_contiguous
    return dtype.kind in EXACT.get(operand.__class__, "")


def any_beyond(coordinates: Array, extent: int, mask: Array | None) -> bool:
    """Whether a selected coordinate is none of so many: in one pass, as negative ones are large without their sign."""
    if coordinates.dtype.itemsize < 4 or extent > np.iinfo(np.int32).max:
        chosen = coordinates if mask is None else coordinates[mask]
        return bool(chosen.size) and (int(chosen.min()) < 0 or int(chosen.max()) >= extent)
    unsigned = coordinates.view(np.dtype(f"u{coordinates.dtype.itemsize}"))
    greatest = _core.array_reduce(unsigned, "max", mask)
    return greatest is not None and int(greatest) >= extent


def linear(coordinates: Sequence[Array | int], extents: Sequence[int], shape: tuple[int, ...]) -> Array:
    """The numbers of elements of a grid with these extents, by their coordinates: arrays of this shape, or numbers."""
    if len(coordinates) == 1 and coordinates[0].__class__ is np.ndarray:
        return coordinates[0].astype(np.int64, copy=False)
    arrays, strides, first, stride = [], [], 0, 1
    for along, extent in zip(reversed(coordinates), reversed(extents), strict=True):
        if isinstance(along, np.ndarray):
            arrays.append(along)
            strides.append(stride)
        else:
            first += along * stride
        stride *= extent
    numbers = np.empty(shape, np.int64)
    _core.array_addresses(arrays, strides, first, numbers)
    return numbers


def indices(addresses: Array) -> Array:
    """Addresses in a type that kernels read."""
    if addresses.dtype in (np.int32, np.int64):
        return addresses
    return addresses.astype(np.int64)
