"""Terms of empirical models: what a time may grow by with a count, such as ranks, and with a length."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weft.model.lines import Floats

MAX_TERMS = 2
"""The most terms of a count in the part of a model without the length, and in the part that grows with it."""


@dataclass(frozen=True)
class Term:
    """What a coefficient multiplies, as a function of a count: 1, its logarithm, or what else operations cost.

    Attributes
    ----------
    name
        As people write it, of a count called `{x}`; empty for 1.
    values
        Of counts.
    """

    name: str
    values: Callable[[Floats], Floats]


ONE = Term("", np.ones_like)

OPERATIONS = (
    ONE,
    Term("⌈log2 {x}⌉", lambda counts: np.ceil(np.log2(np.maximum(counts, 1.0)) - 1e-9)),
    Term("({x} - 1)", lambda counts: counts - 1.0),
    Term("({x} - 1)/{x}", lambda counts: (counts - 1.0) / counts),
    Term("1/{x}", lambda counts: 1.0 / counts),
)
"""A tree has ⌈log2 p⌉ rounds, a ring or a root p - 1 steps; of a vector a ring sends (p - 1)/p, and a part is 1/p (R.
Thakur, R. Rabenseifner, W. Gropp, International Journal of High Performance Computing Applications 19 (2005) 49)."""

TRAFFIC = (ONE, Term("{x}", lambda counts: counts))
"""What other messages make a message wait for: a constant, and as long as they last."""

TERMS = {"ranks": OPERATIONS, "neighbours": OPERATIONS, "background_bytes": TRAFFIC}
"""By the parameter that is the count."""

SYMBOLS = {"ranks": "p", "neighbours": "k", "background_bytes": "b"}
"""What formulas call them."""


@dataclass(frozen=True)
class Family:
    """The models that a time may follow: sums of a few terms of a count.

    Sums of so few terms are the normal form of performance models (A. Calotoiu, T. Hoefler, M. Poke, F. Wolf, Using
    automated performance modeling to find scalability bugs in complex codes, SC 2013).

    Attributes
    ----------
    count
        The parameter that they are functions of, a key of `TERMS`.
    varies
        Whether it does: of one count nothing can be said but 1.
    """

    count: str
    varies: bool = True

    @property
    def terms(self) -> Sequence[Term]:
        """What coefficients multiply."""
        return TERMS[self.count] if self.varies else (ONE,)

    def design(self, counts: Floats, lengths: Floats) -> Floats:
        """A row for each point: every term of its count, and then each of them times its length."""
        terms = np.column_stack([term.values(counts) for term in self.terms])
        return np.hstack([terms, terms * lengths[:, None]])

    @functools.cached_property
    def forms(self) -> tuple[tuple[int, ...], ...]:
        """The columns of `design` that a form may have: up to two terms without the length and two that grow with it.

        Those with fewer come first.
        """
        count = len(self.terms)
        parts = [chosen for size in range(MAX_TERMS + 1) for chosen in itertools.combinations(range(count), size)]
        forms = [(*constant, *(count + one for one in growing)) for constant in parts for growing in parts]
        return tuple(sorted((form for form in forms if form), key=len))

    @functools.cached_property
    def index(self) -> np.ndarray:
        """The columns of every form, with 0 in place of those that it has not."""
        width = max(map(len, self.forms))
        return np.array([[*form, *[0] * (width - len(form))] for form in self.forms])

    @functools.cached_property
    def used(self) -> np.ndarray:
        """Which entries of `index` are columns."""
        return np.arange(self.index.shape[1]) < self.sizes[:, None]

    @functools.cached_property
    def sizes(self) -> np.ndarray:
        """How many columns each form has."""
        return np.array([len(form) for form in self.forms])

    def names(self) -> list[str]:
        """What each column of `design` is, in words; `n` is the length in bytes.

        Examples
        --------
        >>> Family("ranks").names()[:3], Family("ranks").names()[6]
        (['1', '⌈log2 p⌉', '(p - 1)'], '⌈log2 p⌉ n')
        """
        plain = [term.name.format(x=SYMBOLS[self.count]) for term in self.terms]
        return [name or "1" for name in plain] + [f"{name} n".strip() for name in plain]


@functools.cache
def family(count: str, varies: bool = True) -> Family:
    """The family of a count; one object, whose tables are made once."""
    return Family(count, varies)
