"""Programs in FGHC for reproductions: simulated on described machines, measured on threads of this one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from weft import fghc
from weft.fghc.advising import finished

LAUNCHES = 9
"""Runs here of one program and goal: odd, so that the median is one of them."""


class FghcPrograms:
    """What `weft.papers.taki1988` is handed.

    Parameters
    ----------
    measure
        Whether programs are also run here.
    progress
        Is told what is run.
    """

    def __init__(self, measure: bool = True, progress: Callable[[str], None] = lambda text: None) -> None:
        self._measure, self._progress = measure, progress
        self._runs: dict[tuple[str, str, str, int], fghc.Run] = {}

    def simulate(self, machine: str, program: str, goal: str, pes: int) -> pl.DataFrame:
        """Samples of one run on a described machine."""
        return fghc.table([self._run(machine, program, goal, pes)])

    def kinds(self, machine: str, program: str, goal: str, pes: int) -> dict[str, int]:
        """Messages sent in such a run, by kind."""
        counted = self._run(machine, program, goal, pes).pes
        return {kind: sum(pe.sent[kind] for pe in counted) for kind in counted[0].sent}

    def text(self, machine: str, text: str, goal: str, pes: int) -> pl.DataFrame:
        """As `simulate`, of a program that is no file."""
        folder = tempfile.mkdtemp(prefix="weft-")
        try:
            path = Path(folder) / "exchange.fghc"
            path.write_text(text, encoding="utf-8")
            return fghc.table([finished(fghc.run(path, goal=goal, pes=pes, on=machine))])
        finally:
            # `TemporaryDirectory` does not stop to remove itself where nothing may be removed (Python 3.11).
            shutil.rmtree(folder, ignore_errors=True)

    def measure(self, program: str, goal: str, pes: int) -> pl.DataFrame | None:
        """Samples of several runs here, or None where nothing is measured."""
        if not self._measure:
            return None
        self._progress(f"{goal} here on {pes} PEs")
        return fghc.table(finished(fghc.run(program, goal=goal, pes=pes)) for _ in range(LAUNCHES))

    def _run(self, machine: str, program: str, goal: str, pes: int) -> fghc.Run:
        key = machine, program, goal, pes
        if key not in self._runs:
            self._progress(f"{goal} on {machine}, {pes} PEs")
            # Virtual time is the same either way, and translating these programs takes longer than interpreting them.
            self._runs[key] = finished(fghc.run(program, goal=goal, pes=pes, on=machine, interpret=True))
        return self._runs[key]
