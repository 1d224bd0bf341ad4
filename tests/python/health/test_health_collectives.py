"""Collectives over all nodes: expected times by another way, what counts as slow, and what is said of it."""

import polars as pl
import pytest

import weft
from weft.health import CollectiveTime, Verdict, collectives, diagnose, pair_times, summary


def samples(factor, launches=5, spread=0.01):
    """Launches of both collectives here, whose times lie within a spread."""
    rows = [
        {"source": "measured", "machine": "here", "benchmark": name, "ranks": 4, "hops": None, "bytes": length,
         "launch": launch, "repetition": launch, "seconds": factor * 1e-5 * (1 + spread * (launch - 2) / 2)}
        for name, length in (("barrier", None), ("allreduce", 8), ("allreduce", 1024)) for launch in range(launches)
    ]  # fmt: skip
    return weft.samples.validate(pl.DataFrame(rows, schema_overrides={"hops": pl.Int64, "bytes": pl.Int64}))


def test_without_an_expectation_there_are_times_only():
    found = collectives.times(samples(1.0))
    assert [(each.benchmark, each.bytes, each.slowdown) for each in found] == [
        ("barrier", None, None), ("allreduce", 8, None), ("allreduce", 1024, None),
    ]  # fmt: skip
    assert all(each.seconds == pytest.approx(1e-5) for each in found)
    assert not any(each.is_slow(0.05) for each in found)


@pytest.mark.parametrize(("factor", "slow"), [(1.3, True), (1.0, False), (1.06, False), (0.7, False)])
def test_slow_is_what_is_above_the_threshold_with_its_whole_interval(factor, slow):
    for each in collectives.times(samples(factor, spread=0.02), samples(1.0, spread=0.02)):
        assert each.slowdown == pytest.approx(factor)
        assert each.low < factor < each.high
        assert each.is_slow(0.05) is slow


def test_collectives_of_other_lengths_or_ranks_are_not_judged():
    normal = samples(1.0).with_columns(ranks=pl.lit(8, pl.Int64))
    assert [each.slowdown for each in collectives.times(samples(2.0), normal)] == [None] * 3
    assert collectives.times(samples(1.0).clear()) == []


def test_a_slow_collective_is_a_finding_of_its_own():
    times = pair_times(weft.simulate("ipsc860", "pairs", ranks=4))
    slow = CollectiveTime("allreduce", 8, 4, 2e-4, 1.5, 1.4, 1.6)
    diagnosis = diagnose(times, expected=times, collectives=[slow, CollectiveTime("barrier", None, 4, 1e-4)])
    assert diagnosis.verdict is Verdict.SLOW
    assert "allreduce of 8 B over 4 ranks takes 1.50 times as long as expected (1.40 to 1.60), 200 µs" in summary(
        diagnosis
    )
    assert diagnose(times, expected=times).verdict is Verdict.HEALTHY


def test_noise_that_both_have_is_no_defect(command):
    quick = "--ranks 8 --launches 3 --quiet"
    code, out, _ = command(f"health --on ipsc860 {quick} --fault noise=0.05")
    assert (code, "allreduce" in out) == (0, False)


@pytest.mark.mpi
@pytest.mark.usefixtures("native")
def test_they_are_measured_here_and_kept_with_the_pairs(command):
    quick = "health --ranks 2 --launches 2 --seconds 0.001 --bytes 8 --each rank"
    _, _, err = command(f"{quick} -o here.csv --format json")
    rows = pl.read_csv("here.csv").group_by("benchmark").len().sort("benchmark").rows()
    assert rows == [("allreduce", 2), ("barrier", 2), ("pairs", 4)], err
