"""On a CM-2 the engine arrives at the guidelines of Wu and Shu 1989, section 4, from costs alone; elsewhere it need
not."""

import numpy as np
import pytest

import weft
from weft.advice.engine import suggest
from weft.advice.rules import RULES
from weft.data_parallel import Costs
from weft.estimation.costs_file import MeasuredCosts
from weft.estimation.curves import Curve
from weft.estimation.estimates import record
from weft.estimation.here import Here
from weft.estimation.pricing import Described
from weft.pvar.meter import LOCAL

SIZE = 8192


@pytest.fixture
def cm2(native):
    return Described(Costs(weft.machine("cm2-8k")))


def rules(*names):
    found = [rule for rule in RULES if rule.name in names or not names]
    assert found
    return found


def advised(program, prices, *names):
    return suggest(record(program), prices, "program", rules(*names)).suggestions


def only(program, prices, *names):
    (found,) = advised(program, prices, *names)
    return found


def variable(vp):
    return vp.array(np.arange(vp.size, dtype=np.float32).reshape(vp.shape))


def got(address, collisions="many", shape=(SIZE,)):
    def program():
        vp = weft.pvar.VPSet(shape)
        weft.pvar.get(variable(vp), vp.array(np.asarray(address).reshape(shape)), collisions=collisions)

    return program


def sent(address, combine=None, shape=(SIZE,)):
    def program():
        vp = weft.pvar.VPSet(shape)
        weft.pvar.send(variable(vp), vp.array(np.asarray(address).reshape(shape)), combine=combine)

    return program


def permutation():
    return np.random.default_rng(1).permutation(SIZE)


def test_guideline_1_a_single_element_is_read_and_written(cm2):
    """'it is better to let the front-end read the data element from the processor and then write it'"""

    def program():
        vp = weft.pvar.VPSet(SIZE)
        x, address = variable(vp), vp.full(17, np.int32)
        with vp.where(vp.coordinate(0) == 5):
            weft.pvar.get(x, address)

    found = only(program, cm2)
    assert found.better.name == "read and write"
    # 'could be 6 times faster'; by tables 2 and 4 it is 3.04 / (0.181 + 0.256).
    assert found.factor == pytest.approx(3.04 / (0.181 + 0.256), rel=0.1)


def test_guideline_2_general_communication_stores(cm2):
    """'For general communication, use the store operation instead of the fetch operation.'"""
    found = only(got(permutation()), cm2)
    assert found.better.name == "general store"
    assert found.factor == pytest.approx(5.25 / 1.37, rel=0.1)
    assert not advised(sent(permutation()), cm2)


@pytest.mark.parametrize("ratio", [3, 10, 30, 100, 300, 1000])
@pytest.mark.parametrize("mode", ["many", "allowed"])
def test_guideline_3_backward_routing_is_best_if_there_is_memory(cm2, ratio, mode):
    """'It is faster than the other two modes': by tables 6 to 8 at every ratio, in real time"""
    if mode == "allowed" and ratio > 30:
        pytest.skip("at most 32 processors can access a single one")
    address = np.arange(SIZE) // ratio * ratio
    found = advised(got(address, mode), cm2, "three modes of multiple broadcast")
    assert [one.better.name for one in found] == ["backward routing"]
    assert found[0].better.condition


@pytest.mark.parametrize(("pattern", "ratio", "better"), [
    ("clustering", 3, "allowed"),
    ("clustering", 30, "many"),
    ("distributing", 3, "allowed"),
    ("distributing", 10, "allowed"),
])  # fmt: skip
def test_guideline_3_without_that_memory_the_number_of_collisions_decides(cm2, pattern, ratio, better):
    """'This mode outperforms the many-collisions mode for a small number of collisions (less than 10 for clustering
    pattern and less than 30 for distributing pattern)'"""
    group = np.arange(SIZE) // ratio
    address = group if pattern == "clustering" else group * ratio
    worse = "many" if better == "allowed" else "allowed"
    (one,) = (one for one, *_ in record(got(address, worse)) if one.kind != LOCAL)
    (rule,) = rules("three modes of multiple broadcast")
    times = {form.name: form.time(cm2).real for form in rule.alternatives(one)}
    name = {"allowed": "collisions allowed", "many": "many collisions"}[better]
    assert times[name] < cm2.time(one).real


