"""The fit of a machine: one curve for each kind of echo in its samples."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from weft.model import showing
from weft.model.curve import Curve, Estimate, FitError
from weft.model.curves import FittedCurve, fit_curve
from weft.model.lines import Floats
from weft.model.loggp import LogGP, loggp
from weft.model.points import Points, points_of
from weft.model.segments import MAX_PIECES
from weft.samples import DEFAULT_CONFIDENCE, validate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_log = logging.getLogger(__name__)

BENCHMARKS = ("echo", "echo-self", "echo-host")
"""The benchmarks that are fitted: one-way messages to another node, to oneself and to the host."""

UNKNOWN_HOPS = {"echo": 1, "echo-self": 0, "echo-host": 0}
"""What empty hops count as: a real machine does not know its routes, and a message to another node is one crossing."""

UNEXPLAINED = 0.1
"""A point further than this share from the fit is named as a place where it fails."""


ESTIMANDS = {
    "undisturbed": "fit of undisturbed times, below the medians",
    "typical": "fit of typical times, the medians",
}
"""What a fit estimates, by the word of machine files: what the machine takes where no other program disturbs it, and
what a launch takes as often as not, disturbances included."""

MEDIANS = "fit of the medians"
"""Of which times a fit is, where nobody said which they are."""


@dataclass(frozen=True, repr=False)
class Fit:
    """What a machine's samples say of the cost of its messages.

    Attributes
    ----------
    machine
        Its name in the samples.
    source
        `measured`, `simulated`, `predicted` or `published`: where the samples come from.
    ranks
        The most ranks of any echo sample; None if the samples do not say.
    curves
        By benchmark: of `BENCHMARKS`, those there are samples of; `echo` always.
    residuals
        One row a point: `benchmark`, `hops`, `bytes`, `seconds`, `fitted` (s), `error` (relative, fitted against
        samples), `launches`, `outlier` (further than three standard deviations from the curve).
    held_out
        The same, without `outlier`, of the lengths that were held out of the fit.
    lines
        By benchmark: one straight line through all lengths, as a machine file has for self-messages and the host.
    notes
        What the samples could not determine and where the fit fails, in words.
    estimand
        Which times it estimates, of `ESTIMANDS`; None where nobody said which the samples are.
    loggp
        Overheads, latency and gaps apart, where the samples have `send-overhead` and `receive-overhead`, or `fan-out`
        and `fan-in` of short messages; else None.
    """

    machine: str
    source: str
    ranks: int | None
    curves: dict[str, Curve]
    residuals: pl.DataFrame
    held_out: pl.DataFrame
    lines: dict[str, Curve]
    notes: tuple[str, ...]
    estimand: str | None = None
    loggp: LogGP | None = None

    @property
    def echo(self) -> Curve:
        """The curve of messages between two nodes."""
        return self.curves["echo"]

    @property
    def estimand_words(self) -> str:
        """Which times it estimates, in words."""
        return MEDIANS if self.estimand is None else ESTIMANDS[self.estimand]

    @property
    def startup(self) -> Estimate:
        """Startup of short messages, s."""
        return self.echo.pieces[0].startup

    @property
    def byte_time(self) -> Estimate:
        """Byte time of long messages, s/B: the inverse of the asymptotic rate."""
        return self.echo.pieces[-1].byte_time

    @property
    def half_bandwidth(self) -> float | None:
        """The shortest length at which a message has half the asymptotic rate, bytes; see `Curve.half_bandwidth`."""
        return self.echo.half_bandwidth

    def table(self) -> pl.DataFrame:
        """One row a piece with its figures: for people and reports.

        Returns
        -------
        polars.DataFrame
            `machine`, `benchmark`, `first`, `last`, `up_to` (bytes), then `startup`, `byte_time`, `hop_time`,
            `hop_byte_time` (s, s/B) each with `_low` and `_high`, and `half_bandwidth` of the piece (bytes).
        """
        rows = []
        for curve in self.curves.values():
            for piece in curve.pieces:
                row: dict[str, object] = {
                    "machine": self.machine,
                    "benchmark": curve.benchmark,
                    "first": piece.first,
                    "last": piece.last,
                    "up_to": piece.up_to,
                }
                for name in ("startup", "byte_time", "hop_time", "hop_byte_time"):
                    estimate: Estimate | None = getattr(piece, name)
                    row[name] = None if estimate is None else estimate.value
                    row[f"{name}_low"] = None if estimate is None else estimate.low
                    row[f"{name}_high"] = None if estimate is None else estimate.high
                row["half_bandwidth"] = piece.half_bandwidth
                rows.append(row)
        return pl.DataFrame(rows, schema=_TABLE)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the points that were fitted and the curves through them.

        Parameters
        ----------
        ax
            Axes of matplotlib to draw on; default: new ones.

        Raises
        ------
        UsageError
            Where matplotlib is not installed.
        """
        return showing.plot_fit(self, ax)

    def _repr_html_(self) -> str:
        return showing.fit_html(self)

    def __repr__(self) -> str:
        return showing.fit_line(self)

    def to_machine(self, name: str, origin: str, date: str | None = None, *, alternative: Fit | None = None) -> str:
        """The fit as the text of a machine file. See `weft.model.machine_file.machine_text`."""
        from weft.model.machine_file import machine_text

        return machine_text(self, name, origin, date, alternative=alternative)


