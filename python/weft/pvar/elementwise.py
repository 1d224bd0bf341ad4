"""Elementwise functions of parallel variables and scalars, by the names of the Python array API standard.

Each processor computes with its own elements. Results have numpy's dtypes (a Python scalar takes the variable's), and
for integers of other word lengths than numpy has, the longer word length of the operands, in which they wrap around.
All processors compute; under a selection nothing is said about overflow or division by zero, for it may have happened
where nobody looks.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from weft._core import UsageError
from weft.pvar import words
from weft.pvar.memory import LARGE
from weft.pvar.native import WITHOUT_WARNING, WITHOUT_WARNING_OF_WHOLE, chosen, dtype_of_choice, quietly
from weft.pvar.operations import FUNCTIONS, SILENT, Function
from weft.pvar.variable import ParallelVariable

_SCALARS = frozenset((builtins.int, builtins.float, builtins.bool, builtins.complex))
_NUMBERS = _SCALARS | {np.dtype(char).type for char in np.typecodes["AllInteger"] + "?efdFD"}
"""Classes of numbers of Python's, and of these and numpy's."""

_REFUSALS = (TypeError, OverflowError, ValueError)
"""What numpy raises: for dtypes without the function, numbers that a dtype does not hold, whole numbers to negative
powers."""


def apply(function: Function, *operands: Any) -> ParallelVariable:
    """A function of variables of one VP set and scalars, with all checks.

    Raises
    ------
    UsageError
        For variables of several VP sets, operands that are neither variables nor numbers, and dtypes that do not have
        the function.
    """
    vp = operands[0].vp if operands[0].__class__ is ParallelVariable else operands[1].vp
    arrays = [operand(vp, one, function.name) for one in operands]
    quiet: Any = np.errstate(all="ignore") if vp.mask is not None and function.name not in SILENT else _NOTHING
    try:
        with quiet:
            result = vp.execution.elementwise(function.name, arrays)
            if result is None:
                vp.check_memory(np.result_type(*(one.dtype for one in arrays if isinstance(one, np.ndarray))))
                result = function.compute(*arrays)
    except _REFUSALS as error:
        raise UsageError(refusal(function.name, arrays, error)) from None
    word = words.longest(operands, result.dtype)
    if word is not None:
        result = words.wrap(result, word)
    variable = ParallelVariable(vp, result, word)
    if vp.meter is not None:
        first = next(one for one in arrays if isinstance(one, np.ndarray))
        floating = first.dtype.kind == "f" or result.dtype.kind == "f"
        kind = function.floating if floating else function.integer
        bits = builtins.max(one.bits for one in (*operands, variable) if isinstance(one, ParallelVariable))
        scalar = any(not isinstance(one, np.ndarray) for one in arrays)
        touched = [one for one in (*arrays, result) if isinstance(one, np.ndarray)]
        if function is _WHERE:
            condition, x, y = arrays
            converted = dtype_of_choice(condition, x, y) is None
        else:
            converted = any(one.dtype != first.dtype for one in touched[:-1])
        variable.record = vp.meter.record(
            vp, function.name, kind, bits, arrays=touched, dtype=first.dtype.name, scalar=scalar, converted=converted,
        )  # fmt: skip
    return variable


_NOTHING = contextlib.nullcontext()


def operand(vp: Any, value: Any, name: str) -> Any:
    """What numpy computes with: the elements of a variable of this VP set, or a scalar.

    Raises
    ------
    UsageError
        For anything else.
    """
    if value.__class__ is ParallelVariable:
        if not vp.is_alike(value.vp):
            raise UsageError(
                f"{name}: the variables are of two VP sets, {vp!r} and {value.vp!r}; move elements from one to the "
                "other with get or send (into=…, vp=…)"
            )
        return value.data
    if value.__class__ in _SCALARS or isinstance(value, np.generic):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    if isinstance(value, np.ndarray | list | tuple):
        raise UsageError(f"{name}: an array is on the front end; vp.array(…) brings it to the processors")
    raise UsageError(f"{name}: a {type(value).__name__} is neither a parallel variable nor a number")


def refusal(name: str, arrays: list[Any], error: Exception) -> str:
    """Why numpy has no such function of these."""
    kinds = " and ".join(str(one.dtype) if isinstance(one, np.ndarray | np.generic) else repr(one) for one in arrays)
    if isinstance(error, OverflowError | ValueError):
        return f"{name}: {kinds}: {error}"
    return f"{name} is not for {kinds}; convert with x.astype(…), or see what weft.pvar.{name} is of"


def unary(function: Function) -> Callable[[Any], ParallelVariable]:
    """The fast way of a function of one operand."""
    compute = function.compute
    quiet, silent = function.name in WITHOUT_WARNING, function.name in SILENT
    whole = function.name in WITHOUT_WARNING_OF_WHOLE

    def call(x: Any, /) -> ParallelVariable:
        if x.__class__ is not ParallelVariable:
            raise UsageError(f"{function.name}: a {type(x).__name__} is no parallel variable; vp.array(…) makes one")
        vp = x.vp
        if vp.plain:
            try:
                return ParallelVariable(vp, compute(x.data))
            except _REFUSALS:
                pass
        elif vp.selecting:
            data = x.data
            result = quietly(function.name, data) if quiet else None
            if result is None and (silent or (whole and _is_whole(data))) and data.nbytes < LARGE:
                with contextlib.suppress(*_REFUSALS):
                    result = compute(data)
            if result is not None:
                return ParallelVariable(vp, result)
        return apply(function, x)

    _name(call, function, "x")
    return call


def binary(function: Function) -> Callable[[Any, Any], ParallelVariable]:
    """The fast way of a function of two operands: nothing is looked at that a meter or other words would need."""
    compute = function.compute
    selected = _under_selection(function)

    def call(x: Any, y: Any, /) -> ParallelVariable:
        first: Any
        second: Any
        if x.__class__ is ParallelVariable:
            vp = x.vp
            if y.__class__ is ParallelVariable:
                if y.vp is not vp:
                    return apply(function, x, y)
                first, second = x.data, y.data
            elif y.__class__ in _NUMBERS:
                first, second = x.data, y
            else:
                return apply(function, x, y)
        elif y.__class__ is not ParallelVariable:
            raise UsageError(f"{function.name}: neither operand is a parallel variable; vp.array(…) makes one")
        elif x.__class__ in _NUMBERS:
            vp, first, second = y.vp, x, y.data
        else:
            return apply(function, x, y)
        try:
            if vp.plain:
                return ParallelVariable(vp, compute(first, second))
            if vp.selecting and (result := selected(first, second)) is not None:
                return ParallelVariable(vp, result)
        except _REFUSALS:
            pass
        return apply(function, x, y)

    _name(call, function, "x, y")
    return call


def _under_selection(function: Function) -> Callable[[Any, Any], Any]:
    """A function of two operands, at least one of which is an array, without a warning; None of large ones that are
    left to `apply`, which looks after memory first."""
    name, compute = function.name, function.compute
    quiet, silent, whole = name in WITHOUT_WARNING, name in SILENT, name in WITHOUT_WARNING_OF_WHOLE
    divides = name in ("floor_divide", "remainder")

    def call(x: Any, y: Any) -> Any:
        if quiet:
            result = quietly(name, x, y)
            if result is not None:
                return result
        # numpy has nothing to warn of, and need not be kept from it, of whole numbers unless these are divided by zero.
        if silent or (whole and _is_whole(x) and _is_whole(y)):
            return compute(x, y)
        if divides and y.__class__ is builtins.int and y > 0 and x.dtype.kind in "iu":
            return compute(x, y)
        if (x if x.__class__ is np.ndarray else y).nbytes >= LARGE:
            return None
        with np.errstate(all="ignore"):
            return compute(x, y)

    return call


def _is_whole(operand: Any) -> bool:
    """Whether an operand is of whole numbers or booleans."""
    if operand.__class__ is np.ndarray:
        return operand.dtype.kind in "iub"
    return operand.__class__ is builtins.int or operand.__class__ is builtins.bool


def _name(call: Any, function: Function, arguments: str) -> None:
    call.__name__ = call.__qualname__ = function.name
    call.__doc__ = f"{function.summary.rstrip('.')}. Elementwise: {function.name}({arguments})."


def where(condition: ParallelVariable, x: Any, y: Any, /) -> ParallelVariable:
    """The element of `x` where a boolean variable is true, else that of `y`.

    Examples
    --------
    >>> import numpy as np, weft
    >>> x = weft.pvar.VPSet((4,)).array(np.array([3, 1, 4, 1]))
    >>> where(x > 2, x, 0)
    <ParallelVariable (4,) of int64: [3 0 4 0]>
    """
    if condition.__class__ is not ParallelVariable or condition.data.dtype.kind != "b":
        raise UsageError("where: the condition has to be a boolean parallel variable")
    vp = condition.vp
    if (vp.plain or vp.selecting) and all(_is_at_hand(vp, one) for one in (x, y)):
        arrays = (one.data if one.__class__ is ParallelVariable else one for one in (x, y))
        with contextlib.suppress(*_REFUSALS):
            return ParallelVariable(vp, chosen(condition.data, *arrays))
    return apply(_WHERE, condition, x, y)


def _is_at_hand(vp: Any, operand: Any) -> bool:
    """Whether an operand is computed with as it is: a number, or a variable of this very VP set."""
    return operand.__class__ in _SCALARS or (operand.__class__ is ParallelVariable and operand.vp is vp)


_WHERE = Function("where", chosen, "add", "add", 3, "")


def astype(x: ParallelVariable, dtype: Any, /, *, bits: int | None = None) -> ParallelVariable:
    """The same elements in another dtype or word length; see `ParallelVariable.astype`.

    Examples
    --------
    >>> import numpy as np, weft
    >>> astype(weft.pvar.VPSet((4,)).array(np.array([3, 1, 4, 1])), "float32")
    <ParallelVariable (4,) of float32: [3. 1. 4. 1.]>
    """
    return x.astype(dtype, bits=bits)


add = binary(FUNCTIONS["add"])
subtract = binary(FUNCTIONS["subtract"])
multiply = binary(FUNCTIONS["multiply"])
divide = binary(FUNCTIONS["divide"])
floor_divide = binary(FUNCTIONS["floor_divide"])
remainder = binary(FUNCTIONS["remainder"])
_any_power = binary(FUNCTIONS["pow"])


def pow(x: Any, y: Any, /) -> ParallelVariable:
    if y.__class__ in _SCALARS and y == 2 and x.__class__ is ParallelVariable and _squares(x.data.dtype, y):
        return square(x)
    return _any_power(x, y)


def _squares(dtype: np.dtype[Any], exponent: Any) -> bool:
    """Whether the second power is a square of the same dtype: many times faster, and what numpy's operator computes."""
    if exponent.__class__ is builtins.complex:
        return dtype.kind == "c"
    return dtype.kind in "fc" or (dtype.kind in "iu" and exponent.__class__ is builtins.int)


