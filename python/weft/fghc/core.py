"""The Rust core of the logic language, which a build of weft may be without.

Importing this module raises UsageError in such a build. It spares whoever builds weft for messages only the compiler of
native code.
"""

from __future__ import annotations

from weft import _core

if not hasattr(_core, "fghc_run"):
    raise _core.UsageError(
        "this build of weft is without FGHC: build it with the Cargo feature `fghc`, which is on by default"
    )

from weft._core import (
    fghc_check,
    fghc_explain,
    fghc_run,
    fghc_run_mpi,
    fghc_run_threads,
    fghc_simulate,
    fghc_sites,
)

__all__ = [
    "fghc_check",
    "fghc_explain",
    "fghc_run",
    "fghc_run_mpi",
    "fghc_run_threads",
    "fghc_simulate",
    "fghc_sites",
]
