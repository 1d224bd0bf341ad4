"""Pairs of ranks within nodes: what they take by how far apart they are, and what is slow or wrongly bound.

Pairs are classed by the smallest part of the node that both ranks are in (core, L3 cache, NUMA node, socket). A time is
compared with the same pair of a baseline, or with the median of its class; what is left is explained by the same fit of
effects as the times between nodes (:mod:`weft.health.inference`), with ranks, parts of nodes, what joins those parts,
whole nodes and whole classes as suspects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from weft import units
from weft.health import inference, suspects
from weft.health.bindings import PARTS, Binding, Distance, Level, Rank, WrongBinding, distance, wrong
from weft.health.inference import Finding
from weft.health.pairs import BENCHMARK, Matrix, Reduction, over
from weft.health.suspects import Suspect

_COLUMNS = ("sender_node", "receiver_node", "sender_binding", "receiver_binding")


_SHARE = 0.1
"""The share of all pairs that a class has at least, by which all pairs are judged: medians of few pairs are noisy."""


@dataclass(frozen=True)
class WithinTimes:
    """Times between the ranks of each node.

    Attributes
    ----------
    ranks
        Every rank whose binding is known, by number.
    ends
        The sender and the receiver of each pair of ranks of one node.
    distances
        Of each pair.
    lengths
        Of the messages, in bytes, ascending.
    logs
        Natural logarithm of the seconds by launch, length and pair; not a number where nothing was measured.
    launches
        The number of each launch.
    """

    ranks: Mapping[int, Rank]
    ends: npt.NDArray[np.int64]
    distances: tuple[Distance, ...]
    lengths: tuple[int, ...]
    logs: Matrix
    launches: tuple[int, ...]

    def classes(self) -> dict[Distance, npt.NDArray[np.int64]]:
        """The pairs of each distance, the nearest first."""
        return {
            known: np.array([cell for cell, each in enumerate(self.distances) if each == known])
            for known in sorted(set(self.distances))
        }

    def nodes(self) -> dict[str, list[Rank]]:
        """The ranks of each node that has several, in the order of their processors."""
        nodes: dict[str, list[Rank]] = {}
        for rank in sorted(self.ranks.values(), key=_order):
            nodes.setdefault(rank.node, []).append(rank)
        return {node: ranks for node, ranks in nodes.items() if len(ranks) > 1}


def _order(rank: Rank) -> tuple[object, ...]:
    parts = rank.binding.parts
    return (rank.node, *(tuple(sorted(parts[level])) for level in reversed(range(len(parts)))), rank.number)


@dataclass(frozen=True)
class ClassTime:
    """What messages take between the ranks of one class of pairs.

    Attributes
    ----------
    name
        How far apart they are.
    pairs
        How many there are, each direction counted.
    bytes
        Length of the messages.
    seconds
        The median over pairs and launches, s.
    low, high
        The 10th and the 90th percentile over pairs, s.
    slowdown
        The median over the expected time; None without an expectation.
    """

    name: str
    pairs: int
    bytes: int
    seconds: float
    low: float
    high: float
    slowdown: float | None


@dataclass(frozen=True)
class Within:
    """What there is to say of the ranks within nodes.

    Attributes
    ----------
    times
        What was measured; None where no two ranks are on one node.
    values
        By length and pair: the logarithm of measured over expected time.
    shift
        By length: what all these pairs have in common, as a logarithm; 0 without an expectation.
    findings
        What is slow, that which explains most first.
    wrong
        Bindings that are wrong.
    classes
        Times by class and length.
    """

    times: WithinTimes | None
    values: Matrix
    shift: Matrix
    findings: list[Finding]
    wrong: list[WrongBinding]
    classes: list[ClassTime]

    def slow_lengths(self, threshold: float) -> dict[int, float]:
        """By how much all pairs within nodes are slower than expected, for lengths where that counts."""
        lengths = () if self.times is None else self.times.lengths
        factors = zip(lengths, np.exp(self.shift), strict=True)
        return {length: float(factor) for length, factor in factors if factor > 1.0 + threshold}


def within(samples: pl.DataFrame, *, expected: pl.DataFrame | None = None, threshold: float = 0.05) -> Within | None:
    """Judge the ranks within nodes, from samples of the benchmark `pairs`.

    Parameters
    ----------
    samples
        Of one machine.
    expected
        Samples where all is as it should be. The same pairs are compared one by one, others with their class.
    threshold
        The least slowdown that counts, as a share of the time.

    Returns
    -------
    Within
        None where the samples say of no rank where it runs.

    Raises
    ------
    weft.UsageError
        If a binding in the samples is none.

    Examples
    --------
    >>> rows = [
    ...     {"benchmark": "pairs", "sender": i, "receiver": 1 - i, "bytes": 8, "repetition": 0, "seconds": 1e-6,
    ...      "sender_node": "n1", "receiver_node": "n1", "sender_binding": "cpu=3 core=3 of=4",
    ...      "receiver_binding": "cpu=3 core=3 of=4"}
    ...     for i in range(2)
    ... ]
    >>> judged = within(pl.DataFrame(rows))
    >>> [each.text for each in judged.wrong], [each.name for each in judged.classes]
    (['ranks 0 and 1 on node n1 are bound to the same processor, 3'], ['same processor'])
    """
    ranks = _ranks(samples)
    if not ranks:
        return None
    times = _times(samples, ranks)
    misbound = wrong(ranks.values())
    if times is None:
        return Within(None, np.zeros((0, 0)), np.zeros(0), [], misbound, [])
    normal = None if expected is None else _times(expected, _ranks(expected))
    left, quickest, shift = _residuals(times, normal)
    least = float(np.log1p(threshold))
    findings = _findings(times, left, quickest, least)
    return Within(times, left, shift, findings, misbound, _class_times(times, left, shift, normal is not None))


def _ranks(samples: pl.DataFrame) -> dict[int, Rank]:
    """Every rank of which the samples say where it runs."""
    if not {*_COLUMNS, "benchmark"} <= {*samples.columns}:
        return {}
    rows = samples.filter(pl.col("benchmark") == BENCHMARK)
    ends = [
        rows.select(rank=pl.col(end), node=pl.col(f"{end}_node"), binding=pl.col(f"{end}_binding"))
        for end in ("sender", "receiver")
    ]
    known = pl.concat(ends).drop_nulls().unique("rank", keep="last", maintain_order=True)
    return {
        number: Rank(number, node, Binding.parse(text))
        for number, node, text in known.select("rank", "node", "binding").iter_rows()
    }


def _times(samples: pl.DataFrame, ranks: Mapping[int, Rank]) -> WithinTimes | None:
    """The pairs within nodes; None where there are none."""
    if not ranks:
        return None
    rows = samples.filter(
        (pl.col("benchmark") == BENCHMARK)
        & (pl.col("sender_node") == pl.col("receiver_node"))
        & pl.col("sender").is_in([*ranks])
        & pl.col("receiver").is_in([*ranks])
    )
    if rows.is_empty():
        return None
    ends = rows.select("sender", "receiver").unique().sort("sender", "receiver").to_numpy()
    position = {(int(i), int(j)): cell for cell, (i, j) in enumerate(ends)}
    lengths, launches = sorted(rows["bytes"].unique()), sorted(rows["repetition"].unique())
    logs = np.full((len(launches), len(lengths), len(ends)), np.nan)
    cells = [position[pair] for pair in rows.select("sender", "receiver").iter_rows()]
    at = (
        np.searchsorted(launches, rows["repetition"].to_numpy()),
        np.searchsorted(lengths, rows["bytes"].to_numpy()),
        cells,
    )
    logs[at] = rows["seconds"].log().to_numpy()
    distances = tuple(distance(ranks[int(i)].binding, ranks[int(j)].binding) for i, j in ends)
    return WithinTimes(ranks, ends.astype(np.int64), distances, tuple(lengths), logs, tuple(launches))


def _residuals(times: WithinTimes, normal: WithinTimes | None) -> tuple[Matrix, Matrix, Matrix]:
    """The logarithm of measured over expected time, at the median over launches and of the quickest launch, both
    without what all pairs have in common, and that."""
    medians, lows = over(np.nanmedian, times.logs, 0), over(np.nanmin, times.logs, 0)
    if normal is None:
        by_class = _class_medians(times)
        values = medians - by_class
        low = lows - _class_medians(times, np.nanmin)
        return values, low, np.zeros(len(times.lengths))
    values, low = medians - _expected(times, normal, np.nanmedian), lows - _expected(times, normal, np.nanmin)
    if _is_same(times, normal):
        at = [normal.lengths.index(length) for length in times.lengths]
        values = over(np.nanmedian, times.logs - normal.logs[:, at], 0)
    shift = _shift(times, values)
    return values - shift[:, None], low - over(np.nanmedian, low, 1, keepdims=True), shift


def _shift(times: WithinTimes, values: Matrix) -> Matrix:
    """By length, what all pairs have in common: by how much the class is slower that is slower by least.

    The median over all pairs would be that of a class where most pairs are of it.
    """
    least = _SHARE * len(times.ends)
    medians = [over(np.nanmedian, values[:, cells], 1) for cells in times.classes().values() if len(cells) >= least]
    return np.asarray(np.nan_to_num(over(np.nanmin, np.array(medians), 0)))


def _is_same(times: WithinTimes, normal: WithinTimes) -> bool:
    """Whether the same pairs were measured in the same launches, so that who met whom is the same too."""
    return (
        np.array_equal(times.ends, normal.ends)
        and times.distances == normal.distances
        and times.launches == normal.launches
        and {*times.lengths} <= {*normal.lengths}
    )


def _expected(times: WithinTimes, normal: WithinTimes, reduce: Reduction) -> Matrix:
    """By length and pair: the same pair's time where the baseline has it at the same distance, else that of its class;
    of a class that the baseline lacks, its own."""
    expected = _class_medians(times, reduce)
    reduced = over(reduce, normal.logs, 0)
    known = {(int(i), int(j)): cell for cell, (i, j) in enumerate(normal.ends)}
    classes = normal.classes()
    for index, length in enumerate(times.lengths):
        if length not in normal.lengths:
            continue
        row = reduced[normal.lengths.index(length)]
        medians = {each: float(over(np.nanmedian, row[cells], 0)) for each, cells in classes.items()}
        for cell, (i, j) in enumerate(times.ends):
            same, apart = known.get((int(i), int(j))), times.distances[cell]
            if same is not None and normal.distances[same] == apart and np.isfinite(row[same]):
                expected[index, cell] = row[same]
            elif np.isfinite(medians.get(apart, np.nan)):
                expected[index, cell] = medians[apart]
    return expected


def _class_medians(times: WithinTimes, reduce: Reduction = np.nanmedian) -> Matrix:
    """By length and pair: the median of the pair's class."""
    values = over(reduce, times.logs, 0)
    for cells in times.classes().values():
        values[:, cells] = over(np.nanmedian, values[:, cells], 1, keepdims=True)
    return values


