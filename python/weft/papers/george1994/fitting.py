"""The costs of shifts in `machines/cm200.toml`, fitted to the CM times of tables 1 to 4 and judged by what is left out.

`python -m weft.papers.george1994` prints the fit. Eight figures are fitted: the startups of a call of PSHIFT and of
CSHIFT, an exchange, a transposer, a move, the share of a wait for the front end that counts as busy for each exchange,
and two lengths of rows (powers of two): that of the memory, and the longest row of a subgrid that does not stall once
more. The stall of an access (one cycle of 10 MHz) is the paper's. What is left out is left out whole: without the two
subgrids that have long rows nothing is known of these, and none stalls.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import least_squares

from weft import _core
from weft._core import Machine
from weft.catalogue import machine as find_machine
from weft.papers.george1994.published import FRONT_END_RANKS, MACHINE, timings

COSTS = ("plan_startup", "call_startup", "exchange_time", "transposer_time", "move_time")
"""The fitted times, as `machines/cm200.toml` names them."""

FITTED = (*COSTS, "wait_share")
"""All that is fitted but lengths of rows."""

ROWS = (128, 256, 512, 1024, 2048)
"""Lengths of a row of memory that are tried, in slices."""

SHORT_ROWS = 64
"""Slices of a subgrid's longest row that does not stall once more: 32 x 32 has rows of 64, and 64 x 64 of 128."""

LONG_ROWS = {(2, 64), (2, 128)}
"""Rank and length of the subgrids that show that long rows stall."""

PARAMETERS = len(FITTED) + 2
"""Fitted to CM times; two more are the front end's."""

ELEMENT = 8
"""Bytes of REAL*8."""

_FIRST = (1e-5, 5e-5, 1e-5, 3e-6, 2e-7, 0.2)
_ANY_ROW = 2**52
_MS = 1e3


@dataclass(frozen=True)
class Fit:
    """Costs with what they come to.

    Attributes
    ----------
    costs
        By the names of `FITTED`: seconds, and the share.
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
    short_rows = SHORT_ROWS if LONG_ROWS & set(used) else _ANY_ROW
    fits = [_fit(_Rows(row_slices, short_rows), used) for row_slices in ROWS]
    sums = [loss for loss, _ in fits]
    best = int(np.argmin(sums))
    costs = fits[best][1]
    errors = _errors(_Rows(ROWS[best], short_rows), costs)
    return Fit(dict(zip(FITTED, costs.tolist(), strict=True)), ROWS[best], errors)


def front_end() -> dict[str, float]:
    """The front end's times, s: least squares over ranks of the elapsed times that it decides.

    The front end's time does not depend on the subgrid. Where the CM time is below every elapsed time of the rank, the
    Connection Machine waits for the front end, and the mean of those elapsed times is the front end's. Only ranks 1 and
    2 are read: rank 3 never waits, and the elapsed times of rank 4 have what no front end explains (the footnotes).

    Returns
    -------
    dict
        `plan_front_end` a shift of a call of PSHIFT; `call_front_end` of a call of CSHIFT, whatever the rank: it is
        larger at rank 2 than at rank 1, but not at rank 3, where the Connection Machine would wait for it.
    """
    table = timings().filter(pl.col("rank").is_in(FRONT_END_RANKS))
    plan: dict[int, float] = {}
    call: dict[int, float] = {}
    for rank in table["rank"].unique().sort():
        of_rank = table.filter(pl.col("rank") == rank)
        for name, by_rank in (("pshift", plan), ("cshift", call)):
            elapsed, busy = pl.col(f"{name}_elapsed_ms"), pl.col(f"{name}_cm_ms")
            waits = of_rank.filter(busy < elapsed.min())
            shifts = 2 * int(rank)
            by_rank[int(rank)] = float(waits[f"{name}_elapsed_ms"].to_numpy().mean()) / _MS / shifts
    means = {"plan_front_end": plan, "call_front_end": call}
    return {name: float(np.mean(list(by_rank.values()))) for name, by_rank in means.items()}


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
        "one rank at a time": [rank == r for r in _ranks()],
        **{f"rank {r}": [rank == r] for r in _ranks()},
        "ranks 3 and 4": [rank > 2],
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
    """The relative error that `share` of the CM times stay within when their rank is left out of the fit.

    What another program asks for is less like the tables than one of their lengths is like the next, so whole ranks are
    left out.
    """
    parts = [pl.col("rank") == rank for rank in _ranks()]
    return float(np.quantile(np.concatenate([_predicted(timings(), part) for part in parts]), share))


def _ranks() -> list[int]:
    return [int(rank) for rank in timings()["rank"].unique().sort()]


def _predicted(table: pl.DataFrame, part: pl.Expr) -> np.ndarray:
    errors = fit(table.filter(~part)).errors.filter(part)
    return errors["error"].abs().to_numpy()


def _keys(table: pl.DataFrame) -> list[tuple[int, int]]:
    return [(int(rank), int(length)) for rank, length in table.select("rank", "length").rows()]


class _Rows(NamedTuple):
    """Lengths of rows, in slices: as `machines/cm200.toml` names them."""

    row_slices: int
    short_row_slices: int


@functools.cache
def _with_rows(rows: _Rows) -> Machine:
    """The CM-200 with other lengths of rows."""
    text = find_machine(MACHINE).to_toml()
    for name, slices in rows._asdict().items():
        text = re.sub(rf"(?m)^({name} = (?:\{{ value = )?)\d+", rf"\g<1>{slices}", text)
    return Machine.parse(text, f"machines/{MACHINE}.toml")


@functools.cache
def _stall() -> float:
    """The stall of an access, as the machine file has it: what is held."""
    shifts = json.loads(find_machine(MACHINE).to_json())["shifts"]
    return float(shifts["page_stall"]["value"])


@functools.cache
def _counts(rows: _Rows, rank: int, length: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What a call of PSHIFT and its calls of CSHIFT do, in the order of `COSTS`, stalls, and front-end time, s."""
    shifts = both_directions(rank)
    times = json.loads(_core.shift_times(_with_rows(rows), [length] * rank, ELEMENT, shifts))

    def done(name: str) -> tuple[float, ...]:
        return tuple(float(times[name][key]) for key in ("exchanges", "transposed", "moved", "stalls", "front_end_s"))

    return (1.0, 0.0, *done("pshift")), (0.0, float(len(shifts)), *done("cshift"))


