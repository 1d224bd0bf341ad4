"""The conclusion of the hypercube study for machines and for files of samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from weft import samples
from weft._core import Machine, UsageError
from weft.catalogue import machine as find_machine
from weft.catalogue import machines
from weft.launch.simulate import simulate
from weft.model.grain import LENGTHS, grains
from weft.study.subjects import with_estimand

_SUFFIXES = (".csv", ".parquet")


def conclusion(subjects: Sequence[str] = (), estimand: str | None = None) -> tuple[pl.DataFrame, list[str]]:
    """Communication against computation for some subjects.

    Parameters
    ----------
    subjects
        Machines, machine files and files of samples; all machines of the catalogue are there besides.
    estimand
        Of machine files that have costs of undisturbed and of typical times: which of them.

    Returns
    -------
    tuple
        As :func:`weft.model.grain.grains`, and a line for each subject that cannot be told and why.

    Raises
    ------
    UsageError
        If a file of samples says nothing of it, or an estimand is chosen and no subject has one.
    """
    parts: list[pl.DataFrame] = []
    notes: list[str] = []
    named = with_estimand([find_machine(name) for name in subjects if Path(name).suffix not in _SUFFIXES], estimand)
    for name in subjects:
        if Path(name).suffix in _SUFFIXES:
            part = grains(samples.read(name, nonempty=True))
            if part.is_empty():
                raise UsageError(
                    f"{name}: the grain needs samples of one machine of echo at 8 or 1024 bytes and of arithmetic, row "
                    "float64_multiply: `weft measure echo arithmetic -o FILE` makes them"
                )
            parts.append(part)
    known = {machine.name for machine in named}
    for machine in [*named, *(other for other in machines() if other.name not in known)]:
        own, missing = _machine(machine)
        parts += [] if own is None else [own]
        notes += missing
    if not parts:
        raise UsageError("; ".join(notes))
    return pl.concat(parts, how="diagonal_relaxed").unique(maintain_order=True), notes


def _machine(machine: Machine) -> tuple[pl.DataFrame | None, list[str]]:
    """What a described machine does in virtual time, and what its file does not say."""
    try:
        multiply = simulate(machine, "arithmetic", variant=["float64_multiply"])
    except UsageError:
        return None, [f"{machine.name}: its machine file gives no time of float64_multiply"]
    try:
        echo = simulate(machine, "echo", bytes=list(LENGTHS), hops=1)
    except UsageError:
        # Where all nodes hang on switches none are one link apart: ranks 0 and 1 are neighbours there.
        echo = simulate(machine, "echo", bytes=list(LENGTHS), ranks=2)
    return grains(pl.concat([echo, multiply], how="diagonal_relaxed")), []
