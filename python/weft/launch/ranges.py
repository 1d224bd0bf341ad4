"""The range grammar of requests: `8:8192`, `1:6`, `8,1K,1M`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, Literal

from weft._core import UsageError
from weft.parameters import Parameter

Step = Literal["double", "one"]

_NUMBER = re.compile(r"(\d+)\s*([kKmMgG]?)(?:i?[bB])?")
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MOST = 100_000


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


def numbers(given: str | int | Iterable[int] | None, what: str, step: Step, lowest: int = 0) -> tuple[int, ...]:
    """As :func:`parse`, for what a Python caller may also give: one number or several; nothing for `None`."""
    if given is None:
        return ()
    text = given if isinstance(given, str) else str(given) if isinstance(given, int) else ",".join(map(str, given))
    return parse(text, what, step, lowest)


def values(parameter: Parameter, given: Any) -> Any:
    """The values of a parameter as a request has them, of what a person or a program says.

    Raises
    ------
    UsageError
        For what is no value of its kind, with an example.
    """
    what, least = parameter.option.removeprefix("--"), parameter.least
    match parameter.kind:
        case "counts" | "doublings":
            found = numbers(given, what, "one" if parameter.kind == "counts" else "double", lowest=least)
            if parameter.greatest is not None and max(found) > parameter.greatest:
                raise UsageError(f"{what}: {max(found)} is more than {parameter.greatest}, the greatest that is taken")
            return found
        case "count":
            return _one(numbers(given, what, "double", lowest=least), given, what)
        case "real":
            return _real(given, what)
        case "shapes":
            return shapes(given, what)
        case "pair":
            return pair(given, what)
        case "names":
            return (given,) if isinstance(given, str) else tuple(given)
        case "flag":
            return bool(given)
        case "name":
            return str(given)


def _one(found: tuple[int, ...], given: object, what: str) -> int:
    if len(found) != 1:
        raise UsageError(f"{what}: one number, not the {len(found)} of '{given}'")
    return found[0]


def _real(given: Any, what: str) -> float:
    try:
        found = float(given)
    except (TypeError, ValueError):
        found = math.nan
    if not (math.isfinite(found) and found > 0):
        raise UsageError(f"{what}: '{given}' is not a positive number; expected for example '0.05'")
    return found


def pair(given: str | tuple[int, int] | None, what: str) -> tuple[int, int] | None:
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
    if given is None or isinstance(given, tuple):
        return given
    match = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", given)
    if match is None:
        raise UsageError(f"{what}: '{given}' is not a pair of ranks; expected for example '1-3'")
    return int(match[1]), int(match[2])


def shapes(given: str | Iterable[Iterable[int]] | None, what: str) -> tuple[tuple[int, ...], ...]:
    """Shapes: a list of `4x4x4`, and ranges `8x8:64x64`, which double every extent until the last would be passed.

    Raises
    ------
    UsageError
        If that is no such list, with what was wrong and an example.

    Examples
    --------
    >>> shapes("8x8:32x32,100", "shape")
    ((8, 8), (16, 16), (32, 32), (100,))
    """
    if given is None:
        return ()
    if not isinstance(given, str):
        return tuple(tuple(shape) for shape in given)
    found: list[tuple[int, ...]] = []
    for part in given.split(","):
        first, colon, last = part.partition(":")
        low, high = _shape(first, given, what), _shape(last if colon else first, given, what)
        if len(low) != len(high) or any(n > m for n, m in zip(low, high, strict=True)):
            raise UsageError(f"{what}: the range '{part.strip()}' is empty; expected for example '8x8:64x64'")
        while all(n <= m for n, m in zip(low, high, strict=True)):
            found.append(low)
            low = tuple(2 * n for n in low)
    return tuple(dict.fromkeys(found))


def _shape(text: str, whole: str, what: str) -> tuple[int, ...]:
    words = text.strip().lower().split("x")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise UsageError(f"{what}: '{text.strip()}' in '{whole}' is no shape; expected for example '128x128x128'")
    return tuple(map(int, words))


def _part(part: str, text: str, what: str, step: Step) -> Iterable[int]:
    first, colon, last = part.partition(":")
    low = _number(first, text, what, step)
    if not colon:
        return (low,)
    high = _number(last, text, what, step)
    if high < low:
        raise UsageError(f"{what}: the range '{part}' is empty: {low} is more than {high}")
    if step == "one":
        if high - low >= _MOST:
            raise UsageError(f"{what}: the range '{part}' holds more than {_MOST} values")
        return range(low, high + 1)
    if low == 0:
        raise UsageError(f"{what}: the range '{part}' cannot double from 0; start it at 1, or write '0,1:{last}'")
    return (low << k for k in range((high // low).bit_length()))


def _number(word: str, text: str, what: str, step: Step) -> int:
    match = _NUMBER.fullmatch(word.strip())
    factor = match and match[2].lower()
    if match is None or factor is None or (factor and step == "one"):
        example = "'8:8192', '8,1K,1M'" if step == "double" else "'1:6', '1,2,4'"
        raise UsageError(f"{what}: '{word.strip()}' in '{text}' is not a number; expected for example {example}")
    return int(match[1]) * _FACTORS[factor]
