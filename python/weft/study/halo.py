"""One exchange of ghosts against ranks and shape of the block: measured here, modelled and simulated everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from weft import model
from weft._core import Machine
from weft.catalogue import passes_messages
from weft.launch.protocol import Progress
from weft.study.everywhere import Everywhere, Shapes

SHAPES = ((8, 8, 8), (32, 32, 32), (128, 128, 128))
RANKS = (2, 4, 8, 16, 32, 64)


def halo_everywhere(
    shapes: Shapes = SHAPES,
    ranks: Iterable[int] = RANKS,
    *,
    machines: Iterable[Machine] | None = None,
    measured: pl.DataFrame | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Exchanges of ghosts on described machines, simulated and modelled, beside what was measured here.

    The table goes to `weft.report`, which draws all of it in one figure.

    Parameters
    ----------
    shapes
        Shapes of the block of one rank.
    ranks
        Numbers of ranks; a machine with fewer nodes has fewer points.
    machines
        Default: every machine of the catalogue that passes messages.
    measured
        Samples measured here, of `halo` and of `echo`, which are put in front; with enough of an echo, halo is
        modelled from it too. Default: none.
    progress
        Who is told how it comes along.

    Returns
    -------
    polars.DataFrame
        Samples of `halo` of sources "measured", "simulated" and "predicted".

    Raises
    ------
    UsageError
        If no machine has enough nodes for any number of ranks.

    Examples
    --------
    >>> import weft
    >>> table = halo_everywhere([(8, 8, 8)], [4], machines=[weft.machine("ipsc860")])
    >>> table["source"].to_list()
    ['simulated', 'predicted']
    """
    return _HALO.table(shapes, ranks, machines, measured, progress)


def _here(fit: model.Fit, samples: pl.DataFrame, shapes: Shapes) -> list[pl.DataFrame]:
    return [model.predict_halo(fit, shapes, [count for count in samples["ranks"].unique().sort() if count > 1])]


def _nothing(samples: pl.DataFrame, shape: Sequence[int]) -> None:
    """An exchange computes nothing."""


_HALO = Everywhere(
    benchmark="halo",
    least_ranks=2,
    is_described=passes_messages,
    on_machine=model.predict_halo,
    here=_here,
    operation=_nothing,
    needed="messages",
)


__all__ = ["RANKS", "SHAPES", "halo_everywhere"]
