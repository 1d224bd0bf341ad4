"""Exchanges of ghosts: modelled from single messages, and drawn with what was simulated and measured."""

import polars as pl
import pytest

import weft
from weft import model
from weft._core import UsageError
from weft.reports import content, figures
from weft.study.halo import halo_everywhere


@pytest.fixture(autouse=True)
def _native(native):
    pass


def costs(name):
    return weft.machine(name)


def test_a_rank_sends_one_message_to_each_neighbour():
    # Eight ranks as 2 x 2 x 2: both faces of an axis go to the same neighbour, three messages of 2 x 16 x 16 x 8 bytes.
    found = model.predict_halo(costs("ipsc860"), [(16, 16, 16)], [8])
    one = model.predict(costs("ipsc860"), "echo", [4096])["seconds"][0]
    assert found["bytes"].to_list() == [3 * 4096]
    assert found["shape"].to_list() == ["16x16x16"]
    # Software at both ends; then each message goes through the node's one memory channel, and so does one that comes.
    software = 71.7e-6 + 71.6e-6
    travelling = 2 * 3 * (one - software)
    # Every face is copied into a message and out of it.
    copies = 2 * 3 * 4096 * 0.0168e-6
    assert found["seconds"][0] == pytest.approx(copies + 3 * software + travelling)
    assert found["seconds_low"][0] == pytest.approx(copies + one)
    assert found["seconds_high"][0] == pytest.approx(copies + 3 * software + travelling / (2 - 2**0.5))


def test_messages_of_a_node_with_all_channels_travel_side_by_side():
    found = model.exchange_times(costs("ncube6400"), [64, 4096])
    long = model.predict(costs("ncube6400"), "echo", [4096])["seconds"][0]
    assert found.machine == "ncube6400"
    assert found.longest == pytest.approx(long)
    assert 0.0 < found.travelling < long
    assert found.occupied + found.travelling > long


def test_of_a_fit_all_can_be_hidden():
    lengths = [2**k for k in range(3, 14)]
    seconds = [75e-6 + 0.4e-6 * n for n in lengths]
    columns = {"source": "measured", "machine": "made", "benchmark": "echo", "ranks": 2, "hops": 1, "repetition": 0}
    fit = model.fit(pl.DataFrame({**columns, "bytes": lengths, "seconds": seconds}))
    found = model.exchange_times(fit, [64, 1024])
    assert found.occupied == 0.0
    assert found.travelling == pytest.approx(2 * 75e-6 + 0.4e-6 * (64 + 1024))


def test_one_rank_has_no_messages():
    assert model.predict_halo(costs("ipsc860"), [(4, 4)], [1]).is_empty()


def test_a_shape_that_is_none_is_named():
    with pytest.raises(UsageError, match="a block of 4x0 has no elements"):
        model.predict_halo(costs("ipsc860"), [(4, 0)], [2])


def test_a_simulated_exchange_is_near_its_model_where_ranks_are_paired():
    described = [weft.machine("ipsc860"), weft.machine("ncube6400")]
    table = halo_everywhere([(8, 8, 8), (32, 32, 32)], [2, 8], machines=described)
    for _, part in table.group_by("machine", "shape", "ranks"):
        simulated, predicted = (part.filter(pl.col("source") == s)["seconds"][0] for s in ("simulated", "predicted"))
        assert 0.75 * predicted <= simulated <= 1.33 * predicted


def test_messages_of_many_neighbours_wait_within_the_interval():
    table = halo_everywhere([(32, 32, 32)], [16, 32, 64], machines=[weft.machine("ipsc860")])
    for _, part in table.group_by("ranks"):
        simulated = part.filter(pl.col("source") == "simulated")["seconds"][0]
        predicted = part.filter(pl.col("source") == "predicted")
        assert predicted["seconds"][0] <= simulated <= 1.25 * predicted["seconds_high"][0]


def test_all_of_it_is_in_one_figure():
    machines = [weft.machine("ipsc860"), weft.machine("ncube6400")]
    table = halo_everywhere([(4, 4), (8, 8)], [2, 4], machines=machines)
    figure = figures.halo_by_ranks(content.collect(table, machines))
    # Two panels, in each both machines, simulated and modelled.
    assert len(figure["data"]) == 8
    assert {trace["xaxis"] for trace in figure["data"]} == {"x", "x2"}
    assert sum(trace["line"].get("dash") == "dot" for trace in figure["data"]) == 4
    assert [note["text"] for note in figure["layout"]["annotations"]][:2] == ["<b>4x4</b>", "<b>8x8</b>"]


def test_nothing_is_drawn_where_nothing_was_exchanged():
    echo = weft.simulate("ipsc860", "echo", bytes="8:64")
    assert figures.halo_by_ranks(content.collect(echo))["data"] == []


def test_virtual_time_repeats_and_more_bytes_take_longer():
    again = [weft.simulate("ipsc860", "halo", ranks=8, shape="4x4x4:32x32x32") for _ in range(2)]
    assert again[0].equals(again[1])
    assert again[0]["seconds"].is_sorted()
    assert again[0]["shape"].to_list() == ["4x4x4", "8x8x8", "16x16x16", "32x32x32"]
