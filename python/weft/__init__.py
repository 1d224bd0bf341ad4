"""weft: a laboratory for communication on parallel machines.

What does a message cost, what will my program cost, where does the time go? One program, any machine; measured,
modelled or simulated, the numbers land in the same table.

>>> import weft
>>> weft.machine("ipsc860").title
'Intel iPSC/860'
>>> then = weft.simulate("ipsc860", "echo", bytes="8:8K")       # 1991, in virtual time
>>> here = weft.measure("echo", bytes="8:1M")                   # this machine, over MPI  # doctest: +SKIP
>>> print(weft.compare(here, then))                             # doctest: +SKIP

Shifts and stencils are in `weft.arrays`, parallel variables in `weft.pvar`, connection sets and their schedules in
`weft.conset`, the logic language in `weft.fghc`. Names and modules are imported when they are first used, so that
`import weft` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft import (
        advice,
        arrays,
        conset,
        data_parallel,
        distributed,
        estimation,
        fghc,
        health,
        importing,
        model,
        papers,
        pvar,
        reports,
        samples,
        shifts,
        stencils,
    )
    from weft._core import Machine, MachineError, RunError, UsageError, WeftError, __version__
    from weft.advice import advise
    from weft.capi import get_include, get_lib
    from weft.catalogue import machine, machines
    from weft.estimation import calibrate, estimate
    from weft.hosting.computing import compute
    from weft.hosting.run import run
    from weft.launch.simulate import simulate
    from weft.model import compare, fit
    from weft.reports import report
    from weft.samples import Samples
    from weft.study.measuring import measure
    from weft.study.reproducing import reproduce

_HOMES = {
    "Machine": "_core",
    "MachineError": "_core",
    "RunError": "_core",
    "Samples": "samples",
    "UsageError": "_core",
    "WeftError": "_core",
    "__version__": "_core",
    "advise": "advice",
    "calibrate": "estimation",
    "compare": "model",
    "compute": "hosting.computing",
    "estimate": "estimation",
    "fit": "model",
    "get_include": "capi",
    "get_lib": "capi",
    "machine": "catalogue",
    "machines": "catalogue",
    "measure": "study.measuring",
    "report": "reports",
    "reproduce": "study.reproducing",
    "run": "hosting.run",
    "simulate": "launch.simulate",
}
"""Public names and the modules of weft that they are imported from."""

_DEPRECATED = {
    "ConnectionSet": "conset",
    "DistributedArray": "arrays",
    "Geometry": "arrays",
    "ParallelVariable": "pvar",
    "Schedule": "conset",
    "VPSet": "pvar",
    "compile": "conset",
    "cshift": "arrays",
    "eoshift": "arrays",
    "get": "pvar",
    "neighbor_alltoallv": "arrays",
    "polyshift": "arrays",
    "reduce": "pvar",
    "scan": "pvar",
    "send": "pvar",
    "shift": "pvar",
    "spread": "pvar",
    "stencil": "arrays",
}
"""Names that stood here until version 0.2, and the modules where they are now."""

__all__ = [
    "Machine",
    "MachineError",
    "RunError",
    "Samples",
    "UsageError",
    "WeftError",
    "__version__",
    "advice",
    "advise",
    "arrays",
    "calibrate",
    "compare",
    "compute",
    "conset",
    "data_parallel",
    "distributed",
    "estimate",
    "estimation",
    "fghc",
    "fit",
    "get_include",
    "get_lib",
    "health",
    "importing",
    "machine",
    "machines",
    "measure",
    "model",
    "papers",
    "pvar",
    "report",
    "reports",
    "reproduce",
    "run",
    "samples",
    "shifts",
    "simulate",
    "stencils",
]

if not TYPE_CHECKING:  # a type checker would take every name for one that is there

    def __getattr__(name):
        from importlib import import_module
        from importlib.util import find_spec

        if name in _HOMES:
            value = getattr(import_module(f"weft.{_HOMES[name]}"), name)
            globals()[name] = value
            return value
        if name in _DEPRECATED:
            import warnings

            module = _DEPRECATED[name]
            warnings.warn(f"weft.{name} is weft.{module}.{name} now", DeprecationWarning, stacklevel=2)
            return getattr(import_module(f"weft.{module}"), name)
        if name.isidentifier() and not name.startswith("__") and find_spec(f"weft.{name}") is not None:
            return import_module(f"weft.{name}")
        raise AttributeError(f"module 'weft' has no attribute '{name}'", name=name, obj=None)


def __dir__() -> list[str]:
    return sorted(__all__)
