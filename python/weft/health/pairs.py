"""What was measured between every pair of nodes: matrices of log times, from samples of the benchmark `pairs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from weft._core import UsageError
from weft.inputs import quoted

Matrix = npt.NDArray[np.float64]
Reduction = Callable[..., Matrix]
"""`np.nanmedian` and the like."""

BENCHMARK = "pairs"
"""The benchmark whose samples are read."""

_COLUMNS = ("sender", "receiver", "bytes", "repetition", "seconds")


@dataclass(frozen=True)
class PairTimes:
    """Times between every pair of nodes.

    Attributes
    ----------
    names
        Of the nodes, in the order of their first ranks.
    lengths
        Of the messages, in bytes, ascending.
    logs
        Natural logarithm of the seconds by launch, length, sender and receiver; not a number where nothing was
        measured, as on the diagonal.
    within
        For each node with several ranks: the median log seconds between them, by length.
    launches
        The number of each launch.
    """

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    logs: Matrix
    within: dict[str, Matrix]
    launches: tuple[int, ...]

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.names)

    def silent(self) -> list[str]:
        """Nodes that nothing was measured of."""
        known = np.isfinite(self.logs)
        answers = known.any(axis=(0, 1, 2)) | known.any(axis=(0, 1, 3))
        return [name for name, answer in zip(self.names, np.atleast_1d(answers), strict=True) if not answer]


def over(reduce: Reduction, values: Matrix, axis: int | tuple[int, ...], keepdims: bool = False) -> Matrix:
    """`np.nanmedian` and the like along an axis; not a number, and no warning, where nothing is known.

    Examples
    --------
    >>> over(np.nanmedian, np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]]), 1)
    array([ 2., nan])
    """
    known = np.isfinite(values).any(axis=axis, keepdims=True)
    reduced = reduce(np.where(known, values, 0.0), axis=axis, keepdims=True)
    whole: Matrix = np.where(known, reduced, np.nan)
    return whole if keepdims else np.squeeze(whole, axis)


def pair_times(samples: pl.DataFrame, *, each_rank: bool = False, origin: str = "the samples") -> PairTimes:
    """Matrices of the rows of the benchmark `pairs` in a table of samples.

    Parameters
    ----------
    samples
        A table of one machine.
    each_rank
        Whether every rank is a node of its own, whatever its node is called.
    origin
        What messages call the table.

    Raises
    ------
    UsageError
        If the table has no such rows, those of several machines, or those of one node only.

    Examples
    --------
    >>> import weft
    >>> times = pair_times(weft.simulate("ipsc860", "pairs", ranks=4, bytes=8))
    >>> times.names, times.logs.shape
    (('0', '1', '2', '3'), (1, 1, 4, 4))
    """
    rows = _rows(samples, origin)
    rows = rows.with_columns(_name(rows, "sender", each_rank), _name(rows, "receiver", each_rank))
    ends = [rows.select(rank=pl.col(end), node=pl.col(f"{end}_name")) for end in ("sender", "receiver")]
    ranks = pl.concat(ends).group_by("node").agg(pl.col("rank").min()).sort("rank", "node")
    nodes = ranks["node"].to_list()
    if len(nodes) < 2:
        raise UsageError(
            f"{origin}: all ranks are on the node {quoted(nodes[0])}, and the health of a cluster is told from pairs "
            "of nodes; start ranks on two nodes or more, or take each rank for a node with --each rank"
        )
    lengths, launches = sorted(rows["bytes"].unique()), sorted(rows["repetition"].unique())
    cells = rows.group_by("repetition", "bytes", "sender_name", "receiver_name").agg(pl.col("seconds").log().median())
    position = {name: index for index, name in enumerate(nodes)}
    logs = np.full((len(launches), len(lengths), len(nodes), len(nodes)), np.nan)
    at = (
        np.searchsorted(launches, cells["repetition"].to_numpy()),
        np.searchsorted(lengths, cells["bytes"].to_numpy()),
        cells["sender_name"].replace_strict(position).to_numpy(),
        cells["receiver_name"].replace_strict(position).to_numpy(),
    )
    logs[at] = cells["seconds"].to_numpy()
    within = over(np.nanmedian, np.diagonal(logs, axis1=2, axis2=3), 0)
    logs[:, :, np.arange(len(nodes)), np.arange(len(nodes))] = np.nan
    _refuse_strangers(nodes, logs, origin)
    several = {name: within[:, index] for index, name in enumerate(nodes) if np.isfinite(within[:, index]).any()}
    return PairTimes(tuple(nodes), tuple(lengths), logs, several, tuple(launches))


def _name(rows: pl.DataFrame, end: str, each_rank: bool) -> pl.Expr:
    """What the node of one end of a pair is called: its name, or its rank where it has none."""
    rank = pl.format("rank {}", pl.col(end))
    named = f"{end}_node" in rows.columns and not each_rank
    return (pl.coalesce(f"{end}_node", rank) if named else rank).alias(f"{end}_name")


def _refuse_strangers(nodes: Sequence[str], logs: Matrix, origin: str) -> None:
    """Refuse nodes that have never met: they are those of several clusters, or of several allocations."""
    met = np.isfinite(logs).any(axis=(0, 1))
    met = met | met.T | np.eye(len(nodes), dtype=bool)
    if not met.all():
        i, j = (int(index) for index in np.argwhere(~met)[0])
        raise UsageError(
            f"{origin}: the nodes {quoted(nodes[i])} and {quoted(nodes[j])} were never measured with each other, so "
            "these are results of several clusters or allocations; give each its own file"
        )


def of_columns(
    names: Sequence[str], columns: Sequence[tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[float]]]
) -> PairTimes:
    """Matrices of the columns of several simulated launches: senders, receivers, bytes and seconds of each."""
    lengths = sorted(set(columns[0][2]))
    logs = np.full((len(columns), len(lengths), len(names), len(names)), np.nan)
    for launch, (senders, receivers, sizes, seconds) in enumerate(columns):
        logs[launch, np.searchsorted(lengths, np.asarray(sizes)), np.asarray(senders), np.asarray(receivers)] = np.log(
            np.asarray(seconds)
        )
    return PairTimes(tuple(names), tuple(lengths), logs, {}, tuple(range(len(columns))))


def _rows(samples: pl.DataFrame, origin: str) -> pl.DataFrame:
    missing = [name for name in _COLUMNS if name not in samples.columns]
    rows = samples.clear() if missing else samples.filter(pl.col("benchmark") == BENCHMARK)
    if rows.is_empty():
        raise UsageError(
            f"{origin}: no samples of the benchmark '{BENCHMARK}'; `weft health -o FILE` and `weft measure pairs` "
            "write them"
        )
    machines = rows.select("source", "machine").unique().sort("source", "machine").rows()
    if len(machines) > 1:
        listed = ", ".join(f"{quoted(machine)} ({source})" for source, machine in machines)
        raise UsageError(f"{origin}: pairs of {len(machines)} machines, {listed}; each has its own health")
    return rows
