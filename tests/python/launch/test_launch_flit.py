"""Networks of routers, flit by flit: what comes back, what is taken from the machine file, and what is refused."""

import json

import pytest
from typer.testing import CliRunner

import weft
from weft._core import UsageError
from weft.cli.main import app
from weft.launch import flit
from weft.samples.schema import PARAMETERS

MACHINE = "torus8x8-flit"


def points(**parameters):
    return weft.simulate(MACHINE, "router", **{"cycles": 2000, "load": 0.05, **parameters})


def test_a_point_of_the_curve(native):
    row = points(load=(0.02, 0.05), buffer=8).row(1, named=True)
    assert (row["load"], row["vcs"], row["buffer"], row["packet"], row["credit_cycles"]) == (0.05, 2, 8, 8, 2)
    assert (row["tail_credit"], row["saturated"], row["traffic"]) == ("false", "false", "uniform")
    # An empty network takes 34 cycles on average.
    assert 33 < row["latency_cycles"] < 38
    assert row["seconds"] == pytest.approx(row["latency_cycles"] * 1e-9)
    assert row["accepted"] == pytest.approx(row["offered"], rel=0.05)


def test_more_than_a_network_takes_saturates_it(native):
    row = points(load=0.9, cycles=4000).row(0, named=True)
    assert row["saturated"] == "true"
    assert row["accepted"] < 0.5
    assert points(load=0.9, cycles=4000, tail_credit=True)["accepted"].item() < row["accepted"]


def test_loads_are_points_and_seeds_repeat(native):
    found = points(load="0.02,0.05")
    assert found.select(name for name in PARAMETERS if name in found.columns).n_unique() == 2
    assert found["variant"].to_list() == ["uniform 0.02", "uniform 0.05"]
    assert points().equals(points())
    assert points()["latency_cycles"].item() != points(seed=5)["latency_cycles"].item()


def test_the_model_of_messages_says_where_it_ends(native):
    quiet, loaded = points(load=(0.01, 0.15), level="message", cycles=4000)["note"].to_list()
    assert quiet is None
    assert "take" in loaded
    assert loaded.endswith("run the routers flit by flit")


def test_a_run_whose_messages_wait_says_so(native):
    alone = weft.simulate(MACHINE, "echo", bytes="8,64K")
    assert "note" not in alone.columns or alone["note"].null_count() == alone.height
    (note,) = set(weft.simulate(MACHINE, "alltoall", bytes=1024)["note"].to_list())
    assert "messages take" in note
    assert "the model of messages is not trusted" in note
    # Machines without routers have a model of their own switching.
    assert "note" not in weft.simulate("iwarp64", "alltoall", bytes=1024).columns


def test_the_command_prints_the_notes(native):
    words = f"measure router --on {MACHINE} --load 0.02,0.15 --level message --cycles 2000"
    shown = CliRunner().invoke(app, words.split())
    assert "router uniform 0.15: packets take" in shown.output
    assert "router uniform 0.02" not in shown.output


def test_both_levels_agree_on_empty_networks_of_switches(native, tmp_path):
    text = weft.machine(MACHINE).to_toml().replace('name = "torus8x8-flit"', 'name = "switched"')
    kinds = {
        "fat-tree": "children = [4, 4]\nparents = [1, 4]",
        "dragonfly": "groups = 5\nrouters_per_group = 2\nnodes_per_router = 2\nglobal_links_per_router = 2",
        "crossbar": "nodes = 16",
    }
    for kind, keys in kinds.items():
        (tmp_path / "switched.toml").write_text(
            text.replace('kind = "torus"', f'kind = "{kind}"').replace("extents = [8, 8]", keys)
        )
        flits, messages = (
            weft.simulate(tmp_path / "switched.toml", "router", load=0.005, buffer=8, cycles=40_000, level=level)
            for level in ("flit", "message")
        )
        assert messages["latency_cycles"].item() == pytest.approx(flits["latency_cycles"].item(), rel=0.02), kind
        per_flit = [(one["link_hops"] / one["offered"]).item() for one in (flits, messages)]
        assert per_flit[1] == pytest.approx(per_flit[0], rel=0.1), kind


def test_routers_of_any_topology(native, tmp_path):
    text = weft.machine(MACHINE).to_toml().replace('name = "torus8x8-flit"', 'name = "cube"')
    cube = text.replace('kind = "torus"', 'kind = "hypercube"').replace("extents = [8, 8]", "dimension = 4")
    (tmp_path / "cube.toml").write_text(cube)
    found = weft.simulate(
        tmp_path / "cube.toml", "router", load=0.1, routing="adaptive", traffic="transpose", cycles=2000
    )
    assert found["machine"].item() == "cube"
    assert found["saturated"].item() == "false"


@pytest.mark.parametrize(
    ("machine", "parameters", "message"),
    [
        (MACHINE, {"vcs": 1}, "needs 2 virtual channels or more"),
        (MACHINE, {"traffic": "transpos"}, "there is no traffic 'transpos'; there are uniform"),
        (MACHINE, {"vp_ratio": 2}, "router takes no vp_ratio on torus8x8-flit"),
        (MACHINE, {"load": 9}, "at most 8"),
        (MACHINE, {"vcs": 4, "routing": "random"}, "parents of a fat tree; a torus has none"),
        (MACHINE, {"vcs": 4, "routing": "adaptive", "level": "message"}, "knows deterministic routes only"),
        (MACHINE, {"load": "0.1,none"}, "'none' is not a positive number"),
        (MACHINE, {"load": 1e-9, "cycles": 1000}, "no packet was made in 1000 cycles"),
        ("cm2-8k", {"load": 0.1}, "load: cm2-8k has no routers that are described flit by flit"),
    ],
)
def test_what_there_is_not_is_refused(native, machine, parameters, message):
    with pytest.raises(UsageError, match=message):
        weft.simulate(machine, "router", **parameters)


def test_it_is_of_a_described_machine(native):
    with pytest.raises(UsageError, match="load is of a described network of routers"):
        weft.measure("router", load=0.1)


def test_a_machine_with_flits_describes_its_routers(native, tmp_path):
    text = weft.machine(MACHINE).to_toml()
    before, _ = text.split("\n[routers]\n")
    (tmp_path / "bare.toml").write_text(before)
    with pytest.raises(weft.MachineError, match=r"expected a table \[routers\]"):
        weft.machine(tmp_path / "bare.toml")


def test_the_command_writes_csv(native):
    words = f"measure router --on {MACHINE} --load 0.01,0.05 --vcs 2 --buffer 4 --packet 8 --cycles 2000 --format csv"
    result = CliRunner().invoke(app, [*words.split(), "--tail-credit"])
    assert result.exit_code == 0
    head, *rows = result.stdout.splitlines()
    assert {"load", "latency_cycles", "accepted"} <= set(head.split(","))
    assert len(rows) == 2


def test_the_table_of_routers_is_read(native):
    assert flit.has_routers(weft.machine(MACHINE))
    assert not flit.has_routers(weft.machine("iwarp64"))
    figures = json.loads(weft.machine(MACHINE).to_json())["routers"]
    assert figures["virtual_channels"]["value"] == 2
