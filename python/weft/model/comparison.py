"""Machines and files of samples side by side."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from weft.model.fitting import Fit
from weft.model.prediction import predict
from weft.samples import PARAMETERS, SamplesError, summarise, validate

_ECHOES = pl.col("benchmark").is_in(["echo", "echo-self", "echo-host"])


SMALLER = 0.1
"""Share of the square of the smaller of two distances: each interval is a little wide where launches seem alike by
chance, and of two that seldom happens to both. From the coverage of ratios in `benches/study/coverage.py`."""


def compare(*subjects: pl.DataFrame | Fit, labels: Sequence[str] | None = None) -> pl.DataFrame:
    """Seconds of several machines or tables side by side, and their ratios to the first.

    Rows are matched by benchmark and parameters. For echo the number of ranks does not matter, and a distance that a
    table does not tell (a real machine does not know it) is that of the nearest nodes: it is matched with the least
    that any table tells. Algorithms are told apart only if one of the tables has several of one collective.

    Parameters
    ----------
    subjects
        Tables of samples (each machine and source in one is a column of its own) and fits, which are evaluated at the
        lengths and hops of the tables (of their own samples if there are only fits).
    labels
        Names of the columns; default: machines, with the source where that tells them apart.

    Returns
    -------
    polars.DataFrame
        Parameters, then for each column `seconds NAME` and, for all but the first, `ratio NAME` with `ratio_low NAME`
        and `ratio_high NAME`, the interval that those of both sides make: seconds of NAME over seconds of the
        first. Null where one side has nothing.

    Raises
    ------
    SamplesError
        If there are fewer than two machines, or the number of labels differs.

    Examples
    --------
    >>> import weft
    >>> old, new = (weft.simulate(name, "echo", bytes=8) for name in ("ipsc2", "ipsc860"))
    >>> round(compare(old, new)["ratio ipsc860"].item(), 2)
    0.19
    """
    measured = _at_known_distances([_aligned(validate(s)) for s in subjects if isinstance(s, pl.DataFrame)])
    wanted = _asked(measured, [s for s in subjects if isinstance(s, Fit)])
    remaining = iter(measured)
    tables: list[tuple[str, str, pl.DataFrame]] = []
    for subject in subjects:
        if isinstance(subject, Fit):
            tables.append((subject.machine, "fitted", _evaluated(subject, wanted)))
            continue
        for (machine, source), part in next(remaining).group_by("machine", "source", maintain_order=True):
            tables.append((str(machine), str(source), part))
    if len(tables) < 2:
        raise SamplesError(f"a comparison needs at least two machines or tables, found {len(tables)}")
    names = _labels(tables) if labels is None else list(labels)
    if len(names) != len(tables) or len(set(names)) != len(names):
        raise SamplesError(f"expected {len(tables)} different labels, found {', '.join(names)}")
    keys = [name for name in PARAMETERS if name not in ("source", "machine")]
    keys = [name for name in keys if any(name in table.columns for _, _, table in tables)]
    if "algorithm" in keys and not any(_several(table, keys) for _, _, table in tables):
        keys.remove("algorithm")
    return _side_by_side(
        [(name, _medians(table, keys)) for name, (_, _, table) in zip(names, tables, strict=True)], keys
    )


def machine_table(fits: Sequence[Fit]) -> pl.DataFrame:
    """One row a machine with the figures that sum it up.

    Parameters
    ----------
    fits
        The machines.

    Returns
    -------
    polars.DataFrame
        `machine`, `source`, `startup` (of short messages, s), `byte_time` (of long ones, s/B), `rate` (1/byte_time,
        B/s),
        `half_bandwidth` (bytes), `hop_time` (of short messages, s; null if unknown), `switching`, and `pieces`.
    """
    rows = [
        {
            "machine": fit.machine,
            "source": fit.source,
            "startup": fit.startup.value,
            "byte_time": fit.byte_time.value,
            "rate": 1.0 / fit.byte_time.value if fit.byte_time.value else None,
            "half_bandwidth": fit.half_bandwidth,
            "hop_time": hop.value if (hop := fit.echo.pieces[0].hop_time) is not None else None,
            "switching": fit.echo.switching,
            "pieces": len(fit.echo.pieces),
        }
        for fit in fits
    ]
    return pl.DataFrame(rows, schema=_MACHINES)


_MACHINES: dict[str, pl.DataType] = {
    "machine": pl.String(),
    "source": pl.String(),
    **dict.fromkeys(("startup", "byte_time", "rate", "half_bandwidth", "hop_time"), pl.Float64()),
    "switching": pl.String(),
    "pieces": pl.Int64(),
}


def _aligned(table: pl.DataFrame) -> pl.DataFrame:
    """The table with what two worlds say differently of an echo said in one way."""
    return table.with_columns(
        pl.when(_ECHOES).then(None).otherwise(pl.col("ranks")).alias("ranks"),
        pl.when(_ECHOES & (pl.col("benchmark") != "echo")).then(None).otherwise(pl.col("hops")).alias("hops"),
    )


def _at_known_distances(tables: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """The tables, in which an echo of nearest nodes has the least distance that any of them tells, if one does."""
    echo = pl.col("benchmark") == "echo"
    distances = [hops for table in tables if (hops := table.filter(echo)["hops"].cast(pl.Int64).min()) is not None]
    if not distances:
        return list(tables)
    nearest = min(distances)
    known = pl.when(echo).then(pl.col("hops").fill_null(nearest)).otherwise(pl.col("hops"))
    return [table.with_columns(known.alias("hops")) for table in tables]


def _asked(tables: Sequence[pl.DataFrame], fits: Sequence[Fit]) -> pl.DataFrame:
    """Benchmark, hops and bytes at which fits are evaluated."""
    columns = ["benchmark", "hops", "bytes"]
    parts = [table.select(columns) for table in tables]
    parts = parts or [fit.residuals.select(columns) for fit in fits]
    if not parts:
        raise SamplesError("expected at least one table with rows, or a fit, to compare")
    return pl.concat(parts).filter(_ECHOES & pl.col("bytes").is_not_null()).unique(maintain_order=True)


def _evaluated(fit: Fit, wanted: pl.DataFrame) -> pl.DataFrame:
    """The fit as a table, where it knows the cost."""
    parts = []
    for row in wanted.iter_rows(named=True):
        curve = fit.curves.get(row["benchmark"])
        if curve is None:
            continue
        hops = row["hops"] if row["benchmark"] == "echo" else None
        unknown = curve.piece(row["bytes"]).hop_time is None
        if hops is not None and unknown and (len(curve.hops) > 1 or hops != curve.hops[0]):
            continue
        prediction = predict(fit, row["benchmark"], [row["bytes"]], [hops])
        parts.append(prediction.with_columns(pl.lit(hops, pl.Int64).alias("hops")))
    if not parts:
        raise SamplesError(
            f"the fit of {fit.machine} and the other tables have no benchmark, length and hops in common"
        )
    return _aligned(pl.concat(parts))


def _several(table: pl.DataFrame, keys: Sequence[str]) -> bool:
    if "algorithm" not in table.columns:
        return False
    others = [name for name in keys if name != "algorithm" and name in table.columns]
    return bool((table.group_by(others).agg(pl.col("algorithm").n_unique().alias("n"))["n"] > 1).any())


def _labels(tables: Sequence[tuple[str, str, pl.DataFrame]]) -> list[str]:
    machines = [machine for machine, _, _ in tables]
    names = [m if machines.count(m) == 1 else f"{m} ({source})" for m, source, _ in tables]
    return [name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}" for i, name in enumerate(names)]


def _medians(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Median seconds and their interval by `keys`."""
    missing = [pl.lit(None).alias(name) for name in keys if name not in table.columns]
    if "seconds_low" in table.columns:
        figures = table.select(*(n for n in keys if n in table.columns), "seconds", "seconds_low", "seconds_high")
    else:
        figures = summarise(table, [name for name in keys if name in table.columns])
    return figures.with_columns(missing).select(*keys, "seconds", "seconds_low", "seconds_high")