_FIGURE_NAMES = [
    f"{name}{suffix}"
    for name in ("startup", "byte_time", "hop_time", "hop_byte_time")
    for suffix in ("", "_low", "_high")
]
_POINT: dict[str, pl.DataType] = {
    "benchmark": pl.String(),
    "hops": pl.Int64(),
    "bytes": pl.Int64(),
    "seconds": pl.Float64(),
    "fitted": pl.Float64(),
    "error": pl.Float64(),
    "launches": pl.Int64(),
}
_TABLE: dict[str, pl.DataType] = {
    "machine": pl.String(),
    "benchmark": pl.String(),
    "first": pl.Int64(),
    "last": pl.Int64(),
    "up_to": pl.Int64(),
    **dict.fromkeys(_FIGURE_NAMES, pl.Float64()),
    "half_bandwidth": pl.Float64(),
}


def fit(
    samples: pl.DataFrame,
    machine: str | None = None,
    source: str | None = None,
    *,
    most_pieces: int = MAX_PIECES,
    breaks: Sequence[int] | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
    tolerance: float = 0.0,
    held_out: Sequence[int] = (),
    chosen_again: Sequence[pl.DataFrame] = (),
    left_out: float = 0.0,
) -> Fit:
    """Fit startup, byte time and the cost of hops to echo samples.

    Time is a straight line of length in pieces, one for each protocol. Pieces are found where the curve over the fewest
    hops changes; their coefficients are fitted to all hops with least squares of relative errors, weighted by the
    spread over launches and reweighted after Huber against outliers. All coefficients are at least 0, and a byte
    time whose interval reaches 0 is 0 with an upper limit; so is a startup, but for that of the shortest messages.
    Whether hops cost a constant or also a byte time is chosen by the Bayesian information criterion. Measured,
    simulated, predicted and published samples are treated alike.

    Parameters
    ----------
    samples
        A table of samples; benchmarks other than `BENCHMARKS` are passed over.
    machine, source
        Which rows; needed only if the table has several machines or sources of echo.
    most_pieces
        The most pieces of a curve, at least 1.
    breaks
        Longest message of each protocol of `echo` but the last, in bytes, where they are known; default: they are
        found.
    confidence
        Coverage of the intervals, between 0 and 1.
    seed
        Of the bootstrap over launches: the same samples and seed give the same fit.
    tolerance
        Relative error that is good enough: the fewest pieces that are within it at every length are taken, and figures
        then depend less on which of several finer divisions happens to fit best. Default 0, and where no division is
        within it: as many pieces as the Bayesian information criterion finds.
    held_out
        Lengths, in bytes, that the fit does not see and is compared with.
    chosen_again
        Where the samples are of launches that were chosen among others: what the same choice gives without some of all
        launches, again and again, so that intervals have what is due to the choice.
    left_out
        The share of launches that each of those is without.

    Returns
    -------
    Fit

    Raises
    ------
    FitError
        If the samples do not determine a startup and a byte time, or several machines or sources are mixed.
    SamplesError
        If the table is not one of samples.

    Examples
    --------
    >>> import weft
    >>> fitted = fit(weft.simulate("ipsc860", "echo", bytes="8:8K"))
    >>> f"{fitted.startup.value:.3g} s, {fitted.byte_time.value:.3g} s/B"
    '7.2e-05 s, 3.73e-07 s/B'
    """
    if most_pieces < 1:
        raise FitError(f"a fit has at least 1 piece, and at most {most_pieces} were asked for")
    if not 0.0 < confidence < 1.0:
        raise FitError(f"expected a confidence between 0 and 1, found {confidence}")
    if not 0.0 <= tolerance < 1.0:
        raise FitError(f"a tolerance is a relative error from 0 to below 1, found {tolerance}")
    everything = _chosen(validate(samples), machine, source)
    _log.info("fit %d samples of %s", len(everything), ", ".join(everything["machine"].unique()))
    is_held_out = pl.col("bytes").is_in(list(held_out))
    chosen, unseen = everything.filter(~is_held_out), everything.filter(is_held_out)
    if chosen.filter(pl.col("benchmark") == "echo").is_empty():
        raise FitError("every length of echo is held out of the fit, which leaves nothing to fit")
    generator = np.random.default_rng(seed)
    fitted: list[FittedCurve] = []
    lines: dict[str, Curve] = {}
    refused: list[str] = []
    for benchmark in BENCHMARKS:
        rows = chosen.filter(pl.col("benchmark") == benchmark)
        if rows.is_empty():
            continue
        known = breaks if benchmark == "echo" else None
        points = points_of(rows, UNKNOWN_HOPS[benchmark])
        others = [table.filter(pl.col("benchmark") == benchmark) for table in chosen_again]
        if others and not any(table.is_empty() for table in others):
            points = points.chosen_again([points_of(one, UNKNOWN_HOPS[benchmark]) for one in others], left_out)
        try:
            fitted.append(fit_curve(points, benchmark, most_pieces, known, confidence, generator, tolerance))
            if benchmark != "echo":
                lines[benchmark] = fit_curve(points, benchmark, 1, None, confidence, None).curve
        except FitError as error:
            if benchmark == "echo":
                raise
            refused.append(f"not fitted: {error}")
    residuals = pl.concat([_residuals(one) for one in fitted])
    notes = [note for one in fitted for note in one.notes] + refused + _failures(residuals)
    ranks = chosen.filter(pl.col("benchmark") == "echo")["ranks"].max()
    one = chosen.row(0, named=True)
    same = validate(samples).filter((pl.col("machine") == one["machine"]) & (pl.col("source") == one["source"]))
    parts = loggp(same, fitted[0].curve, confidence)
    if parts is not None:
        notes += _held_up(parts, fitted[0].curve)
    return Fit(
        str(chosen["machine"][0]),
        str(chosen["source"][0]),
        ranks if isinstance(ranks, int) else None,
        {one.curve.benchmark: one.curve for one in fitted},
        residuals,
        pl.concat([_unseen(one.curve, unseen) for one in fitted]),
        lines,
        tuple(notes),
        loggp=parts,
    )


