"""Runs that tables and figures share, each made once."""

from __future__ import annotations

import polars as pl

from weft import model
from weft.papers.taki1988.given import RunPrograms
from weft.papers.taki1988.published import HERE, PES, V1, goal, grains, program


class Runs:
    """Samples and scales of both programs, on described machines and here."""

    def __init__(self, programs: RunPrograms) -> None:
        self.programs = programs
        self._kept: dict[tuple[str, int, int, int], pl.DataFrame | None] = {}
        # Many tables and figures ask for the same, and each answer goes over all samples of a program.
        self._whole: dict[tuple[str, int, int, int], dict[str, float] | None] = {}
        self._rates: dict[tuple[str, int], pl.DataFrame | None] = {}
        self._fits: dict[tuple[str, int], model.CommunicationFit | None] = {}

    def samples(self, machine: str, number: int, pes: int, grain: int) -> pl.DataFrame | None:
        """Samples of one program at one grain; None where nothing is measured."""
        key = machine, number, pes, grain
        if key not in self._kept:
            file, asked = str(program(number)), goal(number, pes, grain)
            if machine == HERE:
                self._kept[key] = self.programs.measure(file, asked, pes)
            else:
                self._kept[key] = self.programs.simulate(machine, file, asked, pes)
        return self._kept[key]

    def pes(self, machine: str) -> tuple[int, ...]:
        """Numbers of PEs that are run on a machine: the paper's, and here one and two."""
        return PES[:2] if machine == HERE else PES

    def whole(self, machine: str, number: int, pes: int, grain: int) -> dict[str, float] | None:
        """The row of all PEs, of several runs the median one."""
        key = machine, number, pes, grain
        if key not in self._whole:
            samples = self.samples(machine, number, pes, grain)
            rows = None if samples is None else samples.filter(pl.col("pe").is_null()).sort("seconds")
            self._whole[key] = None if rows is None else rows.row(len(rows) // 2, named=True)
        return self._whole[key]

    def elements(self, machine: str, number: int, pes: int, grain: int) -> pl.DataFrame | None:
        """Rows of single PEs of that run."""
        samples, whole = self.samples(machine, number, pes, grain), self.whole(machine, number, pes, grain)
        if samples is None or whole is None:
            return None
        mine = samples.filter(pl.col("pe").is_not_null() & (pl.col("repetition") == whole["repetition"]))
        return mine.sort("pe")

    def of_one(self, machine: str, number: int) -> float | None:
        """Reductions a second of one PE, at the first grain."""
        row = self.whole(machine, number, 1, grains(number)[0])
        return None if row is None else row["rate"]

    def rates(self, machine: str, number: int) -> pl.DataFrame | None:
        """The scales of all runs on several PEs, with `grain`."""
        if (machine, number) not in self._rates:
            self._rates[machine, number] = self._new_rates(machine, number)
        return self._rates[machine, number]

    def _new_rates(self, machine: str, number: int) -> pl.DataFrame | None:
        of_one = self.of_one(machine, number)
        if of_one is None:
            return None
        parts = []
        for pes in self.pes(machine)[1:]:
            for grain in grains(number):
                samples = self.samples(machine, number, pes, grain)
                assert samples is not None
                whole = self.whole(machine, number, pes, grain)
                assert whole is not None
                one = samples.filter(pl.col("repetition") == whole["repetition"])
                parts.append(model.rates(one, of_one).with_columns(pl.lit(grain, pl.Int64).alias("grain")))
        return pl.concat(parts)

    def fit(self, machine: str, number: int) -> model.CommunicationFit | None:
        """The relative communication time of all runs of a program."""
        if (machine, number) not in self._fits:
            rates = self.rates(machine, number)
            self._fits[machine, number] = None if rates is None else model.fit_communication(rates)
        return self._fits[machine, number]

    def share_of_throws(self, number: int) -> float:
        """Goals among the messages of all runs of a program on the V1 with two to six PEs."""
        throws = messages = 0
        for pes in PES[1:]:
            for grain in grains(number):
                row = self.whole(V1, number, pes, grain)
                assert row is not None
                throws, messages = throws + int(row["throw_goal"]), messages + int(row["messages"])
        return throws / messages
