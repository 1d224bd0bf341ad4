"""What the meter records, and what a described machine takes for it."""

import numpy as np
import pvar_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import UsageError, pvar
from weft.data_parallel import Costs
from weft.pvar import facts
from weft.pvar.meter import NEVER, Meter
from weft.pvar.vpset import vp_ratio


@pytest.fixture(autouse=True)
def _native(native):
    pass


def names(meter):
    return [(record.name, record.kind) for record in meter.sequence]


def test_every_operation_is_recorded_with_what_it_is():
    with pvar.metered() as meter:
        vp = weft.pvar.VPSet((4, 8))
        i, x = vp.coordinate(0), vp.array(np.ones((4, 8), np.float32))
        i + 1, i * i, i == 2, x - x, x * 2, x / x, pvar.sqrt(x), pvar.exp(x), i & 1
        x[...] = x
        x[...] = x + 1
        x[...] = 0.0
        x[1, 2] = 3
        x[1, 2]
        weft.pvar.reduce(i, "sum"), weft.pvar.reduce(i, "max"), weft.pvar.reduce(i == 0, "or")
        weft.pvar.spread(x, 1, 3)
        weft.pvar.shift(x, -3, 1), weft.pvar.shift(x, 6, 1), weft.pvar.shift(x, 1, 0, 0.0, form="store")
        weft.pvar.scan(i, "add", 1), weft.pvar.scan(i, "min", 0, exclusive=True)
        i.astype(float)
    assert names(meter) == [
        ("add", "add"),
        ("multiply", "multiply"),
        ("equal", "add"),
        ("subtract", "float_add"),
        ("multiply", "float_multiply"),
        ("divide", "float_divide"),
        ("sqrt", "float_sqrt"),
        ("exp", "float_function"),
        ("bitwise_and", "add"),
        ("add", "float_add"),
        ("assign", "assign"),
        ("broadcast", "broadcast"),
        ("write", "write"),
        ("read", "read"),
        ("reduce add", "reduce_sum"),
        ("reduce max", "reduce_max_grid"),
        ("equal", "add"),
        ("reduce or", "reduce_or"),
        ("spread", "spread"),
        ("shift fetch", "news_fetch"),
        ("shift fetch", "news_fetch"),
        ("shift store", "news_store"),
        ("scan add", "scan_sum"),
        ("scan min exclusive", "scan_max"),
        ("astype", "convert"),
    ]
    by_name = {record.name: record for record in meter.sequence}
    assert [record.hops for record in meter.sequence if record.name.startswith("shift")] == [3, 2, 1]
    assert (by_name["spread"].axis, by_name["spread"].extent, by_name["spread"].bits) == (1, 8, 32)
    assert by_name["scan add"].shape == (4, 8)


def test_a_record_knows_where_it_was_asked_for_and_who_was_selected():
    with pvar.metered() as meter:
        vp = weft.pvar.VPSet(10)
        i = vp.coordinate(0)
        for _ in range(3):
            with vp.where(i < 3):
                i + i
    assert {record.file for record in meter.sequence} == {__file__}
    assert len(meter.counts()) == 3
    less, select, add = meter.sequence[:3]
    assert (less.name, select.name, add.name) == ("less", "select", "add")
    assert less.line == select.line == add.line - 1
    assert less.selects
    assert not add.selects
    assert (add.selected, add.density, less.density) == (3, 0.3, 1.0)
    assert meter.counts()[add] == 3
    meter.clear()
    assert not meter.sequence


def test_operations_in_place_assign_only_where_some_are_not_selected():
    with pvar.metered() as meter:
        vp = weft.pvar.VPSet((4, 8), machine="cm2-8k")
        x = vp.zeros("float32")
        x += 1
        with vp.where(vp.coordinate(0) == 2):
            x += 1
    assert names(meter)[-2:] == [("add", "float_add"), ("assign", "assign")]
    assert [record.name for record in meter.sequence].count("add") == 2
    assert [record.stores for record in meter.sequence] == [False] * (len(meter.sequence) - 1) + [True]
    # A Connection Machine stores within the operation.
    costs = Costs(weft.machine("cm2-8k"))
    counted = meter.time(costs)
    meter.sequence.pop()
    assert meter.time(costs) == counted


