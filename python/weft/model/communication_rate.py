"""The performance of programs in FGHC from their work rate and communication rate (Taki 1988, sections 5 and 6).

`performance = ideal * work rate / (1 + communication rate * relative communication time)`: what a program and its load
balance decide stands beside what a system decides, how many reductions a message costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import optimize, special

from weft.model.curve import FitError
from weft.samples import validate

SCHEMA: dict[str, pl.DataType] = {
    "source": pl.String(),
    "machine": pl.String(),
    "program": pl.String(),
    "goal": pl.String(),
    "ranks": pl.Int64(),
    "repetition": pl.Int64(),
    "ideal": pl.Float64(),
    "performance": pl.Float64(),
    "work_rate": pl.Float64(),
    "communication_rate": pl.Float64(),
    "overhead": pl.Float64(),
    "relative_time": pl.Float64(),
}
"""The columns of :func:`rates`."""


def performance(ideal: float, work_rate: float, communication_rate: float, relative_time: float) -> float:
    """The formula of section 7.8.

    Parameters
    ----------
    ideal
        Reductions a second of one PE times their number.
    work_rate
        Mean share of the time that PEs work.
    communication_rate
        Messages per reduction.
    relative_time
        Time of a message over that of a reduction.

    Returns
    -------
    float
        Reductions a second.

    Examples
    --------
    >>> round(performance(ideal=1e6, work_rate=0.8, communication_rate=0.02, relative_time=5.0))
    727273
    """
    return ideal * work_rate / (1.0 + communication_rate * relative_time)


def largest_rate(share: float, relative_time: float) -> float:
    """The largest communication rate that keeps a share of the ideal performance, all PEs working (section 8).

    Raises
    ------
    ValueError
        If the share is not above 0 and below 1, or the time not positive.

    Examples
    --------
    >>> largest_rate(0.5, 20.0)
    0.05
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"expected a share of the ideal performance above 0 and below 1, found {share}")
    if not relative_time > 0.0:
        raise ValueError(f"expected a positive time of a message in reductions, found {relative_time}")
    return (1.0 / share - 1.0) / relative_time


def rates(table: pl.DataFrame, pe_performance: float | None = None) -> pl.DataFrame:
    """The scales of sections 5 to 7 for every run on several PEs.

    Parameters
    ----------
    table
        Samples of `fghc`; rows of single PEs are not looked at.
    pe_performance
        Reductions a second of one PE. Default: the median over the runs on one PE of the same source, machine and
        program in the table.

    Returns
    -------
    polars.DataFrame
        Columns `SCHEMA`. `overhead` is the relative communication overhead, work rate over relative performance less 1
        (section 7.7.1), `relative_time` that over the communication rate (section 7.7.2), null without messages.

    Raises
    ------
    FitError
        If no run on one PE says what the ideal performance is.
    """
    runs = validate(table).filter((pl.col("benchmark") == "fghc") & pl.col("pe").is_null())
    key = ["source", "machine", "program"]
    if pe_performance is None:
        single = runs.filter(pl.col("ranks") == 1).group_by(key).agg(pl.col("rate").median().alias("of_one"))
        runs = runs.join(single, on=key, how="left")
        lacking = runs.filter((pl.col("ranks") > 1) & pl.col("of_one").is_null())
        if not lacking.is_empty():
            machine, program = lacking.select("machine", "program").row(0)
            raise FitError(f"{program} on {machine}: no run on one PE says what the ideal performance is")
    else:
        runs = runs.with_columns(pl.lit(pe_performance).alias("of_one"))
    ideal = pl.col("of_one") * pl.col("ranks")
    work_rate = pl.col("work_s") / (pl.col("ranks") * pl.col("seconds"))
    rate = pl.col("messages") / pl.col("reductions")
    overhead = work_rate * ideal / pl.col("rate") - 1.0
    return runs.filter(pl.col("ranks") > 1).select(
        *key,
        "goal",
        "ranks",
        "repetition",
        ideal.alias("ideal"),
        pl.col("rate").alias("performance"),
        work_rate.alias("work_rate"),
        rate.alias("communication_rate"),
        overhead.alias("overhead"),
        pl.when(rate > 0.0).then(overhead / rate).alias("relative_time"),
    )


@dataclass(frozen=True)
class CommunicationFit:
    """A relative communication time, from runs.

    Attributes
    ----------
    relative_time
        Reductions that a message costs.
    low, high
        The 95% interval of it, from how the runs scatter about the formula.
    runs
        How many runs it is from.
    mean, smallest, largest
        Of the runs' own relative communication times, as table 4 has them.
    residual
        Root mean square of the relative errors of the formula on these runs.
    """

    relative_time: float
    low: float
    high: float
    runs: int
    mean: float
    smallest: float
    largest: float
    residual: float


def fit_communication(table: pl.DataFrame) -> CommunicationFit:
    """The relative communication time with which the formula has the smallest squared relative errors.

    Parameters
    ----------
    table
        Rows of :func:`rates`, of one program on one machine.

    Raises
    ------
    FitError
        For fewer than three runs with messages.
    """
    runs = table.filter(pl.col("relative_time").is_not_null())
    if len(runs) < 3:
        raise FitError(f"a relative communication time needs three runs with messages, found {len(runs)}")
    rate = runs["communication_rate"].to_numpy()
    logs = np.log1p(runs["overhead"].to_numpy().clip(min=-0.999))

    def errors(time: np.ndarray) -> np.ndarray:
        # Of the logarithm of the performance: what the runs lose less what the formula says.
        return np.asarray(np.log1p(rate * time[0]) - logs)

    times = runs["relative_time"].to_numpy()
    start = float(np.median(times).clip(min=1e-6))
    solution = optimize.least_squares(errors, [start], bounds=(0.0, np.inf), x_scale=[start])
    time = float(solution.x[0])
    slope = float(np.linalg.norm(rate / (1.0 + rate * time)))
    variance = float((solution.fun**2).sum()) / (len(runs) - 1)
    half = float(special.stdtrit(len(runs) - 1, 0.975)) * np.sqrt(variance) / slope if slope > 0.0 else np.inf
    return CommunicationFit(
        time, max(0.0, time - half), time + half, len(runs), float(times.mean()), float(times.min()),
        float(times.max()), float(np.sqrt((np.expm1(solution.fun) ** 2).mean())),
    )  # fmt: skip


def held_out(table: pl.DataFrame, by: str = "ranks") -> pl.DataFrame:
    """How well the formula predicts runs that its time was not fitted on.

    Each value of a column is left out in turn, the relative communication time fitted to the other runs, and the
    performance of those left out predicted from their own work rate and communication rate.

    Parameters
    ----------
    table
        Rows of :func:`rates`, of one program on one machine.
    by
        The column: `ranks` or `goal`.

    Returns
    -------
    polars.DataFrame
        The runs with `predicted` (reductions/s) and `error` (predicted / performance - 1).

    Raises
    ------
    FitError
        If what is left is too little to fit.
    """
    parts = []
    for value in table[by].unique(maintain_order=True).to_list():
        time = fit_communication(table.filter(pl.col(by) != value)).relative_time
        parts.append(predicted(table.filter(pl.col(by) == value), time))
    return pl.concat(parts)


def predicted(table: pl.DataFrame, relative_time: float) -> pl.DataFrame:
    """Rows of :func:`rates` with `predicted` by the formula and its `error`."""
    formula = pl.col("ideal") * pl.col("work_rate") / (1.0 + pl.col("communication_rate") * relative_time)
    return table.with_columns(formula.alias("predicted"), (formula / pl.col("performance") - 1.0).alias("error"))
