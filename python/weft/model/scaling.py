"""Empirical models of any benchmark: its time against a count, such as ranks, and a length, with intervals.

`weft.model.fit` knows what a message is; of a collective, a stream or a probe among traffic nobody knows beforehand
what its time is made of. So the form is chosen by cross-validation among sums of few terms (`weft.model.terms`), in
pieces of length, and an interval is that of the whole procedure: the choice is made again without what is predicted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from scipy import special

from weft import units
from weft.model.forms import Cells, Form, Pieces
from weft.model.lines import Floats

NO_TIME = 1e-300
"""What stands for no time, whose logarithm there is not, s."""

MIN_INSIDE = 10
"""The fewest points inside of pieces by which others inside are judged."""


@dataclass(frozen=True)
class Fold:
    """What the same procedure gives without some points, and by how much it is off those.

    Attributes
    ----------
    pieces
        The model.
    sizes
        Of each point that it has not seen: the size of the logarithm of its time over that of the model.
    inside
        Which of them are inside of a piece of the whole model. Where a piece ends is known worst without a point there,
        so that lengths inside are judged by those inside.
    """

    pieces: Pieces
    sizes: Floats
    inside: np.ndarray


@dataclass(frozen=True)
class Scaling:
    """A model of one benchmark with one setting of everything else.

    Attributes
    ----------
    machine, source, benchmark
        As in the samples.
    setting
        Parameters that the samples have one value of, such as an algorithm.
    count
        The parameter that it is a function of, besides the length in bytes: a key of `weft.model.terms.TERMS`.
    pieces
        The forms, by ascending length.
    cells
        What it was fitted to: medians over launches.
    folds
        By what was left out: single points, whole counts, whole lengths.
    common
        Variance of what the points of a launch have in common, of the logarithm of a median.
    confidence
        Coverage of the intervals.
    ranks
        Of the samples, where the count is something else.
    """

    machine: str
    source: str
    benchmark: str
    setting: dict[str, object]
    count: str
    pieces: Pieces
    cells: Cells = field(repr=False)
    folds: dict[str, tuple[Fold, ...]] = field(repr=False)
    common: float
    confidence: float
    ranks: int | None = None

    @property
    def points(self) -> list[tuple[int, int]]:
        """Counts and lengths of the samples."""
        return [(int(count), int(length)) for count, length in zip(self.cells.counts, self.cells.lengths, strict=True)]

    def seconds(self, count: int, length: int = 0) -> float:
        """Seconds with that count (ranks, say) and length in bytes."""
        return float(self.pieces.seconds(*_one(count, length))[0])

    def interval(self, count: int, length: int = 0) -> tuple[float, float, float]:
        """Seconds, and between which a new median over launches would lie.

        CV+ of logarithms (R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani, Predictive inference with the
        jackknife+, Annals of Statistics 49 (2021) 486): the form is chosen again without each part of the points, and
        how far off that is says how far off this is, whatever the form. A count or a length between those of samples is
        judged by how well others were told without any sample of theirs; and since the points of a count are off
        together, another count is also one more draw of what the mean errors of counts are drawn from. Where one piece
        ends and the next begins at an unknown length the interval holds that of either; at other counts, and beyond the
        samples, it holds every form that is about as good as the chosen one. Beyond the samples it promises nothing
        more. What all points of a launch have in common, which no residual shows, is added (twice: of the samples, and
        of the new measurement).

        Returns
        -------
        tuple of float
            Seconds, low and high.
        """
        value = self.seconds(count, length)
        kinds = self._kinds(count, length)
        ends = [self._by_folds(self.folds[kind], count, length) for kind in kinds]
        ends += [self._by_counts(value, length)] if "count" in kinds else []
        forms = [value, *self._other_forms(count, length)]
        low = min(*forms, *(low for low, _ in ends)) if ends else 0.0
        high = max(*forms, *(high for _, high in ends)) if ends else math.inf
        if (other := self._other_piece(count, length)) is not None and value > 0.0:
            low, high = min(low, other * low / value), max(high, other * high / value)
        normal = float(special.ndtri(0.5 + self.confidence / 2.0))
        shared = normal**2 * 2.0 * self.common
        return value, _away(value, low, shared), _away(value, high, shared)

    def is_within(self, count: int, length: int = 0) -> bool:
        """Whether the samples reach that far."""
        reached = (self.cells.counts, count), (self.cells.lengths, length)
        return all(values.min() <= asked <= values.max() for values, asked in reached)

    @property
    def covers(self) -> float:
        """What an interval of it covers: less than asked for where points are few."""
        points = len(_sizes(self.folds["point"], is_inside=True)[0])
        return min(self.confidence, points / (points + 1.0))

    def formulas(self) -> list[str]:
        """Each piece in words, times in seconds and `n` the length in bytes.

        Coefficients have no intervals: another form, as good, has others. Times have (`interval`).
        """
        return [_words(form) for form in self.pieces.forms]

    def table(self) -> pl.DataFrame:
        """A row for each piece.

        Returns
        -------
        polars.DataFrame
            `machine`, `source`, `benchmark`, `setting` (in words), `count`, `first`, `last` (bytes), `formula`,
            `points` and `error`: the mean relative error of its points by the same form without them.
        """
        rows = [
            (
                self.machine, self.source, self.benchmark, self.words(), self.count, int(form.first), int(form.last),
                formula, len(form.errors), float(np.abs(form.errors).mean()),
            )
            for form, formula in zip(self.pieces.forms, self.formulas(), strict=True)
        ]  # fmt: skip
        return pl.DataFrame(rows, schema=_TABLE, orient="row")

    def words(self) -> str:
        """The setting in words."""
        return ", ".join(f"{name} {value}" for name, value in self.setting.items())

    def _kinds(self, count: int, length: int) -> list[str]:
        """By which folds an interval there is judged."""
        unseen = {"count": count not in self.cells.counts, "length": length not in self.cells.lengths}
        kinds = ["point", *(kind for kind, is_unseen in unseen.items() if is_unseen)]
        return [kind for kind in kinds if self.folds.get(kind)]

    def _by_folds(self, folds: Sequence[Fold], count: int, length: int) -> tuple[float, float]:
        sizes, of = _sizes(folds, bool(self.pieces.is_inside(np.array([float(length)]))[0]))
        at = np.log([max(float(fold.pieces.seconds(*_one(count, length))[0]), NO_TIME) for fold in folds])[of]
        # The quantile of jackknife+: with few points it is the last of them.
        index = min(math.ceil(self.confidence * (len(sizes) + 1)), len(sizes)) - 1
        return math.exp(-np.sort(sizes - at)[index]), math.exp(np.sort(sizes + at)[index])

    def _by_counts(self, value: float, length: int) -> tuple[float, float]:
        """The interval of another count, whose points are off together, by the mean errors of counts left out.

        The prediction interval of one more normal value with mean 0 and unknown variance, by Student's t. The size of
        an error stands for the error, so that the interval is rather too wide.
        """
        sizes, of = _sizes(self.folds["count"], bool(self.pieces.is_inside(np.array([float(length)]))[0]))
        means = np.array([sizes[of == fold].mean() for fold in np.unique(of)])
        quantile = float(special.stdtrit(len(means), 0.5 + self.confidence / 2.0))
        factor = math.exp(quantile * math.sqrt(float(np.mean(means**2)) * (1.0 + 1.0 / len(means))))
        return value / factor, value * factor

    def _other_piece(self, count: int, length: int) -> float | None:
        """Time by the next piece where this one may have ended before that length; None where it has not."""
        point = _one(count, length)
        index = int(self.pieces.index(point[1])[0])
        if index + 1 == len(self.pieces.forms) or length <= self.pieces.forms[index].last:
            return None
        return float(self.pieces.forms[index + 1].seconds(*point)[0])

    def _other_forms(self, count: int, length: int) -> list[float]:
        """Times by forms about as good as the chosen one, where there are no samples to tell them apart."""
        if count in self.cells.counts and self.is_within(count, length):
            return []
        point = _one(count, length)
        here = self.pieces.forms[int(self.pieces.index(point[1])[0])]
        row = here.family.design(*point)[0]
        return [float(row[list(columns)] @ values) for columns, values in here.alternatives]


_TABLE: dict[str, pl.DataType] = {
    "machine": pl.String(),
    "source": pl.String(),
    "benchmark": pl.String(),
    "setting": pl.String(),
    "count": pl.String(),
    "first": pl.Int64(),
    "last": pl.Int64(),
    "formula": pl.String(),
    "points": pl.Int64(),
    "error": pl.Float64(),
}


def _sizes(folds: Sequence[Fold], is_inside: bool) -> tuple[Floats, np.ndarray]:
    """How far off the folds are, and of which fold each figure is; inside of pieces only those inside, if many are."""
    of = np.repeat(np.arange(len(folds)), [len(fold.sizes) for fold in folds])
    sizes, inside = (np.concatenate([getattr(fold, name) for fold in folds]) for name in ("sizes", "inside"))
    chosen = inside if is_inside and inside.sum() >= MIN_INSIDE else np.ones(len(sizes), dtype=bool)
    return sizes[chosen], of[chosen]


def _one(count: float, length: float) -> tuple[Floats, Floats]:
    return np.array([float(count)]), np.array([float(length)])


def _away(value: float, end: float, more: float) -> float:
    """An end of an interval, further away by what adds this variance to the square of its distance in logarithms."""
    if value <= 0.0 or end <= 0.0 or math.isinf(end):
        return end
    distance = math.log(end / value)
    return value * math.exp(math.copysign(math.hypot(distance, math.sqrt(more)), distance or end - value or -1.0))


def _words(form: Form) -> str:
    """`1.2 µs + 0.8 µs ⌈log2 p⌉ + 0.1 ns n`."""
    said = form.family.names()
    parts = []
    for column, value in zip(form.columns, form.coefficients, strict=True):
        term = said[column]
        parts.append(units.seconds(value) if term == "1" else f"{units.seconds(value)} {term}")
    return " + ".join(parts)
