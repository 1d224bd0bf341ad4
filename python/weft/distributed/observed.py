"""Plans that exchange are told to who asks: a block in which every exchange of a plan is noted."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

_EXCHANGES: contextvars.ContextVar[list[Any] | None] = contextvars.ContextVar("weft_exchanges", default=None)


def note(plan: Any) -> None:
    """A plan exchanges now."""
    exchanges = _EXCHANGES.get()
    if exchanges is not None:
        exchanges.append(plan)


@contextlib.contextmanager
def observed() -> Iterator[list[Any]]:
    """A block in which the plans that exchange are noted, each as often as it does.

    Examples
    --------
    >>> import weft
    >>> geometry = weft.arrays.Geometry(6)
    >>> with observed() as exchanges:
    ...     _ = geometry.polyshift(float, shifts=[(1, 0)])(geometry.zeros())
    >>> len(exchanges)
    1
    """
    exchanges: list[Any] = []
    token = _EXCHANGES.set(exchanges)
    try:
        yield exchanges
    finally:
        _EXCHANGES.reset(token)
