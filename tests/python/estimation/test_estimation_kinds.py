"""What kind of operation a record is, and what its cost depends on."""

from collections import Counter

import numpy as np
import pytest

from weft import pvar
from weft.estimation import kinds
from weft.estimation.curves import Curve, Work
from weft.estimation.estimates import record
from weft.estimation.recurrence import Recurrence, _ratio
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


def test_calls_alone_take_longer_after_many_other_operations():
    curve = Curve((8,), (1e-9,), (1e-6,) * 4, {"call_scalar": 1e-6})
    work = Work(1000, 8000, scalar=True)
    assert curve.seconds(work) == pytest.approx(3e-6)
    # A call with a number takes two microseconds; elements take what they take.
    assert curve.seconds(work, 1.5) == pytest.approx(2e-6 * 1.5 + 1e-6)
    recurrence = Recurrence((16, 64), (1.0, 1.5))
    assert [recurrence.factor(ago) for ago in (0, 1, 16, 32, 64, 1000)] == [1.0, 1.0, 1.0, 1.25, 1.5, 1.5]
    assert Recurrence().factor(1000) == 1.0


def test_operations_of_mostly_calls_say_how_much_longer_these_take():
    curves = {"few": Curve((8,), (1e-9,), (1e-6,) * 4), "many": Curve((8,), (1e-6,), (1e-6,) * 4)}
    few, many, unknown = (kinds.Kind(name, "", Work(10, 80)) for name in ("few", "many", "unknown"))
    assert _ratio([(few, 2 * 1.01e-6), (many, 1.0), (unknown, 1.0)], curves) == pytest.approx(2.0)
    assert _ratio([(unknown, 1.0)], curves) == 1.0


def test_how_long_ago_a_statement_was_executed_is_counted():
    def program():
        vp = pvar.VPSet(8)
        x = vp.full(1.0, "float64")
        for _ in range(5):
            x = x + 1
        return x * x

    ago: Counter[tuple[str, int]] = Counter()
    for one, count in record(program).items():
        ago[one.record.name, one.recurs] += count
    # Eight operations, of which one that is executed once comes again after all others, as if the program went on.
    assert ago[("VP set", 8)] == ago[("broadcast", 8)] == ago[("multiply", 8)] == 1
    assert (ago[("add", 1)], ago[("add", 4)]) == (4, 1)
