"""What operations cost on this machine, as a file: written by `weft calibrate`, read by estimates.

TOML that any reader of TOML can use: a head that says what was measured where, how far totals of programs that the fit
has not seen were off, and a table for each kind of operation with the terms of :mod:`weft.estimation.curves`, in
seconds and bytes.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft._core import UsageError
from weft.estimation.curves import SINCE, TERMS, Curve
from weft.estimation.drift import Reference
from weft.estimation.recurrence import Recurrence
from weft.files import write_text
from weft.inputs import quoted, read_toml

FORMAT = 11
"""Of the file; another number is another format."""

HOW = "weft calibrate measures them (two to three minutes, once)"
"""What to do about a missing or unusable file."""


@dataclass(frozen=True)
class MeasuredCosts:
    """Costs of operations that were measured on a machine.

    Attributes
    ----------
    curves
        By the name of a kind, as :func:`weft.estimation.kinds.name` makes it.
    held_out
        Relative errors (predicted over measured, less one) of whole programs that were left out of the fit.
    about
        What was measured: date, processor, versions, seed.
    origin
        Where these costs were read from, for messages.
    reference
        Programs that can be timed again, to see how the machine's pace has changed (:mod:`weft.estimation.drift`).
    recurrence
        What calls take of statements that were not executed for long (:mod:`weft.estimation.recurrence`).
    """

    curves: Mapping[str, Curve]
    held_out: tuple[float, ...] = ()
    about: Mapping[str, str | int | float] = field(default_factory=dict)
    origin: str = "this run"
    reference: tuple[Reference, ...] = ()
    recurrence: Recurrence = field(default_factory=Recurrence)

    def to_toml(self) -> str:
        """The text of the file."""
        lines = ["# Costs of data-parallel operations, measured by `weft calibrate`. Seconds and bytes.", ""]
        lines += [f"format = {FORMAT}", "", "[about]"]
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in self.about.items()]
        lines += ["", "# Predicted over measured time, less 1, of programs that the fit has not seen.", "[held_out]"]
        lines += [f"errors = {_numbers(self.held_out)}"]
        if self.reference:
            number, operations, seconds = zip(*self.reference, strict=True)
            lines += ["", "# Random programs that can be timed again: their operations, and what these took together."]
            lines += ["[reference]", f"number = {list(number)}", f"operations = {list(operations)}"]
            lines += [f"seconds = {_numbers(seconds)}"]
        if self.recurrence.distances:
            lines += ["", "# What a call takes by how many operations ago the statement was executed last."]
            lines += ["[recurrence]", f"distances = {list(self.recurrence.distances)}"]
            lines += [f"factors = {_numbers(self.recurrence.factors)}"]
        for name, curve in sorted(self.curves.items()):
            lines += [
                "",
                f"[operations.{json.dumps(name, ensure_ascii=False)}]",
                f"knots = [{', '.join(map(str, curve.knots))}]",
                f"element = {_numbers(curve.element)}",
                f"call = {_numbers(curve.call)}",
                *(f"{term} = {value:.5g}" for term, value in curve.terms.items()),
                f"error = {curve.error:.4g}",
                f"observations = {curve.observations}",
            ]
        return "\n".join(lines) + "\n"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file whole or not at all; makes its folder.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_text(self.to_toml(), path)


def _numbers(values: Any) -> str:
    return f"[{', '.join(f'{value:.5g}' for value in values)}]"


def default_path() -> Path:
    """Where the costs of this machine are kept: in the user's cache folder, under the name of the machine.

    A home that several machines share keeps the costs of each.
    """
    if sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return folder / "weft" / f"costs-{os.uname().nodename}.toml"


def read(path: str | os.PathLike[str] | None = None) -> MeasuredCosts:
    """Costs from a file.

    Parameters
    ----------
    path
        The file; default: :func:`default_path`.

    Raises
    ------
    UsageError
        If there is none, or it is not such a file: with what is wrong and how to get one.
    """
    path = Path(path) if path is not None else default_path()
    try:
        content = read_toml(path, "a file of weft calibrate")
    except FileNotFoundError:
        raise UsageError(
            f"here has no costs of data-parallel operations yet: there is no {path}; {HOW}, "
            "or name a described machine with --on (cm2-8k)"
        ) from None
    except UsageError as error:
        raise UsageError(f"{error}; {HOW}") from None
    if content.get("format") != FORMAT:
        raise UsageError(
            f"{path}: format {quoted(content.get('format'))} is not {FORMAT}, that of this weft; "
            f"{HOW.replace('them', 'again')}"
        )
    operations = content.get("operations")
    if not isinstance(operations, dict) or not operations:
        raise UsageError(f"{path}: there is no table [operations]; {HOW}")
    curves = {name: _curve(path, name, figures) for name, figures in operations.items()}
    held_out = _held_out(path, content.get("held_out", {}))
    recurrence = _recurrence(path, content.get("recurrence", {}))
    return MeasuredCosts(curves, held_out, _about(path, content), str(path), _reference(path, content), recurrence)


def _recurrence(path: Path, table: Any) -> Recurrence:
    """What calls take by how long ago their statements were executed; nothing where that was not measured."""
    where = f"{path}: [recurrence]"
    if not isinstance(table, dict):
        raise UsageError(f"{where}: expected a table; {HOW}")
    if not table:
        return Recurrence()
    distances = tuple(_whole(where, value) for value in _list(where, table, "distances"))
    factors = tuple(_number(where, value) for value in _list(where, table, "factors"))
    if len(distances) != len(factors) or list(distances) != sorted(set(distances)) or min(distances, default=0) < 1:
        raise UsageError(f"{where}: expected as many factors as distances, which rise; {HOW}")
    if min(factors) <= 0:
        raise UsageError(f"{where}: factors must be positive; {HOW}")
    return Recurrence(distances, factors)


def _reference(path: Path, content: Mapping[str, Any]) -> tuple[Reference, ...]:
    """The programs that can be timed again; none in files of before."""
    table = content.get("reference", {})
    columns = [table.get(key, []) if isinstance(table, dict) else None for key in Reference._fields]
    if not all(isinstance(column, list) for column in columns) or len({len(column or ()) for column in columns}) > 1:
        raise UsageError(f"{path}: expected a table [reference] with three lists of one length; {HOW}")
    where = f"{path}: [reference]"
    rows = [
        [_number(where, figure) for figure in row] for row in zip(*(column or () for column in columns), strict=True)
    ]
    if any(seconds <= 0 for *_, seconds in rows):
        raise UsageError(f"{where}: times must be positive; {HOW}")
    return tuple(Reference(int(number), int(operations), seconds) for number, operations, seconds in rows)


def _held_out(path: Path, table: Any) -> tuple[float, ...]:
    """The errors of programs that the fit has not seen."""
    errors = table.get("errors", []) if isinstance(table, dict) else None
    if not isinstance(errors, list):
        raise UsageError(f"{path}: expected a table [held_out] with a list of errors; {HOW}")
    return tuple(_number(f"{path}: [held_out], errors", error) for error in errors)


def _about(path: Path, content: Mapping[str, Any]) -> dict[str, str | int | float]:
    """What was measured where."""
    about = content.get("about", {})
    if not isinstance(about, dict):
        raise UsageError(f"{path}: expected a table [about]; {HOW}")
    wrong = next((key for key, value in about.items() if not isinstance(value, str | int | float)), None)
    if wrong is not None:
        raise UsageError(f"{path}: [about], {quoted(wrong)}: expected a text or a number, found {quoted(about[wrong])}")
    return about


def _curve(path: Path, name: str, figures: Any) -> Curve:
    """One table of the file, each figure checked."""
    where = f'{path}: [operations."{quoted(name)}"]'
    if not isinstance(figures, dict):
        raise UsageError(f"{where}: expected a table, found {quoted(figures)}")
    missing = next((key for key in ("knots", "element", "call", "error", "observations") if key not in figures), None)
    if missing is not None:
        raise UsageError(f"{where} has no {missing}")
    curve = Curve(
        knots=tuple(_whole(f"{where}, knots", knot) for knot in _list(where, figures, "knots")),
        element=tuple(_number(f"{where}, element", value) for value in _list(where, figures, "element")),
        call=tuple(_number(f"{where}, call", value) for value in _list(where, figures, "call")),
        terms={term: _number(f"{where}, {term}", figures[term]) for term in TERMS if term in figures},
        error=_number(f"{where}, error", figures["error"]),
        observations=_whole(f"{where}, observations", figures["observations"]),
    )
    if len(curve.knots) != len(curve.element) or not curve.knots:
        raise UsageError(f"{where}: there must be as many element times as knots")
    if len(curve.call) != len(SINCE):
        raise UsageError(f"{where}: there must be {len(SINCE)} call times")
    if curve.error < 0 or curve.observations < 0:
        raise UsageError(f"{where}: neither error nor observations are negative")
    if list(curve.knots) != sorted(set(curve.knots)) or curve.knots[0] < 1:
        raise UsageError(f"{where}: knots must be positive and rise")
    if min([*curve.element, *curve.call, *curve.terms.values()]) < 0:
        raise UsageError(f"{where}: no time is negative")
    return curve


def _list(where: str, figures: Mapping[str, Any], key: str) -> list[Any]:
    """The list under a key."""
    values = figures.get(key)
    if not isinstance(values, list):
        raise UsageError(f"{where}, {key}: expected a list of numbers, found {quoted(values)}")
    return values


def _number(where: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return float(value)
    raise UsageError(f"{where}: expected a finite number, found {quoted(value)}")


def _whole(where: str, value: Any) -> int:
    """A whole number that a count of bytes or of operations can be."""
    number = _number(where, value)
    if number != math.floor(number) or abs(number) > 2**53:
        raise UsageError(f"{where}: expected a whole number, found {quoted(value)}")
    return int(number)
