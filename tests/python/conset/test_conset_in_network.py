"""Collectives through switches that copy and add: from machine files, graphs and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from benches.conset import oracles
from weft._core import CollectiveSchedule, UsageError
from weft.cli import compiling
from weft.conset import collective_drawing, collective_pictures, collectives
from weft.conset.collective_rounds import Range, rounds

COLLECTIVES = ("allgather", "reduce-scatter", "allreduce", "broadcast", "reduce")


def graph(folder: Path, **keys: Any) -> Path:
    """Two systems of three nodes, each with a switch of its own, and a switch that joins these."""
    links = [
        {"from": f"node {node}", "to": f"leaf {node // 3}", "bandwidth": 4e9, "latency": 1e-6, "duplex": True}
        for node in range(6)
    ]
    links += [
        {"from": f"leaf {leaf}", "to": "top", "bandwidth": 8e9, "latency": 1e-6, "duplex": True} for leaf in (0, 1)
    ]
    path = folder / "graph.json"
    path.write_text(
        json.dumps(
            {"nodes": 6, "switches": ["leaf 0", "leaf 1", "top"], "links": links, "message_seconds": 2e-6} | keys
        )
    )
    return path


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("keys", [{"multicast": True}, {"reduction": True}, {"multicast": True, "reduction": ["top"]}])
def test_data_comes_where_it_should(collective: str, keys: dict[str, Any], tmp_path: Path) -> None:
    for method in ("auto", "throughput"):
        schedule = collectives.compile(collective, graph(tmp_path, **keys), 4 * 601, method=method).schedule
        assert oracles.wrong_data(json.loads(schedule.to_json())) is None


def followed(schedule: CollectiveSchedule) -> list[np.ndarray[Any, Any]]:
    """What every rank has after the rounds between ranks, of an allreduce of numbers of its own."""
    count = schedule.bytes // schedule.element_bytes
    buffers = [np.arange(count) * (rank + 1) for rank in range(schedule.ranks)]
    for each in rounds(schedule):
        before = [buffer.copy() for buffer in buffers]
        for message in each.messages:
            for first, length in message.ranges:
                where = slice(first, first + length)
                if message.is_reduction:
                    buffers[message.receiver][where] += before[message.sender][where]
                else:
                    buffers[message.receiver][where] = before[message.sender][where]
    return buffers


@pytest.mark.parametrize("length", [4 * 6, 4 * 997, 1 << 20])
def test_ranks_stand_in_for_switches(length: int, tmp_path: Path) -> None:
    schedule = collectives.compile("allreduce", graph(tmp_path, multicast=True, reduction=True), length).schedule
    assert schedule.has_switches
    assert all(0 <= end < 6 for each in rounds(schedule) for message in each.messages for end in message[:2])
    wanted = np.arange(length // 4) * sum(range(1, 7))
    assert all((buffer == wanted).all() for buffer in followed(schedule))


def test_a_switch_that_is_no_root_has_its_copy_from_above() -> None:
    tree = {"root": 1, "transfers": [[1, 4, [0]], [4, 0, [1]], [4, 5, [2]], [5, 2, [3]], [5, 3, [4]]]}
    stage = {"operation": "copy", "chunks": 1, "merged": False, "trees": [tree | {"start": 0, "bytes": 8}]}
    from weft.conset.collective_rounds import _pipelined

    [only] = _pipelined(stage, 4, 4)
    assert [(message.sender, message.receiver) for message in only.messages] == [(1, 0), (1, 2), (1, 3)]
    assert only.messages[0].ranges == (Range(0, 2),)


def test_an_allreduce_fills_its_links_once_each_way() -> None:
    plain = collectives.compile("allreduce", "hgx-h100", "1G", method="throughput")
    through = weft.conset.compile("allreduce", on="hgx-h100", bytes="1G", method="throughput", in_network="both")
    assert through.schedule.form == "in-network trees"
    assert not plain.schedule.has_switches
    # Of 8 nodes at a switch each sends 2 * 7 / 8 of the buffer, through a switch that adds and copies all of it once.
    assert plain.schedule.bound_seconds / through.schedule.bound_seconds == pytest.approx(7 / 4)
    assert through.schedule.efficiency == pytest.approx(1.0)
    with pytest.raises(UsageError, match="virtual time does not know; what is predicted is all there is"):
        through.simulate()
    with pytest.raises(UsageError, match="neither MSCCL nor MPI can be told; compile with --in-network none"):
        through.export("c")


def test_a_machine_file_says_what_switches_do(tmp_path: Path) -> None:
    text = (Path(weft.__file__).parents[2] / "crates/machine/machines/hgx-h100.toml").read_text()
    path = tmp_path / "sharp.toml"
    path.write_text(
        text.replace("[switching]\n", '[switching]\nmulticast = true\nreduction = { value = true, source = "NVLS" }\n')
    )
    machine = weft.machine(path)
    assert collectives.compile("allreduce", machine, "1M").schedule.has_switches
    assert not collectives.compile("allreduce", machine, "1M", in_network="none").schedule.has_switches
    assert 'reduction = { value = true, source = "NVLS" }' in machine.to_toml()
    torus = tmp_path / "torus.toml"
    text = (Path(weft.__file__).parents[2] / "crates/machine/machines/tpu-v4.toml").read_text()
    torus.write_text(text.replace("[switching]\n", "[switching]\nreduction = true\n"))
    with pytest.raises(UsageError, match=r"switching\.reduction: a torus has no switches between its nodes"):
        weft.machine(torus)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"multicast": ["hub"]}, "multicast: no switch is called 'hub'; switches lists the names"),
        ({"reduction": ["node 0"]}, "reduction: no switch is called 'node 0'"),
        ({"reduction": 3}, "not a graph"),
    ],
)
def test_what_a_graph_says_wrongly_is_refused(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        collectives.compile("allreduce", graph(tmp_path, **keys), "1M")


def test_an_unknown_ability_is_refused() -> None:
    with pytest.raises(UsageError, match="in_network: expected one of multicast, reduction, both, none, found 'all'"):
        collectives.compile("allreduce", "hgx-h100", "1M", in_network="all")
    with pytest.raises(UsageError, match="tpu-v4: it has no switches that could copy or add"):
        collectives.compile("allreduce", "tpu-v4", "1M", in_network="multicast")
    with pytest.raises(UsageError, match="in_network is of a collective, whose length is said with bytes"):
        weft.conset.compile("hypercube", "iwarp64", in_network="both")


def test_the_command_line_knows_the_same_words() -> None:
    assert {one.value for one in compiling.InNetwork} == set(collectives.IN_NETWORK)


def without_the_last(content: dict[str, Any]) -> None:
    tree = content["stages"][0]["trees"][0]
    tree["reductions"] = len(tree["transfers"]) // 2
    tree["transfers"].pop()


def compiled(folder: Path) -> dict[str, Any]:
    able = graph(folder, multicast=True, reduction=True)
    content: dict[str, Any] = json.loads(collectives.compile("allreduce", able, "64K").schedule.to_json())
    return content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda content: content["fabric"]["in_network"][2].update(multicast=False),
            "'top' cannot do what it is to do",
        ),
        (lambda content: content["fabric"]["in_network"].pop(), "root .*: no such rank|which there are not both"),
        (lambda content: content["fabric"]["in_network"][0].update(vertex=0), "'node 0' copies or adds: it is a rank"),
        (lambda content: content["fabric"]["in_network"][0].update(vertex=99), "vertex 99 copies or adds, which there"),
        (
            lambda content: content["fabric"]["in_network"][0].update(multicast=False, reduction=False),
            "'leaf 0' is listed and neither copies nor adds",
        ),
        (lambda content: content["stages"][0].update(merged=True), "neither merged nor moved"),
        (without_the_last, "rank . never receives it"),
        (lambda content: content["stages"][0]["trees"][0].update(reductions=1), "sum is of . ranks, expected all 6"),
        (lambda content: content["stages"][0]["trees"][0].update(reductions=99), "how many of its transfers reduce"),
        (
            lambda content: content["stages"][0]["bound"].update(cut=[0], others=[[1], [2], [3], [4], [5]]),
            "'leaf 0' copies or adds and is in none of its sets",
        ),
    ],
)
def test_what_switches_cannot_do_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    content = compiled(tmp_path)
    change(content)
    with pytest.raises(UsageError, match=message):
        CollectiveSchedule.parse(json.dumps(content), "changed.json").verify()


def test_merged_messages_are_between_ranks(tmp_path: Path) -> None:
    able = graph(tmp_path, multicast=True, reduction=True)
    content = json.loads(collectives.compile("broadcast", able, "64K", method="throughput").schedule.to_json())
    content["stages"][0].update(merged=True, chunks=1)
    with pytest.raises(UsageError, match=r"transfer \d: from rank \d to rank \d, which there are not both"):
        CollectiveSchedule.parse(json.dumps(content), "changed.json").verify()


def test_drawings_name_switches(tmp_path: Path) -> None:
    schedule = collectives.compile("allreduce", graph(tmp_path, multicast=True, reduction=True), "64K").schedule
    text = collective_drawing.text(schedule)
    assert "of root 'top':" in text
    assert "\n      'leaf 1'\n        3\n" in text
    picture = collective_pictures.svg(json.loads(schedule.to_json()), 0)
    assert "2 switches" in picture
    assert "'top' to 'leaf 0'" in picture.replace("&#x27;", "'")
