"""The costs of shifts in `machines/cm200.toml`, fitted to the CM times of ranks 1 and 2 and judged by what is left out.

`python -m weft.papers.george1994` prints the fit. Six figures are fitted: the startups of a call of PSHIFT and of
CSHIFT, an exchange, a transposer, a move, and the length of a row of memory (the best power of two). The stall of an
access (one cycle of 10 MHz) and the length of a page (4k words) are the paper's. Ranks 3 and 4 are never read.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.optimize import least_squares

from weft import _core
from weft._core import Machine
from weft.catalogue import machine as find_machine
from weft.papers.george1994.published import MACHINE, timings

COSTS = ("plan_startup", "call_startup", "exchange_time", "transposer_time", "move_time")
"""The fitted times, as `machines/cm200.toml` names them."""

ROWS = (128, 256, 512, 1024, 2048)
"""Lengths of a row of memory that are tried, in slices."""

PARAMETERS = len(COSTS) + 1
"""Fitted to CM times; three more are the front end's."""

ELEMENT = 8
"""Bytes of REAL*8."""

_FIRST = (1e-5, 5e-5, 1e-5, 3e-6, 2e-7)
_MS = 1e3


@dataclass(frozen=True)
class Fit:
    """Costs with what they come to.

    Attributes
    ----------
    costs
        Seconds, by the names of `COSTS`.
    row_slices
        Slices of a row of memory.
    errors
        `rank`, `length`, `call` (`PSHIFT`, `CSHIFT`), `published` and `ours` (CM time, s) and `error`.
    """

    costs: dict[str, float]
    row_slices: int
    errors: pl.DataFrame


def both_directions(rank: int, distance: int = 1) -> list[tuple[int, int]]:
    """Shifts by `distance` in both directions along every axis: the calls of tables 1 to 4."""
    return [(axis, sign * distance) for axis in range(rank) for sign in (1, -1)]


def fit(chosen: pl.DataFrame | None = None) -> Fit:
    """Fit the costs, minimising squared relative errors of CM times.

    Parameters
    ----------
    chosen
        Rows of `timings()` to fit to; default: all of them. Errors are of all of them.
    """
    used = _keys(timings() if chosen is None else chosen)
    fits = [_fit(row_slices, used) for row_slices in ROWS]
    sums = [loss for loss, _ in fits]
    best = int(np.argmin(sums))
    times = fits[best][1]
    return Fit(dict(zip(COSTS, times.tolist(), strict=True)), ROWS[best], _errors(ROWS[best], times))


def front_end() -> dict[str, float]:
    """The front end's times, s: least squares over ranks of the elapsed times that it decides.

    The front end's time does not depend on the subgrid. Where the CM time is below every elapsed time of the rank, the
    Connection Machine waits for the front end, and the mean of those elapsed times is the front end's.

    Returns
    -------
    dict
        `plan_front_end` a shift of a call of PSHIFT; `call_front_end` and `axis_front_end` of a call of CSHIFT.
    """
    table = timings()
    plan: dict[int, float] = {}
    call: dict[int, float] = {}
    for rank in table["rank"].unique().sort():
        of_rank = table.filter(pl.col("rank") == rank)
        for name, by_rank in (("pshift", plan), ("cshift", call)):
            elapsed, busy = pl.col(f"{name}_elapsed_ms"), pl.col(f"{name}_cm_ms")
            waits = of_rank.filter(busy < elapsed.min())
            shifts = 2 * int(rank)
            by_rank[int(rank)] = float(waits[f"{name}_elapsed_ms"].to_numpy().mean()) / _MS / shifts
    axis, base = np.polyfit(list(call), list(call.values()), 1)
    return {
        "plan_front_end": float(np.mean(list(plan.values()))),
        "call_front_end": float(base),
        "axis_front_end": float(axis),
    }