_name(pow, FUNCTIONS["pow"], "x, y")
maximum = binary(FUNCTIONS["maximum"])
minimum = binary(FUNCTIONS["minimum"])
atan2 = binary(FUNCTIONS["atan2"])
hypot = binary(FUNCTIONS["hypot"])
copysign = binary(FUNCTIONS["copysign"])
logaddexp = binary(FUNCTIONS["logaddexp"])
equal = binary(FUNCTIONS["equal"])
not_equal = binary(FUNCTIONS["not_equal"])
less = binary(FUNCTIONS["less"])
less_equal = binary(FUNCTIONS["less_equal"])
greater = binary(FUNCTIONS["greater"])
greater_equal = binary(FUNCTIONS["greater_equal"])
bitwise_and = binary(FUNCTIONS["bitwise_and"])
bitwise_or = binary(FUNCTIONS["bitwise_or"])
bitwise_xor = binary(FUNCTIONS["bitwise_xor"])
bitwise_left_shift = binary(FUNCTIONS["bitwise_left_shift"])
bitwise_right_shift = binary(FUNCTIONS["bitwise_right_shift"])
logical_and = binary(FUNCTIONS["logical_and"])
logical_or = binary(FUNCTIONS["logical_or"])
logical_xor = binary(FUNCTIONS["logical_xor"])
negative = unary(FUNCTIONS["negative"])
positive = unary(FUNCTIONS["positive"])
abs = unary(FUNCTIONS["abs"])
sign = unary(FUNCTIONS["sign"])
square = unary(FUNCTIONS["square"])
sqrt = unary(FUNCTIONS["sqrt"])
reciprocal = unary(FUNCTIONS["reciprocal"])
exp = unary(FUNCTIONS["exp"])
expm1 = unary(FUNCTIONS["expm1"])
log = unary(FUNCTIONS["log"])
log1p = unary(FUNCTIONS["log1p"])
log2 = unary(FUNCTIONS["log2"])
log10 = unary(FUNCTIONS["log10"])
sin = unary(FUNCTIONS["sin"])
cos = unary(FUNCTIONS["cos"])
tan = unary(FUNCTIONS["tan"])
asin = unary(FUNCTIONS["asin"])
acos = unary(FUNCTIONS["acos"])
atan = unary(FUNCTIONS["atan"])
sinh = unary(FUNCTIONS["sinh"])
cosh = unary(FUNCTIONS["cosh"])
tanh = unary(FUNCTIONS["tanh"])
asinh = unary(FUNCTIONS["asinh"])
acosh = unary(FUNCTIONS["acosh"])
atanh = unary(FUNCTIONS["atanh"])
floor = unary(FUNCTIONS["floor"])
ceil = unary(FUNCTIONS["ceil"])
trunc = unary(FUNCTIONS["trunc"])
round = unary(FUNCTIONS["round"])
isfinite = unary(FUNCTIONS["isfinite"])
isinf = unary(FUNCTIONS["isinf"])
isnan = unary(FUNCTIONS["isnan"])
signbit = unary(FUNCTIONS["signbit"])
bitwise_invert = unary(FUNCTIONS["bitwise_invert"])
logical_not = unary(FUNCTIONS["logical_not"])