def _findings(times: WithinTimes, values: Matrix, quickest: Matrix, least: float) -> list[Finding]:
    """What is slow: ranks, parts of nodes, nodes and classes first, then single pairs that those do not explain."""
    explained = inference.findings(values, suspects.distinct([*_suspects(times)]), least)
    pairs = inference.slow_cells(values, quickest, explained, times.ends, _PairName(times), least)
    return [*explained, *pairs]


class _PairName:
    """What pairs of ranks are called."""

    def __init__(self, times: WithinTimes) -> None:
        self._times = times
        self._distances = {(int(i), int(j)): each for (i, j), each in zip(times.ends, times.distances, strict=True)}

    def __call__(self, i: int, j: int, both: bool) -> str:
        where = f"on node {self._times.ranks[i].node} ({self._distances[i, j].name})"
        return f"the pair of ranks {i} and {j} {where}" if both else f"messages from rank {i} to rank {j} {where}"


def _suspects(times: WithinTimes) -> Iterator[Suspect]:
    """What may be slow; of suspects with the same pairs the first is named, and the others beside it."""
    nodes = times.nodes()
    node_of = np.array([times.ranks[int(i)].node for i in times.ends[:, 0]])
    for node, ranks in nodes.items():
        inside = np.flatnonzero(node_of == node)
        for rank in ranks:
            yield from _of_rank(times, inside, rank)
        # Where a socket is one NUMA node, people know it as the socket.
        for level in reversed(PARTS):
            yield from _of_parts(times, inside, node, ranks, level)
        yield Suspect("inside", f"what is within node {node}", inside)
    for known, cells in times.classes().items():
        yield Suspect("distance", f"every pair of the class '{known.name}'", cells)


