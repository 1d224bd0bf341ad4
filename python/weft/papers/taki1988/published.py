"""What the paper printed, and its programs."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from weft.papers.reproduction import reference_folder

NAME = "taki-1988"

CITATION = (
    "K. Taki, Measurements and Evaluation for the Multi-PSI/V1 System: A Study of Inter-PE Communication versus System "
    "Performance, ICOT Technical Report TR-370, 1988"
)

V1, V2, HERE = "multi-psi-v1", "multi-psi-v2", "here"
PROGRAMS = (1, 2)
PES = (1, 2, 3, 4, 5, 6)
"""Numbers of PEs of figures 8 to 10."""
DEPTHS = (1, 2, 3, 4, 5)
"""Depths of program 1 in figures 8 to 11."""
GRAINS = (1, 2, 3, 4, 5, 6, 7, 8)
"""Values of K of program 2: 40 samples of table 4 over five numbers of PEs."""

EXCHANGE = """\
:- module exchange.
:- public main/0.
main :- leaf(1)@node(1).
leaf(_).
"""
"""The program of figure 3: a goal with an integer, one reduction elsewhere, the report of its termination."""


def program(number: int) -> Path:
    """The file of a program of the appendix."""
    return reference_folder(NAME) / f"program{number}.fghc"


def goal(number: int, pes: int, grain: int) -> str:
    """The goal of a program: its depth or K is the grain."""
    return f"t([1,2,3,4,5,6,7,8],{pes},{grain})" if number == 1 else f"go8({pes},{grain})"


def grains(number: int) -> tuple[int, ...]:
    """Depths of program 1, values of K of program 2."""
    return DEPTHS if number == 1 else GRAINS


def grain_name(number: int) -> str:
    """What the grain of a program is called."""
    return "depth" if number == 1 else "K"


def relative_times() -> dict[tuple[str | None, str], float | None]:
    """Table 4: samples, averages, maxima and minima by program and item."""
    times = pl.read_csv(reference_folder(NAME) / "relative-communication-time.csv").unpivot(index="program")
    known = {(str(program), item): float(value) for program, item, value in times.rows()}
    return table("table-4-relative-time.csv") | known


def blind_times() -> dict[tuple[int, str], float]:
    """What weft computed for table 4 by program and item while every step of the software cost the same."""
    kept = pl.read_csv(reference_folder(NAME) / "blind.csv").unpivot(index="program")
    return {(program, item): value for program, item, value in kept.rows()}


def table(file: str) -> dict[tuple[str | None, str], float | None]:
    """Values of one file of the reference by program (None where there is none) and item; None where withheld."""
    values = pl.read_csv(reference_folder(NAME) / file, schema_overrides={"value": pl.Float64, "program": pl.String})
    item = "item" if "item" in values.columns else "quantity"
    if "program" not in values.columns:
        values = values.with_columns(pl.lit(None, pl.String).alias("program"))
    return {(name, what): value for name, what, value in values.select("program", item, "value").iter_rows()}
