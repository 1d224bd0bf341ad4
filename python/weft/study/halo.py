"""One exchange of ghosts against ranks and shape of the block: measured here, modelled and simulated everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

import weft
from weft import model
from weft._core import Machine, UsageError
from weft.catalogue import machines as catalogue
from weft.catalogue import passes_messages
from weft.launch.protocol import Progress

SHAPES = ((8, 8, 8), (32, 32, 32), (128, 128, 128))
RANKS = (2, 4, 8, 16, 32, 64)


def halo_everywhere(
    shapes: Sequence[Sequence[int]] = SHAPES,
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
    >>> table = halo_everywhere([(8, 8, 8)], [4], machines=[weft.machine("ipsc860")])
    >>> table["source"].to_list()
    ['simulated', 'predicted']
    """
    described = [machine for machine in (catalogue() if machines is None else machines) if passes_messages(machine)]
    counts = sorted(set(ranks))
    parts: list[pl.DataFrame] = []
    if measured is not None:
        parts.append(measured.filter(pl.col("benchmark") == "halo"))
        parts += _modelled_here(measured, shapes)
    if progress is not None:
        progress.launch(0, len(described), len(described))
    for machine in described:
        fitting = [count for count in counts if 1 < count <= machine.nodes]
        if fitting:
            parts.append(weft.simulate(machine, "halo", ranks=fitting, shape=shapes))
            parts.append(model.predict_halo(machine, shapes, fitting))
        if progress is not None:
            progress.rows(1)
    if not parts:
        raise UsageError(f"no machine has nodes for {min(counts, default=0)} ranks or more, or no ranks were asked for")
    return pl.concat(parts, how="diagonal_relaxed")


def _modelled_here(measured: pl.DataFrame, shapes: Sequence[Sequence[int]]) -> list[pl.DataFrame]:
    halo = measured.filter(pl.col("benchmark") == "halo")
    if halo.is_empty() or not (measured["benchmark"] == "echo").any():
        return []
    try:
        fit = model.fit(measured, str(halo["machine"][0]))
    except model.FitError:
        return []
    return [model.predict_halo(fit, shapes, [count for count in halo["ranks"].unique().sort() if count > 1])]


__all__ = ["RANKS", "SHAPES", "halo_everywhere"]
