"""Selections that are open, by context.

A selection belongs to the context (`contextvars`) that entered its block. All VP sets' are in one chain, an immutable
list whose latest entry a context variable holds, so that a thread begins with none and a task of asyncio with its
maker's. A VP set counts those that are open anywhere, so that operations look here only while there are some.
"""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from weft._core import UsageError

if TYPE_CHECKING:
    from weft.pvar.vpset import VPSet

_GENERATORS = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_CONTEXT_MANAGERS = contextlib.__file__


class Entry:
    """One open block.

    Attributes
    ----------
    vp
        The VP set.
    mask
        Who is selected; None: all.
    outer
        The block that was entered before in the context.
    code, instruction
        Where the block was entered.
    generator
        The frame of the generator whose block it is, which may be suspended while others run; None elsewhere.
    is_open
        Whether the block has not been left.
    """

    __slots__ = ("code", "generator", "instruction", "is_open", "mask", "outer", "vp")

    def __init__(self, vp: VPSet, mask: Any, outer: Entry | None, frame: FrameType) -> None:
        self.vp = vp
        self.mask = mask
        self.outer = outer
        self.code = code = frame.f_code
        self.instruction = frame.f_lasti
        self.generator: FrameType | None = None
        self.is_open = True
        if code.co_flags & _GENERATORS or code.co_filename == _CONTEXT_MANAGERS:
            self._attribute(frame)

    def _attribute(self, frame: FrameType) -> None:
        """Says whose block it is, where the frame that enters is not all that counts."""
        while frame.f_code.co_filename == _CONTEXT_MANAGERS and frame.f_back is not None:
            # `ExitStack.enter_context` enters for its caller.
            frame = frame.f_back
        self.code, self.instruction = frame.f_code, frame.f_lasti
        caller = frame.f_back
        # The block of a context manager's generator is meant for those around it.
        is_managed = caller is not None and caller.f_code.co_filename == _CONTEXT_MANAGERS
        if frame.f_code.co_flags & _GENERATORS and not is_managed:
            self.generator = frame

    def holds(self) -> bool:
        """Whether it is to be heeded where this is called: its block is open, and its generator runs."""
        if not self.is_open:
            return False
        if self.generator is None:
            return True
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame is self.generator:
                return True
            frame = frame.f_back
        return False

    def __str__(self) -> str:
        line = max((one for start, _, one in self.code.co_lines() if one and start <= self.instruction), default=0)
        return f"that of line {line} of {self.code.co_filename}"


LATEST: contextvars.ContextVar[Entry | None] = contextvars.ContextVar("weft_selection", default=None)
"""The block that a context entered last."""


def mask_of(vp: VPSet, entry: Entry | None) -> Any:
    """Who is selected of a VP set by a chain of blocks; None: all."""
    while entry is not None:
        if entry.vp is vp and entry.holds():
            return entry.mask
        entry = entry.outer
    return None


def unlink(entry: Entry) -> None:
    """Takes an entry that is left out of the chain of this context, whose latest is another.

    Raises
    ------
    UsageError
        If that is the wrong order, or the entry is not of this context. Nothing has changed then.
    """
    inner, other = None, LATEST.get()
    # Generators end when those who call them let them: theirs may be left in any order, and perhaps elsewhere.
    while other is not None and other is not entry and (entry.generator or other.generator or not other.is_open):
        inner, other = other, other.outer
    if other is entry and inner is not None:
        inner.outer = entry.outer
    elif entry.generator is None:
        raise UsageError(
            f"selections are left in another order than they were entered: {entry} is left, but "
            + (f"{other} is still open" if other is not None else "another thread or context has entered it")
            + "; use them as blocks, `with vp.where(…):`, one within the other"
        )
