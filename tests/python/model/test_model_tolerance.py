"""Where a relative error is good enough, a fit has the fewest pieces within it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_samples import make_samples

from weft.model import fit
from weft.model.segments import divide

LENGTHS = tuple(n * quarters // 4 for n in (2**k for k in range(3, 20)) for quarters in (4, 5, 7))


def bent(n: np.ndarray, jump_at: float = 8192.0) -> np.ndarray:
    """A line with a slight bend at 2 KB and a jump to another one."""
    short = 1e-6 + 4e-11 * n + 6e-11 * np.maximum(0.0, n - 2048.0)
    return np.where(n < jump_at, short, 4e-6 + 1.5e-10 * n)


def test_a_bend_within_the_tolerance_makes_no_piece_and_a_jump_does() -> None:
    table = make_samples(lambda n, _: bent(n), LENGTHS)
    assert len(fit(table).echo.pieces) == 3
    found = fit(table, tolerance=0.1)
    assert [piece.up_to for piece in found.echo.pieces] == [8191, None]
    assert found.residuals["error"].abs().max() <= 0.1
    assert len(fit(table, tolerance=0.01).echo.pieces) == 3


def test_errors_within_the_tolerance_are_not_taken_for_outliers() -> None:
    """Two thirds of the lengths are on the flat part; the line is still drawn to the others."""
    found = fit(make_samples(lambda n, _: bent(n, 2.0**20), LENGTHS[:30]), tolerance=0.1)
    errors = found.residuals["error"]
    assert errors.max() > 0.4 * errors.abs().max()
    assert errors.min() < -0.4 * errors.abs().max()


def test_a_length_that_is_slow_in_some_launches_moves_neither_break_nor_figures() -> None:
    def seconds(slow: float):
        return lambda n, _: bent(n) * np.where(n == 3584.0, slow, 1.0)

    one, other = (fit(make_samples(seconds(slow), LENGTHS), tolerance=0.1) for slow in (1.0, 1.07))
    assert [piece.up_to for piece in one.echo.pieces] == [piece.up_to for piece in other.echo.pieces]
    for before, after in zip(one.echo.pieces, other.echo.pieces, strict=True):
        assert after.startup.value == pytest.approx(before.startup.value, rel=0.02)
        assert after.byte_time.value == pytest.approx(before.byte_time.value, rel=0.05)


@pytest.mark.parametrize("between", [1.0, 1.1, 1.12, 1.15])
def test_a_jump_is_put_at_a_power_of_two_where_that_is_good_enough(between: float) -> None:
    """As of self-messages, where 14336 bytes are on one line in some launches and near the other in others."""

    def seconds(n: np.ndarray, _: np.ndarray) -> np.ndarray:
        short, long = 1.79e-7 + 9.8e-12 * n, 1.25e-7 + 1.9e-11 * n
        return np.where(n < 16384.0, short * np.where(n == 14336.0, between, 1.0), long)

    found = fit(make_samples(seconds, LENGTHS), tolerance=0.1)
    assert [piece.up_to for piece in found.echo.pieces] == [16383, None]
    closer = fit(make_samples(seconds, LENGTHS), tolerance=0.03).echo.pieces[0].up_to
    assert (closer == 16383) == (between == 1.0)


@pytest.mark.parametrize("startup", [1.5e-8, 2.5e-8, 8e-8])
def test_a_startup_of_long_messages_that_cannot_be_told_from_0_is_0(startup: float) -> None:
    """As of self-messages beyond a first-level cache; that of the shortest is kept, however small it is."""

    def seconds(n: np.ndarray, _: np.ndarray) -> np.ndarray:
        waves = 1.0 + 0.07 * np.sin(2.5 * np.log2(n))
        return np.where(n < 16384.0, 9e-8 + 1e-11 * n, (startup + 1.92e-11 * n) * waves)

    found = fit(make_samples(seconds, LENGTHS), tolerance=0.15)
    first, last = found.echo.pieces
    assert (first.up_to, first.startup.value) == (16383, pytest.approx(9e-8, rel=0.02))
    if startup > 4e-8:
        assert last.startup.low > 0.0
    else:
        assert (last.startup.low, last.startup.value) == (0.0, 0.0)
        assert startup < last.startup.high < 4e-8
        assert last.byte_time.value == pytest.approx(1.92e-11, rel=0.05)
        assert any("the startup cannot be told from 0; it is below" in note for note in found.notes)


def test_what_no_division_is_within_the_tolerance_of_is_divided_as_without_one() -> None:
    generator = np.random.default_rng(3)
    times = 1e-6 * generator.uniform(0.2, 5.0, len(LENGTHS))
    lengths, weights = np.array(LENGTHS, dtype=float), np.ones(len(LENGTHS))
    assert divide(lengths, times, weights, tolerance=0.01) == divide(lengths, times, weights)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(0.9, 1.1), min_size=12, max_size=12), st.floats(0.05, 0.5))
def test_a_division_that_is_taken_for_the_tolerance_is_within_it_and_no_finer_than_without(
    noise: list[float], tolerance: float
) -> None:
    lengths = np.array([2.0**k for k in range(3, 15)])
    times = bent(lengths, 256.0) * np.array(noise)
    found = divide(lengths, times, np.ones(12), most=4, tolerance=tolerance)
    errors = [np.abs(s.at(lengths[s.first : s.last + 1]) / times[s.first : s.last + 1] - 1.0).max() for s in found]
    assert found == divide(lengths, times, np.ones(12), most=4) or max(errors) <= tolerance
    assert found[0].first == 0
    assert found[-1].last == 11
