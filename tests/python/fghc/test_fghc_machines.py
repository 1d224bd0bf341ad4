"""Programs on described machines in virtual time: counts, costs, timelines and samples."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import weft
from weft import fghc, samples

PROGRAMS = Path(__file__).parents[3] / "programs" / "fghc"
GOAL = "t([1,2,3,4,5,6],{pes},2)"


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "weft.cli.main", "fghc", *map(str, words)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("machine", ["multi-psi-v1", "multi-psi-v2", "ipsc860"])
def test_one_program_on_any_machine(machine):
    here = fghc.run(PROGRAMS / "program1.fghc", goal=GOAL.format(pes=4), pes=4)
    there = fghc.run(PROGRAMS / "program1.fghc", goal=GOAL.format(pes=4), pes=4, on=machine)
    assert there.status == "done"
    assert (there.machine, there.program) == (machine, "program1")
    assert there.reductions == here.reductions
    assert sum(pe.throw_goal for pe in there.pes) == sum(pe.throw_goal for pe in here.pes)
    assert sorted(there.output.splitlines()) == sorted(here.output.splitlines())
    assert there.work_rate <= 1.0
    for pe in there.pes:
        # The run is over when PE 0 knows; others may still be reading messages then, and hear of it afterwards.
        assert there.seconds * (1 - 1e-9) <= pe.work_s + pe.idle_s <= 1.05 * there.seconds
        assert pe.communication_s + pe.reductions * there.reduction_time == pytest.approx(pe.work_s, rel=1e-6)
        assert sum(count for kind, count in pe.sent.items() if kind != "control") == pe.messages
    assert bool(there.assumed) == (machine == "ipsc860")


def test_sites_are_named_and_add_up():
    done = fghc.run(PROGRAMS / "program1.fghc", goal=GOAL.format(pes=4), pes=4, on="multi-psi-v1")
    (site,) = done.sites
    assert site.text.startswith("alloc(P1)@@queen_n(")
    assert Path(site.file).name == "program1.fghc"
    assert "alloc(P1)@@" in Path(site.file).read_text().splitlines()[site.line - 1]
    assert site.throws == sum(pe.throw_goal for pe in done.pes)
    assert site.messages <= done.messages
    assert site.references <= site.words


def test_samples_of_a_run_are_a_table(tmp_path):
    path = tmp_path / "counts.csv"
    goal = GOAL.format(pes=3)
    done = run("run", PROGRAMS / "program1.fghc", "--goal", goal, "-n", 3, "--on", "multi-psi-v1", "-o", path)
    assert done.returncode == 0, done.stderr
    table = samples.read(path)
    assert table["pe"].to_list() == [None, 0, 1, 2]
    assert set(table["benchmark"]) == {"fghc"}
    whole, parts = table.row(0, named=True), table.filter(pl.col("pe").is_not_null())
    for name in ("reductions", "messages", "throw_goal"):
        assert whole[name] == parts[name].sum()
    assert whole["source"] == "simulated"
    # A row of one PE is a point of its own: all four are in a summary.
    assert len(samples.summarise(table)) == 4


def test_a_timeline_has_goals_idle_time_and_messages(tmp_path):
    path = tmp_path / "time.json"
    goal = GOAL.format(pes=3)
    for more in (("--on", "multi-psi-v1"), ()):
        done = run("run", PROGRAMS / "program1.fghc", "--goal", goal, "-n", 3, "--trace", path, *more)
        assert done.returncode == 0, done.stderr
        events = json.loads(path.read_text())["traceEvents"]
        assert {event["tid"] for event in events if event["ph"] == "X"} == {0, 1, 2}
        assert {event["name"] for event in events if event["ph"] == "X"} <= {"goals", "idle"}
        sent = [event["id"] for event in events if event["ph"] == "s"]
        received = [event["id"] for event in events if event["ph"] == "f"]
        assert sent
        assert set(received) <= set(sent)
        assert len(set(sent)) == len(sent)
        path.unlink()


def test_what_cannot_be_meant_is_refused(tmp_path):
    file = PROGRAMS / "program1.fghc"
    done = run("run", file, "--goal", GOAL.format(pes=7), "-n", 7, "--on", "multi-psi-v1")
    assert done.returncode == 2
    assert "7 PEs: multi-psi-v1 has 6 nodes; --enlarge" in done.stderr
    done = run("run", file, "--goal", GOAL.format(pes=7), "-n", 7, "--on", "multi-psi-v1", "--enlarge")
    assert done.returncode == 0, done.stderr
    done = run("run", file, "--goal", GOAL.format(pes=2), "-n", 2, "--on", "cm200")
    assert done.returncode == 2, done.stderr
    with pytest.raises(weft.UsageError, match="only described machines are charged"):
        fghc.run(file, goal=GOAL.format(pes=2), pes=2, reduction_time=1e-6)
    with pytest.raises(weft.UsageError, match="give more than 0 seconds"):
        fghc.run(file, goal=GOAL.format(pes=2), pes=2, on="ipsc860", reduction_time=0.0)
    done = run("run", file, "--goal", GOAL.format(pes=2), "-n", 2, "--trace", tmp_path / "none" / "time.json")
    assert done.returncode == 2


def test_a_deadlock_and_a_failure_in_virtual_time(tmp_path):
    done = run("run", PROGRAMS / "deadlock.fghc", "-n", 2, "--on", "multi-psi-v1")
    assert done.returncode == 1
    assert "PE 0: left(" in done.stderr
    assert "PE 1: right(" in done.stderr
    program = tmp_path / "fails.fghc"
    program.write_text("main :- p(3)@node(1).\np(1).\n")
    done = run("run", program, "-n", 2, "--on", "multi-psi-v1")
    assert done.returncode == 1
    assert "PE 1: no clause of main:p/1 can take the goal" in done.stderr