def fit_all(
    samples: pl.DataFrame,
    source: str | None = None,
    *,
    most_pieces: int = MAX_PIECES,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
) -> dict[str, Fit]:
    """Fit every machine in a table that has echo samples.

    Parameters
    ----------
    samples
        A table of samples.
    source, most_pieces, confidence, seed
        As for `fit`.

    Returns
    -------
    dict
        Fits by machine, in the order of the table. Machines without echo samples are left out.

    Examples
    --------
    >>> import polars as pl, weft
    >>> both = pl.concat([weft.simulate(name, "echo", bytes="8:8K") for name in ("ipsc2", "ipsc860")])
    >>> list(fit_all(both))
    ['ipsc2', 'ipsc860']
    """
    table = validate(samples)
    names = table.filter(pl.col("benchmark") == "echo")["machine"].unique(maintain_order=True)
    return {name: fit(table, name, source, most_pieces=most_pieces, confidence=confidence, seed=seed) for name in names}


def _chosen(samples: pl.DataFrame, machine: str | None, source: str | None) -> pl.DataFrame:
    """The echo samples of one machine and source; one of each or an error."""
    rows = samples.filter(pl.col("benchmark").is_in(list(BENCHMARKS)) & pl.col("bytes").is_not_null())
    for column, wanted in (("machine", machine), ("source", source)):
        names = rows["machine" if column == "machine" else "source"].unique(maintain_order=True).to_list()
        if wanted is not None:
            if names and wanted not in names:
                raise FitError(f"there are no echo samples of the {column} {wanted!r}; there are of {', '.join(names)}")
            rows = rows.filter(pl.col(column) == wanted)
        elif len(names) > 1:
            raise FitError(
                f"the samples are of several {column}s ({', '.join(names)}), and a fit is of one: choose with {column}="
            )
    if rows.filter(pl.col("benchmark") == "echo").is_empty():
        present = ", ".join(samples["benchmark"].unique(maintain_order=True).to_list()) or "no samples at all"
        raise FitError(f"a fit needs samples of the benchmark echo, found {present}; measure echo first")
    return rows


