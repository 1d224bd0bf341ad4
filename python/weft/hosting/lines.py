"""Whole lines from ranks that are processes: what they print is written a line at a time.

The run's environment offers this file to every interpreter of a rank as `sitecustomize`, the module that Python imports
when it starts. Without it, a rank whose output is a file or a pipe writes blocks that end in the middle of lines, and
where `PYTHONUNBUFFERED` is set it writes the parts of a line one by one; lines of several ranks would mix.
"""

from __future__ import annotations

import importlib
import io
import os
import sys

_NAME = "sitecustomize"

SLEEPING = "weft_sleeping"
"""By this name the run offers the module `weft.hosting.sleeping`, which must not import weft."""


def _write_lines() -> None:
    """Make standard output and error write each line as a whole, when it ends."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)


def _customize() -> None:
    """Import the environment's own module of this name, which this one hides."""
    this = sys.modules.pop(_NAME)
    folder = os.path.dirname(__file__)
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    try:
        importlib.import_module(_NAME)
    except ModuleNotFoundError as error:
        if error.name != _NAME:
            raise
    finally:
        sys.modules.setdefault(_NAME, this)


if __name__ == _NAME:
    _write_lines()
    importlib.import_module(SLEEPING).install()
    _customize()
