"""Times that a fit or a machine file foretells, with intervals, as samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import polars as pl

from weft.model.curve import Curve, FitError
from weft.model.fitting import Fit

SCHEMA: dict[str, pl.DataType] = {
    "source": pl.String(),
    "machine": pl.String(),
    "benchmark": pl.String(),
    "ranks": pl.Int64(),
    "hops": pl.Int64(),
    "bytes": pl.Int64(),
    "repetition": pl.Int64(),
    "seconds": pl.Float64(),
    "seconds_low": pl.Float64(),
    "seconds_high": pl.Float64(),
    "rate": pl.Float64(),
    "note": pl.String(),
}
"""The columns of a prediction: samples of source `predicted` with an interval and a note."""


class DescribedMachine(Protocol):
    """What `weft.machine` gives, as far as a prediction asks it: seconds of one message on an idle machine."""

    @property
    def name(self) -> str: ...
    def message_time(self, bytes: int, hops: int) -> float: ...
    def self_time(self, bytes: int) -> float: ...
    def host_time(self, bytes: int) -> float | None: ...
    def to_toml(self) -> str: ...


def predict(
    model: Fit | DescribedMachine,
    benchmark: str,
    bytes: Iterable[int],
    hops: Iterable[int | None] = (None,),
) -> pl.DataFrame:
    """Predict the time of one-way messages on an idle machine.

    Parameters
    ----------
    model
        A fit, or a machine of the catalogue or a file (`weft.machine`).
    benchmark
        `echo`, `echo-self` or `echo-host`.
    bytes
        Lengths.
    hops
        Links crossed, each with every length; None: over as many as the fit has data for, or one.

    Returns
    -------
    polars.DataFrame
        Samples of source `predicted` with the columns of `SCHEMA`. `seconds_low` and `seconds_high` are where a new
        measured median would lie with the fit's confidence; null for a machine file, which has no intervals. `note`
        names lengths outside of the data and between two protocols.

    Raises
    ------
    FitError
        If the model knows nothing of the benchmark or the number of hops, or a length is negative.

    Examples
    --------
    >>> import weft
    >>> predicted = predict(weft.machine("ipsc860"), "echo", bytes=[1024], hops=[1, 2])
    >>> predicted["seconds"].round(9).to_list()
    [0.000558252, 0.000591252]
    """
    lengths = list(bytes)
    if any(length < 0 for length in lengths):
        raise FitError(f"a message has at least 0 bytes, and {min(lengths)} were asked for")
    distances: Sequence[int | None] = list(hops)
    if isinstance(model, Fit):
        rows = [_from_fit(model, benchmark, length, distance) for distance in distances for length in lengths]
    else:
        rows = [_from_machine(model, benchmark, length, distance) for distance in distances for length in lengths]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _from_fit(fit: Fit, benchmark: str, length: int, hops: int | None) -> tuple[object, ...]:
    curve = fit.curves.get(benchmark)
    if curve is None:
        raise FitError(
            f"the fit of {fit.machine} has no {benchmark}, only {', '.join(fit.curves)}; "
            f"add samples of {benchmark}, or simulate it on the fitted machine file"
        )
    seconds, low, high = curve.interval(length, hops)
    distance = _distance(benchmark, curve.hops[0] if hops is None else hops)
    rate = length / seconds if seconds > 0.0 else None
    note = "; ".join(_remarks(curve, length, distance))
    ranks = 1 if benchmark == "echo-self" else 2
    return "predicted", fit.machine, benchmark, ranks, distance, length, 0, seconds, low, high, rate, note


def _from_machine(machine: DescribedMachine, benchmark: str, length: int, hops: int | None) -> tuple[object, ...]:
    distance = _distance(benchmark, 1 if hops is None else hops)
    seconds = _machine_seconds(machine, benchmark, length, distance)
    ranks = 1 if benchmark == "echo-self" else 2
    rate = length / seconds if seconds > 0.0 else None
    return "predicted", machine.name, benchmark, ranks, distance, length, 0, seconds, None, None, rate, ""


def _machine_seconds(machine: DescribedMachine, benchmark: str, length: int, hops: int | None) -> float:
    if benchmark == "echo" and hops is not None:
        if hops < 1:
            raise FitError(f"a message between nodes crosses at least 1 link, and {hops} were asked for; see echo-self")
        return machine.message_time(length, hops)
    if benchmark == "echo-self":
        return machine.self_time(length)
    seconds = machine.host_time(length) if benchmark == "echo-host" else None
    if seconds is None:
        raise FitError(f"the machine file of {machine.name} gives no cost of {benchmark}; simulate it instead")
    return seconds


def _distance(benchmark: str, hops: int) -> int | None:
    return {"echo-self": 0, "echo-host": None}.get(benchmark, hops)


def _remarks(curve: Curve, length: int, hops: int | None) -> list[str]:
    remarks = []
    first, last = curve.pieces[0].first, curve.pieces[-1].last
    if not first <= length <= last:
        remarks.append(f"outside of the lengths of the samples, {first} to {last} bytes")
    if hops is not None and curve.benchmark == "echo" and not curve.hops[0] <= hops <= curve.hops[-1]:
        remarks.append(f"outside of the hops of the samples, {curve.hops[0]} to {curve.hops[-1]}")
    changes = [piece.change for piece in curve.pieces if piece.change is not None]
    remarks += [
        f"the protocol changes between {low} and {high} bytes, it is not known where"
        for low, high in changes
        if low < length < high
    ]
    return remarks