def test_guideline_3_destinations_are_scattered(cm2):
    """'try to distribute collisions when the backward routing or collisions-allowed mode is used'"""
    for mode, ratio in (("backward", 30), ("allowed", 10)):
        found = only(got(np.arange(SIZE) // ratio, mode), cm2, "clustered or scattered destinations")
        assert found.better.name == "scattered destinations"
    found = only(sent(np.arange(SIZE) // 30, "min"), cm2, "clustered or scattered destinations")
    assert found.better.name == "scattered destinations"
    assert found.factor == pytest.approx(10.38 / 2.46, rel=0.15)


def test_guideline_3_along_an_axis_it_is_spread(cm2):
    """'An alternative of multiple broadcasting is to use NEWS spread!! … about 10 times faster'"""
    first_row = np.broadcast_to(np.arange(64), (64, 64))
    for mode in ("many", "backward"):
        found = only(got(first_row, mode, (64, 64)), cm2)
        assert found.better.name == "spread"
        assert found.better.code == "weft.pvar.spread(x, axis=0, index=0)"
    assert only(got(first_row, "many", (64, 64)), cm2).factor > 10

    def program():
        vp = weft.pvar.VPSet((64, 64))
        weft.pvar.spread(variable(vp), axis=0, index=0)

    assert not advised(program, cm2)


def test_guideline_4_near_neighbours_go_over_the_grid(cm2):
    """'The first statement with NEWS fetch operation is more than 3 times faster'"""
    address = np.roll(np.arange(SIZE).reshape(128, 64), -1, 0)
    found = only(got(address, shape=(128, 64)), cm2, "general communication or NEWS")
    assert (found.better.name, found.better.code) == ("NEWS fetch", "weft.pvar.shift(x, 1, axis=0)")
    assert found.factor > 3


def test_guideline_4_not_if_it_is_far(cm2):
    """'It also should not be used if the number of hops traveled is too large.' A power of two is near."""

    def shifted(hops):
        def program():
            vp = weft.pvar.VPSet(SIZE)
            weft.pvar.shift(variable(vp), hops)

        return program

    assert not advised(shifted(1), cm2)
    assert only(shifted(2731), cm2).better.name == "general store"
    assert not advised(shifted(4096), cm2)


def test_news_stores_are_slow(cm2):
    """'Notice that the NEWS store operation is unreasonably slow here.'"""

    def program():
        vp = weft.pvar.VPSet(SIZE)
        weft.pvar.shift(variable(vp), 1, form="store")

    found = only(program, cm2)
    assert found.better.name in ("NEWS fetch", "general store")
    assert found.factor > 3


def measured(**seconds):
    """A machine whose kinds take so many seconds an element."""
    curves = {name: Curve((8,), (each,), (1e-6,) * 4, {}) for name, each in seconds.items()}
    return Here(MeasuredCosts(curves))


def test_a_machine_with_caches_gets_other_advice():
    """What to suggest follows from costs: with those of caches, the reverse of the CM-2."""
    made = np.random.default_rng(1)
    size = 1 << 14
    address = made.integers(0, size // 16, size) * 16
    here = measured(**{"send add float32, scattered": 9e-9, "send add float32, scattered near": 1e-9})
    found = only(sent(address, "add", (size,)), here, "clustered or scattered destinations")
    assert found.better.name == "clustered destinations"
    equal = measured(**{"send add float32, scattered": 1e-9, "send add float32, scattered near": 1e-9})
    assert not advised(sent(address, "add", (size,)), equal, "clustered or scattered destinations")


def test_many_messages_are_sorted_where_that_pays():
    made = np.random.default_rng(1)
    address = made.integers(0, 8, 1 << 12)

    def program():
        vp = weft.pvar.VPSet(1 << 12)
        x, to = variable(vp), vp.array(address)
        for _ in range(1000):
            weft.pvar.send(x, to, combine="add")

    cheap = dict.fromkeys(
        (
            "send plain 4 bytes, scattered",
            "send plain 4 bytes, scattered near",
            "send plain 4 bytes, in order, selected",
            "scan add float32 along the last axis, segmented",
            "scan add int32 along the last axis, segmented",
            "reduce add int32",
            "add int32",
            "select",
        ),
        1e-10,
    )
    here = measured(**cheap, **{"send add float32, scattered near": 1e-8})
    found = only(program, here, "many sends or one sorted send")
    assert found.better.name == "sorted send"
    assert "stay the same" in found.better.condition
    here = measured(**dict.fromkeys(cheap, 1e-8), **{"send add float32, scattered near": 1e-8})
    assert not advised(program, here, "many sends or one sorted send")


def test_advice_names_the_line_and_what_it_saves(cm2):
    found = only(got(permutation()), cm2)
    assert found.file == __file__
    assert f"{__file__}:{found.line}: general store instead of general fetch" in str(found)
    assert found.saved_s == pytest.approx(found.now_s - found.better_s)
