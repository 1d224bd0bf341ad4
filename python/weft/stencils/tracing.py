"""What a function of arrays computes at each site, as a list of operations: found by calling it once with symbols.

A function that works element by element is called with symbols in place of arrays; operators and functions of numpy's
note what they would do, and with which types. What cannot be noted (a condition in Python, a function of numpy's that
is not known here) raises `UntraceableError`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

WEAK = (bool, int, float, complex)
"""Python's numbers, which take the type of the arrays that they meet."""

UFUNCS: dict[np.ufunc, str] = dict.fromkeys((np.subtract, np.negative, np.positive, np.square, np.absolute), "iufc")
UFUNCS |= dict.fromkeys((np.add, np.multiply, np.equal, np.not_equal), "biufc")
UFUNCS |= dict.fromkeys((np.less, np.less_equal, np.greater, np.greater_equal, np.maximum, np.minimum), "iuf")
UFUNCS |= dict.fromkeys((np.divide, np.conjugate, np.sqrt, np.exp), "fc")
UFUNCS |= dict.fromkeys((np.log, np.log2, np.log10, np.log1p, np.expm1, np.exp2, np.cbrt, np.power, np.sign), "f")
UFUNCS |= dict.fromkeys((np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2, np.hypot), "f")
UFUNCS |= dict.fromkeys((np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh), "f")
UFUNCS |= dict.fromkeys((np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf, np.isfinite, np.copysign), "f")
UFUNCS |= dict.fromkeys((np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert), "biu")
UFUNCS |= dict.fromkeys((np.logical_and, np.logical_or, np.logical_xor, np.logical_not), "b")
"""numpy's functions that can be noted, and for which kinds of operands."""


class UntraceableError(Exception):
    """Why a function cannot be noted."""


@dataclass(frozen=True)
class Operation:
    """One operation of a program.

    Attributes
    ----------
    name
        numpy's function; "argument", "constant", "where", "cast", "real" or "imag".
    operands
        Numbers of the operations before whose results it takes.
    dtype
        Of the result.
    value
        Of an argument its name, of a constant its number.
    """

    name: str
    operands: tuple[int, ...]
    dtype: np.dtype[Any]
    value: Any = None


@dataclass
class Program:
    """What a function computes.

    Attributes
    ----------
    operations
        In an order in which each comes after its operands; none twice.
    results
        Numbers of those that the function returned.
    """

    operations: list[Operation] = field(default_factory=list)
    results: tuple[int, ...] = ()
    _numbers: dict[Operation, int] = field(default_factory=dict)

    def add(self, operation: Operation) -> int:
        """The number of an operation, which is there already where it was noted before."""
        known = self._numbers.get(operation)
        if known is None:
            known = self._numbers[operation] = len(self.operations)
            self.operations.append(operation)
        return known


class Symbol:
    """The result of an operation, in place of an array or a number.

    `weak` is the type of Python's numbers that a number has, and None of arrays and of numpy's numbers.
    """

    __slots__ = ("number", "program", "weak")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, program: Program, number: int, weak: type | None = None) -> None:
        self.program, self.number, self.weak = program, number, weak

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the elements."""
        return self.program.operations[self.number].dtype

    @property
    def real(self) -> Symbol:
        """The real part."""
        return _part("real", self)

    @property
    def imag(self) -> Symbol:
        """The imaginary part."""
        return _part("imag", self)

    def conj(self) -> Any:
        """The complex conjugate."""
        return np.conjugate(self)

    conjugate = conj

    def astype(self, dtype: Any, **more: Any) -> Symbol:
        """Converted."""
        return _cast(self, np.dtype(dtype))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **more: Any) -> Any:
        if method != "__call__" or more:
            raise UntraceableError(f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else " with options"))
        return _applied(ufunc, self.program, operands)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        known = _FUNCTIONS.get(function)
        if known is None:
            raise UntraceableError(f"np.{getattr(function, '__name__', function)}")
        return known(self.program, *arguments, **options)

    def __array__(self, *more: Any, **options: Any) -> Any:
        raise UntraceableError("a conversion to an array")

    def _refused(self, *more: Any) -> Any:
        raise UntraceableError("a decision by an element's value, or an index")

    __bool__ = __float__ = __int__ = __index__ = __len__ = __iter__ = __getitem__ = __setitem__ = _refused
    __complex__ = _refused

    def __abs__(self) -> Any:
        return _operated(np.absolute, self)

    def __neg__(self) -> Any:
        return _operated(np.negative, self)

    def __pos__(self) -> Any:
        return _operated(np.positive, self)

    def __invert__(self) -> Any:
        return _operated(np.invert, self)

    def __pow__(self, exponent: Any) -> Any:
        return _power(self, exponent)

    def __rpow__(self, base: Any) -> Any:
        return _operated(np.power, base, self)


def _operators() -> None:
    names: dict[str, Any] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "truediv": np.divide,
        "floordiv": np.floor_divide,
        "mod": np.remainder,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    for name, ufunc in names.items():
        setattr(Symbol, f"__{name}__", lambda a, b, f=ufunc: _operated(f, a, b))
        setattr(Symbol, f"__r{name}__", lambda a, b, f=ufunc: _operated(f, b, a))
    comparisons = {
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "eq": np.equal,
        "ne": np.not_equal,
    }
    for name, ufunc in comparisons.items():
        setattr(Symbol, f"__{name}__", lambda a, b, f=ufunc: _operated(f, a, b))


def _power(x: Symbol, exponent: Any) -> Any:
    """numpy's fast powers, and those by multiplication."""
    if isinstance(exponent, int | float) and not isinstance(exponent, bool) and x.weak is None:
        if exponent == 2:
            return _operated(np.square, x)
        if exponent == 1:
            return +x
        if exponent == 0.5 and x.dtype.kind in "fc":
            return _operated(np.sqrt, x)
    return _operated(np.power, x, exponent)


