"""Schedules for other runtimes: what they say is executed here, step by step."""

import json
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import weft
from weft.cli.main import app
from weft.conset import msccl
from weft.conset.exporting import export, transferred


@pytest.fixture(scope="module")
def compiled():
    machine = weft.machine("iwarp64")
    connections = weft.conset.ConnectionSet.named("all-to-all", machine, 10, 0)
    return connections, weft.conset.compile(connections, machine, split=False, effort=0)


@pytest.fixture
def sparse():
    machine = weft.machine("iwarp64")
    connections = weft.conset.ConnectionSet.named("hypercube", machine, 10, 0)
    return connections, weft.conset.compile(connections, machine, split=False, effort=0)


def run_msccl(text: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Output chunks by rank and index, by an interpreter: all that can happen does, until nothing can."""
    algorithm = ElementTree.fromstring(text)
    assert algorithm.get("coll") == "alltoall"
    assert int(algorithm.get("minBytes")) == 0
    assert int(algorithm.get("maxBytes")) > 1 << 40
    blocks = {}
    for gpu in algorithm:
        rank = int(gpu.get("id"))
        assert gpu.get("i_chunks") == gpu.get("o_chunks") == algorithm.get("ngpus") == algorithm.get("nchunksperloop")
        assert [int(block.get("id")) for block in gpu] == list(range(len(gpu)))
        assert len(gpu) <= 216
        for block in gpu:
            steps = list(block)
            assert [int(step.get("s")) for step in steps] == list(range(len(steps)))
            assert 0 <= int(block.get("chan")) < int(algorithm.get("nchannels")) <= 32
            ends = int(block.get("send")), int(block.get("recv")), int(block.get("chan"))
            blocks[rank, int(block.get("id"))] = (*ends, steps)
    done = dict.fromkeys(blocks, 0)
    under_way, outputs = {}, {}
    going = True
    while going:
        going = False
        for (rank, number), (to, source, channel, steps) in blocks.items():
            if done[rank, number] == len(steps):
                continue
            step = steps[done[rank, number]]
            waits_for, until = int(step.get("depid")), int(step.get("deps"))
            if waits_for >= 0:
                assert waits_for < 128, "eight bits with a sign"
                awaited = blocks[rank, waits_for][3][until]
                assert awaited.get("hasdep") == "1"
                if done[rank, waits_for] <= until:
                    continue
            if step.get("type") == "s":
                under_way[rank, to, channel] = (rank, int(step.get("srcoff")))
            elif step.get("type") == "r":
                if (source, rank, channel) not in under_way:
                    continue
                outputs[rank, int(step.get("dstoff"))] = under_way.pop((source, rank, channel))
            elif step.get("type") == "cpy":
                outputs[rank, int(step.get("dstoff"))] = (rank, int(step.get("srcoff")))
            done[rank, number] += 1
            going = True
    assert all(done[block] == len(steps) for block, (*_, steps) in blocks.items()), "the algorithm does not end"
    return outputs


def test_the_algorithm_for_msccl_is_an_all_to_all(compiled):
    connections, schedule = compiled
    outputs = run_msccl(export(schedule, connections))
    assert outputs == {(rank, index): (index, rank) for rank in range(64) for index in range(64)}


def in_rounds(ranks):
    """An all-to-all in which every rank sends to the next in the first phase, to the one after it in the second, …"""
    pairs = [(s, (s + k) % ranks, 1) for k in range(1, ranks) for s in range(ranks)]
    transfers = [
        {"connection": index, "source": source, "destination": destination, "words": words}
        for index, (source, destination, words) in enumerate(pairs)
    ]
    phases = [transfers[first : first + ranks] for first in range(0, len(pairs), ranks)]
    return phases, weft.conset.ConnectionSet(ranks, pairs)


@pytest.mark.parametrize("ranks", [1, 2, 3, 32, 33, 64])
def test_channels_have_room_for_their_peers(ranks):
    pairs = [(s, (s + k) % ranks, 1) for k in range(1, ranks) for s in range(ranks)]
    phases = [
        [
            {"connection": (k - 1) * ranks + s, "source": s, "destination": (s + k) % ranks, "words": 1}
            for s in range(ranks)
        ]
        for k in range(1, ranks)
    ]
    text = msccl.algorithm(phases, weft.conset.ConnectionSet(ranks, pairs))
    assert len(run_msccl(text)) == ranks**2
    for gpu in ElementTree.fromstring(text):
        for direction in ("send", "recv"):
            used = [block.get("chan") for block in gpu if block.get(direction) != "-1"]
            assert max((used.count(channel) for channel in used), default=0) < 32


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (67, "takes at most 128 threadblocks that others wait for (mscclThreadBlock::dependentBid, 8 bits), this "),
        (
            110,
            "takes at most 216 threadblocks a GPU (MSCCL_MAX_NUM_THREAD_BLOCKS), this algorithm of 110 ranks ",
        ),
    ],
)
def test_what_the_runtime_cannot_hold_is_refused(ranks, message):
    pairs = [(s, (s + k) % ranks, 1) for k in range(1, ranks) for s in range(ranks)]
    phases = [
        [
            {"connection": (k - 1) * ranks + s, "source": s, "destination": (s + k) % ranks, "words": 1}
            for s in range(ranks)
        ]
        for k in range(1, ranks)
    ]
    with pytest.raises(weft.UsageError) as error:
        msccl.algorithm(phases, weft.conset.ConnectionSet(ranks, pairs))
    assert message in str(error.value)


def test_an_algorithm_that_is_none_is_found(compiled):
    connections, schedule = compiled
    text = export(schedule, connections)

    def changed(change):
        top = ElementTree.fromstring(text)
        change(top)
        try:
            msccl.check_limits(top)
            msccl.run(top)
        except weft.UsageError as error:
            return str(error)
        return "taken"

    def own(top):
        return top[0][len(top[0]) - 1]

    assert (
        changed(lambda top: top[0].remove(own(top)))
        == "the algorithm leaves nothing in chunk 0 of the output of rank 0"
    )
    assert "waits for ever" in changed(lambda top: top[0].remove(top[0][0]))
    assert "takes at most 32 channels (MAXCHANNELS), this " in changed(lambda top: top.set("nchannels", "33"))
    assert changed(lambda top: own(top)[0].set("srcoff", "3")) == (
        "the algorithm leaves chunk 3 of rank 0 in chunk 0 of the output of rank 0"
    )
    twice = changed(lambda top: top[0][0].attrib.update(send="1", recv="-1", chan="0"))
    assert twice.startswith(("MSCCL has one threadblock for each peer", "the algorithm"))
    one_channel = changed(lambda top: [block.set("chan", "0") for gpu in top for block in gpu])
    assert "takes at most 32 peers a channel (MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL), this" in one_channel


def test_a_pattern_that_is_no_whole_all_to_all_is_refused(sparse):
    connections, schedule = sparse
    with pytest.raises(weft.UsageError) as error:
        export(schedule, connections)
    assert str(error.value) == (
        "MSCCL replaces an application's whole all-to-all, and hypercube lacks 3648 of its pairs, from 0 to 2 for one: "
        "their data would not arrive; as plain steps it can be exported (--format plain)"
    )


def test_plain_steps_transfer_every_word(sparse, tmp_path):
    connections, schedule = sparse
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
    assert json.loads(shown.stdout)["pattern"] == "all-to-all"


def test_what_cannot_be_exported_is_refused(compiled):
    connections, schedule = compiled
    with pytest.raises(weft.UsageError, match="no format is called 'xml'; there are msccl, plain"):
        export(schedule, connections, "xml")
    machine = weft.machine("iwarp64")
    uneven = weft.conset.ConnectionSet(64, [(0, 1, 5), (1, 2, 6)])
    with pytest.raises(weft.UsageError, match="MSCCL's chunks are all of one length"):
        export(weft.conset.compile(uneven, machine), uneven)
    double = weft.conset.ConnectionSet(64, [(0, 1, 5), (0, 1, 5)])
    with pytest.raises(weft.UsageError, match="0 to 1 has several connections"):
        export(weft.conset.compile(double, machine), double)
    edited = json.loads(schedule.to_json())
    edited["phases"][0]["connections"].pop()
    with pytest.raises(weft.UsageError):
        export(weft.conset.Schedule.parse(json.dumps(edited), "edited"), connections)
