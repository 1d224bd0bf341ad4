import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft._core import RunError
from weft.launch import protocol
from weft.launch.protocol import Protocol, run, status
from weft.launch.request import Request

ECHO = Request("echo", 2, {"bytes": (8, 64, 512)})


class World:
    """Launches whose times are known: `seconds(length, launch)`."""

    def __init__(self, seconds, fail_at=None, failure=KeyboardInterrupt):
        self.seconds = seconds
        self.launches = []
        self.fail_at = fail_at
        self.failure = failure

    def __call__(self, requests):
        number = requests[0].seed - 1
        self.launches.append([r.several("bytes") for r in requests])
        if number == self.fail_at:
            raise self.failure
        for index, request in enumerate(requests):
            yield index, [
                {
                    "benchmark": request.benchmark, "ranks": request.ranks, "hops": None, "bytes": n,
                    "algorithm": None, "seconds": self.seconds(n, number),
                }
                for n in request.several("bytes") or (None,)
            ]  # fmt: skip


class Clock:
    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_steady_points_take_the_fewest_launches():
    world = World(lambda n, launch: 1e-6)
    found = run([ECHO], world, Protocol(budget=1e9))
    assert len(world.launches) == 30
    assert len(found.rows) == 90
    assert {row["repetition"] for row in found.rows} == set(range(30))
    assert set(status(found.rows, Protocol(), False, False).values()) == {protocol.CONVERGED}


class Passes:
    """Launches that know what they were asked: a pass's median is its number + 2 µs, its lower decile 1 µs less."""

    def __init__(self):
        self.asked = []

    def __call__(self, requests):
        self.asked.append(list(requests))
        seen = {}
        for index, request in enumerate(requests):
            i = seen[request.benchmark] = seen.get(request.benchmark, -1) + 1
            median = (2 + i) * 1e-6
            yield index, [
                {
                    "benchmark": request.benchmark, "ranks": request.ranks, "hops": None, "bytes": n, "algorithm": None,
                    "seconds": median, "seconds_p10": median - 1e-6, "iterations": 10, "share_above_3x": 0.1 * i,
                    "rate": n / median,
                }
                for n in request.several("bytes")
            ]  # fmt: skip


def test_passes_of_a_launch_are_one_row_a_point():
    world = Passes()
    several = Request("echo", 2, {"bytes": tuple(1 << k for k in range(3, 13)), "seconds_per_point": 0.004}, passes=4)
    rows = list(protocol.launched([several, replace(ECHO, benchmark="ring")], world, 3))
    (asked,) = world.asked
    assert [request.benchmark for request in asked] == ["echo", "ring", "echo", "echo", "echo"]
    echoes = [request for request in asked if request.benchmark == "echo"]
    assert {request.parameters["seconds_per_point"] for request in echoes} == {0.001}
    assert len({request.several("bytes") for request in echoes}) == 4, "every pass has an order of its own"
    assert len({request.seed for request in echoes}) == 4
    assert [row["benchmark"] for row in rows] == ["ring"] * 3 + ["echo"] * 10, "passes are joined when the last is done"
    for row in rows[3:]:
        assert row["seconds"] == pytest.approx(3.5e-6), "the median of the passes"
        assert row["seconds_p10"] == pytest.approx(1e-6), "of the pass disturbed least"
        assert row["iterations"] == 40
        assert row["share_above_3x"] == pytest.approx(0.15)
        assert row["rate"] == pytest.approx(row["bytes"] / 3.5e-6)
        assert row["repetition"] == 3


def test_passes_are_the_protocols_own():
    assert "passes" not in json.loads(replace(ECHO, passes=4).to_json())


def test_every_launch_has_an_order_of_its_own_and_the_same_again():
    orders = [
        world.launches
        for world in (World(lambda n, launch: 1.0), World(lambda n, launch: 1.0))
        if run([Request("echo", 2, {"bytes": tuple(1 << k for k in range(16))})], world, Protocol())
    ]
    assert orders[0] == orders[1]
    assert len({tuple(launch[0]) for launch in orders[0]}) == 30


def test_only_loose_points_are_launched_again():
    noise = random.Random(1)
    world = World(lambda n, launch: noise.lognormvariate(0, 0.2) if n == 64 else 1.0)
    found = run([ECHO], world, Protocol(budget=1e9, most=40))
    assert all(set(launch[0]) == {64} for launch in world.launches[30:])
    values = protocol.seconds_by_point(found.rows)
    assert len(values[protocol.point({"benchmark": "echo", "ranks": 2, "bytes": 8})]) == 30
    assert 30 < len(values[protocol.point({"benchmark": "echo", "ranks": 2, "bytes": 64})]) <= 40


def test_a_spent_budget_ends_it_and_is_said():
    world = World(lambda n, launch: 1.0 + launch)
    found = run([ECHO], world, Protocol(budget=30.0), clock=Clock(4.0))
    assert 6 <= len(world.launches) < 60
    assert set(status(found.rows, Protocol(), False, False).values()) == {protocol.NOT_CONVERGED}


def test_a_machine_too_busy_for_the_fewest_launches_does_not_take_for_ever():
    world = World(lambda n, launch: 1.0 + launch)
    found = run([ECHO], world, Protocol(budget=20.0, limit=40.0), clock=Clock(4.0))
    assert 1 <= len(world.launches) < 6
    assert found.rows
    assert not found.interrupted
    assert set(status(found.rows, Protocol(), False, False).values()) == {protocol.NOT_CONVERGED}


