"""What kind of operation a record is, and what its cost depends on."""

import numpy as np
import pytest

from weft import pvar
from weft.estimation import kinds
from weft.estimation.curves import DOUBLINGS, ONCE, Curve, Work
from weft.estimation.estimates import record
from weft.pvar import metered

N = 20_000


def kind_of(vp, run):
    """The kind of the one operation of a program."""
    with metered(vp) as meter:
        run()
    (one,) = [one for one in meter.sequence if not one.included]
    return kinds.of(one)


def sent(addresses, combine):
    vp = pvar.VPSet(N)
    x, to, address = vp.full(1.0, "float64"), vp.full(0.0, "float64"), vp.array(addresses)
    return kind_of(vp, lambda: pvar.send(x, address, combine=combine, into=to))


def test_messages_in_order_wait_the_more_the_more_come_to_a_target():
    index = np.arange(N)
    waiting = [sent(index // each, "max").work.waiting for each in (1, 2, 16, 256, N)]
    assert waiting[0] == 0
    assert waiting == sorted(waiting)
    assert waiting[-1] > 0.99 * N
    assert N * 0.2 < waiting[2] < N * 0.5


def test_scattered_messages_wait_only_where_targets_are_few():
    rng = np.random.default_rng(6)
    few, many = (sent(rng.integers(0, targets, N), "max").work.waiting for targets in (2, N))
    assert few == pytest.approx(N / 2)
    assert many < 3


def test_addresses_that_follow_one_another_are_in_order_though_they_begin_in_the_middle():
    vp, index = pvar.VPSet((100, 200)), np.arange(N)

    def got(addresses):
        x, address = vp.full(1.0, "float64"), vp.array(addresses.reshape(100, 200))
        return kind_of(vp, lambda: pvar.get(x, address))

    turned, drawn = got((index + 7_123) % N), got(np.random.default_rng(7).permutation(N))
    assert "in order" in turned.name
    assert turned.work.scattered == 0
    assert "scattered" in drawn.name
    # 160 kB are 4.9 times the nearest cache.
    assert drawn.work.scattered == pytest.approx(N * np.log2(8 * N / kinds.NEAR), rel=0.01)


def test_addresses_of_bytes_jump_as_those_of_words_do():
    vp = pvar.VPSet(200)
    addresses = np.random.default_rng(8).permutation(200)
    jumps = []
    for dtype in ("uint8", "int16", "int64"):
        address = vp.array(addresses.astype(dtype))
        with metered(vp) as meter:
            pvar.get(vp.full(1, "int32"), address)
        jumps.append(meter.sequence[-1].facts.jumps)
    assert jumps == [int(np.sum(np.abs(np.diff(addresses)) >= 8))] * 3


def test_a_statement_that_is_executed_once_takes_more_than_one_of_a_loop():
    curve = Curve((8,), (1e-9,), (1e-6,) * 4, {"call_scalar": 1e-6})

    def seconds(repeats):
        return curve.seconds(Work(1000, 8000, scalar=True, repeats=repeats))

    assert seconds(0) == pytest.approx(3e-6)
    # A call with a number takes two microseconds; elements take what they take.
    assert seconds(1) == pytest.approx(2e-6 * ONCE + 1e-6)
    assert seconds(1) > seconds(2) > seconds(2**DOUBLINGS)
    assert seconds(2**DOUBLINGS) == seconds(10**6)


def test_how_often_a_statement_is_executed_is_counted():
    def program():
        vp = pvar.VPSet(8)
        x = vp.full(1.0, "float64")
        for _ in range(5):
            x = x + 1
        return x * x

    repeats = {one.record.name: one.repeats for one in record(program)}
    assert repeats["add"] == 5
    assert repeats["multiply"] == 1
