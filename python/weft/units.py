"""Numbers as people read them: times, lengths and rates with units and few digits."""

from __future__ import annotations

import math
import re

from weft import _core
from weft._core import UsageError

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_LENGTHS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
"""What K, M and G multiply lengths by."""

LENGTH = re.compile(r"(\d+)\s*([kKmMgG]?)(?:i?[bB])?")
"""A length as people write it."""

_MAX_DIGITS = 1000
"""Digits that a number is read of: most are zeros in front, where it has no more than 64 bits."""

_RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))


def digits(value: float, significant: int = 3) -> str:
    """A number with so many significant digits and no exponent where it can be read without one.

    >>> digits(1234.5), digits(0.64321), digits(12.0)
    ('1,230', '0.643', '12.0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{significant - 1}e}"
    decimals = significant - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, decimals):,.{max(0, decimals)}f}"


def count(value: float) -> str:
    """A number of things, in words where it is large.

    >>> count(977.2), count(68_200_000), count(4.2e9)
    ('977', '68.2 million', '4.20 billion')
    """
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size * 0.9995:
            return f"{digits(value / size)} {name}"
    return digits(value)


def seconds(value: float | None) -> str:
    """A time.

    >>> seconds(6.4e-7), seconds(0.0021), seconds(None)
    ('640 ns', '2.10 ms', '–')
    """
    if value is None:
        return "–"
    unit, name = next(((unit, name) for unit, name in _TIMES if abs(value) >= unit * 0.9995), _TIMES[-1])
    return f"{digits(value / unit)} {name}"


def length(value: float | None) -> str:
    """A length in bytes; exact where it is a whole number of a unit.

    >>> length(8), length(1024), length(3 << 20), length(1500.4)
    ('8 B', '1 KiB', '3 MiB', '1.47 KiB')
    """
    if value is None:
        return "–"
    for unit, name in _LENGTHS:
        if value >= unit:
            return f"{int(value // unit)} {name}" if value % unit == 0 else f"{digits(value / unit)} {name}"
    return f"{int(value)} B" if value == int(value) else f"{digits(value)} B"


def parse_length(text: str, what: str) -> int:
    """Bytes that a text stands for; K, M and G are powers of 1024.

    >>> parse_length("8", "bytes"), parse_length("1K", "bytes"), parse_length("3 MiB", "bytes")
    (8, 1024, 3145728)
    >>> parse_length("many", "bytes")
    Traceback (most recent call last):
    weft._core.UsageError: bytes: 'many' is not a number; expected for example '1048576' or '1M'
    """
    match = LENGTH.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{what}: '{text.strip()}' is not a number; expected for example '1048576' or '1M'")
    return decimal(match[1], what, FACTORS[match[2].lower()])


def decimal(digits: str, what: str, factor: int = 1) -> int:
    """The number that decimal digits stand for, times a factor.

    >>> decimal("0064", "bytes", 1024)
    65536
    >>> decimal("18446744073709551616", "bytes")
    Traceback (most recent call last):
    weft._core.UsageError: bytes: expected a whole number from 0 to 2**64 - 1, found 18446744073709551616
    """
    # Python itself refuses to read some thousand digits.
    number = int(digits) * factor if len(digits) <= _MAX_DIGITS else None
    if number is None or number >= 1 << 64:
        shown = _core.shown((digits if number is None else str(number))[:_MAX_DIGITS])
        raise UsageError(f"{what}: expected a whole number from 0 to 2**64 - 1, found {shown}")
    return number


def rate(value: float | None) -> str:
    """A rate in bytes a second, decimal units as data sheets have them.

    >>> rate(2.6e6), rate(1.9e10)
    ('2.60 MB/s', '19.0 GB/s')
    """
    if value is None:
        return "–"
    for unit, name in _RATES:
        if value >= unit * 0.9995:
            return f"{digits(value / unit)} {name}"
    return f"{digits(value)} B/s"


def work_rate(value: float | None, unit: str | None = None) -> str:
    """A rate in a benchmark's own unit, or in bytes a second.

    >>> work_rate(5720.4, "Mflop/s"), work_rate(2.6e6), work_rate(None, "MB/s")
    ('5,720 Mflop/s', '2.60 MB/s', '–')
    """
    if value is None or not unit or unit == "B/s":
        return rate(value)
    return f"{digits(value)} {unit}"


def share(value: float | None) -> str:
    """A share in per cent.

    >>> share(0.0312), share(None)
    ('3.1%', '–')
    """
    return "–" if value is None else f"{value:.1%}"
