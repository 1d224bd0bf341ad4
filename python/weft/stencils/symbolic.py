"""Expressions of sympy's as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def as_function(expression: Any) -> Callable[..., Any]:
    """An expression, or several, as a function whose parameters are the names of its symbols; a function as it is.

    Examples
    --------
    >>> as_function(abs) is abs
    True
    """
    parts = expression if isinstance(expression, tuple | list) else (expression,)
    if not parts or not all(hasattr(part, "free_symbols") for part in parts):
        return expression  # type: ignore[no-any-return]
    import sympy

    symbols = sorted(set().union(*(part.free_symbols for part in parts)), key=str)
    whole = tuple(parts) if isinstance(expression, tuple | list) else expression
    function: Callable[..., Any] = sympy.lambdify(symbols, whole, modules="numpy", cse=True)
    return function
