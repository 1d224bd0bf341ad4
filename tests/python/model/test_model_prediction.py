"""Predictions are samples with intervals, and say where they are out of their depth."""

import math

import polars as pl
import pytest
from made_samples import make_samples

from weft import samples
from weft.model import FitError, compare, fit, machine_table, predict
from weft.samples import SamplesError


def echo(startup: float = 1e-6, byte_time: float = 1e-9, **columns: object) -> pl.DataFrame:
    return make_samples(lambda n, _: startup + byte_time * n, noise=0.01, launches=6, **columns)


def test_a_prediction_is_a_table_of_samples_with_intervals() -> None:
    table = predict(fit(echo()), "echo", [100, 1000], [1])
    assert samples.validate(table)["source"].unique().to_list() == ["predicted"]
    row = table.row(1, named=True)
    assert row["seconds"] == pytest.approx(2e-6, rel=0.02)
    assert row["seconds_low"] < row["seconds"] < row["seconds_high"] < 1.1 * row["seconds"]
    assert row["rate"] == 1000 / row["seconds"]
    assert row["hops"] == 1
    assert row["note"] == ""


def test_predictions_beyond_the_samples_say_so() -> None:
    def seconds(n, h):  # type: ignore[no-untyped-def]
        return 1e-6 + 1e-6 * h + 1e-9 * n

    found = fit(make_samples(seconds, hops=(1, 2), noise=0.001))
    notes = predict(found, "echo", [8, 2**22], [2, 5])["note"].to_list()
    assert notes == [
        "",
        "outside of the lengths of the samples, 8 to 1048576 bytes",
        "outside of the hops of the samples, 1 to 2",
        "outside of the lengths of the samples, 8 to 1048576 bytes; outside of the hops of the samples, 1 to 2",
    ]


def test_nothing_to_check_by_is_an_infinite_interval() -> None:
    row = predict(fit(make_samples(lambda n, _: 1e-6 + 1e-9 * n, lengths=[8, 64])), "echo", [32]).row(0, named=True)
    assert (row["seconds_low"], row["seconds_high"]) == (0.0, math.inf)


@pytest.mark.parametrize(
    ("benchmark", "lengths", "hops", "message"),
    [
        ("alltoall", [8], [None], "the fit of m has no alltoall, only echo; add samples of alltoall, or simulate it"),
        ("echo", [-1], [None], "a message has at least 0 bytes, and -1 were asked for"),
        (
            "echo",
            [8],
            [3],
            "the cost of a hop is not known: messages of 8 bytes were only given over 1 hop, and 3 were",
        ),
    ],
)
def test_what_cannot_be_predicted(benchmark: str, lengths: list[int], hops: list[int | None], message: str) -> None:
    with pytest.raises(FitError) as error:
        predict(fit(echo()), benchmark, lengths, hops)
    assert message in str(error.value)


def test_machines_side_by_side() -> None:
    table = compare(echo(), echo(2e-6, 3e-9, machine="n", source="simulated", hops=(None,), ranks=64))
    assert table.columns == [
        "benchmark", "ranks", "hops", "bytes", "seconds m", "seconds n", "ratio n", "ratio_low n", "ratio_high n",
    ]  # fmt: skip
    assert len(table) == 18
    assert table["ratio n"][0] == pytest.approx(2.0, rel=0.02)
    assert table["ratio n"][-1] == pytest.approx(3.0, rel=0.02)
    assert (table["ratio_low n"] <= table["ratio n"]).all()
    assert (table["ratio n"] <= table["ratio_high n"]).all()


def test_a_fit_is_compared_at_the_lengths_of_the_table() -> None:
    table = compare(echo(lengths=[8, 24, 4096]), fit(echo()))
    assert table["bytes"].to_list() == [8, 24, 4096]
    assert table["ratio m (fitted)"].to_list() == pytest.approx([1.0] * 3, rel=0.02)


def test_what_one_side_lacks_is_empty() -> None:
    barrier = echo(benchmark="barrier", lengths=[8]).with_columns(pl.lit(None, pl.Int64).alias("bytes"))
    table = compare(pl.concat([echo(lengths=[8, 16]), barrier]), echo(machine="n", lengths=[16, 32]), labels=["a", "b"])
    found = table.sort("benchmark", "bytes").select("benchmark", "bytes", pl.col("ratio b").is_null()).rows()
    assert found == [("barrier", None, True), ("echo", 8, True), ("echo", 16, False), ("echo", 32, True)]


def test_algorithms_are_told_apart_where_a_table_has_several() -> None:
    one = echo(benchmark="broadcast", algorithm="native")
    two = pl.concat([echo(benchmark="broadcast", machine="n", algorithm=a) for a in ("binomial", "scatter")])
    assert "algorithm" not in compare(one, two.filter(pl.col("algorithm") == "binomial")).columns
    assert compare(one, two)["ratio n"].null_count() == 3 * 18


def test_a_comparison_needs_two() -> None:
    with pytest.raises(SamplesError, match="a comparison needs at least two machines or tables, found 1"):
        compare(echo())
    with pytest.raises(SamplesError, match="expected 2 different labels, found a, a"):
        compare(echo(), echo(), labels=["a", "a"])


def test_the_table_of_machines() -> None:
    row = machine_table([fit(echo())]).row(0, named=True)
    assert row["machine"] == "m"
    assert row["pieces"] == 1
    assert row["switching"] == "unknown"
    assert row["hop_time"] is None
    assert row["startup"] == pytest.approx(1e-6, rel=0.02)
    assert row["rate"] == pytest.approx(1e9, rel=0.02)
    assert row["half_bandwidth"] == pytest.approx(1000.0, rel=0.03)
