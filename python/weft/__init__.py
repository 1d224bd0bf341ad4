"""weft: a laboratory for communication on parallel machines.

What does a message cost, what will my program cost, where does the time go? One program, any machine; measured,
modelled or simulated, the numbers land in the same table.

>>> import weft
>>> weft.machine("ipsc860").title
'Intel iPSC/860'
>>> then = weft.simulate("ipsc860", "echo", bytes="8:8K")       # 1991, in virtual time
>>> here = weft.measure("echo", bytes="8:1M")                   # this machine, over MPI  # doctest: +SKIP
>>> print(weft.compare(here, then))                             # doctest: +SKIP

Names are imported when they are first used, so that `import weft` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft import model, pvar, samples, shifts
    from weft._core import (
        ConnectionSet,
        Machine,
        MachineError,
        RunError,
        Schedule,
        UsageError,
        WeftError,
        __version__,
    )
    from weft.advice import advise
    from weft.capi import get_include, get_lib
    from weft.catalogue import machine, machines
    from weft.conset import compile
    from weft.distributed import DistributedArray, Geometry
    from weft.distributed.neighbor import neighbor_alltoallv
    from weft.estimation import calibrate, estimate
    from weft.launch.simulate import simulate
    from weft.model import compare, fit
    from weft.pvar import ParallelVariable, VPSet, get, reduce, scan, send, shift, spread
    from weft.reports import report
    from weft.shifts import cshift, eoshift, polyshift
    from weft.stencils import Update, stencil
    from weft.study.measuring import measure

_HOMES = {
    "DistributedArray": "weft.distributed",
    "Geometry": "weft.distributed",
    "ConnectionSet": "weft._core",
    "Machine": "weft._core",
    "MachineError": "weft._core",
    "RunError": "weft._core",
    "Schedule": "weft._core",
    "UsageError": "weft._core",
    "WeftError": "weft._core",
    "__version__": "weft._core",
    "advise": "weft.advice",
    "calibrate": "weft.estimation",
    "compare": "weft.model",
    "cshift": "weft.shifts",
    "eoshift": "weft.shifts",
    "compile": "weft.conset",
    "estimate": "weft.estimation",
    "fit": "weft.model",
    "get_include": "weft.capi",
    "get_lib": "weft.capi",
    "machine": "weft.catalogue",
    "machines": "weft.catalogue",
    "measure": "weft.study.measuring",
    "polyshift": "weft.shifts",
    "ParallelVariable": "weft.pvar",
    "VPSet": "weft.pvar",
    "get": "weft.pvar",
    "reduce": "weft.pvar",
    "scan": "weft.pvar",
    "send": "weft.pvar",
    "shift": "weft.pvar",
    "spread": "weft.pvar",
    "neighbor_alltoallv": "weft.distributed.neighbor",
    "report": "weft.reports",
    "compute": "weft.hosting.computing",
    "run": "weft.hosting.run",
    "simulate": "weft.launch.simulate",
    "stencil": "weft.stencils",
    "Update": "weft.stencils",
}

_MODULES = ("model", "pvar", "samples", "shifts")

__all__ = [
    "ConnectionSet",
    "DistributedArray",
    "Geometry",
    "Machine",
    "MachineError",
    "ParallelVariable",
    "RunError",
    "Schedule",
    "Update",
    "UsageError",
    "VPSet",
    "WeftError",
    "__version__",
    "advise",
    "calibrate",
    "compare",
    "compile",
    "cshift",
    "eoshift",
    "estimate",
    "fit",
    "get",
    "get_include",
    "get_lib",
    "machine",
    "machines",
    "measure",
    "model",
    "neighbor_alltoallv",
    "polyshift",
    "pvar",
    "reduce",
    "report",
    "run",
    "samples",
    "scan",
    "send",
    "shift",
    "shifts",
    "simulate",
    "spread",
    "stencil",
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
