"""Simulated samples for tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from weft import samples
from weft.papers.dunigan1991.published import HOPS, LENGTHS
from weft.papers.reproduction import Simulate


class Runs:
    """Simulated samples, each run once."""

    def __init__(self, simulate: Simulate) -> None:
        self._simulate = simulate
        self._kept: dict[tuple[str, str], pl.DataFrame] = {}

    def samples(self, machine: str, benchmark: str) -> pl.DataFrame:
        """All lengths of one benchmark on one machine, echo over all hops."""
        key = machine, benchmark
        if key not in self._kept:
            table = self._simulate(machine, benchmark, LENGTHS, HOPS if benchmark == "echo" else None)
            self._kept[key] = samples.validate(table, f"simulated {benchmark} of {machine}")
        return self._kept[key]

    def echo(self, machine: str) -> pl.DataFrame:
        """Messages between two nodes."""
        return self.samples(machine, "echo")

    def run(self, machine: str, benchmark: str, bytes: Sequence[int] = LENGTHS, **parameters: Any) -> pl.DataFrame:
        """Another benchmark, with parameters of its own."""
        key = machine, f"{benchmark} {sorted(parameters.items())} {tuple(bytes)}"
        if key not in self._kept:
            table = self._simulate(machine, benchmark, bytes, None, **parameters)
            self._kept[key] = samples.validate(table, f"simulated {benchmark} of {machine}")
        return self._kept[key]
