"""Curves: a fit finds the curve that made the observations, whatever disturbs a few of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft._core import UsageError
from weft.estimation.curves import LEARNED, Curve, Work, fit, hats

KNOTS = tuple(512 * 4**k for k in range(9))
DENSITIES = (0.0, 0.01, 0.3, 0.5, 0.9, 1.0)
ELEMENT = (1e-10, 1e-10, 2e-10, 2e-10, 3e-10, 3e-10, 5e-10, 8e-10, 9e-10)
PLAIN = Curve(KNOTS, ELEMENT, (3e-6,) * 4)
SELECTING = Curve(KNOTS, ELEMENT, (3e-6,) * 4, {"element_selected": 2e-10, "run": 4e-9})
MOVING = Curve(KNOTS, ELEMENT, (1e-6, 1e-6, 2e-6, 4e-6), {"piece": 2e-8})


def works(curve, number, seed=1):
    made = np.random.default_rng(seed)
    for _ in range(number):
        n = int(2 ** made.uniform(6, 20))
        density = float(made.choice(DENSITIES)) if curve is SELECTING else None
        pieces = int(2 ** made.uniform(0, np.log2(n))) if curve is MOVING else 1
        runs = int(made.integers(0, n // 4)) if density not in (None, 0.0, 1.0) else 0
        yield Work(n, 8 * n, density, runs, pieces, since=int(2 ** made.uniform(12, 26)))


def observed(curve, number=100, noise=0.0):
    made = np.random.default_rng(7)
    return [(work, curve.seconds(work) * np.exp(noise * made.standard_normal())) for work in works(curve, number)]


def worst(found, curve):
    return worst_of(found, [(work, curve.seconds(work)) for work in works(curve, 200, seed=2)])


def worst_of(found, observations):
    return max(abs(found.seconds(work) / seconds - 1) for work, seconds in observations)


@pytest.mark.parametrize("curve", [PLAIN, SELECTING, MOVING])
def test_without_noise_the_curve_is_found(curve):
    assert worst(fit(observed(curve), KNOTS), curve) < 0.04


def test_every_array_that_is_far_away_counts():
    near, far = KNOTS[0], KNOTS[-1]

    def seconds(*distances):
        reach = tuple((distance, 8000) for distance in distances)
        return PLAIN.seconds(Work(1000, 8000, reach=reach)) - PLAIN.seconds(Work(0, 8000))

    step = 1000 * (ELEMENT[-1] - ELEMENT[0]) / 2
    assert seconds(near, near, near) == pytest.approx(1000 * ELEMENT[0])
    assert seconds(near, far) == pytest.approx(1000 * ELEMENT[0] + step)
    assert seconds(far, near, far) == pytest.approx(1000 * ELEMENT[0] + 2 * step)


def test_few_stretches_are_foreseen():
    def seconds(runs):
        work = Work(100_000, 800_000, 0.5, runs)
        return SELECTING.seconds(work) - SELECTING.seconds(replace(work, runs=0))

    assert seconds(LEARNED) == pytest.approx(LEARNED * 4e-9 / 2)
    assert seconds(LEARNED // 100) < LEARNED // 100 * 4e-9 / 50
    assert seconds(100 * LEARNED) > 100 * LEARNED * 4e-9 * 0.98


def test_outliers_do_not_move_it():
    disturbed = [(work, seconds * (5 if at % 10 == 0 else 1)) for at, (work, seconds) in enumerate(observed(PLAIN))]
    assert worst(fit(disturbed, KNOTS), PLAIN) < 0.15


def test_noise_is_reported():
    found = fit(observed(SELECTING, 400, noise=0.05), KNOTS)
    assert 0.03 < found.error < 0.07
    assert found.observations == 400


def test_terms_that_nothing_was_observed_of_are_not_there():
    assert set(fit(observed(PLAIN), KNOTS).terms) <= {"piece"}


def test_few_observations_are_met():
    found = fit([(Work(1000, 8000), 1e-5), (Work(1500, 12000), 1.2e-5)], KNOTS)
    assert found.seconds(Work(1000, 8000)) == pytest.approx(1e-5, rel=0.1)


def test_a_prior_says_what_was_not_observed():
    """A kind that is twice as fast as what it is like, seen at few lengths only."""
    half = Curve(KNOTS, tuple(value / 2 for value in ELEMENT), (1.5e-6,) * 4)
    few = [(work, half.seconds(work)) for work in works(PLAIN, 200) if 2**12 < work.bytes < 2**16][:8]
    found = fit(few, KNOTS, PLAIN)
    far = Work(1 << 20, 8 << 20)
    assert found.seconds(far) == pytest.approx(PLAIN.seconds(far), rel=0.6)
    near = few[0][0]
    assert found.seconds(near) == pytest.approx(half.seconds(near), rel=0.1)


def test_a_prior_is_taken_at_the_pace_of_a_kind():
    """A kind whose elements take three times as long as those of what it is like, seen at few lengths only."""
    slow = Curve(KNOTS, tuple(3 * value for value in ELEMENT), PLAIN.call)
    few = [(work, slow.seconds(work)) for work in works(PLAIN, 200) if work.bytes > 2**19][:4]
    far, near = Work(1 << 20, 8 << 20), few[0][0]
    assert fit(few, KNOTS, PLAIN).seconds(far) < 0.8 * slow.seconds(far)
    found = fit(few, KNOTS, PLAIN.at_the_pace_of(few))
    assert found.seconds(far) == pytest.approx(slow.seconds(far), rel=0.2)
    assert found.seconds(near) == pytest.approx(slow.seconds(near), rel=0.1)


def test_calls_say_nothing_of_the_pace_of_elements():
    calls = [(Work(8, 64), 9e-6)] * 5
    assert PLAIN.at_the_pace_of(calls) is PLAIN


def test_a_prior_that_is_next_to_nothing_gives_way():
    """Of what is next to nothing in kinds that are alike, the prior does not know twice as much from half as much."""
    seen = [(work, seconds) for work, seconds in observed(MOVING) if work.pieces > 500]
    prior = replace(MOVING, terms={"piece": 2e-12})
    assert worst_of(fit(seen, KNOTS, prior), seen) < 0.15


def test_what_the_clock_does_not_tell_decides_nothing():
    """Elements that are read, of which some took nothing once the clock's own time was taken off."""
    times = [1e-9] * 10 + [0.3e-6] * 20
    found = fit([(Work(1, 8, since=4096), taken) for taken in times], KNOTS)
    assert 0.2e-6 <= found.seconds(Work(1, 8, since=4096)) <= 0.3e-6


