"""What the calls of ranks are, in words and as digests.

Ranks number their calls and compare digests of them (`crates/mpi/src/calls.rs`). A digest is that
of a description that is the same in every process; the program's file and line are looked for only where ranks
are found in different calls.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Sequence
from types import FrameType

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_REMEMBERED = 4096
"""Calls whose words are kept; the one that was made first goes first."""

_SHOWN = 400
"""Characters of what a plan is made of that are shown."""

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


def caller() -> str:
    """File and line of the program that called weft; empty where weft was called at the end of the process."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
