"""Functions of updates, compiled: what a function computes at a site (`weft.stencils.tracing`) as one loop over sites.

numba compiles the loop, whose source is written here. Numbers have numpy's types at every operation, so that results
are numpy's but for the last bits of sums, of functions such as `exp`, of powers and of complex divisions. Products and
sums are not fused, so that the bits of a site do not depend on which part of the grid it is computed with.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from weft.extras import needs
from weft.stencils.tracing import WEAK, Operation, Program, UntraceableError, trace

Array = np.ndarray[Any, Any]

KEPT_KERNELS = 8
"""Kernels of one function, for different types of fields, or numbers that the function decides by. Each takes about a
second to compile; beyond these numpy computes."""

_INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "logical_and": "&",
    "logical_or": "|",
    "logical_xor": "!=",
}
_OF_BOOLEANS = {"add": "|", "multiply": "&"}


class Shifts(dict[str, tuple[tuple[tuple[int, ...], Any], ...]]):
    """By name of a sum its points: the offset along each axis of the array, and the coefficient.

    `digest` is equal of equal ones.
    """

    def __init__(self, sums: Mapping[str, tuple[tuple[tuple[int, ...], Any], ...]]) -> None:
        super().__init__(sums)
        self.digest = repr(sums)


NO_SHIFTS = Shifts({})
"""Of a kernel that takes no sums itself."""

DTYPES = frozenset(map(np.dtype, "?bBhHiIlLqQfdFD"))
"""Types of elements that are compiled."""


class CompiledFunction:
    """The function of an update with the kernels that were compiled for it.

    Attributes
    ----------
    reason
        Why numpy computes in place of a kernel, as far as is known; None where nothing stands against one.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._kernels: dict[Any, Kernel | None] = {}
        self.reason: str | None = None
        if importlib.util.find_spec("numba") is None:
            self.reason = needs("a compiled update", "numba")

    def kernel(self, arguments: Mapping[str, Any], targets: Sequence[Any], shifts: Shifts) -> Kernel | None:
        """The kernel for arguments, or None where there is none; `reason` then says why.

        Parameters
        ----------
        arguments
            By name an array's dtype, or a number.
        targets
            The dtypes of results, None of reductions.
        shifts
            Of the sums that the kernel takes itself.
        """
        if self.reason is not None and not self._kernels:
            return None
        types = {name: _type(one) for name, one in arguments.items()}
        wrong = [one for one in types.values() if isinstance(one, np.dtype) and one not in DTYPES]
        if wrong:
            self.reason = f"there is no compiled code for {wrong[0]}"
            return None
        if any(isinstance(one, int) and not -(1 << 63) <= one < 1 << 63 for one in arguments.values()):
            types = dict(arguments)
        kernel = self._traced(types, targets, shifts)
        if kernel is None and types != arguments:
            # The function may decide by numbers, which then are part of the program.
            kernel = self._traced(arguments, targets, shifts)
        return kernel

    def _traced(self, arguments: Mapping[str, Any], targets: Sequence[Any], shifts: Shifts) -> Kernel | None:
        # Numbers by their digits: 0.0 is not -0.0, and True is not 1.
        known = tuple((name, repr(one) if one.__class__ in WEAK else one) for name, one in arguments.items())
        key = (known, tuple(targets), shifts.digest)
        if key not in self._kernels:
            if len(self._kernels) >= KEPT_KERNELS:
                self.reason = f"{KEPT_KERNELS} kernels have been compiled for other types or numbers"
                return None
            try:
                self._kernels[key] = Kernel(trace(self._function, arguments, targets), shifts)
            except UntraceableError as why:
                self._kernels[key] = None
                self.reason = f"the function cannot be compiled: {why}"
        kernel = self._kernels[key]
        if kernel is not None:
            self.reason = None
        return kernel


def _type(one: Any) -> Any:
    """An array's dtype as it is, that of a number of numpy's, the type of Python's numbers."""
    if one.__class__ in WEAK:
        return type(one)
    return one.dtype if isinstance(one, np.generic) else one


