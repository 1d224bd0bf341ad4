"""Steps of a stencil: modelled from messages and a node's own times, and drawn with what was simulated."""

import polars as pl
import pytest

import weft
from weft import model
from weft._core import UsageError
from weft.catalogue import machines, passes_messages
from weft.model import NodeTimes, predict_stencil
from weft.reports import content, figures
from weft.study.stencil import priced, stencil_everywhere


@pytest.fixture(autouse=True)
def _native(native):
    pass


def test_a_step_on_one_rank_is_its_sites():
    machine = weft.machine("ipsc860")
    found = predict_stencil(machine, [(8, 8)], [1], {2: NodeTimes.of_operations(2, 0.05e-6, 0.0168e-6)})
    # A sum of five products is nine operations, which take longer here than eight bytes copied.
    assert found["seconds"].to_list() == pytest.approx([64 * 9 * 0.05e-6])
    assert found["seconds"][0] == found["seconds_low"][0] == found["seconds_high"][0]
    simulated = weft.simulate(machine, "stencil", ranks=1, shape="8x8")
    assert simulated["seconds"].to_list() == pytest.approx(found["seconds"].to_list())


def test_memory_counts_where_it_is_slower():
    assert NodeTimes.of_operations(3, 1e-10, 1e-9) == NodeTimes(8e-9, 1e-9)
    assert NodeTimes.of_operations(3, 1e-9, None) == NodeTimes(13e-9, 0.0)


def test_messages_hide_behind_the_interior():
    machine, times = weft.machine("ipsc860"), {3: NodeTimes(10e-6, 1e-8)}
    (message,) = predict_stencil(machine, [(32, 32, 32)], [2], times)["bytes"]
    one = model.predict(machine, "echo", [message])["seconds"][0]
    found = predict_stencil(machine, [(32, 32, 32)], [2], times)
    interior, rim = 30 * 32 * 32 * 10e-6, 2 * 32 * 32 * 10e-6
    assert interior > 2 * one
    copies = 2 * message * 1e-8
    # What software takes of the processor is not hidden; in and out take turns at the memory channel.
    software = 71.7e-6 + 71.6e-6
    assert found["seconds"][0] == pytest.approx(copies + software + interior + rim)
    assert found["seconds_high"][0] == pytest.approx(copies + software + 2 * (one - software) + interior + rim)


def test_overlapping_gains_in_virtual_time_and_never_more_than_the_shorter_part():
    overlapped = weft.simulate("ipsc860", "stencil", ranks=8, shape="16x16x16")["seconds"][0]
    in_turn = weft.simulate("ipsc860", "stencil-in-turn", ranks=8, shape="16x16x16")["seconds"][0]
    assert overlapped < in_turn < 2 * overlapped


def test_a_simulated_step_is_near_its_model():
    table = stencil_everywhere([(8, 8, 8), (32, 32, 32)], [2, 8], machines=[weft.machine("ipsc860")])
    for _, part in table.group_by("shape", "ranks"):
        simulated, predicted = (part.filter(pl.col("source") == s)["seconds"][0] for s in ("simulated", "predicted"))
        assert 0.8 * predicted <= simulated <= 1.25 * predicted


def test_more_steps_per_exchange_pay_where_messages_start_slowly():
    slow = weft.machine("ipsc860")
    block, ranks, reach = (32, 32), (4, 4), ((1, 1), (1, 1))
    cheap = {"site": 0.45e-6, "bytes_per_site": 8}
    best = model.best_steps_per_exchange(slow, block, ranks, reach, **cheap)
    times = {steps: model.time_per_step(slow, block, ranks, reach, steps, **cheap) for steps in range(1, 17)}
    assert best > 1
    assert times[best] == min(times.values())
    # A site that takes long leaves nothing to gain; nor does an array on one rank.
    assert model.best_steps_per_exchange(slow, block, ranks, reach, site=1e-3, bytes_per_site=8) == 1
    assert model.best_steps_per_exchange(slow, block, (1, 1), reach, **cheap) == 1
    # Ghosts stay within the next block.
    assert model.best_steps_per_exchange(slow, (2, 32), ranks, reach, **cheap) <= 2


def test_machines_without_arithmetic_are_refused_and_left_out():
    with pytest.raises(UsageError, match="tpu-v4: the machine's file gives no time of float64_sum_of_products"):
        weft.simulate("tpu-v4", "stencil", ranks=2, shape="8x8")
    left_out = {machine.name for machine in machines() if not priced(machine)}
    assert left_out == {"cm200", "cm2-8k", "tpu-v4", "palomar", "multi-psi-v1", "multi-psi-v2", "torus8x8-flit"}
    assert not passes_messages(weft.machine("cm200"))


def test_more_axes_than_a_stencil_has_are_refused():
    with pytest.raises(UsageError, match="a stencil has 1 to 4 axes; a block of '2x2x2x2x2' has 5"):
        weft.simulate("ipsc860", "stencil", ranks=2, shape="2x2x2x2x2")


def test_all_of_it_is_in_one_figure():
    described = [weft.machine("ipsc860"), weft.machine("ncube6400")]
    table = stencil_everywhere([(4, 4), (8, 8)], [1, 2, 4], machines=described)
    figure = figures.stencil_by_ranks(content.collect(table, described))
    assert len(figure["data"]) == 8
    assert {trace["xaxis"] for trace in figure["data"]} == {"x", "x2"}