def _of_rank(times: WithinTimes, inside: npt.NDArray[np.int64], rank: Rank) -> Iterator[Suspect]:
    sends, receives = (inside[times.ends[inside, end] == rank.number] for end in (0, 1))
    name = f"rank {rank.number} on node {rank.node}"
    yield Suspect("rank", name, np.concatenate([sends, receives]), (rank.number,))
    yield Suspect("rank", f"{name} as a sender", sends, (rank.number,))
    yield Suspect("rank", f"{name} as a receiver", receives, (rank.number,))


def _of_parts(
    times: WithinTimes, inside: npt.NDArray[np.int64], node: str, ranks: Sequence[Rank], level: Level
) -> Iterator[Suspect]:
    """The parts of a node at one level: what is in each, all that it takes part in, and what joins it to others."""
    part_of = {rank.number: rank.binding.within(level) for rank in ranks}
    parts = sorted({part for part in part_of.values() if part is not None})
    if len(parts) < 2:
        return
    ends = [np.array([-1 if part_of[int(rank)] is None else part_of[int(rank)] for rank in times.ends[inside, end]])
            for end in (0, 1)]  # fmt: skip
    word = PARTS[level]
    for number, part in enumerate(parts):
        one, other = ends[0] == part, ends[1] == part
        name = f"{word} {part} of node {node}"
        yield Suspect("part", name, inside[one | other])
        yield Suspect("part", f"the inside of {name}", inside[one & other])
        if len(parts) > 2:
            yield Suspect("joint", f"what joins {name} with the rest", inside[one ^ other])
        for further in parts[number + 1 :]:
            across = (one & (ends[1] == further)) | ((ends[0] == further) & other)
            yield Suspect("joint", f"what joins {word}s {part} and {further} of node {node}", inside[across])


