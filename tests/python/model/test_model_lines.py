"""The robust line and the division of a curve, against oracles."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from weft.model.lines import huber, least_absolute
from weft.model.segments import divide

points = st.lists(
    st.tuples(st.integers(0, 2**20), st.floats(1e-7, 1e-2)), min_size=2, max_size=9, unique_by=lambda p: p[0]
).map(lambda found: np.array(sorted(found), dtype=float).T)


@settings(deadline=None)
@given(points)
def test_the_line_of_least_absolute_errors_is_that_of_a_linear_program(found: np.ndarray) -> None:
    lengths, seconds = found
    startup, byte_time, cost = least_absolute(lengths, seconds, np.ones(len(lengths)))
    assert startup >= 0.0
    assert byte_time >= 0.0
    # Minimise the sum of e with -e <= a/t + b n/t - 1 <= e.
    count = len(lengths)
    scale = max(1.0, lengths.max())
    line = np.column_stack([seconds.min() / seconds, seconds.min() * lengths / scale / seconds])
    one = np.eye(count)
    program = optimize.linprog(
        np.concatenate([[0, 0], np.ones(count)]),
        A_ub=np.block([[line, -one], [-line, -one]]),
        b_ub=np.concatenate([np.ones(count), -np.ones(count)]),
    )
    # The line attains its cost, and no solution of the program is cheaper. (The solver's own tolerance can leave it
    # dearer where seconds span many orders of magnitude.)
    attained = np.abs((startup + byte_time * lengths) / seconds - 1.0).sum()
    assert cost == pytest.approx(attained, rel=1e-9, abs=1e-9)
    assert cost <= program.fun * (1.0 + 1e-6) + 1e-7


@settings(deadline=None)
@given(points)
def test_huber_coefficients_are_physical(found: np.ndarray) -> None:
    lengths, seconds = found
    design = np.column_stack([np.ones(len(lengths)), lengths])
    start = np.array(least_absolute(lengths, seconds, np.ones(len(lengths)))[:2])
    coefficients, scale, trust = huber(design, seconds, np.ones(len(lengths)), start)
    assert (coefficients >= 0.0).all()
    assert scale >= 0.0
    assert ((trust > 0.0) & (trust <= 1.0)).all()


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(1e-6, 1e-3), min_size=7, max_size=9))
def test_the_division_is_the_best_of_all(seconds: list[float]) -> None:
    """With a fixed number of pieces dynamic programming finds what trying all breaks finds."""
    lengths = np.array([2.0**k for k in range(3, 3 + len(seconds))])
    times = np.array(seconds)
    weights = np.ones(len(times))
    found = divide(lengths, times, weights, most=2)
    cost = sum(s.cost for s in found)
    breaks = [b for b in range(1, len(times)) if b >= 3 and len(times) - b >= 3]
    whole = least_absolute(lengths, times, weights)[2]
    halves = [
        sum(least_absolute(lengths[p], times[p], weights[p])[2] for p in (slice(0, b), slice(b, None))) for b in breaks
    ]
    assert cost == pytest.approx(whole if len(found) == 1 else min(halves))


@given(st.integers(2, 30), st.integers(1, 4))
@settings(deadline=None, max_examples=30)
def test_pieces_cover_all_points_once_and_none_is_too_short(count: int, most: int) -> None:
    generator = np.random.default_rng(count * 10 + most)
    lengths = np.sort(generator.choice(2**20, count, replace=False)).astype(float)
    found = divide(lengths, generator.uniform(1e-6, 1e-3, count), np.ones(count), most)
    assert 1 <= len(found) <= most
    assert found[0].first == 0
    assert found[-1].last == count - 1
    assert all(b.first == a.last + 1 for a, b in itertools.pairwise(found))
    assert all(s.last - s.first + 1 >= min(3, count) for s in found)