def test_the_fewest_launches_are_made_whatever_the_budget():
    world = World(lambda n, launch: 1.0 + launch)
    run([ECHO], world, Protocol(budget=0.0))
    assert len(world.launches) == 6


def test_an_interrupt_keeps_what_was_measured_and_a_resumed_run_goes_on():
    world = World(lambda n, launch: 1e-6, fail_at=3)
    found = run([ECHO], world, Protocol())
    assert found.interrupted
    assert len(found.rows) == 9
    assert set(status(found.rows, Protocol(), True, False).values()) == {protocol.INTERRUPTED}
    again = World(lambda n, launch: 1e-6)
    rest = run([ECHO], again, Protocol(), before=found.rows)
    assert [row["repetition"] for row in rest.rows[::3]] == list(range(3, 30))
    assert set(status([*found.rows, *rest.rows], Protocol(), False, False).values()) == {protocol.CONVERGED}


def test_a_launch_that_fails_loses_nothing_that_was_measured():
    failure = RunError("rank 1 was killed")
    found = run([ECHO], World(lambda n, launch: 1e-6, fail_at=3, failure=failure), Protocol())
    assert found.failure is failure
    assert not found.interrupted
    assert len(found.rows) == 9
    with pytest.raises(RunError, match="rank 1 was killed"):
        run([ECHO], World(lambda n, launch: 1e-6, fail_at=0, failure=failure), Protocol())


def test_a_finished_measurement_is_not_begun_again():
    world = World(lambda n, launch: 1e-6)
    found = run([ECHO], world, Protocol())
    again = World(lambda n, launch: 1e-6)
    assert run([ECHO], again, Protocol(), before=found.rows).rows == []
    assert again.launches == []


def test_benchmarks_without_lengths_are_points_too():
    found = run([Request("barrier", 2)], World(lambda n, launch: 1e-6), Protocol())
    assert len(found.rows) == 30


def test_what_converged_by_chance_is_confirmed_by_half_as_many_launches_more():
    close, far = [1.0, 1.001] * 10, [0.8, 1.2] * 5
    plan = Protocol()
    assert protocol.is_converged(close, plan)
    assert not protocol.is_settled(close, plan)
    assert not protocol.is_settled([*close, *far[:9]], plan), "not looked at"
    assert protocol.is_settled([*close, *close[:10]], plan)
    late = [*far, *far, *close, *close]
    assert protocol.is_converged(late, plan)
    assert not protocol.is_settled(late, plan), "the look at 30 was the first to find it narrow"


class Breaks(World):
    """Is ended within launch `number`, when `after` of its requests are done."""

    def __init__(self, seconds, number, after):
        super().__init__(seconds)
        self.number, self.after = number, after

    def __call__(self, requests):
        is_it = requests[0].seed - 1 == self.number
        for done, found in enumerate(super().__call__(requests)):
            if is_it and done == self.after:
                raise KeyboardInterrupt
            yield found


SEVERAL = [ECHO, Request("ring", 2, {"bytes": (8, 64)}), Request("barrier", 2), Request("echo", 4, {"bytes": (8,)})]


def _noisy(n, launch):
    """Known only by length and launch: some points need many launches, others the fewest."""
    return 1.0 if n != 64 else random.Random(launch).lognormvariate(0, 0.15)


def _rows(found):
    return sorted((protocol.point(row), row["repetition"], row["seconds"]) for row in map(_sortable, found))


def _sortable(row):
    return {**row, "bytes": row["bytes"] or -1, "hops": 0, "algorithm": ""} | dict.fromkeys(
        (name for name in protocol.POINT if row.get(name) is None), 0
    )


@settings(deadline=None, max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 3)), min_size=1, max_size=4), st.booleans())
def test_a_measurement_that_was_ended_anywhere_comes_to_the_same_launches(ends, kept_all):
    """Whether the launch that was ended is kept as far as it came (Ctrl-C), or is lost (kill -9)."""
    plan = Protocol(budget=1e9, most=9)
    undisturbed = run(SEVERAL, World(_noisy), plan).rows
    rows = []
    for number, after in sorted(ends):
        kept = []
        found = run(
            SEVERAL,
            Breaks(_noisy, number, after),
            plan,
            before=rows,
            keep=lambda _, launch, kept=kept: kept.extend(launch),
        )
        assert found.rows == kept
        last = max((row["repetition"] for row in found.rows), default=-1)
        rows += [row for row in found.rows if kept_all or not found.interrupted or row["repetition"] < last]
    rows += run(SEVERAL, World(_noisy), plan, before=rows).rows
    assert _rows(rows) == _rows(undisturbed)


def test_a_benchmark_that_is_added_gets_its_fewest_launches_whatever_the_budget():
    found = run([ECHO], World(lambda n, launch: 1e-6), Protocol(budget=0.0))
    ring = Request("ring", 2, {"bytes": (8,)})
    more = run([ECHO, ring], World(lambda n, launch: 1e-6), Protocol(budget=0.0), before=found.rows)
    assert [row["benchmark"] for row in more.rows].count("ring") == 6


def test_rows_that_cannot_be_kept_end_a_measurement_and_are_not_lost():
    def full(number, rows):
        if number == 2:
            raise RunError("the journal x could not be written: No space left on device")

    world = World(lambda n, launch: 1e-6)
    found = run([ECHO], world, Protocol(), keep=full)
    assert "No space left" in str(found.failure)
    assert [row["repetition"] for row in found.rows] == [0] * 3 + [1] * 3 + [2] * 3
    assert len(world.launches) == 3