def left_out() -> pl.DataFrame:
    """How well cells are predicted that were not fitted to.

    Returns
    -------
    polars.DataFrame
        `held_out` (how cells were left out), `cells`, `median` and `worst` (absolute relative errors of CM times).
    """
    table = timings()
    rank, length = pl.col("rank"), pl.col("length")
    splits: dict[str, list[pl.Expr]] = {
        "one length at a time": [(rank == r) & (length == n) for r, n in _keys(table)],
        "rank 2 above 8 x 8": [(rank == 2) & (length > 8)],
        "rank 2 but for 8 x 8": [(rank == 2) & (length != 8)],
        "rank 1 above 64": [(rank == 1) & (length > 64)],
    }
    rows = []
    for name, parts in splits.items():
        sizes = np.concatenate([_predicted(table, part) for part in parts])
        rows.append((name, len(sizes), float(np.median(sizes)), float(sizes.max())))
    schema = {"held_out": pl.String, "cells": pl.Int64, "median": pl.Float64, "worst": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


@functools.cache
def interval(share: float = 0.9) -> float:
    """The relative error that `share` of the CM times stay within when their length is left out of the fit."""
    table = timings()
    parts = [(pl.col("rank") == rank) & (pl.col("length") == length) for rank, length in _keys(table)]
    return float(np.quantile(np.concatenate([_predicted(table, part) for part in parts]), share))


def _predicted(table: pl.DataFrame, part: pl.Expr) -> np.ndarray:
    errors = fit(table.filter(~part)).errors.filter(part)
    return errors["error"].abs().to_numpy()


def _keys(table: pl.DataFrame) -> list[tuple[int, int]]:
    return [(int(rank), int(length)) for rank, length in table.select("rank", "length").rows()]


@functools.cache
def _with_rows(row_slices: int) -> Machine:
    """The CM-200 with another length of a row of memory."""
    text = find_machine(MACHINE).to_toml()
    changed = re.sub(r"(?m)^(row_slices = (?:\{ value = )?)\d+", rf"\g<1>{row_slices}", text)
    return Machine.parse(changed, f"machines/{MACHINE}.toml")


@functools.cache
def _stall() -> float:
    """The stall of an access, as the machine file has it: what is held."""
    shifts = json.loads(find_machine(MACHINE).to_json())["shifts"]
    return float(shifts["page_stall"]["value"])


@functools.cache
def _counts(row_slices: int, rank: int, length: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What a call of PSHIFT and its calls of CSHIFT do, in the order of `COSTS`, and stalls."""
    shifts = both_directions(rank)
    times = json.loads(_core.shift_times(_with_rows(row_slices), [length] * rank, ELEMENT, shifts))

    def done(name: str) -> tuple[float, ...]:
        return tuple(float(times[name][key]) for key in ("exchanges", "transposed", "moved", "stalls"))

    return (1.0, 0.0, *done("pshift")), (0.0, float(len(shifts)), *done("cshift"))


def _predictor(row_slices: int, keys: list[tuple[int, int]]) -> Callable[[np.ndarray], np.ndarray]:
    """CM times of PSHIFT and CSHIFT at `keys` as a function of the costs."""
    counts = np.array([row for key in keys for row in _counts(row_slices, *key)])
    held = counts[:, -1] * _stall()

    def predict(costs: np.ndarray) -> np.ndarray:
        return np.asarray(counts[:, :-1] @ costs + held)

    return predict


def _published(keys: list[tuple[int, int]]) -> np.ndarray:
    table = timings().rows_by_key(["rank", "length"], named=True, unique=True)
    return np.array([table[key][name] / _MS for key in keys for name in ("pshift_cm_ms", "cshift_cm_ms")])


def _fit(row_slices: int, keys: list[tuple[int, int]]) -> tuple[float, np.ndarray]:
    """The sum of squares and the costs; logarithms keep the costs positive."""
    predict, published = _predictor(row_slices, keys), _published(keys)

    def errors(logs: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(predict(np.exp(logs)) / published))

    solution = least_squares(errors, np.log(_FIRST), xtol=1e-12)
    return float(solution.cost), np.exp(solution.x)


def _errors(row_slices: int, costs: np.ndarray) -> pl.DataFrame:
    keys = _keys(timings())
    ours, published = _predictor(row_slices, keys)(costs), _published(keys)
    labels = [(rank, length, call) for rank, length in keys for call in ("PSHIFT", "CSHIFT")]
    schema = {"rank": pl.Int64, "length": pl.Int64, "call": pl.String}
    return pl.DataFrame(labels, schema=schema, orient="row").with_columns(
        pl.Series("published", published), pl.Series("ours", ours), pl.Series("error", ours / published - 1.0)
    )