def _over(row: dict[str, int]) -> str:
    hops = row["hops"]
    return f" over {hops} hop{'' if hops == 1 else 's'}" if hops else ""


def _unseen(curve: Curve, samples: pl.DataFrame) -> pl.DataFrame:
    """A curve against lengths it was not fitted to."""
    rows = samples.filter(pl.col("benchmark") == curve.benchmark)
    if rows.is_empty():
        return pl.DataFrame(schema=_POINT)
    points = points_of(rows, UNKNOWN_HOPS[curve.benchmark])
    lengths = zip(points.bytes, points.hops, strict=True)
    return _against(
        curve, points, np.array([curve.seconds(n, int(h) if h in curve.hops else None) for n, h in lengths])
    )


def _against(curve: Curve, points: Points, fitted: Floats) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "benchmark": [curve.benchmark] * len(points),
            "hops": points.hops.astype(int),
            "bytes": points.bytes.astype(int),
            "seconds": points.seconds,
            "fitted": fitted,
            "error": fitted / points.seconds - 1.0,
            "launches": np.sum(~np.isnan(points.launches), axis=0).astype(int),
        },
        schema=_POINT,
    )


def _residuals(one: FittedCurve) -> pl.DataFrame:
    points, curve = one.points, one.curve
    limit = 3.0 * curve.deviation / points.weights if curve.freedom else np.full(len(points), np.inf)
    sizes = np.abs(one.fitted / points.seconds - 1.0)
    outlier = pl.Series("outlier", (sizes > limit) & (sizes > 1e-6))
    return _against(curve, points, one.fitted).with_columns(outlier)


def _held_up(parts: LogGP, curve: Curve) -> list[str]:
    """Where a stream is slower than both ends, which a simulated one is not."""
    notes = []
    for piece, ends in zip(curve.pieces, parts.ends, strict=False):
        held_up = {length: excess for one in ends for length, excess in one.held_up.items()}
        if held_up:
            lengths = ", ".join(map(str, sorted(held_up)))
            notes.append(
                f"{piece.first} to {piece.last} bytes: streams of messages of {lengths} bytes take up to "
                f"{max(held_up.values()):.0%} longer than either end, so that something else holds them up, and "
                f"simulated streams are faster"
            )
    if parts.cache is not None:
        notes.append(
            f"streams of long messages take longer than either end, as where a cache holds {parts.cache.bytes} bytes "
            f"of receives posted at one time: a byte that is not found in it costs {parts.cache.miss_byte_time:.3g} s "
            f"more, and from {parts.cache.all_missed_bytes} bytes on none is"
        )
    return notes


def _failures(residuals: pl.DataFrame) -> list[str]:
    """Where the fit is far from the samples, the worst first."""
    rows = residuals.filter(pl.col("error").abs() > UNEXPLAINED).sort(pl.col("error").abs(), descending=True)
    return [
        f"{row['benchmark']}, {row['bytes']} bytes{_over(row)}: the fit is {abs(row['error']):.0%} "
        f"{'above' if row['error'] > 0 else 'below'} the samples ({row['fitted']:.3g} s against {row['seconds']:.3g} s)"
        for row in rows.iter_rows(named=True)
    ]