def test_sums_of_predictions_are_right_on_average():
    """Times that scatter upwards: their mean is predicted, not their median."""
    made = np.random.default_rng(3)
    times = 1e-6 * np.where(made.random(2000) < 0.3, 1.25, 1.0)
    found = fit([(Work(100, 800), float(taken)) for taken in times], KNOTS)
    assert found.seconds(Work(100, 800)) == pytest.approx(float(times.mean()), rel=0.01)


@given(st.lists(st.floats(1, 1e12), min_size=1, max_size=20))
def test_hats_add_to_one_and_are_at_most_two(lengths):
    weights = hats(np.array(lengths), KNOTS)
    assert np.allclose(weights.sum(axis=1), 1)
    assert (weights >= 0).all()
    assert ((weights > 0).sum(axis=1) <= 2).all()


@given(st.integers(1, 1 << 24), st.integers(1, 1 << 24), st.none() | st.floats(0, 1))
def test_more_elements_of_the_same_length_never_take_less(first, second, density):
    few, many = sorted((first, second))
    assert SELECTING.seconds(Work(few, 4096, density)) <= SELECTING.seconds(Work(many, 4096, density))


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(UsageError, match="at least one observation"):
        fit([], KNOTS)
    with pytest.raises(UsageError, match="must be positive"):
        fit([(Work(10, 80), 0.0)], KNOTS)


@given(st.lists(st.tuples(st.integers(1, 20), st.floats(-7, -3)), min_size=1, max_size=30), st.booleans())
def test_nothing_takes_less_for_being_farther_away(observed, by):
    """Whatever is observed: neither of the curves falls."""
    seen = [(Work(1 << n, 8 << n, since=1 << (2 * n)), 10.0**log) for n, log in observed]
    found = fit(seen, KNOTS, PLAIN if by else None)
    assert np.all(np.diff(found.element) >= 0)
    assert np.all(np.diff(found.call) >= 0)
