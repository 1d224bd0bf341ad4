"""A short form of the campaign on invented networks, and its judges beside what is known of small networks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benches.conset import campaign, inventions, networks, oracles, simple_algorithms
from weft import _core
from weft.conset import collectives

SMALL = [seed for seed in range(120) if len(inventions.invented(seed)[0]["nodes"]) <= 12]


@pytest.mark.parametrize("first", range(4))
def test_collectives_on_invented_networks(first: int) -> None:
    judged = campaign.Campaign()
    for seed in SMALL[first::4][:6]:
        judged.network(seed)
    assert judged.wrong == []
    assert judged.counts["schedules"] > 60
    below = {name: least for name, least in judged.reached.items() if least[0] < campaign.NEAR}
    assert not [name for name in below if name.endswith("optimum")], below


def content_of(graph: dict[str, Any], collective: str, method: str = "throughput", length: int = 4 * 960) -> Any:
    network = _core.Fabric.parse(json.dumps(graph), graph["name"])
    return json.loads(_core.compile_collective(network, collective, length, 4, 0, method)[0].to_json())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("reverse", [False, True])
def test_the_smallest_cut_is_that_of_all_sets(seed: int, reverse: bool) -> None:
    graph = networks.random_graph(seed, vertices=4 + seed % 6, asymmetric=True)
    fabric = content_of(graph, "broadcast")["fabric"]
    assert oracles.cut_rate(fabric, reverse) == pytest.approx(oracles.every_cut_rate(fabric, reverse), rel=1e-9)


@pytest.mark.parametrize(
    ("collective", "method"),
    [
        ("allreduce", "latency"),
        ("allreduce", "throughput"),
        ("allgather", "throughput"),
        ("all-to-all", "throughput"),
        ("all-to-all", "latency"),
    ],
)
def test_what_is_missing_or_added_twice_is_seen(collective: str, method: str) -> None:
    content = content_of(networks.torus((2, 3)) | {"forwards": True}, collective, method)
    assert oracles.wrong_data(content) is None
    transfers = content["stages"][0]["trees"][0]["transfers"] if content["stages"] else None
    if transfers is None:
        messages = content["exchange"]["rounds"][0]["messages"]
        last = messages.pop()
        assert "should have in the end" in str(oracles.wrong_data(content))
        messages += [last, last]
        assert "should have in the end" in str(oracles.wrong_data(content))
        return
    last = transfers.pop()
    assert oracles.wrong_data(content) is not None
    transfers.append([last[1], last[0], last[2]])
    assert "is broken" in str(oracles.wrong_data(content))


def line() -> dict[str, Any]:
    """Three ranks, two links each way: a second a byte and two, of three and of five seconds."""
    links = [
        {"from": start, "to": end, "bandwidth": speed, "latency": latency}
        for start, end, speed, latency in ((0, 1, 1.0, 3.0), (1, 0, 1.0, 3.0), (1, 2, 0.5, 5.0), (2, 1, 0.5, 5.0))
    ]
    return {"ranks": [0, 1, 2], "vertices": ["a", "b", "c"], "links": links, "message_seconds": 2.0, "forwards": True}


def test_messages_take_link_after_link() -> None:
    # A second to send, three and five on the way, twenty at the pace of the slower link, a second to receive.
    alone: oracles.Sent = (0, 2, [0, 2], 10.0, [])
    assert oracles.seconds_of_messages(line(), [alone]) == 1 + 3 + 5 + 20 + 1
    # The second waits for a link, and a third for what the first two bring.
    behind: oracles.Sent = (1, 2, [2], 4.0, [])
    assert oracles.seconds_of_messages(line(), [alone, behind]) == 1 + 8 + 20 + 5 + 1
    last: oracles.Sent = (2, 1, [3], 1.0, [0, 1])
    assert oracles.seconds_of_messages(line(), [alone, behind, last]) == 35 + 1 + 5 + 2 + 1
    with pytest.raises(ValueError, match="wait for each other"):
        oracles.seconds_of_messages(line(), [(0, 1, [0], 1.0, [1]), (1, 0, [1], 1.0, [0])])


@pytest.mark.parametrize("collective", collectives.names())
def test_algorithms_of_libraries_bring_as_much_as_they_must(collective: str) -> None:
    fabric = content_of(networks.torus((2, 3)) | {"forwards": True}, "broadcast")["fabric"]
    least = 10 if collective == "allreduce" else 5
    names = set()
    for name, messages in simple_algorithms.all_of(collective, fabric, 960, 2, 10_000):
        names.add(name)
        assert sum(length for _, _, _, length, _ in messages) >= least * 960 * (1 - 1e-9)
        assert oracles.seconds_of_messages(fabric, messages) > 0.0
    assert len(names) >= (3 if collective == "all-to-all" else 4)
