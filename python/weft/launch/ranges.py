"""The range grammar of requests: `8:8192`, `1:6`, `8,1K,1M`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, Literal

from weft import units
from weft._core import UsageError
from weft.parameters import Parameter

Step = Literal["double", "one"]

_MAX_VALUES = 100_000


def parse(text: str, what: str, step: Step, lowest: int = 0) -> tuple[int, ...]:
    """The whole numbers that a list of numbers and ranges stands for, in ascending order, each once.

    Parameters
    ----------
    text
        Numbers and ranges `first:last`, separated by commas. `K`, `M` and `G` stand for powers of 1024 where the step
        is double (bytes); they are refused elsewhere.
    what
        What is being counted, for messages: `bytes`.
    step
        `double`: a range holds `first` doubled until it would pass `last`. `one`: it holds every number.
    lowest
        The least number that means anything.

    Raises
    ------
    UsageError
        If `text` is no such list, with what was wrong and an example.

    Examples
    --------
    >>> parse("8:64,1K", "bytes", "double")
    (8, 16, 32, 64, 1024)
    >>> parse("1:3", "hops", "one")
    (1, 2, 3)
    """
    numbers: set[int] = set()
    for part in text.split(","):
        numbers.update(_part(part.strip(), text, what, step))
    for number in sorted(numbers):
        if number < lowest:
            raise UsageError(f"{what}: {number} in '{text}' means nothing; the least is {lowest}")
    return tuple(sorted(numbers))


def numbers(value: str | int | Iterable[int] | None, what: str, step: Step, lowest: int = 0) -> tuple[int, ...]:
    """As :func:`parse`, for what a Python caller may also give: one number or several; nothing for `None`."""
    if value is None:
        return ()
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else ",".join(map(str, value))
    return parse(text, what, step, lowest)


def values(parameter: Parameter, value: Any) -> Any:
    """The values of a parameter as a request has them, of what a person or a program says.

    Raises
    ------
    UsageError
        For what is no value of its kind, with an example.
    """
    what, least = parameter.option.removeprefix("--"), parameter.least
    match parameter.kind:
        case "counts" | "doublings":
            counts = numbers(value, what, "one" if parameter.kind == "counts" else "double", lowest=least)
            return _up_to(parameter.greatest, counts, what)
        case "count":
            return _one(_up_to(parameter.greatest, numbers(value, what, "double", lowest=least), what), value, what)
        case "real":
            return _real(value, what)
        case "reals":
            return reals(value, what)
        case "shapes":
            return shapes(value, what)
        case "pair":
            return pair(value, what)
        case "names":
            return (value,) if isinstance(value, str) else tuple(value)
        case "flag":
            return bool(value)
        case "name":
            return str(value)


def _up_to(greatest: int | None, counts: tuple[int, ...], what: str) -> tuple[int, ...]:
    """The same numbers, none of which may be more than is taken."""
    if greatest is not None and max(counts, default=0) > greatest:
        raise UsageError(f"{what}: {max(counts)} is more than {greatest}, the greatest that is taken")
    return counts


def _one(counts: tuple[int, ...], value: object, what: str) -> int:
    if len(counts) != 1:
        raise UsageError(f"{what}: one number, not the {len(counts)} of '{value}'")
    return counts[0]


def _real(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise UsageError(f"{what}: '{value}' is not a positive number; expected for example '0.05'")
    return number


def reals(value: str | float | Iterable[float], what: str) -> tuple[float, ...]:
    """Positive numbers: a list, or one number.

    Raises
    ------
    UsageError
        If one of them is none.

    Examples
    --------
    >>> reals("0.01,0.05", "load")
    (0.01, 0.05)
    """
    if isinstance(value, str):
        return tuple(_real(word.strip(), what) for word in value.split(","))
    return tuple(_real(number, what) for number in (value if isinstance(value, Iterable) else (value,)))


def pair(value: str | tuple[int, int] | None, what: str) -> tuple[int, int] | None:
    """Two ranks, as `1-3`.

    Raises
    ------
    UsageError
        If that is no pair.

    Examples
    --------
    >>> pair("1-3", "probe")
    (1, 3)
    """
    if value is None or isinstance(value, tuple):
        return value
    match = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", value)
    if match is None:
        raise UsageError(f"{what}: '{value}' is not a pair of ranks; expected for example '1-3'")
    return int(match[1]), int(match[2])


def shapes(value: str | Iterable[str | Iterable[int]] | None, what: str) -> tuple[tuple[int, ...], ...]:
    """Shapes: a list of `4x4x4`, and ranges `8x8:64x64`, which double every extent until the last would be passed.

    Raises
    ------
    UsageError
        If that is no such list, with what was wrong and an example.

    Examples
    --------
    >>> shapes("8x8:32x32,100", "shape")
    ((8, 8), (16, 16), (32, 32), (100,))
    >>> shapes([(8, 8), "16x16"], "shape")
    ((8, 8), (16, 16))
    """
    if value is None:
        return ()
    if not isinstance(value, str):
        return tuple(_shape(shape, shape, what) if isinstance(shape, str) else tuple(shape) for shape in value)
    expanded: list[tuple[int, ...]] = []
    for part in value.split(","):
        first, colon, last = part.partition(":")
        low, high = _shape(first, value, what), _shape(last if colon else first, value, what)
        if len(low) != len(high) or any(n > m for n, m in zip(low, high, strict=True)):
            raise UsageError(f"{what}: the range '{part.strip()}' is empty; expected for example '8x8:64x64'")
        while all(n <= m for n, m in zip(low, high, strict=True)):
            expanded.append(low)
            low = tuple(2 * n for n in low)
    return tuple(dict.fromkeys(expanded))


def _shape(text: str, whole: str, what: str) -> tuple[int, ...]:
    words = text.strip().lower().split("x")
    extents = tuple(units.decimal(word, what) if word.isdecimal() else 0 for word in words)
    if 0 in extents:
        raise UsageError(f"{what}: '{text.strip()}' in '{whole}' is no shape; expected for example '128x128x128'")
    return extents


def _part(part: str, text: str, what: str, step: Step) -> Iterable[int]:
    first, colon, last = part.partition(":")
    low = _number(first, text, what, step)
    if not colon:
        return (low,)
    high = _number(last, text, what, step)
    if high < low:
        raise UsageError(f"{what}: the range '{part}' is empty: {low} is more than {high}")
    if step == "one":
        if high - low >= _MAX_VALUES:
            raise UsageError(f"{what}: the range '{part}' holds more than {_MAX_VALUES} values")
        return range(low, high + 1)
    if low == 0:
        raise UsageError(f"{what}: the range '{part}' cannot double from 0; start it at 1, or write '0,1:{last}'")
    return (low << k for k in range((high // low).bit_length()))


def _number(word: str, text: str, what: str, step: Step) -> int:
    match = units.LENGTH.fullmatch(word.strip())
    factor = match and match[2].lower()
    if match is None or factor is None or (factor and step == "one"):
        example = "'8:8192', '8,1K,1M'" if step == "double" else "'1:6', '1,2,4'"
        raise UsageError(f"{what}: '{word.strip()}' in '{text}' is not a number; expected for example {example}")
    return units.decimal(match[1], what, units.FACTORS[factor])