def _side_by_side(parts: Sequence[tuple[str, pl.DataFrame]], keys: Sequence[str]) -> pl.DataFrame:
    """The tables joined by `keys`, with ratios to the first."""
    types = {name: _type(name, [table for _, table in parts]) for name in keys}
    joined = pl.DataFrame(schema=types)
    for name, part in parts:
        renamed = part.cast(types).rename({c: f"{c} {name}" for c in ("seconds", "seconds_low", "seconds_high")})  # type: ignore[arg-type]
        joined = joined.join(renamed, on=list(keys), how="full", nulls_equal=True, coalesce=True)
    first = parts[0][0]
    columns: list[pl.Expr] = [pl.col(f"seconds {first}")]
    for name, _ in parts[1:]:
        columns += [
            pl.col(f"seconds {name}"),
            (pl.col(f"seconds {name}") / pl.col(f"seconds {first}")).alias(f"ratio {name}"),
            _ratio_end(name, first, "low", "high").alias(f"ratio_low {name}"),
            _ratio_end(name, first, "high", "low").alias(f"ratio_high {name}"),
        ]
    return joined.select(*keys, *columns).sort(list(keys), nulls_last=True)


def _ratio_end(name: str, first: str, end: str, opposite: str) -> pl.Expr:
    """An end of the interval of a ratio: distances of both intervals' ends from their medians, in logarithms, add as
    those of independent errors do (method of variance estimates recovery; G. Y. Zou, A. Donner, Statistics in Medicine
    27 (2008) 1693), but of the smaller one's square `SMALLER`."""

    def square(subject: str, which: str) -> pl.Expr:
        return (pl.col(f"seconds_{which} {subject}") / pl.col(f"seconds {subject}")).log().pow(2)

    squares = square(name, end), square(first, opposite)
    away = (pl.max_horizontal(squares) + SMALLER * pl.min_horizontal(squares)).sqrt()
    away = pl.when(pl.all_horizontal(one.is_not_null() for one in squares)).then(away)
    ratio = pl.col(f"seconds {name}") / pl.col(f"seconds {first}")
    return ratio * (away if end == "high" else -away).exp()


def _type(column: str, tables: Sequence[pl.DataFrame]) -> pl.DataType:
    """The type of a column that may be empty, and so without one, in some tables."""
    return next((t.schema[column] for t in tables if t.schema[column] != pl.Null), pl.Null())
