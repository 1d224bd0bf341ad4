"""Files of empirical models: JSON, with all that their intervals need, so that predictions need no samples any more."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import files, inputs
from weft._core import UsageError
from weft.model.forms import Cells, Form, Pieces
from weft.model.scaling import Fold, Scaling
from weft.model.terms import TERMS, family

if TYPE_CHECKING:
    from weft.model.benchmark_fit import BenchmarkFit

VERSION = 1
"""Of the format; a file of another one is refused."""

EXPECTED = "models of benchmarks that `weft fit FILE --benchmark NAME -o MODELS.json` wrote"


def text(fitted: BenchmarkFit) -> str:
    """A fit as JSON.

    `models` has for each model what its samples are of, `pieces` with their `terms` (in words, `n` is the length) and
    `coefficients` (s, s/B), and what an interval takes: `cells`, `folds` and `common`.
    """
    models = [_of_scaling(model) for model in fitted.models]
    content = {"weft": "models", "version": VERSION, "notes": list(fitted.notes), "models": models}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_models(fitted: BenchmarkFit, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a fit to a file, whole or not at all.

    Parameters
    ----------
    fitted
        What `fit_benchmark` returned.
    path
        A name that ends with .json.
    force
        Whether an existing file is replaced.

    Raises
    ------
    UsageError
        If the file exists, or its name ends otherwise.
    """
    files.check_output(path, (".json",), force=force)
    files.deliver(text(fitted).encode(), path)


def read_models(path: str | os.PathLike[str]) -> BenchmarkFit:
    """The fit in a file.

    Raises
    ------
    UsageError
        If it is not a file of models, or one of another version.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import os, tempfile, weft
    >>> times = weft.simulate("ipsc860", "broadcast", ranks=[2, 4, 8, 16, 32], bytes="8:64")
    >>> name = os.path.join(tempfile.mkdtemp(), "broadcast.json")
    >>> write_models(weft.model.fit_benchmark(times, "broadcast"), name)
    >>> read_models(name).models[0].formulas()
    ['72.0 µs ⌈log2 p⌉ + 415 ns ⌈log2 p⌉ n']
    """
    from weft.model.benchmark_fit import BenchmarkFit

    content = inputs.read_json(path, EXPECTED)
    where = inputs.path_shown(path)
    if not isinstance(content, dict) or content.get("weft") != "models":
        raise UsageError(f"{where}: expected {EXPECTED}")
    if content.get("version") != VERSION:
        raise UsageError(f"{where}: models of version {inputs.quoted(content.get('version'))}, and this is {VERSION}")
    try:
        models = tuple(_scaling(one) for one in content["models"])
        notes = tuple(map(str, content["notes"]))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{where}: expected {EXPECTED}, found one without a part that models have ({inputs.message(error)}); write "
            "it again"
        ) from None
    if not models:
        raise UsageError(f"{where}: expected {EXPECTED}, found none in it")
    return BenchmarkFit(models, notes)


def _of_scaling(model: Scaling) -> dict[str, Any]:
    cells = model.cells
    return {
        "machine": model.machine,
        "source": model.source,
        "benchmark": model.benchmark,
        "setting": model.setting,
        "count": model.count,
        "ranks": model.ranks,
        "pieces": _of_pieces(model.pieces),
        "common": model.common,
        "confidence": model.confidence,
        "cells": {name: getattr(cells, name).tolist() for name in ("counts", "lengths", "seconds")},
        "folds": {kind: [_of_fold(fold) for fold in folds] for kind, folds in model.folds.items()},
    }


def _of_fold(fold: Fold) -> dict[str, Any]:
    return {"pieces": _of_pieces(fold.pieces), "sizes": fold.sizes.tolist(), "inside": fold.inside.tolist()}


def _of_pieces(pieces: Pieces) -> list[dict[str, Any]]:
    return [
        {
            "first": form.first,
            "last": form.last,
            "varies": form.family.varies,
            **_of_terms(form, form.columns, form.coefficients),
            "errors": form.errors.tolist(),
            "alternatives": [_of_terms(form, *other) for other in form.alternatives],
        }
        for form in pieces.forms
    ]


def _of_terms(form: Form, columns: tuple[int, ...], coefficients: np.ndarray) -> dict[str, Any]:
    names = form.family.names()
    return {"terms": [names[column] for column in columns], "coefficients": coefficients.tolist()}


def _scaling(content: dict[str, Any]) -> Scaling:
    count = content["count"]
    if count not in TERMS:
        raise ValueError(f"no count {count!r}")
    cells = Cells(count, *(_numbers(content["cells"][name]) for name in ("counts", "lengths", "seconds")))
    folds = {kind: tuple(_fold(one, count) for one in parts) for kind, parts in content["folds"].items()}
    if not folds["point"] or not len(cells):
        raise ValueError("no points")
    return Scaling(
        str(content["machine"]), str(content["source"]), str(content["benchmark"]), dict(content["setting"]), count,
        _pieces(content["pieces"], count), cells, folds, float(content["common"]), float(content["confidence"]),
        content["ranks"],
    )  # fmt: skip


def _fold(content: dict[str, Any], count: str) -> Fold:
    sizes, inside = _numbers(content["sizes"]), np.array(content["inside"], dtype=bool)
    if len(sizes) != len(inside):
        raise ValueError(f"{len(sizes)} sizes and {len(inside)} of inside")
    return Fold(_pieces(content["pieces"], count), sizes, inside)


def _pieces(content: list[dict[str, Any]], count: str) -> Pieces:
    if not content:
        raise ValueError("no pieces")
    return Pieces(tuple(_form(one, count) for one in content))


def _form(content: dict[str, Any], count: str) -> Form:
    of = family(count, bool(content["varies"]))
    names = of.names()

    def terms(part: dict[str, Any]) -> tuple[tuple[int, ...], np.ndarray]:
        columns, coefficients = tuple(names.index(name) for name in part["terms"]), _numbers(part["coefficients"])
        if len(columns) != len(coefficients):
            raise ValueError(f"{len(columns)} terms and {len(coefficients)} coefficients")
        if (coefficients < 0.0).any():
            raise ValueError("a coefficient is negative")
        return columns, coefficients

    others = tuple(terms(part) for part in content["alternatives"])
    ends = float(content["first"]), float(content["last"])
    errors = _numbers(content["errors"])
    if not len(errors):
        raise ValueError("a piece has no errors")
    return Form(*ends, of, *terms(content), errors, others)


def _numbers(values: list[float]) -> np.ndarray:
    numbers = np.array(values, dtype=float)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError("expected a list of finite numbers")
    return numbers