def _operated(ufunc: np.ufunc, *operands: Any) -> Any:
    """By an operator: Python's numbers alone are Python's."""
    symbols = [one for one in operands if isinstance(one, Symbol)]
    if any(not isinstance(one, Symbol | np.ndarray | np.generic | bool | int | float | complex) for one in operands):
        return NotImplemented
    weak = [one.weak if isinstance(one, Symbol) else type(one) for one in operands]
    if all(one in WEAK for one in weak):
        if ufunc not in _PYTHON:
            raise UntraceableError("an operation of two numbers that is not known")
        ones: list[Any] = [one(1) for one in weak if one is not None]
        number: Any = _PYTHON[ufunc](*ones)
        result = _applied(ufunc, symbols[0].program, operands, np.result_type(type(number)))
        return Symbol(result.program, result.number, type(number))
    return _applied(ufunc, symbols[0].program, operands)


_PYTHON: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}
"""Operators of two of Python's numbers that do the same at each value."""


def _applied(ufunc: np.ufunc, program: Program, operands: Sequence[Any], within: Any = None) -> Symbol:
    """The result of a function of numpy's, whose operands are converted as numpy does it.

    `within`: of two of Python's numbers, the type in which Python computes.
    """
    kinds = UFUNCS.get(ufunc)
    if kinds is None:
        raise UntraceableError(f"np.{ufunc.__name__}")
    known = [_known(program, one) for one in operands]
    if within is not None:
        types: list[np.dtype[Any]] = [np.dtype(within) for _ in known]
        result = ufunc(*(np.empty(0, one) for one in types)).dtype
    else:
        asked = tuple(one.weak if one.weak in (int, float, complex) else one.dtype for one in known)
        try:
            resolved: Any = ufunc.resolve_dtypes((*asked, None))
            *types, result = resolved
        except TypeError as error:
            raise UntraceableError(str(error)) from None
    if any(one.kind not in kinds for one in types):
        raise UntraceableError(f"np.{ufunc.__name__} of {', '.join(map(str, types))}")
    numbers = tuple(_cast(one, dtype).number for one, dtype in zip(known, types, strict=True))
    return Symbol(program, program.add(Operation(ufunc.__name__, numbers, result)))


def _known(program: Program, value: Any) -> Symbol:
    """A symbol as it is; a number as a constant. Raises UntraceableError for arrays that the function brings itself."""
    if isinstance(value, Symbol):
        return value
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if value.__class__ in WEAK:  # numpy's float64 is one of Python's floats, with a type of its own
        dtype = np.dtype(type(value))
        if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 63:
            raise UntraceableError(f"the number {value}")
        return Symbol(program, program.add(Operation("constant", (), dtype, _Exact(value))), type(value))
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return Symbol(program, program.add(Operation("constant", (), value.dtype, _Exact(value.item()))))
    raise UntraceableError(f"a {type(value).__name__} that the function brings")


class _Exact:
    """A number that is equal to itself only: 0.0 is not -0.0, NaN is NaN, 1 is not 1.0."""

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exact) and repr(self.number) == repr(other.number)

    def __hash__(self) -> int:
        return hash(repr(self.number))


