"""What the calls of ranks are, in words and as digests.

Ranks number their calls and compare digests of them (`crates/mpi/src/calls.rs`). A digest is that
of a description that is the same in every process; the program's file and line are looked for only where ranks
are found in different calls.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import numpy as np

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_REMEMBERED = 4096
"""Calls whose words are kept; the one that was made first goes first."""

_SHOWN = 400
"""Characters of what a plan is made of that are shown."""

_HASHED = 4096
"""Elements of an argument up to which ranks compare them; of larger ones they compare shape and type."""

_CURRENT: contextvars.ContextVar[str] = contextvars.ContextVar("current", default="")
_WORDS: dict[int, str] = {}
_DETAILS: dict[int, str] = {}


@functools.lru_cache(maxsize=_REMEMBERED)
def digest(template: str, *parts: object) -> int:
    """The digest of a call, whose words are the template with its parts."""
    words = template.format(*parts)
    return remembered(words, words)


def remembered(key: str, words: str) -> int:
    """The digest of what must be the same on all ranks, with words that need not be."""
    digest = _digest(key)
    if digest not in _WORDS and len(_WORDS) >= _REMEMBERED:
        _WORDS.pop(next(iter(_WORDS)), None)
    _WORDS[digest] = words
    return digest


def asked(call: int, description: object) -> int:
    """The digest of what a rank asks for in a call that is about to be made, and shown with it."""
    text = repr(description)
    detail(call, text)
    return _digest(text)


def detail(call: int, text: str) -> None:
    """What is shown with the call that is under way."""
    _DETAILS.clear()
    _DETAILS[call] = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def described(digests: Sequence[int]) -> list[str]:
    """The words of calls, by their digests; the last is the one under way, with the program's file and line."""
    texts = [_WORDS.get(one, "a call whose words are not kept any more") for one in digests]
    if texts:
        detail = _DETAILS.get(digests[-1])
        texts[-1] += (f" {detail}" if detail else "") + (f", at {where}" if (where := caller()) else "")
    return texts


@contextlib.contextmanager
def during(words: str) -> Iterator[None]:
    """Exchanges meanwhile are those of a call with these words, which must be the same on all ranks."""
    outer = _CURRENT.get()
    token = _CURRENT.set(f"{outer} > {words}" if outer else words)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current() -> str:
    """The words of the calls that are under way, from the outermost to the innermost."""
    return _CURRENT.get()


def named(method: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """A method of an array whose exchanges are those of a call with its name and arguments."""

    @functools.wraps(method)
    def call(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        array: Any = arguments[0]
        if array.geometry.ranks == 1:
            return method(*arguments, **options)
        with during(worded(method.__name__, arguments[1:], options)):
            return method(*arguments, **options)

    return call


def worded(name: str, arguments: Sequence[Any], options: dict[str, Any]) -> str:
    """A call in words that are the same in every process."""
    named = [f"{key}={_argument(value)}" for key, value in sorted(options.items()) if value is not np._NoValue]
    return f"{name}({', '.join([*map(_argument, arguments), *named])})"


def _argument(value: Any) -> str:
    """An argument in words; of what has no words that are the same in every process, as functions, its type."""
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_argument, value))}]"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray):
        is_short = value.size <= _HASHED and not value.dtype.hasobject
        content = f" {hashlib.blake2b(value.tobytes(), digest_size=4).hexdigest()}" if is_short else ""
        return f"array of {value.shape} {value.dtype}{content}"
    if isinstance(value, slice):
        return f"{value.start}:{value.stop}:{value.step}"
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str, np.dtype)):
        return repr(value)
    return value.__name__ if isinstance(value, type) else type(value).__name__


def caller() -> str:
    """File and line of the program that called weft; empty where weft was called at the end of the process."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_HERE, _NUMPY)):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