_BY_NAME: dict[str, Any] = {name: globals()[name] for name in FUNCTIONS}


def _operators() -> None:
    """Python's operators of variables, from the same functions."""
    both = {
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "divide",
        "floordiv": "floor_divide",
        "mod": "remainder",
        "pow": "pow",
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
        "lshift": "bitwise_left_shift",
        "rshift": "bitwise_right_shift",
    }
    for short, name in both.items():
        function = _BY_NAME[name]
        setattr(ParallelVariable, f"__{short}__", function)
        setattr(ParallelVariable, f"__r{short}__", _reflected(function))
        setattr(ParallelVariable, f"__i{short}__", _in_place(FUNCTIONS[name]))
    setattr(ParallelVariable, "__divmod__", lambda x, y: (x // y, x % y))  # noqa: B010  (declared nowhere else)
    setattr(ParallelVariable, "__rdivmod__", lambda x, y: (y // x, y % x))  # noqa: B010
    for short, name in {
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
        "neg": "negative",
        "pos": "positive",
        "abs": "abs",
        "invert": "bitwise_invert",
    }.items():
        setattr(ParallelVariable, f"__{short}__", _BY_NAME[name])


def _reflected(function: Any) -> Any:
    def call(x: Any, y: Any) -> ParallelVariable:
        variable: ParallelVariable = function(y, x)
        return variable

    return call


def _in_place(function: Function) -> Any:
    """`x += y`: an assignment, so that it keeps old values where nobody is selected."""
    compute, apart = function.compute, binary(function)

    def call(x: Any, y: Any) -> Any:
        vp = x.vp
        if vp.plain:
            try:
                if y.__class__ is ParallelVariable and y.vp is vp:
                    compute(x.data, y.data, x.data)
                    return x
                if y.__class__ in _SCALARS:
                    compute(x.data, y, x.data)
                    return x
            except _REFUSALS:
                pass
        x.assign(apart(x, y), in_place=True)
        return x

    return call


_operators()

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "positive",
    "pow",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]
