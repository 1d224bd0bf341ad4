"""What lies beyond the ends of an axis, as a function of a CUDA kernel."""

from __future__ import annotations

import math

Boundary = str | float
"""What lies beyond an end: "circular", "antiperiodic", "reflect", "symmetric", or a number."""


def lookup(axis: int, extent: int, boundary: tuple[Boundary, Boundary]) -> str:
    """The function `at` of an axis: what an index stands for.

    It sets the element that the index stands for, and changes the sign where that has the other one; or it sets a value
    and returns false.

    >>> print(lookup(0, 8, (0.0, "circular")).strip().splitlines()[0])
    static __device__ __forceinline__ bool at0(int i, int *element, T *sign, T *value) {
    """
    low, high = boundary
    return f"""
static __device__ __forceinline__ bool at{axis}(int i, int *element, T *sign, T *value) {{
  *element = i;
  if (i < 0) {{ {_beyond(low, extent)} }}
  if (i >= {extent}) {{ {_beyond(high, extent)} }}
  return true;
}}"""


def number(value: float) -> str:
    """A number as C reads it, to the bit.

    >>> number(0.5), number(float("inf"))
    ('(T)0x1.0000000000000p-1', '(T)INFINITY')
    """
    if math.isnan(value):
        return "(T)NAN"
    if math.isinf(value):
        return f"(T){'-' if value < 0 else ''}INFINITY"
    return f"(T){float(value).hex()}"


def _beyond(boundary: Boundary, extent: int) -> str:
    """What an index beyond an end stands for."""
    if not isinstance(boundary, str):
        return f"*value = *sign * {number(boundary)}; return false;"
    within = f"int w = i % {extent}; if (w < 0) w += {extent}; "
    if boundary == "circular":
        return within + "*element = w; return true;"
    if boundary == "antiperiodic":
        times = f"int t = (i - w) / {extent}; if (t % 2 != 0) *sign = -*sign; "
        return within + times + "*element = w; return true;"
    period = 2 * extent if boundary == "symmetric" else max(1, 2 * extent - 2)
    last = 2 * extent - 1 if boundary == "symmetric" else 2 * extent - 2
    return f"int w = i % {period}; if (w < 0) w += {period}; *element = w < {last} - w ? w : {last} - w; return true;"
