"""Schedules of large symmetric sets, which keep orbits of translations in place of routes."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest

import weft
from weft import UsageError


def test_a_large_symmetric_set_is_kept_as_orbits(tmp_path: Path) -> None:
    text = weft.machine("tpu-v4").to_toml()
    (tmp_path / "torus.toml").write_text(re.sub(r"extents = \[[^\]]*\]", "extents = [12, 11, 11]", text))
    machine = weft.machine(tmp_path / "torus.toml")
    connections = weft.conset.pattern("all-to-all", machine, words=2)
    schedule = weft.conset.compile(connections, machine, effort=0)
    content = json.loads(schedule.to_json())
    [phase] = content["phases"]
    assert phase["connections"] == []
    assert sum(len(orbit["sources"]) for orbit in phase["orbits"]) == 1452 * 1451
    schedule.verify(connections)
    restored = pickle.loads(pickle.dumps(schedule))
    restored.verify(connections)
    assert "all-to-all" in schedule._repr_html_()
    phase["orbits"][0]["steps"][0] = 4
    changed = weft.conset.Schedule.parse(json.dumps(content), "changed.json")
    with pytest.raises(UsageError, match="orbit 0 has a step 4; there are 3 axes"):
        changed.verify()
