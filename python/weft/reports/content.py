"""What a report is about: the subjects in its samples, their fits, and what the protocol came to."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from weft import model, samples


class MachineDescription(Protocol):
    """What a report wants to know of a machine: its description as a machine file."""

    @property
    def name(self) -> str:
        """Short name."""

    @property
    def title(self) -> str:
        """Full name."""

    def to_toml(self) -> str:
        """As a machine file."""


@dataclass(frozen=True)
class Subject:
    """One machine from one source: a series of every figure.

    Attributes
    ----------
    machine, source
        As in the samples.
    label
        What people read.
    series
        Its number: colour and symbol.
    table
        Its samples.
    summary
        Median and interval of every point.
    fit
        What its echo says of the cost of a message; None if it does not say enough.
    others
        Fits of the same samples that estimate other times.
    multiply
        Seconds of one 8-byte floating-point multiplication, if known.
    rest
        Whether its curves are grey until someone chooses it: of many machines only a few have colours.
    """

    machine: str
    source: str
    label: str
    series: int
    table: pl.DataFrame
    summary: pl.DataFrame
    fit: model.Fit | None
    multiply: float | None
    rest: bool = False
    others: tuple[model.Fit, ...] = ()

    @property
    def group(self) -> str:
        """What is chosen together: all of a machine, but what was measured by itself."""
        return self.label if self.own else self.machine

    def look(self, *, hollow: bool = False, label: str = "") -> dict[str, object]:
        """What the page needs to know to colour a curve, to list it and to write `label` at its end."""
        return {
            "series": self.series, "group": self.group, "rest": self.rest, "hollow": hollow, "label": label,
            "name": self.label,
        }  # fmt: skip

    @property
    def own(self) -> bool:
        """Whether it was measured: what the report is about."""
        return self.source == "measured"

    def points(self, benchmark: str) -> pl.DataFrame:
        """The summary of one benchmark by ascending length."""
        return self.summary.filter(pl.col("benchmark") == benchmark).sort("bytes", nulls_last=True)

    def echo(self) -> pl.DataFrame:
        """One-way times between two nodes over the fewest links there are samples of, by length."""
        echo = self.points("echo").with_columns(pl.col("hops").fill_null(1)).filter(pl.col("bytes") > 0)
        return echo.filter(pl.col("hops") == pl.col("hops").min())

    @property
    def fits(self) -> list[model.Fit]:
        """All fits of its samples."""
        return [] if self.fit is None else [self.fit, *self.others]

    @property
    def estimates(self) -> list[model.Fit | None]:
        """What a table has a row for: its fits, or itself without one."""
        return [*self.fits] or [None]

    def named(self, fit: model.Fit | None) -> str:
        """The label, with what a fit of it estimates where several fits are told apart by that."""
        return self.label if fit is None or fit.estimand is None else f"{self.label}, {fit.estimand}"

    def transfer(self, length: int = 8, fit: model.Fit | None = None) -> float | None:
        """Seconds of one message of that length, if there is a sample.

        That is the median over launches, and of a fit of undisturbed times what the fit takes for the time of that
        length: next to its startup nothing else has a meaning.
        """
        points = self.echo()
        if fit is not None and fit.estimand == "undisturbed":
            seen = [table.select("benchmark", "hops", "bytes", "seconds") for table in (fit.residuals, fit.held_out)]
            points = pl.concat(seen).filter(pl.col("benchmark") == "echo").sort("hops")
        seconds = points.filter(pl.col("bytes") == length)["seconds"]
        return float(seconds[0]) if len(seconds) else None


@dataclass(frozen=True)
class Content:
    """Everything a report shows."""

    subjects: Sequence[Subject]
    table: pl.DataFrame
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def own(self) -> Sequence[Subject]:
        """The measured subjects."""
        return [subject for subject in self.subjects if subject.own]

    def has(self, benchmark: str) -> bool:
        """Whether there are samples of it."""
        return bool((self.table["benchmark"] == benchmark).any())


_ORDER = {"measured": 0, "published": 1, "predicted": 2, "simulated": 3}


def collect(
    table: pl.DataFrame, machines: Iterable[MachineDescription] = (), fits: Iterable[model.Fit] = ()
) -> Content:
    """Sort samples by subject, and fit those that no fit is given for.

    Parameters
    ----------
    table
        Samples of any machines and sources.
    machines
        Descriptions of machines in it: full names and node operation times.
    fits
        Fits that were made elsewhere, with part of the samples for example. Of several of one machine, which estimate
        different times, the first is drawn, and all stand in the tables.
    """
    table = samples.validate(table)
    described = {machine.name: machine for machine in machines}
    fits_of: dict[tuple[str, str], list[model.Fit]] = {}
    for one in fits:
        fits_of.setdefault((one.machine, one.source), []).append(one)
    groups = table.select("machine", "source").unique(maintain_order=True).rows()
    coloured = _coloured(table, groups)
    groups = sorted(groups, key=lambda group: (_ORDER[group[1]], group[0] not in coloured, groups.index(group)))
    subjects: list[Subject] = []
    notes: list[str] = []
    for machine, source in groups:
        part = table.filter((pl.col("machine") == machine) & (pl.col("source") == source))
        own = fits_of.get((machine, source), [])
        fit = own[0] if own else None
        if fit is None:
            fit, note = _fitted(part, machine, source)
            notes += note
        subjects.append(
            Subject(
                machine, source, _label(machine, source, described), _series(machine, source, groups), part,
                samples.summarise(part), fit, _multiply(part, described.get(machine)),
                source != "measured" and machine not in coloured, tuple(own[1:]),
            )
        )  # fmt: skip
    return Content(subjects, table, notes)


MAX_COLOURED = 4
"""Machines with colours beside what was measured; with more, a figure is a thicket."""


def _coloured(table: pl.DataFrame, groups: Sequence[tuple[str, str]]) -> set[str]:
    """The machines that have colours at first: all if they are few, else some between slow messages and fast ones."""
    others = list(dict.fromkeys(machine for machine, source in groups if source != "measured"))
    if len(others) <= MAX_COLOURED:
        return set(others)
    echo = table.filter((pl.col("benchmark") == "echo") & (pl.col("bytes") > 0) & pl.col("machine").is_in(others))
    shortest = echo.filter(pl.col("bytes") == pl.col("bytes").min().over("machine"))
    times = shortest.group_by("machine", maintain_order=True).agg(pl.col("seconds").min()).sort("seconds")
    ranked = [*times["machine"].to_list(), *(name for name in others if name not in set(times["machine"]))]
    last = max(1, len(times)) - 1 if len(times) >= MAX_COLOURED else len(ranked) - 1
    return {ranked[round(k * last / (MAX_COLOURED - 1))] for k in range(MAX_COLOURED)}


def _series(machine: str, source: str, groups: Sequence[tuple[str, str]]) -> int:
    """Ink for what was measured where that is one subject; colours for the others, one for each machine.

    What was published of a machine and what is simulated of it have one colour: one is drawn over the other.
    """
    names = list(dict.fromkeys((name, kind if kind == "measured" else "") for name, kind in groups))
    index = names.index((machine, source if source == "measured" else ""))
    return index if sum(kind == "measured" for _, kind in groups) == 1 else index + 1


def _fitted(part: pl.DataFrame, machine: str, source: str) -> tuple[model.Fit | None, list[str]]:
    if part.filter(pl.col("benchmark") == "echo").is_empty():
        return None, []
    try:
        return model.fit(part, machine, source), []
    except model.FitError as error:
        return None, [f"{machine} ({source}) is not fitted: {error}."]


def _label(machine: str, source: str, described: Mapping[str, MachineDescription]) -> str:
    title = described[machine].title if machine in described else machine
    if source == "measured":
        return f"{title}, measured"
    if source == "simulated" and machine in described:
        return title
    return f"{title}, {source}"


def _multiply(part: pl.DataFrame, machine: MachineDescription | None) -> float | None:
    """From samples of the arithmetic tests, else from the machine's description."""
    if "variant" in part.columns:
        multiplications = part.filter((pl.col("benchmark") == "arithmetic") & (pl.col("variant") == "float64_multiply"))
        if not multiplications.is_empty():
            return float(str(multiplications["seconds"].median()))
    if machine is None:
        return None
    figure = tomllib.loads(machine.to_toml()).get("operations", {}).get("float64_multiply")
    if isinstance(figure, dict):
        figure = figure["value"]
    return None if figure is None else float(figure)