def _class_times(times: WithinTimes, values: Matrix, shift: Matrix, is_compared: bool) -> list[ClassTime]:
    medians = over(np.nanmedian, times.logs, 0)
    results = []
    for known, cells in times.classes().items():
        for index, length in enumerate(times.lengths):
            row = medians[index, cells]
            row = row[np.isfinite(row)]
            if not row.size:
                continue
            low, middle, high = (float(each) for each in np.exp(np.quantile(row, [0.1, 0.5, 0.9])))
            slowdown = float(np.exp(np.nanmedian(values[index, cells]) + shift[index])) if is_compared else None
            results.append(ClassTime(known.name, len(cells), length, middle, low, high, slowdown))
    return results


def class_lines(judged: Within) -> list[str]:
    """The times by class, a line each.

    Examples
    --------
    >>> of_class = [ClassTime("same core", 2, length, seconds, seconds, seconds, None) for length, seconds in
    ...             ((8, 3e-7), (65536, 1e-5))]
    >>> class_lines(Within(None, np.zeros((0, 0)), np.zeros(0), [], [], of_class))
    ['within nodes, same core: 8 B 300 ns, 64 KiB 10.0 µs; 2 pairs']
    """
    lines: dict[str, list[ClassTime]] = {}
    for each in judged.classes:
        lines.setdefault(each.name, []).append(each)
    return [
        f"within nodes, {name}: "
        + ", ".join(f"{units.length(each.bytes)} {units.seconds(each.seconds)}" for each in times)
        + f"; {times[0].pairs} pairs"
        for name, times in lines.items()
    ]
