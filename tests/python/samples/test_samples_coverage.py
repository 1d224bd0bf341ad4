"""A short form of the simulation of coverage: a record has the long one (`python -m benches interval-coverage`)."""

import numpy as np
import pytest

from benches.study.coverage import fixed, held_out, sequential
from benches.study.noise import NOISES
from weft.samples.summary import MIN_COVERAGE, MINIMUM_LAUNCHES

PROMISED = [noise for noise in NOISES if noise.promised]
SERIES = 400
DEVIATION = 0.011
"""Of a share of 95% of so many series."""


@pytest.mark.parametrize("noise", PROMISED, ids=lambda noise: noise.name)
def test_a_95_percent_interval_covers_between_93_and_97_percent(noise):
    covered, said, width = fixed(noise, 30, SERIES, seed=3)
    assert said == 0.95
    assert 0.93 - 2 * DEVIATION <= covered <= 0.97 + 2 * DEVIATION
    assert width < 1.5, "and is usefully narrow"


@pytest.mark.parametrize("name", ["normal, AR(1) 0.0", "normal, AR(1) 0.6", "log-normal, AR(1) 0.6"])
def test_it_does_where_the_protocol_stops_too(name):
    noise = next(one for one in NOISES if one.name == name)
    covered, share, count = sequential(noise, 0.04, SERIES, seed=3)
    assert share == 1.0
    assert count < 60, "some did stop"
    assert 0.93 - 2 * DEVIATION <= covered <= 0.97 + 2 * DEVIATION


@pytest.mark.parametrize("count", [3, 6, 9, 10, 14, MINIMUM_LAUNCHES - 1])
def test_intervals_of_few_launches_cover_what_they_say(count):
    least = min(fixed(noise, count, SERIES, seed=3)[0] for noise in PROMISED)
    assert least >= MIN_COVERAGE[count] - 3 * np.sqrt(0.25 / SERIES)
    assert fixed(NOISES[0], count, 20, seed=3)[1] == MIN_COVERAGE[count]


def test_held_out_errors_cover_one_more():
    assert held_out(88, 2000, seed=1) == pytest.approx(0.95, abs=0.015)