class Prepared(NamedTuple):
    """The loop of a kernel over some sites of some arrays.

    Attributes
    ----------
    loop
        The function.
    parameters
        Its parameters but the numbers, which are the last ones.
    numbers
        The names of these.
    """

    loop: Callable[..., None]
    parameters: tuple[Any, ...]
    numbers: tuple[str, ...]

    def run(self, numbers: Mapping[str, Any]) -> None:
        """Computes the sites; `numbers` are by name, and may be more."""
        self.loop(*self.parameters, *(numbers[name] for name in self.numbers))


class Kernel:
    """A compiled program.

    Attributes
    ----------
    program
        What it computes.
    shifts
        Of the sums that it takes itself, of the array that is given by the sum's name.
    arguments
        The names of arguments that it reads, in the order of the loop's parameters.
    """

    def __init__(self, program: Program, shifts: Shifts) -> None:
        self.program = program
        self.arguments = tuple(one.value for one in program.operations if one.name == "argument")
        self.shifts = {name: points for name, points in shifts.items() if name in self.arguments}
        self._loops: dict[Any, Callable[..., None]] = {}

    def result_dtypes(self) -> list[np.dtype[Any]]:
        """Of what the function returns."""
        return [self.program.operations[number].dtype for number in self.program.results]

    def prepare(self, shape: Sequence[int], arrays: Mapping[str, Span], results: Sequence[Span]) -> Prepared:
        """What computes a part of the sites.

        Parameters
        ----------
        shape
            Of the part.
        arrays
            By name the arguments, and "mask".
        results
            Where results go, only where the mask is true if there is one.
        """
        known = tuple(name for name in self.arguments if name in arrays)
        masked = "mask" in arrays
        spans = [*(arrays[name] for name in known), *results, *([arrays["mask"]] if masked else [])]
        strides = [span.strides for span in spans]
        outer, inner = (tuple(shape[:-1]), shape[-1]) if self.shifts else _collapsed(shape, strides)
        # A result that is read too is one parameter, so that the compiler knows that sites are their own.
        parameters: list[Span] = []
        chosen: list[int] = []
        for name, span in zip((*known, *("" for _ in results), "mask"), spans, strict=False):
            alike = [i for i, one in enumerate(parameters) if one is span and name not in self.shifts]
            chosen.append(alike[0] if alike else len(parameters))
            if not alike:
                parameters.append(span)
        key = (len(outer), tuple(chosen), masked, known)
        loop = self._loops.get(key)
        if loop is None:
            loop = self._loops[key] = _compiled(self.source(*key))
        steps = np.array([(span.start, *span.strides[: len(outer)]) for span in parameters], np.int64)
        extents = np.array([*outer, inner], np.int64)
        numbers = tuple(name for name in self.arguments if name not in known)
        return Prepared(loop, (extents, steps, *(span.array for span in parameters)), numbers)

    def source(self, axes: int, parameter: Sequence[int], masked: bool, arrays: Sequence[str]) -> str:
        """Python's source of the loop.

        Parameters
        ----------
        axes
            Loops around the inner one.
        parameter
            Of each array argument, each result and the mask: which parameter it is.
        masked
            Whether there is a mask.
        arrays
            The names of arguments that are arrays.
        """
        count = max(parameter) + 1
        numbers = [name for name in self.arguments if name not in arrays]
        names = [f"a{i}" for i in range(count)]
        lines = [f"def loop(extents, steps, {', '.join([*names, *(f'n_{name}' for name in numbers)])}):"]
        indent = "    "
        for axis in range(axes):
            lines.append(f"{indent}for i{axis} in range(extents[{axis}]):")
            indent += "    "
        of_name = dict(zip(arrays, parameter, strict=False))
        summed = {of_name[name] for name in self.shifts}
        for i in range(count):
            around = "".join(f" + i{axis} * steps[{i}, {axis + 1}]" for axis in range(axes))
            # Views whose indices begin at 0: of others numba asks at each site whether they count from the end.
            lines.append(f"{indent}o{i} = steps[{i}, 0]{around}")
            if i not in summed:
                lines.append(f"{indent}x{i} = a{i}[o{i} : o{i} + extents[{axes}]]")
        reads = {name: f"x{i}[j]" for name, i in of_name.items()}
        for name in self.shifts:
            views, reads[name] = self._sum(name, of_name[name], axes)
            lines += [indent + view for view in views]
        lines.append(f"{indent}for j in range(extents[{axes}]):")
        indent += "    "
        for number, operation in enumerate(self.program.operations):
            lines.append(f"{indent}v{number} = {self._expression(operation, reads)}")
        if masked:
            lines.append(f"{indent}m = x{parameter[-1]}[j]")
        for i, result in zip(parameter[len(arrays) :], self.program.results, strict=False):
            lines.append(f"{indent}x{i}[j] = {f'v{result} if m else x{i}[j]' if masked else f'v{result}'}")
        return "\n".join(lines) + "\n"

    def _sum(self, name: str, parameter: int, axes: int) -> tuple[list[str], str]:
        """Views of the lines that a sum reads, and the sum, in the order of its points."""
        points = self.shifts[name]
        dtype = next(one.dtype for one in self.program.operations if one.name == "argument" and one.value == name)
        kind = f"np.{dtype.name}"
        first = min(0, *(offset[-1] for offset, _ in points))
        last = max(0, *(offset[-1] for offset, _ in points))
        line_of: dict[tuple[int, ...], str] = {}
        # As stencils do, from a zero without a sign on: a sum that is zero has none either.
        views, total = [], "" if dtype.kind in "iu" else _literal(0, dtype)
        for offset, coefficient in points:
            outer = offset[:-1]
            if outer not in line_of:
                line_of[outer] = f"s{parameter}_{len(line_of)}"
                around = "".join(
                    f" + ({by}) * steps[{parameter}, {axis + 1}]" for axis, by in enumerate(outer) if by and axis < axes
                )
                start = f"o{parameter}{around} + ({first})"
                views.append(f"{line_of[outer]} = a{parameter}[{start} : {start} + extents[{axes}] + {last - first}]")
            element = f"{line_of[outer]}[j + {offset[-1] - first}]" if offset[-1] > first else f"{line_of[outer]}[j]"
            real = dtype if dtype.kind != "c" or np.iscomplexobj(coefficient) else np.dtype(f"f{dtype.itemsize // 2}")
            term = element if coefficient == 1 else f"{_literal(coefficient, real)} * {element}"
            total = f"{total} + {term}" if total else term
            if dtype.kind in "iu":
                total = f"{kind}({total})"
        return views, total

    def _expression(self, operation: Operation, reads: Mapping[str, str]) -> str:
        """One operation in Python, with numpy's type as its result."""
        name, dtype = operation.name, operation.dtype
        kind = f"np.{dtype.name if dtype.kind != 'b' else 'bool_'}"
        x = [f"v{number}" for number in operation.operands]
        if name == "argument":
            return reads.get(operation.value, f"{kind}(n_{operation.value})")
        if name == "constant":
            return _literal(operation.value.number, dtype)
        if name == "cast":
            return f"{x[0]} != 0" if dtype.kind == "b" else f"{kind}({x[0]})"
        if name == "where":
            return f"{x[1]} if {x[0]} else {x[2]}"
        if name in ("real", "imag"):
            return f"{x[0]}.{name}"
        if name in ("maximum", "minimum"):
            sign = ">=" if name == "maximum" else "<="
            holds = f"{x[0]} {sign} {x[1]}"
            return (
                f"{x[0]} if ({holds}) | ({x[0]} != {x[0]}) else {x[1]}"
                if dtype.kind == "f"
                else (f"{x[0]} if {holds} else {x[1]}")
            )
        if name == "power" and (power := self._power(operation)) is not None:
            return power
        if name == "logical_not" or (name == "invert" and dtype.kind == "b"):
            return f"not {x[0]}"
        expression = {
            "negative": f"-{x[0]}",
            "positive": x[0],
            "invert": f"~{x[0]}",
            "square": f"{x[0]} * {x[0]}",
            "absolute": f"abs({x[0]})",
        }.get(name)
        if expression is None:
            infix = _OF_BOOLEANS.get(name) if dtype.kind == "b" and name in _OF_BOOLEANS else _INFIX.get(name)
            expression = f"{x[0]} {infix} {x[1]}" if infix else f"np.{name}({', '.join(x)})"
        return f"{kind}({expression})" if dtype.kind in "iu" else expression

    def _power(self, operation: Operation) -> str | None:
        """Small whole powers by multiplication."""
        exponent = self.program.operations[operation.operands[1]]
        while exponent.name == "cast":
            exponent = self.program.operations[exponent.operands[0]]
        x = f"v{operation.operands[0]}"
        power: Any = exponent.value.number if exponent.name == "constant" else None
        return {2: f"{x} * {x}", 3: f"{x} * {x} * {x}", 4: f"({x} * {x}) * ({x} * {x})"}.get(power)


