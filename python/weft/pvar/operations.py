"""The elementwise functions: names of the Python array API standard, what computes them, what they count as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.pvar import domains, vectorized


class Function(NamedTuple):
    """An elementwise function.

    Attributes
    ----------
    name
        As in the Python array API standard.
    compute
        Of numpy arrays and scalars.
    integer, floating
        The kind (`weft.data_parallel.KINDS`) that it counts as, by the dtype of its operands.
    operands
        1 or 2.
    summary
        A line of documentation.
    """

    name: str
    compute: Callable[..., Any]
    integer: str
    floating: str
    operands: int
    summary: str


def _sign_bit(x: Any) -> Any:
    return np.signbit(x)


BY_QUOTIENT = 512
"""Elements from which a remainder by one number is taken by its quotient: numpy divides by one number with products
(T. Granlund and P. L. Montgomery, Division by Invariant Integers using Multiplication, 1994), three to twenty times as
fast as the divisions of its remainders."""


def _remainder(x: Any, y: Any) -> Any:
    """numpy's, to the bit."""
    if (
        x.__class__ is not np.ndarray
        or y.__class__ not in (int, np.int64, np.int32)
        or x.size < BY_QUOTIENT
        or x.dtype.kind not in "iu"
        or -1 <= y <= 0
    ):
        return np.remainder(x, y)
    whole = np.floor_divide(x, y)
    np.multiply(whole, y, out=whole)
    return np.subtract(x, whole, out=whole)


_ADD = ("add", "float_add")
_MULTIPLY = ("multiply", "float_multiply")
_DIVIDE = ("divide", "float_divide")
_LOGICAL = ("add", "add")
_FUNCTION = ("float_function", "float_function")

