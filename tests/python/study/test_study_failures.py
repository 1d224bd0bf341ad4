"""What a study keeps when a launch fails."""

import polars as pl
import pytest

from weft._core import RunError, UsageError
from weft.launch.measure import Measurement
from weft.launch.protocol import Silent
from weft.samples import read
from weft.study import here


class Progress(Silent):
    def title(self, title: str) -> None: ...


def test_a_launch_that_fails_keeps_what_was_measured(tmp_path, monkeypatch):
    row = {"source": "measured", "machine": "here", "benchmark": "echo", "ranks": 2, "bytes": 8, "repetition": 0}
    table = pl.DataFrame([{**row, "hops": 1, "seconds": 1e-6}])
    calls = []

    def measured(wanted, plan, **_):
        if plan.most == 0:  # only what earlier runs have measured is wanted
            return Measurement(table.clear())
        calls.append([request.benchmark for request in wanted])
        return Measurement(table, failure=RunError("rank 1 was killed by signal 9"))

    monkeypatch.setattr(here, "measure_requests", measured)
    monkeypatch.setattr(here, "multiplications", lambda extent, journal: [])
    with pytest.raises(RunError) as error:
        here.study(tmp_path / "study", progress=Progress())
    path = tmp_path / "study" / "samples.csv"
    message = f"rank 1 was killed by signal 9\nthe 1 samples measured before are in {path}; go on with --resume"
    assert str(error.value) == message
    assert read(path)["seconds"].to_list() == [1e-6]
    assert calls == [["echo", "echo-self"]], "what follows a failure is not measured"


@pytest.mark.parametrize("whole", [False, True], ids=["study", "suite"])
def test_a_folder_without_a_study_is_not_gone_on_with(tmp_path, whole):
    folder = tmp_path / "my folder"
    with pytest.raises(UsageError) as error:
        here.study(folder, resume=True, whole=whole, progress=Progress())
    command = "suite" if whole else "study"
    assert str(error.value) == (
        f"{folder} holds no study to go on with, neither samples.csv nor its journal; "
        f"to begin one: weft {command} -o '{folder}'"
    )
    assert not folder.exists(), "nothing is made for what is refused"
