"""Loggers of `logging`, for ranks that share an interpreter: each rank has its own handlers, filters and levels.

Without that, the first rank's `logging.basicConfig` would be that of all, whose format and file often have the rank's
number, and a handler that sends records over MPI would be called by other ranks than its own.
"""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable
from typing import Any

import greenlet

from weft.hosting import exiting

__all__ = ["install"]

_OWN = {
    logging.Filterer: ("filters",),
    logging.Logger: ("handlers", "level", "propagate", "disabled", "_cache"),
    logging.Manager: ("_disable",),
}
"""What ranks have of their own in objects of these classes; a logger remembers in `_cache` what its level lets pass."""

_CHANGES = {
    logging.Filterer: ("addFilter", "removeFilter"),
    logging.Logger: ("addHandler", "removeHandler", "setLevel"),
}
"""What changes it. A package that all ranks share does so for all of them as it is imported, which happens once."""

_in_name_of: list[greenlet.greenlet | None] = []
"""For whom a change is made at the moment that is made for all; None: for ranks that have not looked so far."""


class _Own:
    """An attribute of which each rank has its own value, at first a copy of the one that is there without a rank."""

    def __init__(self, name: str, is_own: Callable[[str], bool]) -> None:
        self.name, self.kept, self.is_own = name, f"_weft{name}", is_own

    def __get__(self, owner: Any, _: type | None = None) -> Any:
        if owner is None:
            return self
        values, rank = owner.__dict__, _rank(owner)
        if self.name not in values:
            raise AttributeError(self.name)
        if rank is None:
            return values[self.name]
        own = values.setdefault(self.kept, {})
        if rank not in own:
            own[rank] = copy.copy(values[self.name])
        return own[rank]

    def __set__(self, owner: Any, value: Any) -> None:
        values, rank = owner.__dict__, _rank(owner)
        if rank is None or self.name not in values:
            values[self.name] = value
        elif not _in_name_of and exiting.is_shared(self.is_own):
            values[self.name] = value
            values.pop(self.kept, None)
        else:
            values.setdefault(self.kept, {})[rank] = value


def _rank(owner: Any) -> greenlet.greenlet | None:
    """The greenlet of the rank that runs; the hub and threads have none, nor has what handlers and formatters are."""
    if not isinstance(owner, logging.Logger | logging.Manager):
        return None
    if _in_name_of:
        return _in_name_of[-1]
    current = greenlet.getcurrent()
    return None if current.parent is None else current


def _change(original: Callable[..., Any], is_own: Callable[[str], bool]) -> Callable[..., Any]:
    @functools.wraps(original)
    def change(owner: Any, *arguments: Any, **named: Any) -> None:
        if _rank(owner) is None or _in_name_of or not exiting.is_shared(is_own):
            original(owner, *arguments, **named)
            return
        own = (owner.__dict__.get(f"_weft{name}", {}) for names in _OWN.values() for name in names)
        for rank in {None: None} | {rank: None for ranks in own for rank in ranks}:
            _in_name_of.append(rank)
            try:
                original(owner, *arguments, **named)
            finally:
                _in_name_of.pop()

    return change


def install(is_own: Callable[[str], bool]) -> None:
    """From now on ranks have loggers of their own; `is_own` tells files of modules of which each rank has its own."""
    for owner, names in _OWN.items():
        for name in names:
            setattr(owner, name, _Own(name, is_own))
    for owner, names in _CHANGES.items():
        for name in names:
            setattr(owner, name, _change(getattr(owner, name), is_own))