class Span:
    """A part of an array as the loop reads it: memory from one element to another, of one axis.

    Attributes
    ----------
    array
        The memory.
    start
        Where the part begins, in elements.
    strides
        Along each axis of the part, in elements.
    """

    __slots__ = ("array", "start", "strides")

    def __init__(self, array: Array, start: int, strides: tuple[int, ...]) -> None:
        self.array, self.start, self.strides = array, start, strides

    @classmethod
    def of(cls, array: Array) -> Span | None:
        """Of a whole array; None where elements of a row do not lie together."""
        strides = tuple(step // array.itemsize for step in array.strides)
        whole = all(step >= 0 and step % array.itemsize == 0 for step in array.strides)
        if not whole or not array.flags.aligned or (array.shape[-1] > 1 and strides[-1] != 1):
            return None
        if array.flags.c_contiguous:
            return cls(array.reshape(-1), 0, strides)
        length = 1 + sum((extent - 1) * step for extent, step in zip(array.shape, strides, strict=True))
        flat = np.lib.stride_tricks.as_strided(array, (length,), (array.itemsize,), writeable=array.flags.writeable)
        return cls(flat, 0, strides)

    def begin(self, index: Sequence[int]) -> Span:
        """From an element on, whose indices along all axes these are."""
        offset = sum(first * step for first, step in zip(index, self.strides, strict=True))
        return Span(self.array, self.start + offset, self.strides)


def dense(array: Array) -> Span:
    """Of an array whose elements lie one after the other, or of a copy that is such."""
    array = np.ascontiguousarray(array)
    strides, step = [], 1
    for extent in reversed(array.shape):
        strides.append(step)
        step *= extent
    return Span(array.reshape(-1), 0, tuple(reversed(strides)))


def _collapsed(shape: Sequence[int], strides: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], int]:
    """The extents of outer axes, and of all the inner ones that are one in every array."""
    axis, inner = len(shape) - 1, int(shape[-1])
    while axis > 0 and all(steps[axis - 1] == inner for steps in strides):
        axis -= 1
        inner *= int(shape[axis])
    return tuple(int(extent) for extent in shape[:axis]), inner


def _literal(number: Any, dtype: np.dtype[Any]) -> str:
    """A number in Python's source."""
    if dtype.kind == "b":
        return repr(bool(number))
    if dtype.kind == "c":
        return f"np.{dtype.name}(complex({_float(number.real)}, {_float(number.imag)}))"
    return f"np.{dtype.name}({_float(number) if dtype.kind == 'f' else int(number)})"


def _float(number: float) -> str:
    if math.isnan(number):
        return "np.nan"
    return repr(float(number)) if math.isfinite(number) else ("np.inf" if number > 0 else "-np.inf")


def _compiled(source: str) -> Callable[..., None]:
    import numba

    names: dict[str, Any] = {"np": np}
    exec(compile(source, "<update of weft>", "exec"), names)
    loop: Callable[..., None] = numba.njit(names["loop"], nogil=True, error_model="numpy")
    return loop
