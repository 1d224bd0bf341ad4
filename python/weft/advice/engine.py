"""Advice: for each line of a program that communicates, the form that costs least on a machine."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from weft import units
from weft._core import UsageError
from weft.advice.forms import Form, as_recorded
from weft.advice.rules import RULES, Rule
from weft.estimation.estimates import Counted, name_of, record
from weft.estimation.pricing import Pricer, pricer
from weft.estimation.running import Program
from weft.pvar import Record, VPSet

WORTH = 0.10
"""A form is suggested if it saves this share of what a line takes: the models are no more exact."""


@dataclass(frozen=True)
class Suggestion:
    """Another form of an operation.

    Attributes
    ----------
    file, line
        Where the program asks for the operation.
    count
        How often.
    rule
        The rule that pairs the forms.
    now, better
        The forms.
    now_s, better_s
        Real time of all executions.
    example
        One of the operations, for measuring both forms.
    """

    file: str
    line: int
    count: int
    rule: Rule
    now: Form
    better: Form
    now_s: float
    better_s: float
    example: Record

    @property
    def saved_s(self) -> float:
        """Seconds that the better form saves."""
        return self.now_s - self.better_s

    @property
    def factor(self) -> float:
        """How many times faster it is."""
        return self.now_s / self.better_s if self.better_s else float("inf")

    def __str__(self) -> str:
        condition = f", if {self.better.condition}" if self.better.condition else ""
        return (
            f"{self.file}:{self.line}: {self.better.name} instead of {self.now.name}{condition}: {self.better.code} "
            f"saves {units.seconds(self.saved_s)} of {units.seconds(self.now_s)} ({units.digits(self.factor, 2)} times)"
        )


@dataclass(frozen=True)
class Advice:
    """What to change in a program for a machine.

    Attributes
    ----------
    machine, program
        Their names.
    suggestions
        The best one of each line's operations, largest saving first.
    considered
        How many operations with other forms there were.
    unpriced
        Forms that could not be compared, with why: the machine lacks a cost.
    """

    machine: str
    program: str
    suggestions: tuple[Suggestion, ...]
    considered: int
    unpriced: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.suggestions:
            return f"{self.program} on {self.machine}: of {self.considered} operations none has a cheaper form"
        return "\n".join(map(str, self.suggestions))


def advise(
    program: Program,
    machine: str | os.PathLike[str] = "here",
    *,
    arguments: Sequence[str] = (),
    costs: str | os.PathLike[str] | None = None,
    vp_sets: Iterable[VPSet] = (),
    rules: Sequence[Rule] = RULES,
) -> Advice:
    """How a program's communication would cost less on a machine.

    The program is run once, here, and its operations are recorded. Rules pair forms that do the same (Wu and Shu 1989,
    section 4); what they cost on the machine decides which to suggest. So other machines get other advice.

    Parameters
    ----------
    program, machine, arguments, costs, vp_sets
        As for :func:`weft.estimate`.
    rules
        Which rules to use.

    Raises
    ------
    UsageError
        If the machine has no costs of data-parallel operations, or the program no operations; for `costs` of another
        machine than here.
    RunError
        If the program fails.

    Examples
    --------
    >>> import weft
    >>> def program():
    ...     x = weft.pvar.VPSet((64, 64)).zeros("float32")
    ...     for _ in range(10):
    ...         x = weft.pvar.get(x, x.vp.address())
    >>> (suggestion,) = advise(program, "cm2-8k").suggestions
    >>> suggestion.rule.name, round(suggestion.factor, 1)
    ('fetch or store', 3.6)
    """
    prices = pricer(machine, costs)
    return suggest(record(program, arguments, vp_sets), prices, name_of(program), rules)


def suggest(counts: Mapping[Counted, int], prices: Pricer, name: str, rules: Sequence[Rule] = RULES) -> Advice:
    """Advice about recorded operations."""
    by_line: dict[tuple[str, int, str], Counter[Record]] = defaultdict(Counter)
    for (one, *_), count in counts.items():
        by_line[one.file, one.line, one.name][one] += count
    best: list[Suggestion] = []
    lacking: dict[str, None] = {}
    considered = 0
    for there in by_line.values():
        suggestions, missing = _of_line(there, prices, rules)
        lacking |= dict.fromkeys(missing)
        considered += any(True for one in there for rule in rules for _ in rule.alternatives(one))
        if suggestions:
            best.append(min(suggestions, key=lambda one: one.better_s))
    best.sort(key=lambda one: -one.saved_s)
    return Advice(prices.name, name, tuple(best), considered, tuple(lacking))


def _of_line(there: Mapping[Record, int], prices: Pricer, rules: Sequence[Rule]) -> tuple[list[Suggestion], list[str]]:
    """All suggestions for one operation of a line, whose records may differ in density and the like."""
    lacking: list[str] = []
    now_s: dict[Record, float] = {}
    for one, count in there.items():
        try:
            now_s[one] = as_recorded(one).time(prices, count).real
        except UsageError as error:
            lacking.append(str(error))
    saved: dict[tuple[str, str], list[tuple[Record, Form, float]]] = defaultdict(list)
    for one, seconds_now in now_s.items():
        for rule in rules:
            for form in rule.alternatives(one):
                try:
                    seconds = form.time(prices, there[one]).real
                except UsageError as error:
                    lacking.append(str(error))
                    continue
                if seconds < seconds_now:
                    saved[rule.name, form.name].append((one, form, seconds))
    by_name = {rule.name: rule for rule in rules}
    total = sum(now_s.values())
    suggestions = []
    for (rule_name, _), parts in saved.items():
        # Where one form is better for some executions only, the others stay as they are.
        better_s = total - sum(now_s[one] - seconds for one, _, seconds in parts)
        if better_s > (1 - WORTH) * total:
            continue
        one, form, _ = max(parts, key=lambda part: now_s[part[0]] - part[2])
        count = sum(there[part[0]] for part in parts)
        suggestions.append(
            Suggestion(one.file, one.line, count, by_name[rule_name], as_recorded(one), form, total, better_s, one)
        )
    return suggestions, lacking
