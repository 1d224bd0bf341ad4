"""The primitives' costs in `machines/cm2-8k.toml`, fitted to tables 1 to 12 and 14, and to the text's
addition at VP ratio 4.

`python -m weft.papers.wushu1989` prints the fit. What is minimised are sixth powers of relative errors, so that no cell
is far off while most are near; slips of the paper are left out.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl
from scipy.optimize import least_squares

from weft.catalogue import machine as find_machine
from weft.data_parallel import Costs
from weft.papers.wushu1989.published import MACHINE, cells, operation

COUNTS = ("processors", "processors_per_chip", "router_injects", "router_delivers", "router_buffers")
"""Not fitted: what the router is built of."""

TABLE_14 = ("select", "reduce_within", "reduce_across", "spread_within", "front_end_select")
"""Fitted to table 14; the others to tables 1 to 12 alone."""

ROUTER = ("combine_startup", "router_cycle", "router_step", "router_overflow")
"""What the time of the combining router follows from."""

_MS = 1e3


def figures() -> dict[str, float]:
    """The fitted figures of the machine file."""
    file = json.loads(find_machine(MACHINE).to_json())["primitives"]
    return {name: float(entry["value"]) for name, entry in file.items() if name not in COUNTS}


def times(costs: Costs, table: pl.DataFrame) -> np.ndarray:
    """Modelled times of rows of `published.cells`, ms."""
    modelled = [(costs.time(operation(row)), row["time"]) for row in table.iter_rows(named=True)]
    return np.array([(time.real if which == "real" else time.cm) * _MS for time, which in modelled])


def fit(start: float = 1.0) -> dict[str, float]:
    """Fit every figure but counts.

    Parameters
    ----------
    start
        The figures of the machine file times this are where the search begins.

    Returns
    -------
    dict
        Figures by key, in seconds (shares are pure numbers).
    """
    table = cells().filter(~pl.col("slip"))
    operations = [operation(row) for row in table.iter_rows(named=True)]
    real, published = (table["time"] == "real").to_numpy(), table["ms"].to_numpy() / _MS
    initial = figures()
    machine = Costs(find_machine(MACHINE))

    def errors(logs: np.ndarray) -> np.ndarray:
        costs = machine.with_figures(dict(zip(initial, np.exp(logs).tolist(), strict=True)))
        modelled = [costs.time(one) for one in operations]
        ours = np.where(real, [time.real for time in modelled], [time.cm for time in modelled])
        return np.asarray(np.log(ours / published))

    def cubes(logs: np.ndarray) -> np.ndarray:
        """Their squares are the sixth powers."""
        return np.asarray(errors(logs) ** 3) * 400.0

    first = np.log(np.array(list(initial.values())) * start)
    near = least_squares(errors, first, max_nfev=100).x
    solution = least_squares(cubes, near, max_nfev=200, xtol=1e-10, ftol=1e-10).x
    return dict(zip(initial, np.exp(solution).tolist(), strict=True))


def router_left_out() -> pl.DataFrame:
    """Table 5 predicted: each ratio by the router with its four figures fitted to the other ratios.

    Returns
    -------
    polars.DataFrame
        `ratio`, `pattern`, `published` and `ours` (CM time, ms) and `error`.
    """
    table = cells().filter((pl.col("table") == 5) & (pl.col("time") == "cm"))
    machine, initial = Costs(find_machine(MACHINE)), figures()
    first = np.log([initial[name] for name in ROUTER])
    published, ratios = table["ms"].to_numpy(), table["ratio"].to_numpy()

    def ours(logs: np.ndarray) -> np.ndarray:
        return times(machine.with_figures(dict(zip(ROUTER, np.exp(logs).tolist(), strict=True))), table)

    def errors(logs: np.ndarray, fitted: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(ours(logs) / published)[fitted])

    predicted = np.zeros(len(published))
    for ratio in np.unique(ratios):
        fitted = ratios != ratio
        solution = least_squares(errors, first, args=(fitted,)).x
        predicted[~fitted] = ours(solution)[~fitted]
    return table.select("ratio", "pattern", pl.col("ms").alias("published")).with_columns(
        pl.Series("ours", predicted), pl.Series("error", predicted / published - 1.0)
    )
