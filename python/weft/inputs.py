"""What users hand in: files read, parsed and quoted.

Whatever is in a file, reading it ends with its content or with one clear message: of the size of a line, without
characters that move a terminal's cursor, and before more memory is taken than there is.
"""

from __future__ import annotations

import contextlib
import json
import operator
import os
import resource
import signal
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from weft import _core
from weft._core import UsageError

MAX_SHOWN = 80
"""Characters of a piece of input that a message shows."""

_MAX_PATH = 4096
"""Characters of the longest path that Linux opens (PATH_MAX)."""

_JSON_FACTOR, _TOML_FACTOR, _TEXT_FACTOR = 12, 12, 4
"""Bytes of memory that a byte of a file takes once it is parsed: a list of one-digit numbers takes most."""


def quoted(value: object) -> str:
    """A piece of input as a message shows it: control characters escaped, cut after `MAX_SHOWN` characters."""
    text = value if isinstance(value, str) else _representation(value)
    # One character more than is shown says that there are more; lone surrogates (of file names) have no UTF-8.
    return _core.shown(text[: MAX_SHOWN + 1].encode("utf-8", "backslashreplace").decode("utf-8"))


def path_shown(path: str | os.PathLike[str]) -> str:
    """A path as a message shows it: whole, so that the file can be looked at, with control characters escaped."""
    text = os.fspath(path)[:_MAX_PATH]
    return "".join(quoted(text[first : first + MAX_SHOWN]) for first in range(0, len(text), MAX_SHOWN))


def message(text: object) -> str:
    """What another library says of an input, as part of a message: one line, shortened as input is."""
    lines = str(text).strip().splitlines()
    return quoted(" ".join(line.strip() for line in lines[:2])) if lines else "no reason given"


def _representation(value: object) -> str:
    # A whole number may be too long for Python to write it at all.
    try:
        return repr(value)
    except ValueError:
        return f"a number of some {int(value.bit_length() * 0.30103)} digits" if isinstance(value, int) else "a value"


def unsigned(value: object, what: str, bits: int = 64) -> int:
    """A whole number as the extension module takes it: of so many bits, and not negative.

    Raises
    ------
    UsageError
        For anything else; `what` says what it should be.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what}: expected a whole number, found {quoted(value)}") from None
    if 0 <= number < 1 << bits:
        return number
    raise UsageError(f"{what}: expected a whole number from 0 to 2**{bits} - 1, found {quoted(number)}")


def heed_interrupts() -> None:
    """Have Ctrl-C end a call of the system that waits for input, as Python does.

    polars has a handler of its own for SIGINT from its import on, after which the system takes such calls up again
    before Python learns of the signal.
    """
    signal.siginterrupt(signal.SIGINT, True)


def read_text(path: str | os.PathLike[str], expected: str, factor: int = _TEXT_FACTOR) -> str:
    """The text of a file in UTF-8, without a byte order mark.

    Parameters
    ----------
    path
        The file.
    expected
        What it should be, for messages: `a schedule in JSON`.
    factor
        Bytes of memory that a byte of the file takes until it is read.

    Raises
    ------
    UsageError
        If it is not text in UTF-8, or too large for the memory there is.
    OSError
        If it cannot be read.
    """
    heed_interrupts()
    path = Path(path)
    size = path.stat().st_size
    _core.require_memory(factor * size, f"{path_shown(path)}: reading a file of {size} bytes", "read a smaller one")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path_shown(path)}: expected {expected}, found bytes that are no UTF-8 text (byte {error.start + 1})"
        ) from None


def read_json(path: str | os.PathLike[str], expected: str) -> Any:
    """What a file in JSON says.

    Raises
    ------
    UsageError
        If it is not JSON, nested too deeply, or too large.
    OSError
        If it cannot be read.
    """
    text = read_text(path, expected, _JSON_FACTOR)
    return _parsed(json.loads, text, f"{path_shown(path)}: expected {expected}")


def read_toml(path: str | os.PathLike[str], expected: str) -> dict[str, Any]:
    """What a file in TOML says.

    Raises
    ------
    UsageError
        If it is not TOML, nested too deeply, or too large.
    OSError
        If it cannot be read.
    """
    text = read_text(path, expected, _TOML_FACTOR)
    content: dict[str, Any] = _parsed(tomllib.loads, text, f"{path_shown(path)} is no TOML")
    return content


def _parsed(parse: Callable[[str], Any], text: str, otherwise: str) -> Any:
    """What a parser makes of a text; a UsageError that begins with `otherwise` where it makes nothing."""
    try:
        return parse(text)
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:
        reason = message(error)
    raise UsageError(f"{otherwise}: {reason}")


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Within it, what is written to this process's standard error is thrown away.

    For readers of other libraries that panic over a broken file: the panic is caught, but it has been printed by then.
    """
    try:
        kept = os.dup(2)
    except OSError:
        yield  # There is no standard error.
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def within_memory() -> Iterator[None]:
    """Within it, memory that this process cannot have is refused with a MemoryError.

    For readers of other libraries, which take what a file's header claims: where the system hands out more than it has,
    the process would be killed as soon as it is used.
    """
    available = _core.available_memory()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = _address_space()
    if available is None or used is None:
        yield
        return
    limit = used + available[0]
    limits = [limit, *(other for other in (soft, hard) if other != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int | None:
    """Bytes of address space that this process has; `None` where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
