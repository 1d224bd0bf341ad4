"""Functions that programs want called when they exit (`atexit`), for ranks that share an interpreter."""

from __future__ import annotations

import atexit
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

import greenlet

__all__ = ["install", "is_shared", "run", "run_shared"]

_Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

_of_ranks: dict[greenlet.greenlet, list[_Call]] = {}
"""What the greenlet of each rank has registered."""

_register = atexit.register
_unregister = atexit.unregister


def install(is_own: Callable[[str], bool]) -> None:
    """Keep what ranks register from now on apart; `is_own` tells files of modules of which each rank has its own."""

    def register(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Callable[..., Any]:
        rank = greenlet.getcurrent()
        # The greenlet of a rank has a parent, the hub; those that threads begin with have none.
        if rank.parent is None or is_shared(is_own):
            return _register(function, *arguments, **named)
        _of_ranks.setdefault(rank, []).append((function, arguments, named))
        return function

    def unregister(function: Callable[..., Any], /) -> None:
        calls = _of_ranks.get(greenlet.getcurrent(), [])
        calls[:] = [call for call in calls if call[0] != function]
        _unregister(function)

    atexit.register = register
    atexit.unregister = unregister


def is_shared(is_own: Callable[[str], bool]) -> bool:
    """Whether who calls the caller does so for all ranks: a package as it is imported, or `weakref.finalize`, once."""
    caller = sys._getframe(2)
    if caller.f_globals.get("__name__") == "weakref":
        return True
    frame: FrameType | None = caller
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            name, file = frame.f_globals.get("__name__"), frame.f_globals.get("__file__")
            return name != "__main__" and not (file and is_own(file))
        frame = frame.f_back
    return False


def run() -> None:
    """Call what the rank that runs has registered, the last first."""
    calls = _of_ranks.get(greenlet.getcurrent(), [])
    while calls:
        function, arguments, named = calls.pop()
        try:
            function(*arguments, **named)
        except SystemExit:
            pass
        except BaseException:
            print(f"Exception ignored in atexit callback: {function!r}", file=sys.stderr)
            traceback.print_exc()


def run_shared() -> None:
    """Call what packages have registered for the process, at its end."""
    atexit._run_exitfuncs()
