"""What a comparison is between: files of samples as they are, machines by what they do in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from weft import samples
from weft._core import Machine, RunError, UsageError
from weft.catalogue import machine as find_machine
from weft.launch.request import benchmarks
from weft.launch.simulate import label as label_of
from weft.launch.simulate import simulate

_SUFFIXES = (".csv", ".parquet")
LENGTHS = "8:8192"
SIZES = ("bytes", "shape", "extent")
"""Columns of samples that a benchmark may take as what it is run with."""


def tables(
    subjects: Sequence[str], lengths: str | None = None, hops: str | None = None, estimand: str | None = None
) -> tuple[list[str], list[pl.DataFrame], list[str]]:
    """A table of samples for each subject.

    Parameters
    ----------
    subjects
        Machines, machine files and files of samples.
    lengths, hops
        Of the echo that machines run if there are no files of samples. Without hops it is between nearest nodes, and
        the tables do not tell how far those are apart, which may differ from machine to machine.

    estimand
        Of the costs of messages of the machine files that say of which times theirs are.

    Returns
    -------
    tuple
        Labels, tables, and notes on what machines could not run.

    Raises
    ------
    UsageError
        If there are fewer than two subjects, or lengths are given beside files that say which.
    """
    sources = [
        (subject, samples.read(subject, nonempty=True) if Path(subject).suffix in _SUFFIXES else None)
        for subject in subjects
    ]
    files = [table for _, table in sources if table is not None]
    machines = with_estimand([find_machine(subject) for subject, table in sources if table is None], estimand)
    if len(subjects) < 2 and not any(table.n_unique(["source", "machine"]) > 1 for table in files):
        raise UsageError("a comparison needs two subjects or more: machines, machine files or files of samples")
    if files and (lengths or hops):
        raise UsageError(
            "--bytes and --hops are for machines alone: with files of samples, machines run what those hold"
        )
    labels, compared, notes = [], [], []
    for subject, table in sources:
        if table is None:
            described = machines.pop(0)
            simulated, missing = _run(described, files, lengths or LENGTHS, hops)
            notes += missing
            parts = [(label_of(described), simulated)]
        else:
            parts = _parts(subject, table, alone=len(subjects) == 1)
        for label, part in parts:
            labels.append(label)
            compared.append(part)
    return _different(labels), compared, notes


def with_estimand(machines: Sequence[Machine], estimand: str | None) -> list[Machine]:
    """Machines with the costs of the times that were chosen, those that say of which times theirs are.

    Raises
    ------
    UsageError
        If none of them says that, or one has no such estimate.
    """
    if estimand is not None and not any(machine.estimands for machine in machines):
        raise UsageError("--estimand: none of these is a machine file that says of which times its costs are")
    return [one.with_estimand(estimand) if estimand is not None and one.estimands else one for one in machines]


def _parts(subject: str, table: pl.DataFrame, alone: bool) -> list[tuple[str, pl.DataFrame]]:
    """A file's machines and sources, each for itself."""
    groups = table.group_by("machine", "source", maintain_order=True)
    parts = [(str(machine), str(source), part) for (machine, source), part in groups]
    if len(parts) == 1 and not alone:
        return [(Path(subject).stem, table)]
    machines = [machine for machine, _, _ in parts]
    return [(m if machines.count(m) == 1 else f"{m} ({source})", part) for m, source, part in parts]


def _different(labels: list[str]) -> list[str]:
    """Labels with numbers where they repeat."""
    return [
        label if labels.count(label) == 1 else f"{label} #{labels[: index + 1].count(label)}"
        for index, label in enumerate(labels)
    ]


def _run(
    machine: Machine, files: Sequence[pl.DataFrame], lengths: str, hops: str | None
) -> tuple[pl.DataFrame, list[str]]:
    if files:
        held = [f.select("benchmark", "ranks", "hops", *(name for name in SIZES if name in f.columns)) for f in files]
        return same_points(machine, pl.concat(held, how="diagonal_relaxed"))
    if hops is None:
        return _between_nearest(simulate(machine, "echo", bytes=lengths)), []
    return simulate(machine, "echo", bytes=lengths, hops=hops), []


def _between_nearest(table: pl.DataFrame) -> pl.DataFrame:
    """A table that does not tell distances."""
    return table.with_columns(pl.lit(None, pl.Int64).alias("hops"))


def same_points(machine: Machine, wanted: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Run in virtual time what a table holds.

    Parameters
    ----------
    machine
        Where.
    wanted
        A table with `benchmark`, `ranks`, `hops` and those of `SIZES` that it has; benchmarks that weft does not have
        are passed over. Distances that it does not tell, or of which the machine has none, are those of nearest nodes.

    Returns
    -------
    tuple
        Samples, and notes on what the machine cannot run.

    Raises
    ------
    UsageError
        If it can run nothing of it.
    """
    parts, notes = [], []
    for (name, ranks), part in wanted.group_by("benchmark", "ranks", maintain_order=True):
        known = benchmarks().get(str(name))
        if known is None:
            continue
        points: dict[str, Any] = {
            name: part[name].drop_nulls().unique(maintain_order=True).to_list() or None
            for name in SIZES
            if name in known.takes and name in part.columns
        }
        distances = part["hops"].drop_nulls().unique().sort().to_list() if "hops" in known.takes else []
        try:
            if "hops" in known.takes:
                run, missing = _at_distances(machine, known.name, points, distances)
                notes += missing
            else:
                run = _as_far(
                    simulate(machine, known.name, ranks=None if ranks is None else int(str(ranks)), **points), part
                )
            parts.append(run)
        except (UsageError, RunError) as error:
            notes.append(f"{machine.name} cannot run {known.name} on {ranks} ranks: {error}")
    if not parts:
        raise UsageError(notes[0] if notes else f"there is nothing that {machine.name} could run for a comparison")
    return pl.concat(parts, how="diagonal_relaxed"), notes


def _as_far(run: pl.DataFrame, wanted: pl.DataFrame) -> pl.DataFrame:
    """A run with the distance that the wanted rows tell: nobody chose it, so that it makes no other point of them."""
    distances = wanted["hops"].unique()
    return run.with_columns(pl.lit(distances[0], pl.Int64).alias("hops")) if len(distances) == 1 else run


def _at_distances(
    machine: Machine, benchmark: str, points: dict[str, Any], distances: Sequence[int]
) -> tuple[pl.DataFrame, list[str]]:
    """A benchmark over the distances that the machine has, with notes on the others; between nearest nodes if none."""
    parts, notes = [], []
    for distance in distances:
        try:
            parts.append(simulate(machine, benchmark, hops=[distance], **points))
        except UsageError as error:
            notes.append(f"{machine.name} cannot run {benchmark}: {error}")
    if parts:
        return pl.concat(parts, how="diagonal_relaxed"), notes
    if distances:
        notes = [f"{machine.name} has no nodes {_listed(distances)} apart: {benchmark} is between its nearest"]
    return _between_nearest(simulate(machine, benchmark, **points)), notes


def _listed(distances: Sequence[int]) -> str:
    *others, last = map(str, distances)
    return f"{', '.join(others)} or {last} hops" if others else f"{last} hop{'' if last == '1' else 's'}"