def _predictor(rows: _Rows, keys: list[tuple[int, int]]) -> Callable[[np.ndarray], np.ndarray]:
    """CM times of PSHIFT and CSHIFT at `keys` as a function of the costs; all calls of CSHIFT of a cell are alike."""
    counts = np.array([row for key in keys for row in _counts(rows, *key)])
    held, front_end = counts[:, -2] * _stall(), counts[:, -1]
    calls = counts[:, COSTS.index("plan_startup")] + counts[:, COSTS.index("call_startup")]
    exchanges = counts[:, COSTS.index("exchange_time")] / calls

    def predict(costs: np.ndarray) -> np.ndarray:
        work = counts[:, :-2] @ costs[:-1] + held
        share = np.minimum(costs[-1] * exchanges, 1.0)
        return np.asarray(work + share * np.maximum(front_end - work, 0.0))

    return predict


def _published(keys: list[tuple[int, int]]) -> np.ndarray:
    table = timings().rows_by_key(["rank", "length"], named=True, unique=True)
    return np.array([table[key][name] / _MS for key in keys for name in ("pshift_cm_ms", "cshift_cm_ms")])


def _fit(rows: _Rows, keys: list[tuple[int, int]]) -> tuple[float, np.ndarray]:
    """The sum of squares and the costs; logarithms keep the costs positive."""
    predict, published = _predictor(rows, keys), _published(keys)

    def errors(logs: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(predict(np.exp(logs)) / published))

    solution = least_squares(errors, np.log(_FIRST), xtol=1e-12)
    return float(solution.cost), np.exp(solution.x)


def _errors(rows: _Rows, costs: np.ndarray) -> pl.DataFrame:
    keys = _keys(timings())
    ours, published = _predictor(rows, keys)(costs), _published(keys)
    labels = [(rank, length, call) for rank, length in keys for call in ("PSHIFT", "CSHIFT")]
    schema = {"rank": pl.Int64, "length": pl.Int64, "call": pl.String}
    return pl.DataFrame(labels, schema=schema, orient="row").with_columns(
        pl.Series("published", published), pl.Series("ours", ours), pl.Series("error", ours / published - 1.0)
    )
