"""Machines of many nodes, and machine files as users name them."""

import re

import pytest

import weft

TORUS = """
name = "large"
title = "A torus of six axes"

[topology]
kind = "torus"
extents = [24, 23, 24, 2, 3, 2]
source = "made up"

[switching]
technique = "cut-through"
source = "made up"

[[protocols]]
send_overhead = 0.2e-6
receive_overhead = 0.2e-6
hop_time = 0.09e-6
byte_time = 1.471e-10
completion = "buffered"
source = "made up"

[self_message]
startup = 0.2e-6
byte_time = 1e-10
source = "made up"
"""


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large.toml"
    path.write_text(TORUS)
    return path


def test_an_echo_runs_the_nodes_up_to_its_last_partner(large):
    samples = weft.simulate(large, "echo", bytes=8, hops="1:6").sort("hops")
    assert samples["ranks"].max() < 1000
    for hops, seconds in samples.select("hops", "seconds").iter_rows():
        assert seconds == pytest.approx(0.4e-6 + hops * 0.09e-6 + 8 * 1.471e-10, rel=1e-5)


def test_what_takes_no_time_is_said_to(tmp_path):
    path = tmp_path / "free.toml"
    path.write_text(re.sub(r"^(\w+_overhead|\w+_time|startup) = .*$", r"\1 = 0.0", TORUS, flags=re.MULTILINE))
    with pytest.raises(weft.UsageError, match=r"echo takes no time on large, .* the times of its \[\[protocols\]\]"):
        weft.simulate(path, "echo", bytes=8)


def test_a_file_that_is_not_named_as_a_machine_is_said_to_be_there(large, monkeypatch):
    monkeypatch.chdir(large.parent)
    large.rename("lab")
    with pytest.raises(weft.UsageError, match=r"a file lab is read as a machine only if .* \./lab"):
        weft.machine("lab")
    assert weft.machine("./lab").name == "large"
    (large.parent / "graph.json").write_text("{}")
    with pytest.raises(weft.UsageError, match=r"graph\.json can be a graph for `weft compile`"):
        weft.machine("graph.json")