def _cast(x: Symbol, dtype: np.dtype[Any]) -> Symbol:
    if x.dtype == dtype:
        return Symbol(x.program, x.number)
    if x.dtype.kind == "c" and dtype.kind != "c":
        raise UntraceableError(f"a conversion of {x.dtype} to {dtype}")
    if x.dtype.kind == "f" and dtype.kind in "iu":
        raise UntraceableError(f"a conversion of {x.dtype} to {dtype}")
    return Symbol(x.program, x.program.add(Operation("cast", (x.number,), dtype)))


def _part(name: str, x: Symbol) -> Symbol:
    if x.dtype.kind != "c":
        return x if name == "real" else _cast(_known(x.program, 0), x.dtype)
    dtype = np.dtype(f"f{x.dtype.itemsize // 2}")
    return Symbol(x.program, x.program.add(Operation(name, (x.number,), dtype)))


def _where(program: Program, condition: Any, *values: Any) -> Symbol:
    if len(values) != 2:
        raise UntraceableError("np.where of a condition alone")
    chosen = _known(program, condition)
    if chosen.dtype != np.bool_:
        chosen = _applied(np.not_equal, program, (chosen, 0))
    known = [_known(program, one) for one in values]
    samples: list[Any] = [one.weak(1) if one.weak is not None else np.empty(0, one.dtype) for one in known]
    dtype = np.result_type(*samples)
    numbers = (chosen.number, *(_cast(one, dtype).number for one in known))
    return Symbol(program, program.add(Operation("where", numbers, dtype)))


def _select(program: Program, conditions: Sequence[Any], values: Sequence[Any], default: Any = 0) -> Symbol:
    """As sympy prints functions in pieces."""
    result: Any = default
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        result = _where(program, condition, value, result)
    return _known(program, result)


def _clip(program: Program, x: Any, a_min: Any = None, a_max: Any = None, **more: Any) -> Any:
    low, high = more.pop("min", a_min), more.pop("max", a_max)
    if more:
        raise UntraceableError("np.clip with options")
    x = x if low is None else _applied(np.maximum, program, (x, low))
    return x if high is None else _applied(np.minimum, program, (x, high))


def _extreme(ufunc: np.ufunc) -> Callable[..., Any]:
    """As sympy prints the largest of several."""

    def of(program: Program, values: Any, axis: Any = None, **more: Any) -> Any:
        if more or axis != 0 or not isinstance(values, tuple | list):
            raise UntraceableError(f"np.{ufunc.__name__} along an axis")
        result = values[0]
        for one in values[1:]:
            result = _applied(ufunc, program, (result, one))
        return result

    return of


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.select: _select,
    np.clip: _clip,
    np.amax: _extreme(np.maximum),
    np.amin: _extreme(np.minimum),
    np.max: _extreme(np.maximum),
    np.min: _extreme(np.minimum),
    np.real: lambda program, x: x.real,
    np.imag: lambda program, x: x.imag,
}
"""numpy's functions that are no ufuncs."""

_operators()


def trace(function: Callable[..., Any], arguments: Mapping[str, Any], targets: Sequence[Any]) -> Program:
    """The program of a function.

    Parameters
    ----------
    function
        Called by the names of its parameters.
    arguments
        By name the dtype of an array, or the type of one of Python's numbers that may change, or a number that may not.
    targets
        For each result the dtype that it is converted to, None: its own.

    Raises
    ------
    UntraceableError
        If it does something that cannot be noted.
    """
    program = Program()
    symbols: dict[str, Any] = {}
    for name, one in arguments.items():
        if isinstance(one, np.dtype):
            symbols[name] = Symbol(program, program.add(Operation("argument", (), one, name)))
        elif isinstance(one, type):
            number = program.add(Operation("argument", (), np.dtype(one), name))
            symbols[name] = Symbol(program, number, one)
        else:
            symbols[name] = one
    try:
        with np.errstate(all="ignore"):
            returned = function(**symbols)
    except UntraceableError:
        raise
    except Exception as error:
        raise UntraceableError(f"{type(error).__name__}: {error}") from None
    parts = returned if isinstance(returned, tuple) else (returned,)
    if len(parts) != len(targets):
        raise UntraceableError(f"{len(parts)} results where {len(targets)} are expected")
    results = []
    for one, target in zip(parts, targets, strict=True):
        symbol = _known(program, one)
        if target is not None and not np.can_cast(symbol.dtype, target, "same_kind"):
            raise UntraceableError(f"a result of {symbol.dtype} for {target}")
        results.append((symbol if target is None else _cast(symbol, target)).number)
    program.results = tuple(results)
    return program
