"""One step of a stencil against ranks and shape of the block: measured here, modelled and simulated everywhere."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

import polars as pl

from weft import model
from weft._core import Machine
from weft.catalogue import operation_time, passes_messages
from weft.launch.protocol import Progress
from weft.model.stencil import NodeTimes, predict_stencil
from weft.study.everywhere import ARITHMETIC, Everywhere, Shapes

SHAPES = ((8, 8, 8), (32, 32, 32), (128, 128, 128))
RANKS = (1, 2, 4, 8, 16, 32, 64)


def stencil_everywhere(
    shapes: Shapes = SHAPES,
    ranks: Iterable[int] = RANKS,
    *,
    machines: Iterable[Machine] | None = None,
    measured: pl.DataFrame | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Steps of a stencil on described machines, simulated and modelled, beside what was measured here.

    The table goes to `weft.report`, which draws all of it in one figure.

    Parameters
    ----------
    shapes
        Shapes of the block of one rank.
    ranks
        Numbers of ranks; a machine with fewer nodes has fewer points.
    machines
        Default: every machine of the catalogue that passes messages and gives a time of arithmetic; others are left
        out (`priced` says which).
    measured
        Samples measured here, of `stencil` and of `echo`, which are put in front; with one rank's steps and enough of
        an echo, steps of several ranks are modelled from them. Default: none.
    progress
        Who is told how it comes along.

    Returns
    -------
    polars.DataFrame
        Samples of `stencil` of sources "measured", "simulated" and "predicted".

    Raises
    ------
    UsageError
        If no machine has enough nodes and a time of arithmetic.

    Examples
    --------
    >>> import weft
    >>> table = stencil_everywhere([(8, 8, 8)], [4], machines=[weft.machine("ipsc860")])
    >>> table["source"].to_list()
    ['simulated', 'predicted']
    """
    return _STENCIL.table(shapes, ranks, machines, measured, progress)


def priced(machine: Machine) -> bool:
    """Whether a step can be simulated: the machine passes messages, and its file gives a time of arithmetic."""
    return passes_messages(machine) and operation_time(machine, ARITHMETIC) is not None


def _times(machine: Machine, shapes: Shapes) -> dict[int, NodeTimes]:
    operation, copied = operation_time(machine, ARITHMETIC), operation_time(machine, "copy_byte")
    assert operation is not None  # `priced` has looked
    return {axes: NodeTimes.of_operations(axes, operation, copied) for axes in {len(shape) for shape in shapes}}


def _on_machine(machine: Machine, shapes: Shapes, ranks: list[int]) -> pl.DataFrame:
    return predict_stencil(machine, shapes, ranks, _times(machine, shapes))


def _here(fit: model.Fit, samples: pl.DataFrame, shapes: Shapes) -> list[pl.DataFrame]:
    counts = [count for count in samples["ranks"].unique().sort() if count > 1]
    predictions = []
    for shape in shapes:
        site = _site(samples, shape)
        if site is not None:
            predictions.append(predict_stencil(fit, [shape], counts, {len(shape): NodeTimes(site)}))
    return predictions


def _site(samples: pl.DataFrame, shape: Sequence[int]) -> float | None:
    """Seconds a site, from the steps of one rank on a block of this shape."""
    words = "x".join(map(str, shape))
    alone = samples.filter((pl.col("ranks") == 1) & (pl.col("shape") == words))
    if alone.is_empty():
        return None
    return statistics.median([float(value) for value in alone["seconds"]]) / math.prod(shape)


def _operation(samples: pl.DataFrame, shape: Sequence[int]) -> float | None:
    site = _site(samples, shape)
    return None if site is None else site / (4 * len(shape) + 1)


_STENCIL = Everywhere(
    benchmark="stencil",
    least_ranks=1,
    is_described=priced,
    on_machine=_on_machine,
    here=_here,
    operation=_operation,
    needed=f"a time of {ARITHMETIC}",
)


__all__ = ["RANKS", "SHAPES", "priced", "stencil_everywhere"]