_TABLE: tuple[tuple[str, Any, tuple[str, str], int, str], ...] = (
    ("add", np.add, _ADD, 2, "x + y"),
    ("subtract", np.subtract, _ADD, 2, "x - y"),
    ("multiply", np.multiply, _MULTIPLY, 2, "x * y"),
    ("divide", np.true_divide, _DIVIDE, 2, "x / y, in floating point"),
    ("floor_divide", domains.of_two("floor_divide", np.floor_divide), _DIVIDE, 2, "x // y, rounded down"),
    ("remainder", domains.of_two("remainder", _remainder), _DIVIDE, 2, "x % y, of the sign of y"),
    ("pow", np.power, _FUNCTION, 2, "x ** y"),
    ("maximum", vectorized.of_two("maximum", np.maximum), _ADD, 2, "The larger; NaN where either is."),
    ("minimum", vectorized.of_two("minimum", np.minimum), _ADD, 2, "The smaller; NaN where either is."),
    ("atan2", np.arctan2, _FUNCTION, 2, "The angle of the point (y, x): arguments are y, x."),
    ("hypot", domains.of_two("hypot", np.hypot), _FUNCTION, 2, "The square root of x*x + y*y, without overflow."),
    ("copysign", np.copysign, _ADD, 2, "The magnitude of x with the sign of y."),
    ("logaddexp", np.logaddexp, _FUNCTION, 2, "log(exp(x) + exp(y)), without overflow."),
    ("equal", np.equal, _ADD, 2, "x == y"),
    ("not_equal", np.not_equal, _ADD, 2, "x != y"),
    ("less", np.less, _ADD, 2, "x < y"),
    ("less_equal", np.less_equal, _ADD, 2, "x <= y"),
    ("greater", np.greater, _ADD, 2, "x > y"),
    ("greater_equal", np.greater_equal, _ADD, 2, "x >= y"),
    ("bitwise_and", vectorized.of_two("bitwise_and", np.bitwise_and), _LOGICAL, 2, "x & y, of integers or booleans"),
    ("bitwise_or", vectorized.of_two("bitwise_or", np.bitwise_or), _LOGICAL, 2, "x | y, of integers or booleans"),
    ("bitwise_xor", np.bitwise_xor, _LOGICAL, 2, "x ^ y, of integers or booleans"),
    ("bitwise_left_shift", vectorized.of_two("bitwise_left_shift", np.left_shift), _LOGICAL, 2, "x << y, of integers"),
    (
        "bitwise_right_shift",
        vectorized.of_two("bitwise_right_shift", np.right_shift),
        _LOGICAL,
        2,
        "x >> y, of integers; keeps the sign",
    ),
    ("logical_and", vectorized.of_two("logical_and", np.logical_and), _LOGICAL, 2, "Whether both are true (not zero)."),
    ("logical_or", vectorized.of_two("logical_or", np.logical_or), _LOGICAL, 2, "Whether either is true (not zero)."),
    ("logical_xor", np.logical_xor, _LOGICAL, 2, "Whether one of both is true (not zero)."),
    ("negative", np.negative, _ADD, 1, "-x"),
    ("positive", np.positive, _ADD, 1, "+x"),
    ("abs", np.absolute, _ADD, 1, "The magnitude."),
    ("sign", vectorized.of_one("sign", np.sign), _ADD, 1, "-1, 0 or 1."),
    ("square", np.square, _MULTIPLY, 1, "x * x"),
    ("sqrt", vectorized.of_one("sqrt", np.sqrt), ("float_sqrt", "float_sqrt"), 1, "The square root."),
    ("reciprocal", np.reciprocal, _DIVIDE, 1, "1 / x"),
    ("exp", np.exp, _FUNCTION, 1, "e to the power of x."),
    ("expm1", np.expm1, _FUNCTION, 1, "exp(x) - 1, exact for small x."),
    ("log", np.log, _FUNCTION, 1, "The natural logarithm."),
    ("log1p", np.log1p, _FUNCTION, 1, "log(1 + x), exact for small x."),
    ("log2", np.log2, _FUNCTION, 1, "The logarithm to base 2."),
    ("log10", np.log10, _FUNCTION, 1, "The logarithm to base 10."),
    ("sin", domains.of_one("sin", np.sin), _FUNCTION, 1, "The sine of an angle in radians."),
    ("cos", domains.of_one("cos", np.cos), _FUNCTION, 1, "The cosine of an angle in radians."),
    ("tan", np.tan, _FUNCTION, 1, "The tangent of an angle in radians."),
    ("asin", np.arcsin, _FUNCTION, 1, "The inverse of sin, in radians."),
    ("acos", np.arccos, _FUNCTION, 1, "The inverse of cos, in radians."),
    ("atan", np.arctan, _FUNCTION, 1, "The inverse of tan, in radians."),
    ("sinh", np.sinh, _FUNCTION, 1, "The hyperbolic sine."),
    ("cosh", np.cosh, _FUNCTION, 1, "The hyperbolic cosine."),
    ("tanh", np.tanh, _FUNCTION, 1, "The hyperbolic tangent."),
    ("asinh", np.arcsinh, _FUNCTION, 1, "The inverse of sinh."),
    ("acosh", np.arccosh, _FUNCTION, 1, "The inverse of cosh."),
    ("atanh", np.arctanh, _FUNCTION, 1, "The inverse of tanh."),
    ("floor", np.floor, _ADD, 1, "The largest whole number not above x."),
    ("ceil", np.ceil, _ADD, 1, "The smallest whole number not below x."),
    ("trunc", np.trunc, _ADD, 1, "The whole number towards zero."),
    ("round", np.rint, _ADD, 1, "The nearest whole number; halves to the even one."),
    ("isfinite", np.isfinite, _LOGICAL, 1, "Whether neither infinite nor NaN."),
    ("isinf", np.isinf, _LOGICAL, 1, "Whether infinite."),
    ("isnan", np.isnan, _LOGICAL, 1, "Whether NaN."),
    ("signbit", _sign_bit, _LOGICAL, 1, "Whether the sign is negative, of -0.0 too."),
    ("bitwise_invert", np.invert, _LOGICAL, 1, "~x, of integers or booleans"),
    ("logical_not", np.logical_not, _LOGICAL, 1, "Whether false (zero)."),
)

FUNCTIONS = {name: Function(name, compute, *kinds, operands, text) for name, compute, kinds, operands, text in _TABLE}
"""What there is, by name."""

SILENT = frozenset(
    name for name in FUNCTIONS if name.startswith(("bitwise", "logical", "is", "equal", "not_equal", "less", "greater"))
) | {"positive", "signbit"}
"""Functions of which numpy has nothing to warn."""
