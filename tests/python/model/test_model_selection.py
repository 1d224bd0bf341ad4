"""Intervals of fits of launches that were chosen among others."""

import numpy as np
import polars as pl

import weft
from weft.model.points import points_of
from weft.study.undisturbed import LEFT_OUT, chosen_again, undisturbed

LENGTHS = [8 << k for k in range(12)]


def launches(count, generator, disturbed):
    """Launches of which a share is disturbed: slower by a third at all lengths, each by another amount."""
    rows = []
    for number in range(count):
        slower = 1.0 + (generator.random() * 0.6 if number < disturbed * count else 0.004 * generator.standard_normal())
        for length in LENGTHS:
            seconds = (1e-6 + 1e-9 * length) * slower * np.exp(0.003 * generator.standard_normal())
            rows.append((length, number, seconds))
    table = pl.DataFrame(rows, schema=["bytes", "repetition", "seconds"], orient="row")
    head = {"source": "measured", "machine": "m", "benchmark": "echo", "ranks": 2, "hops": 1}
    return table.with_columns(
        pl.lit(None, pl.String).alias("algorithm"),
        seconds_p10=pl.col("seconds"),
        **{name: pl.lit(value) for name, value in head.items()},
    )


def test_choosing_all_launches_again_has_the_variance_of_a_median():
    generator = np.random.default_rng(1)
    table = launches(60, generator, 0.0)
    numbers = np.arange(60)
    others = []
    for _ in range(200):
        kept = generator.choice(numbers, 48, replace=False).tolist()
        others.append(points_of(table.filter(pl.col("repetition").is_in(kept)), 1))
    covariance = points_of(table, 1).chosen_again(others, 0.2).covariance
    expected = np.pi / 2 / 60 * (0.004**2 + 0.003**2)
    assert 0.4 < np.mean(np.diag(covariance)) / expected < 2.5


def test_intervals_are_wider_for_what_was_chosen():
    table = launches(40, np.random.default_rng(2), 0.6)
    chosen = undisturbed(table, ["echo"])
    assert chosen["repetition"].n_unique() < 40
    alone = weft.fit(chosen, most_pieces=1)
    again = weft.fit(chosen, most_pieces=1, chosen_again=chosen_again(table, ["echo"]), left_out=LEFT_OUT)
    assert again.startup.value == alone.startup.value
    assert again.startup.half_width > alone.startup.half_width
    assert again.startup.low <= 1e-6 <= again.startup.high
