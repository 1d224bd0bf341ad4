"""weft: a laboratory for communication on parallel machines.

What does a message cost, what will my program cost, where does the time go? One program, any machine; measured,
modelled or simulated, the numbers land in the same table.

>>> import weft
>>> weft.machine("ipsc860").title
'Intel iPSC/860'
>>> here = weft.measure("echo", bytes="8:1M")              # this machine, over MPI
>>> then = weft.simulate("ipsc860", "echo", bytes="8:8K")   # 1991, in virtual time
>>> print(weft.compare(here, then))

Names are imported when they are first used, so that `import weft` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft import model, samples
    from weft._core import Machine, MachineError, RunError, UsageError, WeftError, __version__
    from weft.catalogue import machine, machines
    from weft.launch.measure import measure
    from weft.launch.simulate import simulate
    from weft.model import compare, fit
    from weft.reports import report

_HOMES = {
    "Machine": "weft._core",
    "MachineError": "weft._core",
    "RunError": "weft._core",
    "UsageError": "weft._core",
    "WeftError": "weft._core",
    "__version__": "weft._core",
    "compare": "weft.model",
    "fit": "weft.model",
    "machine": "weft.catalogue",
    "machines": "weft.catalogue",
    "measure": "weft.launch.measure",
    "report": "weft.reports",
    "simulate": "weft.launch.simulate",
}

_MODULES = ("model", "samples")

__all__ = [
    "Machine",
    "MachineError",
    "RunError",
    "UsageError",
    "WeftError",
    "__version__",
    "compare",
    "fit",
    "machine",
    "machines",
    "measure",
    "model",
    "report",
    "samples",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"weft.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
