"""Timelines of simulated runs: who is in them, and what is said of large ones before they are written."""

import json
import logging

import pytest

from weft import files
from weft.launch.simulate import simulate


def test_every_rank_has_its_name(tmp_path):
    path = tmp_path / "alltoall.json"
    simulate("iwarp64", "alltoall", ranks=3, bytes=8, trace=path)
    events = json.loads(path.read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names == {0: "rank 0", 1: "rank 1", 2: "rank 2"}
    assert {event["tid"] for event in events if "tid" in event} == set(names)


@pytest.mark.parametrize(("limit", "is_said"), [(0, True), (-1, True), (1, False)])
def test_a_large_timeline_is_announced_before_it_is_written(tmp_path, caplog, monkeypatch, limit, is_said):
    path = tmp_path / "alltoall.json"
    simulate("iwarp64", "alltoall", ranks=2, bytes=8, trace=path)
    length = path.stat().st_size
    path.unlink()
    monkeypatch.setattr(files, "LARGE", length + limit)
    was_there = []
    caplog.handler.addFilter(lambda record: was_there.append(path.exists()) or True)
    with caplog.at_level(logging.WARNING, "weft"):
        simulate("iwarp64", "alltoall", ranks=2, bytes=8, trace=path)
    said = [record.getMessage() for record in caplog.records]
    expected = f"the timeline {path} will have 0 MB; fewer ranks, lengths or iterations make it smaller"
    assert said == ([expected] if is_said else [])
    assert was_there == ([False] if is_said else [])
    assert path.stat().st_size == length
