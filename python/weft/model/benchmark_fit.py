"""Empirical models of a benchmark from its samples: one for each setting, and what they predict together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from weft import units
from weft.model.curve import FitError
from weft.model.forms import MAX_PIECES, Cells, Pieces, fit_pieces
from weft.model.lines import Floats
from weft.model.points import MIN_LAUNCHES, Points, points_of
from weft.model.prediction import SCHEMA
from weft.model.refine import bootstrap
from weft.model.scaling import Fold, Scaling
from weft.model.terms import TERMS
from weft.samples import DEFAULT_CONFIDENCE, PARAMETERS, validate

MIN_POINTS = 4
"""The fewest points of a model: fewer leave nothing to choose a form by."""

FOLDS = 10
"""Parts of the points that are left out one after the other."""

LENGTH_FOLDS = 16
"""The most parts of the lengths that are left out whole."""

MIN_INNER = 3
"""The fewest counts, or lengths, between others by which it is known what those between are off by."""

MAX_ERROR = 0.5
"""The mean relative error of points that a model has not seen beyond which it is none."""


@dataclass(frozen=True)
class BenchmarkFit:
    """What the samples of a benchmark on a machine say of its time.

    Attributes
    ----------
    models
        One for each algorithm, and each setting of what is neither count nor length.
    notes
        What the samples do not determine, in words.
    """

    models: tuple[Scaling, ...]
    notes: tuple[str, ...]

    def table(self) -> pl.DataFrame:
        """A row for each piece of each model: see `Scaling.table`."""
        return pl.concat([one.table() for one in self.models])

    def predict(self, counts: Iterable[int] = (), lengths: Iterable[int] = ()) -> pl.DataFrame:
        """Predict times at counts and lengths, each of the ones with each of the others.

        Where several algorithms were measured at the same point there is a row for each. Where the benchmark chose its
        algorithm there is one row: of the algorithm that most of the samples around the point have, and where they
        differ an interval that holds all of theirs, since it is not known where one gives way to the other.

        Parameters
        ----------
        counts
            Values of the count of the models: ranks, say. Default: those of the samples.
        lengths
            Bytes; default: those of the samples.

        Returns
        -------
        polars.DataFrame
            Samples of source `predicted`, with the columns of `weft.model.prediction.SCHEMA`, the count and the
            setting. `seconds_low` and `seconds_high` are where a new median over launches would lie; `note` says where
            that is not known.

        Raises
        ------
        FitError
            If a count or a length cannot be one.
        """
        counts, lengths = list(counts), list(lengths)
        for value, least, what in (*((one, 0, "length") for one in lengths), *((one, 1, "count") for one in counts)):
            if value < least:
                raise FitError(f"a {what} is at least {least}, and {value} was asked for")
        tables = [
            _prediction(group, count, length)
            for group in _alternatives(self.models)
            for count in counts or sorted({count for model in group for count, _ in model.points})
            for length in lengths or sorted({length for model in group for _, length in model.points})
        ]
        return pl.concat(tables, how="diagonal_relaxed")


def fit_benchmark(
    samples: pl.DataFrame,
    benchmark: str,
    machine: str | None = None,
    source: str | None = None,
    *,
    most_pieces: int = MAX_PIECES,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
) -> BenchmarkFit:
    """Fit empirical models to the times of any benchmark, one for each algorithm and setting.

    A model is a sum of few terms, of a count (ranks; neighbours of a fan; bytes of a background message) and of the
    length, in up to `most_pieces` pieces of length. How many terms and pieces is what predicts points best that the
    model has not seen.

    Parameters
    ----------
    samples
        A table of samples; other benchmarks are passed over.
    benchmark
        Its name, as `allreduce`.
    machine, source
        Which rows; needed only if the table has several machines or sources of the benchmark.
    most_pieces
        The most pieces, at least 1.
    confidence
        Coverage of the intervals, between 0 and 1.
    seed
        Of the parts in which points are left out, and of the bootstrap over launches.

    Raises
    ------
    FitError
        If there are no such samples, several machines or sources are mixed, more than one count varies, or the points
        determine no form.
    SamplesError
        If the table is not one of samples.

    Examples
    --------
    >>> import weft
    >>> times = weft.simulate("ipsc860", "broadcast", ranks=[2, 4, 8, 16, 32], bytes="8:64")
    >>> fitted = fit_benchmark(times, "broadcast")
    >>> fitted.models[0].formulas()
    ['72.0 µs ⌈log2 p⌉ + 415 ns ⌈log2 p⌉ n']
    >>> fitted.predict([24], [32])["seconds"].round(6).item()
    0.000426
    """
    if most_pieces < 1:
        raise FitError(f"a model has at least 1 piece, and at most {most_pieces} were asked for")
    if not 0.0 < confidence < 1.0:
        raise FitError(f"expected a confidence between 0 and 1, found {confidence}")
    rows = _rows(validate(samples), benchmark, machine, source)
    models: list[Scaling] = []
    refused: list[str] = []
    for part, setting, count in _settings(rows):
        try:
            models.append(_fitted(part, setting, count, most_pieces, confidence, seed))
        except FitError as error:
            refused.append(str(error))
    if not models:
        others = len(refused) - 1
        more = [] if not others else ["so is one other" if others == 1 else f"so are {others} others"]
        raise FitError("; ".join(refused[:1] + more))
    notes = [f"not fitted: {error}" for error in refused]
    return BenchmarkFit(tuple(models), (*notes, *itertools.chain.from_iterable(map(_limits, models))))


def _rows(table: pl.DataFrame, benchmark: str, machine: str | None, source: str | None) -> pl.DataFrame:
    """The samples of one benchmark, machine and source."""
    rows = table.filter(pl.col("benchmark") == benchmark)
    if rows.is_empty():
        present = ", ".join(table["benchmark"].unique(maintain_order=True).to_list()) or "no samples at all"
        raise FitError(f"there are no samples of {benchmark!r}; there are of {present}")
    for column, wanted in (("machine", machine), ("source", source)):
        known = rows[column].unique(maintain_order=True).to_list()
        if wanted is None and len(known) > 1:
            raise FitError(
                f"the samples of {benchmark} are of several {column}s ({', '.join(known)}), and a fit is of one: "
                f"choose with {column}="
            )
        if wanted is not None and wanted not in known:
            raise FitError(f"there are no samples of {benchmark} of the {column} {wanted!r}; of {', '.join(known)}")
        rows = rows.filter(pl.col(column) == (known[0] if wanted is None else wanted))
    return rows


def _settings(rows: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, dict[str, object], str]]:
    """The samples of each setting, with what varies: which parameters the samples of one setting have several of."""
    apart = (*TERMS, "bytes", "machine", "source", "benchmark")
    fixed = [name for name in PARAMETERS if name in rows.columns and name not in apart]
    # The links between ranks follow from how many there are, and where is one distance it is no setting of interest.
    if "hops" in fixed and rows.group_by("ranks").agg(pl.col("hops").n_unique())["hops"].max() == 1:
        fixed.remove("hops")
    for values, part in rows.group_by(fixed, maintain_order=True) if fixed else [((), rows)]:
        setting = {name: value for name, value in zip(fixed, values, strict=True) if value is not None}
        counts = [name for name in TERMS if name in part.columns and part[name].n_unique() > 1]
        if len(counts) > 1:
            raise FitError(
                f"{part['benchmark'][0]}: {' and '.join(counts)} vary, and a model is a function of one of them and of "
                "the length; keep the samples of one value of the others"
            )
        yield part, setting, counts[0] if counts else "ranks"


def _fitted(
    part: pl.DataFrame, setting: dict[str, object], count: str, most: int, confidence: float, seed: int
) -> Scaling:
    points = points_of(part.with_columns(hops=pl.col(count), bytes=pl.col("bytes").fill_null(0)))
    cells = Cells(count, points.hops, points.bytes, points.seconds)
    name = ", ".join([str(part["benchmark"][0]), *(f"{key} {value}" for key, value in setting.items())])
    pieces = fit_pieces(cells, most) if len(cells) >= MIN_POINTS else None
    if pieces is None:
        raise FitError(
            f"{name}: {len(cells)} points of {len(np.unique(cells.counts))} {count} and "
            f"{len(np.unique(cells.lengths))} lengths determine no model; measure at least {MIN_POINTS}, of several "
            f"lengths or {count}"
        )
    if pieces.error > MAX_ERROR:
        raise FitError(
            f"{name}: no sum of terms of {count} and length describes the samples: the best is off by "
            f"{pieces.error:.0%} on average at points that it has not seen; measure more lengths, {count} or launches"
        )
    generator = np.random.default_rng(seed)
    folds = {
        kind: tuple(_folds(cells, pieces, groups, most))
        for kind, groups in (
            ("point", _dealt(generator.permutation(len(cells)), FOLDS)),
            ("count", _inner(cells.counts, len(cells))),
            ("length", _inner(cells.lengths, LENGTH_FOLDS)),
        )
    }
    if not folds["point"]:
        raise FitError(
            f"{name}: without any tenth of its {len(cells)} points they determine no model, so that nothing says how "
            f"far off it is; measure more lengths or {count}"
        )
    one = part.row(0, named=True)
    return Scaling(
        one["machine"], one["source"], one["benchmark"], setting, count, pieces, cells, folds,
        _common(points, generator), confidence, None if count == "ranks" else one["ranks"],
    )  # fmt: skip


def _limits(model: Scaling) -> Iterator[str]:
    """What the points of a model are too few for."""
    name = ", ".join(filter(None, [model.benchmark, model.words()]))
    if round(model.covers, 2) < round(model.confidence, 2):
        yield f"{name}: of {len(model.cells)} points, so that its intervals cover {model.covers:.0%} at most"
    counts = len(np.unique(model.cells.counts))
    if counts > 1 and not model.folds["count"]:
        yield f"{name}: {counts} {model.count} do not tell how far off others are; measure {MIN_INNER + 2} or more"


def _dealt(order: np.ndarray, parts: int) -> list[np.ndarray]:
    """Which points are left out together: the points in this order, dealt out."""
    return [order[first::parts] for first in range(min(parts, len(order)))]


def _inner(values: Floats, parts: int) -> list[np.ndarray]:
    """The points of whole counts or lengths, without the least and the largest, which are beyond all others."""
    inner = np.unique(values)[1:-1]
    if len(inner) < MIN_INNER:
        return []
    return [np.flatnonzero(np.isin(values, group)) for group in _dealt(inner, parts)]


def _folds(cells: Cells, whole: Pieces, groups: Sequence[np.ndarray], most: int) -> Iterator[Fold]:
    for group in groups:
        stays = np.ones(len(cells), dtype=bool)
        stays[group] = False
        pieces = fit_pieces(cells.select(stays), most) if stays.sum() >= MIN_POINTS else None
        if pieces is None:
            continue
        unseen = cells.select(~stays)
        times = pieces.seconds(unseen.counts, unseen.lengths)
        is_positive = times > 0.0
        yield Fold(
            pieces,
            np.abs(np.log(unseen.seconds[is_positive] / times[is_positive])),
            whole.is_inside(unseen.lengths)[is_positive],
        )


def _common(points: Points, generator: np.random.Generator) -> float:
    """Variance of what the points of a launch have in common, of the logarithm of a median over launches.

    By a bootstrap of whole launches: what the medians of different points vary by together. Launches that are alike
    because they follow each other say less than independent ones: as for the intervals of fits.
    """
    launches = points.launches
    if len(points) < 2 or np.sum(~np.isnan(launches), axis=0).min() < MIN_LAUNCHES:
        return 0.0
    medians = np.log(bootstrap(points, generator) / points.seconds)
    covariance = np.cov(medians, rowvar=False)
    off = covariance[~np.eye(len(points), dtype=bool)]
    return max(0.0, float(off.mean())) * points.inflation * len(launches) / (len(launches) - 1)


def _alternatives(models: Sequence[Scaling]) -> list[list[Scaling]]:
    """Models that differ in an algorithm that the benchmark chose: no point was measured with two of them."""
    groups: dict[str, list[Scaling]] = {}
    for model in models:
        setting = {name: value for name, value in model.setting.items() if name != "algorithm"}
        groups.setdefault(repr((model.count, setting)), []).append(model)
    apart: list[list[Scaling]] = []
    for group in groups.values():
        points = [point for model in group for point in model.points]
        apart += [group] if len(points) == len(set(points)) else [[model] for model in group]
    return apart


def _prediction(group: Sequence[Scaling], count: int, length: int) -> pl.DataFrame:
    """One row: by the models of the samples around a point."""
    around = _around(group, count, length)
    chosen = around[0]
    intervals = [model.interval(count, length) for model in around]
    seconds, low, high = intervals[0][0], min(low for _, low, _ in intervals), max(high for *_, high in intervals)
    remarks = list(_remarks(group, around, count, length))
    head = ("predicted", chosen.machine, chosen.benchmark, count if chosen.count == "ranks" else chosen.ranks, None)
    row = (*head, length, 0, seconds, low, high, length / seconds if seconds > 0.0 else None, "; ".join(remarks))
    table = pl.DataFrame([row], schema=SCHEMA, orient="row")
    counted = {} if chosen.count == "ranks" else {chosen.count: count}
    return table.with_columns(**{name: pl.lit(value) for name, value in {**chosen.setting, **counted}.items()})


def _around(group: Sequence[Scaling], count: int, length: int) -> list[Scaling]:
    """The models of the samples around a point, first that of the most of them; of the nearest where there are none."""
    points = {point: model for model in group for point in model.points}
    corners = itertools.product(
        _neighbours([one for one, _ in points], count), _neighbours([one for _, one in points], length)
    )
    models = [points[corner] for corner in corners if corner in points]
    if not models:
        models = [points[min(points, key=lambda point: (abs(point[0] - count), abs(point[1] - length)))]]
    return sorted({id(model): model for model in models}.values(), key=lambda model: -models.count(model))


def _neighbours(values: Iterable[int], at: int) -> list[int]:
    """The value itself, or those next to it, or the nearest of all where it is beyond them."""
    known = sorted(set(values))
    below, above = [one for one in known if one <= at], [one for one in known if one >= at]
    return sorted({*below[-1:], *above[:1]})


def _remarks(group: Sequence[Scaling], around: Sequence[Scaling], count: int, length: int) -> Iterator[str]:
    name = around[0].count
    counts = [one for model in group for one, _ in model.points]
    lengths = [one for model in group for _, one in model.points]
    if not min(counts) <= count <= max(counts):
        yield f"outside of the {name} of the samples, {min(counts)} to {max(counts)}"
    if not min(lengths) <= length <= max(lengths):
        yield f"outside of the lengths of the samples, {units.length(min(lengths))} to {units.length(max(lengths))}"
    if count not in counts and not around[0].folds["count"]:
        yield f"too few {name} were measured to tell how far off others are"
    if name == "ranks" and count not in counts and _are_powers(counts) and not _are_powers([count]):
        yield "no power of 2, which all ranks of the samples are: algorithms treat others differently"
    if len(around) > 1:
        algorithms = ", ".join(str(model.setting.get("algorithm")) for model in around)
        yield f"samples around it have different algorithms: {algorithms}"


def _are_powers(counts: Iterable[int]) -> bool:
    """Whether all are powers of 2."""
    return all(count & (count - 1) == 0 for count in counts)