def test_a_meter_can_be_given_to_vp_sets_that_exist():
    vp = weft.pvar.VPSet(4)
    assert vp.plain
    with pvar.metered(vp) as meter:
        assert not vp.plain
        vp.coordinate(0) + 1
    vp.coordinate(0) + 1
    assert vp.plain
    assert vp.meter is None
    assert names(meter) == [("add", "add")]


def test_messages_between_two_sets_are_recorded_as_no_shift():
    """On one set this would be a shift by one; from another nothing else does the same."""
    vp, other = weft.pvar.VPSet(8, machine="cm2-8k"), weft.pvar.VPSet(8, machine="cm2-8k")
    weft.pvar.get(vp.address(), (other.address() + 1) % 8)
    record = other.meter.sequence[-1]
    assert (record.name, record.kind, record.facts.shift, record.facts.line) == ("get", "fetch", None, None)
    weft.pvar.send(vp.address(), vp.address() // 4, combine="add", vp=other)
    sent = vp.meter.sequence[-1]
    assert (sent.kind, sent.facts.targets, sent.facts.ratio) == ("multiple_reduction", 2, 4)
    assert other.time.real > 0


@settings(deadline=None, max_examples=min(40, cases.EXAMPLES))
@given(cases.SHAPES, st.data(), cases.SEEDS)
def test_facts_find_shifts(shape, data, seed):
    """What is called a shift or a spread is one."""
    vp = weft.pvar.VPSet(shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    distance = data.draw(st.integers(-3, 3))
    coordinates = [vp.coordinate(a) for a in range(len(shape))]
    kind = data.draw(st.sampled_from(["shift", "line", "random"]))
    if kind == "shift":
        coordinates[axis] = (coordinates[axis] + distance) % shape[axis]
    elif kind == "line":
        coordinates[axis] = coordinates[axis] * 0 + abs(distance) % shape[axis]
    else:
        places = np.random.default_rng(seed).integers(0, shape[axis], shape)
        coordinates[axis] = vp.array(places)
    x = vp.address()
    with pvar.metered(vp) as meter:
        fetched = weft.pvar.get(x, tuple(coordinates))
    found = meter.sequence[-1].facts
    same = None
    if found.shift is not None:
        same = weft.pvar.shift(x, found.shift[1], found.shift[0])
    elif found.line is not None:
        same = weft.pvar.spread(x, *found.line)
    if same is not None:
        assert np.array_equal(same.numpy(), fetched.numpy())
    elif kind != "random":
        # All extents of the axis are one place: nothing moves.
        assert np.array_equal(fetched.numpy(), x.numpy())


def test_facts_of_collisions():
    n = 64
    clustering = facts.of(np.arange(n) // 8, None, (n,))
    assert (clustering.messages, clustering.targets, clustering.most, clustering.ratio) == (64, 8, 8, 8)
    assert (clustering.pattern, clustering.ascending, clustering.shift) == ("clustering", True, None)
    distributing = facts.of(np.arange(n) // 8 * 8, None, (n,))
    assert (distributing.pattern, distributing.ratio) == ("distributing", 8)
    assert not facts.of(np.arange(n)[::-1], None, (n,)).ascending
    one = np.arange(n) == 5
    assert facts.of(np.arange(n) + 7, one, (n,)).shift == (0, 7)
    assert facts.of(np.arange(n), np.zeros(n, bool), (n,)).messages == 0
    around = facts.of((np.arange(n) - 1) % n, None, (n,))
    assert (around.shift, around.around) == ((0, -1), True)


def test_vp_ratios_are_those_of_the_paper():
    assert [vp_ratio(shape, 8192) for shape in [(63, 64), (127, 128), (255, 256)]] == [1, 2, 8]
    assert weft.pvar.VPSet((127, 128), machine="cm2-8k").vp_ratio == 2
    assert weft.pvar.VPSet((3, 4)).vp_ratio == 12


def test_a_described_machine_knows_its_time():
    vp = weft.pvar.VPSet((64, 64), machine="cm2-8k")
    x = vp.array(np.ones((64, 64), np.float32))
    x + x
    costs = Costs(weft.machine("cm2-8k"))
    one = vp.time
    (record,) = vp.meter.sequence
    assert one == costs.time(record.operation(8192))
    x + x
    assert vp.time.real == pytest.approx(2 * one.real)
    pvar.exp(x)
    with pytest.raises(
        UsageError, match=r"cm2-8k has no costs of 1 of the operations: exp \(test_pvar_meter.py:\d+\): "
    ):
        _ = vp.time


def test_at_most_32_processors_fetch_from_one_with_collisions_allowed():
    for machine in ("here", "cm2-8k"):
        vp = weft.pvar.VPSet((64, 64), machine=machine)
        first = vp.address() // 64
        if machine == "here":
            weft.pvar.get(first, first, collisions="allowed")
            continue
        with pytest.raises(
            UsageError, match="64 processors fetch from one; with collisions allowed cm2-8k takes at most 32"
        ):
            weft.pvar.get(first, first, collisions="allowed")
        weft.pvar.get(first, first, collisions="backward")
    assert vp.meter.sequence[-1].operation(8192).ratio == 64


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=20))
def test_distances_are_the_different_bytes_touched_since(touched):
    """Against the definition: all that was touched after the array was, each counted once, and the array."""
    arrays = [np.zeros(64 << at, np.int8) for at in range(6)]
    found = Meter()
    trace = []
    for these in touched:
        once = list(dict.fromkeys(reversed(these)))[::-1]
        for at, (distance, length) in zip(once, found._reach([arrays[at] for at in these]), strict=True):
            assert length == arrays[at].nbytes
            if at in trace:
                since = set(trace[len(trace) - trace[::-1].index(at) :])
                exact = length + sum(arrays[other].nbytes for other in since)
                assert exact <= distance <= 1.25 * exact
            else:
                assert distance >= NEVER
        trace += these


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), min_size=1, max_size=15))
def test_distances_of_arrays_that_take_the_place_of_others(pieces):
    """Against a stack of single bytes: how many others were touched since the byte that is half of the array."""
    memory, found, stack = np.zeros(64, np.int8), Meter(), []
    for begin, length in pieces:
        ((distance, own),) = found._reach([memory[begin : begin + length]])
        assert own == length
        mine = set(range(begin, begin + length))
        # Bytes that were touched at once are as far away as the last of them.
        steps, seen, others = [step & mine for step in stack], 0, 0
        for step, overlap in zip(stack, steps, strict=True):
            seen += len(overlap)
            if 2 * seen >= length:
                break
            others += len(step - mine)
        if 2 * seen >= length:
            # Within what was touched at once, rests of one array may come before one another.
            assert distance >= length
            assert distance <= 1.25 * (others + len(step - mine) + length) + 4
        else:
            assert distance >= NEVER
        stack = [mine, *(step - mine for step in stack)]
    assert sum(length for what, length in found._stack.items()) == len(set().union(*stack))


def test_code_is_as_far_away_as_what_was_touched_since():
    with pvar.metered() as meter:
        x = weft.pvar.VPSet(1 << 10).zeros("float64")
        y = x + x
        y = y + x
        y * y
        pvar.scan(y, "add")
        x + y
        x + y
    own, shared, result = 2 << 10, 6 << 10, (8 << 10) // 16
    assert meter.since[1] >= NEVER
    assert meter.since[2] == pytest.approx((2 * (own + shared + result) + 6 * (shared + result)) / 8, rel=0.25)
    behind = own + shared + (own + shared) + own + 3 * result
    assert meter.since[5] == pytest.approx((2 * behind + 6 * (behind - 2 * own)) / 8, rel=0.25)
    assert meter.since[6] == meter.since[2]
