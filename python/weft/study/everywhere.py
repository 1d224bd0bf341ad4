"""One benchmark of blocks on many machines: simulated and modelled on each, beside what was measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

import weft
from weft import model
from weft._core import Machine, UsageError
from weft.catalogue import machines as catalogue
from weft.launch.protocol import Progress

Shapes = Sequence[Sequence[int]]

ARITHMETIC = "float64_sum_of_products"
"""The operation that a site of a stencil is priced by."""


@dataclass(frozen=True)
class Everywhere:
    """How one benchmark of blocks is compared with many machines.

    Attributes
    ----------
    benchmark
        Its name.
    least_ranks
        With fewer there is nothing to time.
    is_described
        Whether a machine's file says enough to simulate it.
    on_machine
        Its times modelled on a described machine, for shapes of blocks and numbers of ranks.
    here
        Its times modelled from a fit of this machine, for samples of it and shapes of blocks.
    operation
        Seconds of an operation of this machine on blocks of a shape, from the same samples; None where the benchmark
        computes nothing, or the samples do not say.
    needed
        What a machine needs, for the error where none has it.
    """

    benchmark: str
    least_ranks: int
    is_described: Callable[[Machine], bool]
    on_machine: Callable[[Machine, Shapes, list[int]], pl.DataFrame]
    here: Callable[[model.Fit, pl.DataFrame, Shapes], list[pl.DataFrame]]
    operation: Callable[[pl.DataFrame, Sequence[int]], float | None]
    needed: str

    def table(
        self,
        shapes: Shapes,
        ranks: Iterable[int],
        machines: Iterable[Machine] | None,
        measured: pl.DataFrame | None,
        progress: Progress | None,
    ) -> pl.DataFrame:
        """The samples; raises UsageError where no machine has any."""
        described = [
            machine for machine in (catalogue() if machines is None else machines) if self.is_described(machine)
        ]
        counts = sorted(set(ranks))
        parts: list[pl.DataFrame] = []
        if measured is not None:
            parts.append(measured.filter(pl.col("benchmark") == self.benchmark))
            parts += self._modelled_here(measured, shapes)
        if progress is not None:
            progress.launch(0, len(described), len(described))
        for machine in described:
            fitting = [count for count in counts if self.least_ranks <= count <= machine.nodes]
            if fitting:
                parts.append(weft.simulate(machine, self.benchmark, ranks=fitting, shape=shapes))
                parts.append(self.on_machine(machine, shapes, fitting))
            if progress is not None:
                progress.rows(1)
        if not parts:
            least = min(counts, default=0)
            raise UsageError(f"no machine has {self.needed} and nodes for {least} ranks, or no ranks were asked for")
        return pl.concat(parts, how="diagonal_relaxed")

    def _modelled_here(self, measured: pl.DataFrame, shapes: Shapes) -> list[pl.DataFrame]:
        samples = measured.filter(pl.col("benchmark") == self.benchmark)
        if samples.is_empty() or not (measured["benchmark"] == "echo").any():
            return []
        try:
            fit = model.fit(measured, str(samples["machine"][0]))
        except model.FitError:
            return []
        return self.here(fit, samples, shapes) + self._simulated_here(fit, samples, shapes)

    def _simulated_here(self, fit: model.Fit, samples: pl.DataFrame, shapes: Shapes) -> list[pl.DataFrame]:
        """Simulated on the machine that the fit describes, with the measured numbers of ranks."""
        text = fit.to_machine(str(samples["machine"][0]), "samples of echo")
        parts: list[pl.DataFrame] = []
        for shape in shapes:
            operation = self.operation(samples, shape)
            computing = text
            if operation is not None:
                source = "fitted to samples of stencil on one rank"
                computing += f'\n[operations]\n{ARITHMETIC} = {operation!r}\nsource = "{source}"\n'
            machine = Machine.parse(computing, "the fit of this machine")
            counts = [n for n in samples["ranks"].unique().sort() if self.least_ranks <= n <= machine.nodes]
            if counts and self.is_described(machine):
                parts.append(weft.simulate(machine, self.benchmark, ranks=counts, shape=[shape]))
        return parts


__all__ = ["ARITHMETIC", "Everywhere", "Shapes"]
