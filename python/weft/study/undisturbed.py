"""Which launches show what the machine itself takes: those of one state, the one that no other program disturbs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from weft.model.lines import Floats

CLOSE, AGREEING = 0.02, 0.75
"""Launches whose times differ by no more than the first share, at the second share of the lengths, are of one state.
Launches of one state were found to differ by 0.5 to 1%, those of different states by 10% and more; a quarter of the
lengths may be disturbed by themselves."""

MIN_LAUNCHES = 5
"""The fewest launches that make a state: of a hundred, a few agree by chance."""

ROWS = 3
"""Rows of a length that count where there is no undisturbed state."""

SHORT = 1024
"""Longest message, in bytes, by which states are ordered: what shares a core with a rank slows down its instructions,
while it can make copies of long messages quicker, since they then stay in that core's cache."""

ALIKE = 0.02
"""States whose short messages differ by no more than this share: of those the one with the most launches counts."""

QUICKEST = 0.1
"""The quickest launches are so many of all: a state that is slower than those was disturbed too, alike as its launches
are."""

QUICK = 0.05
"""Launches whose short messages are within this share of those of the quickest launches were disturbed now and then:
most lengths have launches in which they were not."""

MAX_MISSING = 0.5
"""A launch without more than this share of the points, as one that went back to a few lengths, is in no state."""

QUICKER = 2.0 / 3.0
"""Weight of the lower decile of a launch against its median, in logarithms. Messages of some lengths take one of two
times, a fifth apart, of which the lower decile shows the one or the other by whether a tenth of them were that quick;
the median is what a disturbance reaches first."""

CHOICES, LEFT_OUT = 40, 0.2
"""How often launches are chosen again, and the share of all that is left out then: with more left out a state would
seldom have `MIN_LAUNCHES`."""

POINT = ("ranks", "hops", "bytes", "algorithm")

_DECILE = pl.coalesce("seconds_p10", "seconds")


def undisturbed(measured: pl.DataFrame, benchmarks: Sequence[str]) -> pl.DataFrame:
    """The launches of the state in which short messages are quickest, with `seconds` between lower decile and median.

    What disturbs a launch (another program, another tenant of the computer, a virtual processor that was moved)
    disturbs nearly all of its messages, each length by another share; launches that nothing disturbs agree at nearly
    all lengths. So launches are judged as wholes, each benchmark by itself: those within `CLOSE` of each other at the
    share `AGREEING` of the lengths are of one state, and of the states with at least `MIN_LAUNCHES` launches that with
    the quickest short messages counts. If no launches are that close, or those that are have slower short messages than
    the quickest, all were disturbed; of those with quick short messages the quickest tenth of each length by itself
    then counts, in `ROWS` rows. All times of a launch that counts do: a length that is slow in this state is slow here.
    Launches are compared by their lower deciles; `seconds` of those that count is the geometric mean of lower decile
    and median weighted by `QUICKER`. Nothing is removed from the samples themselves.

    Parameters
    ----------
    measured
        Samples of one machine. `repetition` tells launches apart.
    benchmarks
        Which benchmarks to return; others are left out.

    Returns
    -------
    polars.DataFrame
        Rows of `measured`.
    """
    parts = [measured.clear()]
    for name in benchmarks:
        rows = measured.filter(pl.col("benchmark") == name)
        if not rows.is_empty():
            launches, agree = _launches(rows)
            part = rows.filter(pl.col("repetition").is_in(launches))
            parts.append(part if agree else _quickest(part))
    typical = _DECILE**QUICKER * pl.col("seconds") ** (1.0 - QUICKER)
    return pl.concat(parts).with_columns(seconds=typical)


def chosen_again(measured: pl.DataFrame, benchmarks: Sequence[str], seed: int = 0) -> list[pl.DataFrame]:
    """What is undisturbed where a share `LEFT_OUT` of the launches is left out, at random, `CHOICES` times.

    How much these differ says how much of a fit is due to which launches happened to be there to choose from.
    """
    numbers = measured["repetition"].unique().sort()
    stays = max(1, round(len(numbers) * (1.0 - LEFT_OUT)))
    generator = np.random.default_rng(seed)
    draws = [generator.choice(numbers.to_numpy(), stays, replace=False).tolist() for _ in range(CHOICES)]
    return [undisturbed(measured.filter(pl.col("repetition").is_in(kept)), benchmarks) for kept in draws]


def _quickest(rows: pl.DataFrame) -> pl.DataFrame:
    """Of each point `ROWS` rows, about the quickest tenth of them."""
    rank = _DECILE.rank("ordinal").over(POINT)
    wanted = (pl.len().over(POINT) * QUICKEST).floor().clip(1) + 1
    return rows.filter((rank.cast(pl.Float64) - wanted).abs() <= ROWS // 2)


def _launches(rows: pl.DataFrame) -> tuple[list[int], bool]:
    """The launches of one benchmark in the undisturbed state, or the least disturbed, and whether they agree."""
    times = rows.group_by("repetition", *POINT).agg(decile=_DECILE.median().log())
    by_launch = times.pivot("repetition", index=list(POINT), values="decile", sort_columns=True)
    launches = np.array([int(name) for name in by_launch.columns[len(POINT) :]])
    table = by_launch.drop(POINT).to_numpy().T
    complete = np.isnan(table).mean(axis=1) <= MAX_MISSING
    launches, table = launches[complete], table[complete]
    if len(launches) < MIN_LAUNCHES:
        return [int(number) for number in launches], True
    short = (by_launch["bytes"] <= SHORT).fill_null(True).to_numpy()
    chosen, agree = _state(table, short if short.any() else ~short)
    return [int(number) for number in launches[chosen]], agree


def _state(table: Floats, short: np.ndarray) -> tuple[np.ndarray, bool]:
    """Which launches (rows, of logarithms of times by point) count, and whether those are in the undisturbed state."""
    near = _apart(table) <= CLOSE
    sizes = near.sum(axis=1)
    pace = np.full(len(table), np.inf)
    for i in np.flatnonzero(sizes >= MIN_LAUNCHES):
        pace[i] = _pace(table[near[i]][:, short])
    own = np.array([_pace(row[short]) for row in table])
    least = np.quantile(own[np.isfinite(own)], QUICKEST)
    if pace.min() > least + ALIKE:
        return own <= least + QUICK, False
    quickest = np.flatnonzero(pace <= pace.min() + ALIKE)
    return near[quickest[np.argmax(sizes[quickest])]], True


def _pace(times: Floats) -> float:
    return np.inf if np.isnan(times).all() else float(np.nanmedian(times))


def _apart(table: Floats) -> Floats:
    """How far launches are from each other, at the share `AGREEING` of the points that both have; infinite without."""
    apart = np.full((len(table), len(table)), np.inf)
    for i, row in enumerate(table):
        differences = np.abs(table[i:] - row)
        shared = ~np.isnan(differences).all(axis=1)
        apart[i, i:][shared] = np.nanquantile(differences[shared], AGREEING, axis=1)
        apart[i:, i] = apart[i, i:]
    return apart
