"""Schedules for other runtimes: what they say is executed here, step by step."""

import json
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import weft
from weft.cli.main import app
from weft.conset.exporting import export, transferred


@pytest.fixture
def compiled(native):
    machine = weft.machine("iwarp64")
    connections = weft.ConnectionSet.named("hypercube", machine, 10, 0)
    return connections, weft.compile(connections, machine, split=False)


def run_msccl(text: str) -> set[tuple[int, int]]:
    """The chunks that arrive, by an interpreter of the algorithm: all that can happen does, until nothing can."""
    algorithm = ElementTree.fromstring(text)
    assert algorithm.get("coll") == "alltoall"
    blocks = {}
    for gpu in algorithm:
        rank = int(gpu.get("id"))
        assert gpu.get("i_chunks") == gpu.get("o_chunks") == algorithm.get("ngpus")
        for block in gpu:
            steps = list(block)
            assert [int(step.get("s")) for step in steps] == list(range(len(steps)))
            blocks[rank, int(block.get("id"))] = (int(block.get("send")), int(block.get("recv")), steps)
    done = dict.fromkeys(blocks, 0)
    under_way, arrived = set(), set()
    going = True
    while going:
        going = False
        for (rank, number), (to, source, steps) in blocks.items():
            if done[rank, number] == len(steps):
                continue
            step = steps[done[rank, number]]
            waits_for, until = int(step.get("depid")), int(step.get("deps"))
            if waits_for >= 0:
                awaited = blocks[rank, waits_for][2][until]
                assert awaited.get("hasdep") == "1"
                if done[rank, waits_for] <= until:
                    continue
            if step.get("type") == "s":
                assert int(step.get("srcoff")) == to
                assert int(step.get("dstoff")) == rank
                under_way.add((rank, to))
            elif step.get("type") == "r":
                if (source, rank) not in under_way:
                    continue
                assert int(step.get("dstoff")) == source
                arrived.add((source, rank))
            done[rank, number] += 1
            going = True
    assert all(done[block] == len(steps) for block, (_, _, steps) in blocks.items()), "the algorithm does not end"
    return arrived


def test_the_algorithm_for_msccl_delivers_every_chunk(compiled):
    connections, schedule = compiled
    wanted = {(source, destination) for source, destination, _ in connections.connections}
    assert run_msccl(export(schedule, connections)) == wanted


def test_plain_steps_transfer_every_word(compiled, tmp_path):
    connections, schedule = compiled
    path = tmp_path / "steps.json"
    content = json.loads(export(schedule, connections, "plain", path))
    assert json.loads(path.read_text()) == content
    sent, received = {}, {}
    for node in content["nodes"]:
        phases = [step["phase"] for step in node["steps"]]
        assert phases == sorted(set(phases))
        for step in node["steps"]:
            for each in step["send"]:
                sent[each["connection"]] = (node["node"], each["to"], each["words"], step["phase"])
            for each in step["receive"]:
                received[each["connection"]] = (each["from"], node["node"], each["words"], step["phase"])
    assert sent == received
    assert {index: line[:3] for index, line in sent.items()} == dict(enumerate(connections.connections))


def test_a_schedule_says_what_it_transfers(compiled):
    connections, schedule = compiled
    assert transferred(schedule).connections == connections.connections
    assert export(schedule) == export(schedule, connections)


def test_the_command_exports(compiled, tmp_path):
    _, schedule = compiled
    path = tmp_path / "schedule.json"
    path.write_text(schedule.to_json())
    result = CliRunner().invoke(app, ["export", str(path), "-o", str(tmp_path / "algorithm.xml")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "algorithm.xml").read_text() == export(schedule)
    shown = CliRunner().invoke(app, ["export", str(path), "--as", "plain"])
    assert json.loads(shown.stdout)["pattern"] == "hypercube"


def test_what_cannot_be_exported_is_refused(compiled):
    connections, schedule = compiled
    with pytest.raises(weft.UsageError, match="no format is called 'xml'; there are msccl, plain"):
        export(schedule, connections, "xml")
    machine = weft.machine("iwarp64")
    uneven = weft.ConnectionSet(64, [(0, 1, 5), (1, 2, 6)])
    with pytest.raises(weft.UsageError, match="MSCCL's chunks are all of one length"):
        export(weft.compile(uneven, machine), uneven)
    double = weft.ConnectionSet(64, [(0, 1, 5), (0, 1, 5)])
    with pytest.raises(weft.UsageError, match="0 to 1 has several connections"):
        export(weft.compile(double, machine), double)
    edited = json.loads(schedule.to_json())
    edited["phases"][0]["connections"].pop()
    with pytest.raises(weft.UsageError):
        export(weft.Schedule.parse(json.dumps(edited), "edited"), connections)
