"""A fit recovers known costs, through noise and outliers, and says what it cannot know."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_samples import make_samples

from weft.model import FitError, fit, fit_all


def line(startup: float, byte_time: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda n, _: startup + byte_time * n


# Piece by piece: longest message, startup (s), byte time (s/B); each piece jumps up from the one before.
PROTOCOLS = [(511, 1.0e-6, 0.5e-9), (8191, 2.0e-6, 0.2e-9), (131071, 8.0e-6, 0.1e-9), (None, 30.0e-6, 0.3e-9)]


def protocols(count: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    chosen = PROTOCOLS[-count:]
    limits = np.array([up_to for up_to, _, _ in chosen[:-1]])

    def seconds(n: np.ndarray, _: np.ndarray) -> np.ndarray:
        piece = np.searchsorted(limits, n)
        return np.array([chosen[p][1] for p in piece]) + np.array([chosen[p][2] for p in piece]) * n

    return seconds


@settings(deadline=None, max_examples=40)
@given(st.floats(1e-7, 1e-2), st.floats(1e-3, 1e3))
def test_an_exact_line_is_recovered(startup: float, share: float) -> None:
    byte_time = startup * share / 4096
    found = fit(make_samples(line(startup, byte_time)))
    assert len(found.echo.pieces) == 1
    assert found.startup.value == pytest.approx(startup, rel=1e-6)
    assert found.byte_time.value == pytest.approx(byte_time, rel=1e-6)
    assert found.half_bandwidth == pytest.approx(startup / byte_time, rel=1e-5)
    assert found.residuals["error"].abs().max() < 1e-6


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("launches", [1, 10])
def test_protocols_are_found_through_noise(count: int, launches: int) -> None:
    found = fit(make_samples(protocols(count), launches=launches, noise=0.01, seed=count), confidence=0.999)
    assert [piece.up_to for piece in found.echo.pieces] == [up_to for up_to, _, _ in PROTOCOLS[-count:]]
    for piece, (_, startup, byte_time) in zip(found.echo.pieces, PROTOCOLS[-count:], strict=True):
        assert piece.startup.low <= startup <= piece.startup.high
        assert piece.byte_time.low <= byte_time <= piece.byte_time.high


def test_the_intervals_cover_as_often_as_they_say() -> None:
    inside = []
    for seed in range(60):
        found = fit(make_samples(line(2e-6, 1e-9), noise=0.02, seed=seed), most_pieces=1)
        inside.append(found.startup.low <= 2e-6 <= found.startup.high)
        inside.append(found.byte_time.low <= 1e-9 <= found.byte_time.high)
    assert np.mean(inside) >= 0.88


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_a_tenth_of_outliers_does_no_harm(count: int, seed: int) -> None:
    table = make_samples(
        protocols(count),
        lengths=[2**k for k in range(3, 21)] + [3 * 2**k for k in range(2, 19)],
        noise=0.005,
        seed=seed,
    )
    generator = np.random.default_rng(seed)
    spoilt = generator.choice(len(table), len(table) // 10, replace=False)
    factor = np.ones(len(table))
    factor[spoilt] = generator.uniform(3.0, 20.0, len(spoilt))
    found = fit(table.with_columns(pl.col("seconds") * pl.Series(factor)))
    assert len(found.echo.pieces) == count
    for piece, (_, startup, byte_time) in zip(found.echo.pieces, PROTOCOLS[-count:], strict=True):
        assert piece.startup.value == pytest.approx(startup, rel=0.03)
        assert piece.byte_time.value == pytest.approx(byte_time, rel=0.03)
    flagged = found.residuals.filter("outlier")["bytes"].to_list()
    assert set(flagged) == {int(n) for n in table["bytes"].gather(spoilt)}
    assert len([note for note in found.notes if "below the samples" in note]) == len(spoilt)


def test_outlying_launches_do_no_harm() -> None:
    table = make_samples(line(1e-6, 1e-9), launches=10, noise=0.005)
    slow = pl.when(pl.col("repetition") == 3).then(8.0 * pl.col("seconds")).otherwise(pl.col("seconds"))
    found = fit(table.with_columns(slow.alias("seconds")))
    assert found.startup.value == pytest.approx(1e-6, rel=0.01)
    assert found.byte_time.value == pytest.approx(1e-9, rel=0.01)


def test_lines_that_meet_change_where_they_meet() -> None:
    found = fit(make_samples(lambda n, _: np.maximum(2e-6 + 0.1e-9 * n, 1e-9 * n)))
    first = found.echo.pieces[0]
    assert first.change is None
    assert first.up_to == pytest.approx(2e-6 / 0.9e-9, abs=2)


def test_a_jump_at_an_unknown_length_is_said_and_widens_predictions() -> None:
    found = fit(make_samples(protocols(2)))
    assert found.echo.pieces[0].change == (65536, 131072)
    assert any("the protocol changes between 65536 and 131072 bytes" in note for note in found.notes)
    _, low, high = found.echo.interval(100000, 1)
    assert low <= 8.0e-6 + 1e-5
    assert high >= 30e-6 + 3e-5


def test_known_breaks_are_kept() -> None:
    found = fit(make_samples(protocols(2)), breaks=[100_000])
    assert [piece.up_to for piece in found.echo.pieces] == [100_000, None]
    assert found.echo.pieces[0].change is None


def test_circuit_switching_is_a_constant_a_hop_and_a_piece() -> None:
    def seconds(n: np.ndarray, h: np.ndarray) -> np.ndarray:
        return np.where(n <= 100, 64e-6 + 11e-6 * h, 147e-6 + 33e-6 * h) + 0.4e-6 * n

    found = fit(make_samples(seconds, lengths=[2**k for k in range(3, 14)], hops=(1, 2, 4, 6), noise=0.002))
    assert found.echo.switching == "circuit"
    short, long = found.echo.pieces
    assert (short.first, short.last, long.last) == (8, 64, 8192)
    assert short.hop_time is not None
    assert short.hop_time.value == pytest.approx(11e-6, rel=0.03)
    assert long.hop_time is not None
    assert long.hop_time.value == pytest.approx(33e-6, rel=0.03)
    assert short.startup.value == pytest.approx(75e-6, rel=0.01)
    assert found.echo.seconds(8192, 5) == pytest.approx(147e-6 + 165e-6 + 0.4e-6 * 8192, rel=0.01)


def test_store_and_forward_is_a_byte_time_a_hop_and_the_rest_is_the_ends() -> None:
    def seconds(n: np.ndarray, h: np.ndarray) -> np.ndarray:
        return 200e-6 + 1.5e-6 * n + h * (180e-6 + 1.0e-6 * n)

    found = fit(make_samples(seconds, lengths=[2**k for k in range(3, 14)], hops=(1, 2, 3), noise=0.002))
    assert found.echo.switching == "store-and-forward"
    (piece,) = found.echo.pieces
    assert piece.hop_byte_time is not None
    assert piece.hop_byte_time.value == pytest.approx(1.0e-6, rel=0.02)
    assert piece.byte_time.value == pytest.approx(2.5e-6, rel=0.01)
    assert piece.startup.value == pytest.approx(380e-6, rel=0.01)


def test_one_distance_leaves_the_cost_of_a_hop_unknown() -> None:
    found = fit(make_samples(line(1e-6, 1e-9)))
    assert found.echo.switching == "unknown"
    assert found.echo.pieces[0].hop_time is None
    assert "echo: only messages over 1 hop were given, so the cost of a further hop is unknown" in found.notes
    with pytest.raises(
        FitError, match="the cost of a hop is not known: messages of 8 bytes were only given over 1 hop, and 2"
    ):
        found.echo.seconds(8, 2)


def test_hops_that_nobody_knows_count_as_one() -> None:
    assert fit(make_samples(line(1e-6, 1e-9), hops=(None,))).echo.hops == (1,)


def test_a_time_that_does_not_grow_has_a_byte_time_of_0_with_a_limit() -> None:
    found = fit(make_samples(line(1e-6, 0.0), lengths=[8, 16, 32, 64, 128], noise=0.01))
    assert found.byte_time.value == 0.0
    assert 0.0 < found.byte_time.high < 1e-9
    assert found.half_bandwidth is None
    assert any("the time does not depend on length; byte time below" in note for note in found.notes)


def test_two_lengths_make_a_line_that_nothing_checks() -> None:
    found = fit(make_samples(line(1e-6, 1e-9), lengths=[8, 8192]))
    assert found.startup.value == pytest.approx(1e-6)
    assert found.startup.high == np.inf
    assert any("as many coefficients as points, so nothing to check the fit by" in note for note in found.notes)


def test_echo_to_oneself_and_to_the_host_are_fitted_too() -> None:
    own = make_samples(line(20e-6, 0.02e-6), hops=(0,), benchmark="echo-self", ranks=1)
    host = make_samples(line(3e-3, 1e-6), hops=(None,), benchmark="echo-host")
    other = make_samples(line(1e-6, 1e-9), hops=(None,), benchmark="alltoall")
    found = fit(pl.concat([make_samples(line(80e-6, 0.4e-6)), own, host, other], how="diagonal"))
    assert list(found.curves) == ["echo", "echo-self", "echo-host"]
    assert found.curves["echo-self"].seconds(1000) == pytest.approx(40e-6)
    assert found.lines["echo-host"].pieces[0].startup.value == pytest.approx(3e-3)


def test_what_is_not_echo_between_nodes_may_fail_alone() -> None:
    own = make_samples(line(20e-6, 0.02e-6), lengths=[8], hops=(0,), benchmark="echo-self", ranks=1)
    found = fit(pl.concat([make_samples(line(80e-6, 0.4e-6)), own]))
    assert list(found.curves) == ["echo"]
    assert any(note.startswith("not fitted: echo-self: every sample has 8 bytes") for note in found.notes)


def test_many_lengths_show_where_the_protocol_changes() -> None:
    lengths = sorted({round(8 * 1.03**k) for k in range(400)})
    found = fit(make_samples(protocols(3), lengths=lengths, noise=0.01))
    for piece, (up_to, startup, byte_time) in zip(found.echo.pieces, PROTOCOLS[-3:], strict=True):
        assert piece.startup.value == pytest.approx(startup, rel=0.03)
        assert piece.byte_time.value == pytest.approx(byte_time, rel=0.03)
        if up_to is not None:
            assert piece.last <= up_to <= (piece.up_to or 0)


def test_the_same_samples_and_seed_give_the_same_fit() -> None:
    table = make_samples(protocols(3), launches=8, noise=0.02)
    assert fit(table, seed=3).table().equals(fit(table.sample(fraction=1.0, shuffle=True, seed=1), seed=3).table())


def test_a_unit_of_time_changes_nothing_but_the_unit() -> None:
    table = make_samples(protocols(3), noise=0.01)
    seconds, days = fit(table), fit(table.with_columns(pl.col("seconds") * 86400.0))
    for a, b in zip(seconds.echo.pieces, days.echo.pieces, strict=True):
        assert b.startup.value == pytest.approx(86400.0 * a.startup.value, rel=1e-6)
        assert b.up_to == a.up_to


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (
            make_samples(line(1e-6, 1e-9), lengths=[1024]),
            {},
            "echo: every sample has 1024 bytes, and one length does not tell startup and byte time apart; measure more "
            "lengths, as with --bytes 8:1048576",
        ),
        (
            make_samples(lambda n, _: 1.0 / n),
            {},
            "which no startup and byte time do; check that `seconds` is a time and not a rate, and measure again",
        ),
        (
            make_samples(line(1e-6, 1e-9), benchmark="barrier"),
            {},
            "a fit needs samples of the benchmark echo, found barrier; measure echo first",
        ),
        (
            pl.concat([make_samples(line(1e-6, 1e-9)), make_samples(line(1e-6, 1e-9), machine="n")]),
            {},
            "the samples are of several machines (m, n), and a fit is of one: choose with machine=",
        ),
        (
            pl.concat([make_samples(line(1e-6, 1e-9)), make_samples(line(1e-6, 1e-9), source="simulated")]),
            {"machine": "m"},
            "the samples are of several sources (measured, simulated), and a fit is of one: choose with source=",
        ),
        (
            make_samples(line(1e-6, 1e-9)),
            {"machine": "x"},
            "there are no echo samples of the machine 'x'; there are of m",
        ),
        (
            make_samples(line(1e-6, 1e-9)),
            {"most_pieces": 0},
            "a fit has at least 1 piece, and at most 0 were asked for",
        ),
        (
            make_samples(line(1e-6, 1e-9)),
            {"tolerance": 1.5},
            "a tolerance is a relative error from 0 to below 1, found 1.5",
        ),
        (make_samples(line(1e-6, 1e-9)), {"breaks": [9, 4]}, "breaks are lengths in ascending order, found [9, 4]"),
        (
            make_samples(line(1e-6, 1e-9)),
            {"breaks": [8]},
            "messages from 0 to 8 bytes: 1 lengths were given, and startup and byte time need at least 2",
        ),
    ],
)
def test_refusals_say_what_is_missing(table: pl.DataFrame, options: dict[str, object], message: str) -> None:
    with pytest.raises(FitError) as error:
        fit(table, **options)  # type: ignore[arg-type]
    assert message in str(error.value)


def test_one_length_a_distance_is_refused() -> None:
    table = pl.concat(
        [make_samples(line(1e-6, 1e-9), lengths=[8]), make_samples(line(1e-6, 1e-9), lengths=[64], hops=(2,))]
    )
    with pytest.raises(FitError, match="no number of hops has samples of more than one length"):
        fit(table)


def test_every_machine_of_a_table_is_fitted() -> None:
    table = pl.concat([make_samples(line(1e-6, 1e-9)), make_samples(line(2e-6, 1e-9), machine="n")])
    assert {name: round(found.startup.value, 9) for name, found in fit_all(table).items()} == {"m": 1e-6, "n": 2e-6}


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 2**20), st.integers(0, 6) | st.none(), st.floats(1e-9, 1e3)), min_size=1, max_size=12
    )
)
def test_any_samples_give_a_physical_fit_or_a_reason(rows: list[tuple[int, int | None, float]]) -> None:
    table = pl.DataFrame(
        [
            {
                "source": "measured",
                "machine": "m",
                "benchmark": "echo",
                "ranks": 2,
                "hops": h,
                "bytes": n,
                "repetition": 0,
                "seconds": s,
            }
            for n, h, s in rows
        ],
        schema_overrides={"hops": pl.Int64},
    )
    try:
        found = fit(table)
    except FitError:
        return
    for piece in found.echo.pieces:
        for figure in (piece.startup, piece.byte_time, piece.hop_time):
            assert figure is None or 0.0 <= figure.low <= figure.value <= figure.high
    assert [p.up_to is None for p in found.echo.pieces] == [False] * (len(found.echo.pieces) - 1) + [True]


def test_times_without_a_startup_are_refused() -> None:
    with pytest.raises(FitError) as error:
        fit(make_samples(line(0.0, 2e-9)))
    assert str(error.value).startswith("echo: the fit has no startup: its times are 2e-09 s a byte and nothing else, ")
    assert str(error.value).endswith(
        "; noise hides the startup, so measure again on a quiet machine, with more short messages (--bytes 0:1K) and "
        "more launches"
    )


def test_half_the_rate_is_where_the_whole_curve_first_has_it():
    """Two protocols: the second one's line starts below zero, and half of its rate is reached by the first already."""
    lengths = [2**k for k in range(3, 22)]
    times = [1e-6 + 1e-9 * n if n <= 8192 else 0.6e-9 * n for n in lengths]
    rows = [
        {"source": "simulated", "machine": "m", "benchmark": "echo", "ranks": 2, "hops": 1, "bytes": n, "repetition": 0,
         "seconds": t, "rate": n / t}
        for n, t in zip(lengths, times, strict=True)
    ]  # fmt: skip
    found = fit(pl.DataFrame(rows))
    assert len(found.echo.pieces) == 2
    half = found.half_bandwidth
    # n / (1e-6 + 1e-9 n) = 1 / (2 * 0.6e-9)
    assert half == pytest.approx(1e-6 / (2 * 0.6e-9 - 1e-9), rel=0.01)
    assert found.echo.pieces[-1].half_bandwidth is None or found.echo.pieces[-1].startup.value > 0
