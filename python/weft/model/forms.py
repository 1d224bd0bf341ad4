"""The form of an empirical model that predicts best what it has not seen, by cross-validation, in pieces of length."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from weft.model.lines import EXACT, Floats
from weft.model.segments import RESOLUTION
from weft.model.terms import Family, family

MAX_PIECES = 4
"""The most pieces of a model: protocols, and an algorithm for short messages and one for long ones."""

MIN_LENGTHS = 3
"""The fewest lengths of a piece: two determine a line and leave nothing to check it by; with several counts they do."""

MAX_EDGES = 24
"""The most lengths that are tried as the end of a piece at first; then those near the best ones are."""

SMALL = 1e-13
"""What is added to squares of columns of length 1: matrices without an inverse get one, too large to be of use."""


@dataclass(frozen=True)
class Cells:
    """What a model is fitted to: one time for each count and length.

    Attributes
    ----------
    count
        The parameter that is counted, of `weft.model.terms.TERMS`.
    counts, lengths, seconds
        One entry a point: ranks or neighbours, bytes, and median seconds over launches.
    """

    count: str
    counts: Floats
    lengths: Floats
    seconds: Floats

    def __len__(self) -> int:
        return len(self.seconds)

    def select(self, chosen: np.ndarray) -> Cells:
        """The points where `chosen` is true."""
        return Cells(self.count, self.counts[chosen], self.lengths[chosen], self.seconds[chosen])


@dataclass(frozen=True)
class Form:
    """One piece: which terms, their coefficients, and how far off points are that it has not seen.

    Attributes
    ----------
    first, last
        Shortest and longest length it was fitted to, bytes.
    family
        What its terms are.
    columns
        Of the design of the family.
    coefficients
        In s, and in s/B for terms that grow with the length.
    errors
        Relative, of each point of the piece by the form without that point.
    alternatives
        Columns and coefficients of the other forms that are as good, within what chance makes of the errors.
    """

    first: float
    last: float
    family: Family
    columns: tuple[int, ...]
    coefficients: Floats
    errors: Floats
    alternatives: tuple[tuple[tuple[int, ...], Floats], ...] = ()

    def seconds(self, counts: Floats, lengths: Floats) -> Floats:
        """Seconds by this piece."""
        return np.asarray(self.family.design(counts, lengths)[:, list(self.columns)] @ self.coefficients)


@dataclass(frozen=True)
class Pieces:
    """A model: forms by ascending length, each up to before the first length of the next."""

    forms: tuple[Form, ...]

    def index(self, lengths: Floats) -> np.ndarray:
        """Which piece is used for each length."""
        return np.searchsorted([form.first for form in self.forms[1:]], lengths, side="right")

    def is_inside(self, lengths: Floats) -> np.ndarray:
        """Whether lengths are between others of their piece, so that they neither begin nor end one."""
        first, last = (np.array([getattr(form, end) for form in self.forms]) for end in ("first", "last"))
        chosen = self.index(lengths)
        return np.asarray((first[chosen] < lengths) & (lengths < last[chosen]))

    def seconds(self, counts: Floats, lengths: Floats) -> Floats:
        """Seconds of points."""
        chosen = self.index(lengths)
        all_of_them = np.array([form.seconds(counts, lengths) for form in self.forms])
        return np.asarray(all_of_them[chosen, np.arange(len(lengths))])

    @property
    def error(self) -> float:
        """The mean relative error of points that the model has not seen."""
        return float(np.mean(np.abs(np.concatenate([form.errors for form in self.forms]))))

    @property
    def size(self) -> int:
        """How many figures it has: coefficients and ends of pieces."""
        return sum(len(form.columns) for form in self.forms) + len(self.forms) - 1


def fit_form(cells: Cells) -> Form | None:
    """The form with the fewest terms among those that predict points best that they have not seen.

    Least squares of relative errors; the error of a point by the form without it follows from its leverage. Forms with
    a negative coefficient are passed over: one with fewer terms is among the others. Of those whose errors are on
    average no more than a standard error above the least, point by point, or below what counts as described
    (`RESOLUTION`), the smallest is taken (after L. Breiman, J. Friedman, R. Olshen, C. Stone, Classification and
    Regression Trees, section 3.4.3). None where no form is determined by the points.
    """
    of = family(cells.count, bool((cells.counts != cells.counts[0]).any()))
    rows = of.design(cells.counts, cells.lengths) / cells.seconds[:, None]
    norms = np.linalg.norm(rows, axis=0)
    norms[norms == 0.0] = 1.0
    errors, coefficients = _all_forms(of, rows / norms)
    means = np.abs(errors).mean(axis=1)
    best = int(np.argmin(means))
    if not np.isfinite(means[best]):
        return None
    enough = _as_good(np.abs(errors), best)
    smallest = enough & (of.sizes == of.sizes[enough].min())
    chosen = int(np.argmin(np.where(smallest, means, np.inf)))
    indices = [chosen, *(int(other) for other in np.flatnonzero(enough) if other != chosen)]
    alike = [
        (of.forms[index], coefficients[index, : of.sizes[index]] / norms[list(of.forms[index])]) for index in indices
    ]
    ends = float(cells.lengths.min()), float(cells.lengths.max())
    return Form(*ends, of, *alike[0], errors[chosen], tuple(alike[1:]))


def _as_good(sizes: Floats, best: int) -> np.ndarray:
    """Which forms have errors that are larger than the best ones by a standard error of the mean difference at most."""
    with np.errstate(invalid="ignore"):
        more = sizes - sizes[best]
        is_alike = more.mean(axis=1) <= more.std(axis=1) / np.sqrt(sizes.shape[1])
    return np.asarray(np.isfinite(sizes).all(axis=1) & (is_alike | (sizes.mean(axis=1) <= RESOLUTION)))


def _all_forms(of: Family, rows: Floats) -> tuple[Floats, Floats]:
    """Of every form the errors of points by the form without them, infinite where it is none, and its coefficients.

    The equations of all forms are parts of those of all columns, so that nothing of forms times points times columns is
    made: products of rows are taken once, and summed with what each form makes of them.
    """
    count, width = rows.shape[1], of.index.shape[1]
    both = of.used[:, :, None] & of.used[:, None, :]
    gram = (rows.T @ rows)[of.index[:, :, None], of.index[:, None, :]] * both
    gram += np.where(of.used, SMALL, 1.0)[:, :, None] * np.eye(width)
    inverse = np.linalg.inv(gram)
    is_determined = np.abs(gram).sum(axis=1).max(axis=1) * np.abs(inverse).sum(axis=1).max(axis=1) < 1.0 / EXACT
    coefficients = (inverse @ (rows.sum(axis=0)[of.index] * of.used)[:, :, None])[:, :, 0]
    forms = np.arange(len(of.index))[:, None]
    whole = np.zeros((len(of.index), count))
    np.add.at(whole, (forms, of.index), coefficients * of.used)
    squares = np.zeros((len(of.index), count, count))
    np.add.at(squares, (forms[:, :, None], of.index[:, :, None], of.index[:, None, :]), inverse * both)
    products = (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
    # Not as a product of matrices, for which libraries start threads that cost more than they save here.
    leverage = np.einsum("fk,pk->fp", squares.reshape(len(squares), -1), products)
    is_one = is_determined & (coefficients * of.used >= 0.0).all(axis=1) & (leverage < 1.0 - EXACT).all(axis=1)
    errors = (np.einsum("fk,pk->fp", whole, rows) - 1.0) / np.maximum(1.0 - leverage, EXACT)
    return np.where(is_one[:, None], errors, np.inf), coefficients


def fit_pieces(cells: Cells, most: int = MAX_PIECES) -> Pieces | None:
    """A model in as few pieces of length as predict about as well as any number does.

    For each number of pieces dynamic programming finds the division with the least sum of errors of points that their
    form has not seen. None where no form is determined by the points.
    """
    lengths = np.unique(cells.lengths)
    forms: dict[tuple[int, int], Form | None] = {}

    def form(start: int, end: int) -> Form | None:
        if (start, end) not in forms:
            inside = (cells.lengths >= lengths[start]) & (cells.lengths <= lengths[end - 1])
            forms[start, end] = fit_form(cells.select(inside))
        return forms[start, end]

    whole = form(0, len(lengths))
    divisions = [] if whole is None else [Pieces((whole,))]
    fewest = MIN_LENGTHS if len(np.unique(cells.counts)) < MIN_LENGTHS else MIN_LENGTHS - 1
    if (not divisions or divisions[0].error > RESOLUTION) and len(lengths) >= 2 * fewest:
        divisions += list(_divisions(form, len(lengths), most, fewest))
    if not divisions:
        return None
    return min(divisions, key=lambda pieces: _criterion(pieces, len(cells)))


def _criterion(pieces: Pieces, count: int) -> float:
    """The Bayesian information criterion of errors with a Laplace distribution, of the ends of pieces alone.

    The errors are of points that the forms have not seen, which are larger by themselves where a form has too many
    terms; where pieces end was chosen with all points. As in `weft.model.segments`.
    """
    return 2.0 * count * float(np.log(pieces.error + RESOLUTION)) + 2.0 * (len(pieces.forms) - 1) * float(np.log(count))


def _divisions(form: Callable[[int, int], Form | None], count: int, most: int, fewest: int) -> Iterator[Pieces]:
    """For 2, 3, … `most` pieces of so many lengths or more the one with the least errors."""
    step = -(-count // MAX_EDGES)
    edges = sorted({*range(fewest, count - fewest + 1, step), 0, count})
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [0])}
    for number in range(1, most + 1):
        longer: dict[int, tuple[float, list[int]]] = {}
        for (start, (cost, before)), end in itertools.product(best.items(), edges):
            total = cost + _cost(form, start, end, fewest)
            if np.isfinite(total) and (end not in longer or total < longer[end][0]):
                longer[end] = (total, [*before, end])
        best = longer
        if number > 1 and count in best:
            ends = _moved(form, best[count][1], step, fewest)
            forms = [form(start, end) for start, end in itertools.pairwise(ends)]
            yield Pieces(tuple(one for one in forms if one is not None))


def _cost(form: Callable[[int, int], Form | None], start: int, end: int, fewest: int) -> float:
    one = form(start, end) if end - start >= fewest else None
    return np.inf if one is None else float(np.abs(one.errors).sum())


def _moved(form: Callable[[int, int], Form | None], ends: list[int], step: int, fewest: int) -> list[int]:
    """The ends of pieces, each moved by less than `step` to where the two pieces beside it cost least."""
    moved = list(ends)
    for index in range(1, len(moved) - 1):
        left, right = moved[index - 1], moved[index + 1]
        near = range(max(moved[index] - step + 1, left + fewest), min(moved[index] + step, right - fewest + 1))
        costs = [_cost(form, left, at, fewest) + _cost(form, at, right, fewest) for at in near]
        moved[index] = near[int(np.argmin(costs))]
    return moved
