"""What the reproduction is handed: runs of programs in FGHC that others make."""

from __future__ import annotations

from typing import Protocol

import polars as pl


class RunPrograms(Protocol):
    """Runs programs in FGHC."""

    def simulate(self, machine: str, program: str, goal: str, pes: int) -> pl.DataFrame:
        """Samples of `fghc` of one run on a described machine.

        Parameters
        ----------
        machine
            Name in the catalogue.
        program
            Path of the program's file.
        goal
            The goal.
        pes
            Processing elements.
        """
        ...

    def kinds(self, machine: str, program: str, goal: str, pes: int) -> dict[str, int]:
        """Messages sent in such a run, by kind."""
        ...

    def text(self, machine: str, text: str, goal: str, pes: int) -> pl.DataFrame:
        """As `simulate`, of a program that is no file."""
        ...

    def measure(self, program: str, goal: str, pes: int) -> pl.DataFrame | None:
        """Samples of several runs on threads of this machine, or None where nothing is measured."""
        ...
