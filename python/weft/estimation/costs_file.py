"""What operations cost on this machine, as a file: written by `weft calibrate`, read by estimates.

TOML that any reader of TOML can use: a head that says what was measured where, how far totals of programs that the fit
has not seen were off, and a table for each kind of operation with the terms of :mod:`weft.estimation.curves`, in
seconds and bytes.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft._core import UsageError
from weft.estimation.curves import SINCE, TERMS, Curve
from weft.files import write_text

FORMAT = 4
"""Of the file; another number is another format."""

HOW = "weft calibrate measures them (one to three minutes, once)"
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
    """

    curves: Mapping[str, Curve]
    held_out: tuple[float, ...] = ()
    about: Mapping[str, str | int | float] = field(default_factory=dict)
    origin: str = "this run"

    def to_toml(self) -> str:
        """The text of the file."""
        lines = ["# Costs of data-parallel operations, measured by `weft calibrate`. Seconds and bytes.", ""]
        lines += [f"format = {FORMAT}", "", "[about]"]
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in self.about.items()]
        lines += ["", "# Predicted over measured time, less 1, of programs that the fit has not seen.", "[held_out]"]
        lines += [f"errors = {_numbers(self.held_out)}"]
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
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(
            f"here has no costs of data-parallel operations yet: there is no {path}; {HOW}, "
            "or name a described machine with --on (cm2-8k)"
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text: {error}; {HOW}") from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is no TOML: {error}; {HOW}") from None
    if found.get("format") != FORMAT:
        raise UsageError(
            f"{path}: format {found.get('format')!r} is not {FORMAT}, that of this weft; {HOW.replace('them', 'again')}"
        )
    operations = found.get("operations")
    if not isinstance(operations, dict) or not operations:
        raise UsageError(f"{path}: there is no table [operations]; {HOW}")
    curves = {name: _curve(path, name, figures) for name, figures in operations.items()}
    held_out = found.get("held_out", {}).get("errors", [])
    return MeasuredCosts(curves, tuple(map(float, held_out)), found.get("about", {}), str(path))


def _curve(path: Path, name: str, figures: Any) -> Curve:
    """One table of the file, each figure checked."""
    where = f"{path}: [operations.{json.dumps(name)}]"
    try:
        curve = Curve(
            knots=tuple(int(knot) for knot in figures["knots"]),
            element=tuple(float(value) for value in figures["element"]),
            call=tuple(float(value) for value in figures["call"]),
            terms={term: float(figures[term]) for term in TERMS if term in figures},
            error=float(figures["error"]),
            observations=int(figures["observations"]),
        )
    except KeyError as error:
        raise UsageError(f"{where} has no {error.args[0]}") from None
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}") from None
    if len(curve.knots) != len(curve.element) or not curve.knots:
        raise UsageError(f"{where}: there must be as many element times as knots")
    if len(curve.call) != len(SINCE):
        raise UsageError(f"{where}: there must be {len(SINCE)} call times")
    if list(curve.knots) != sorted(set(curve.knots)) or curve.knots[0] < 1:
        raise UsageError(f"{where}: knots must be positive and rise")
    if min([*curve.element, *curve.call, *curve.terms.values()]) < 0:
        raise UsageError(f"{where}: no time is negative")
    return curve
