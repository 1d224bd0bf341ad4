"""A rank that is killed in mid-run: one message that says so, and nothing half written."""

import os
import queue
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import weft.launch.deaths
from waiting import until
from weft._core import RunError
from weft.launch.deaths import Deaths
from weft.launch.mpiexec import Job
from weft.launch.processes import Process
from weft.launch.request import Request

pytestmark = pytest.mark.mpi


def ranks_of(launcher):
    """Process numbers of the ranks under this process, oldest first."""
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append((int(fields[19]), int(path.parent.name)))
        except OSError:
            continue
    below, waiting = [], [launcher]
    while waiting:
        found = children.get(waiting.pop(), [])
        below += found
        waiting += [process for _, process in found]
    return [process for _, process in sorted(below) if is_rank(process)]


def is_rank(process):
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    # Launchers carry the words of the ranks after their own.
    return b"python" in words[0] and b"weft.launch.rank" in words


def rank_number(process):
    variables = dict(entry.partition(b"=")[::2] for entry in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"))
    return int(variables.get(b"PMI_RANK") or variables[b"OMPI_COMM_WORLD_RANK"])


@pytest.fixture
def measuring(tmp_path, native):
    """`weft measure` in the middle of a long echo."""
    words = ["measure", "echo", "--bytes", "8:1M", "--seconds-per-point", "30", "--launches", "1", "-o", "samples.csv"]
    process = subprocess.Popen(
        [Path(sys.executable).with_name("weft"), *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    yield process
    process.terminate()
    process.communicate()


def started(process):
    """The ranks, once they have been in the loop for a while."""
    until(lambda: len(ranks_of(process.pid)) >= 2, process)
    found = ranks_of(process.pid)
    # Past the start of Python and MPI; processes that spin.
    used = [Path(f"/proc/{rank}/stat") for rank in found]
    until(
        lambda: all(sum(map(int, path.read_text().rpartition(")")[2].split()[11:13])) >= 100 for path in used), process
    )
    return {rank_number(process): process for process in found}


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_named_and_nothing_is_left_half_done(measuring, tmp_path, rank):
    ranks = started(measuring)
    os.kill(ranks[rank], signal.SIGKILL)
    out, err = measuring.communicate(timeout=60)
    messages = [line for line in err.splitlines() if "error" in line or "failed" in line]
    assert measuring.returncode == 1, err
    advice = "find out what ended it (memory, a batch system, a person), and measure again"
    assert messages == [f"error: rank {rank}: the process was killed by signal 9 (Killed); {advice}"], err
    assert "process_vm_readv" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []
    deadline = time.monotonic() + 10
    while any(is_rank(process) for process in ranks.values()):
        assert time.monotonic() < deadline, "ranks are left"
        time.sleep(0.05)


def sleeper(folder):
    """A process that lives as a rank does; its number."""
    code = (
        f"import time; from weft.launch import rank; rank._live({str(folder)!r}); print(1, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


@pytest.mark.skipif(sys.platform != "linux", reason="watches processes on Linux alone")
def test_ends_are_told_in_their_order(tmp_path):
    host = os.uname().nodename
    told = queue.Queue()
    processes = [sleeper(tmp_path) for _ in range(4)]
    deaths = Deaths(tmp_path, told.put)
    try:
        deaths.watch([(rank, process.pid, host) for rank, process in enumerate(processes)])
        deaths.watch([(7, os.getpid(), host), (8, processes[0].pid, "elsewhere")])
        for rank in (2, 0, 3):
            processes[rank].kill()
            assert told.get(timeout=10).rank == rank
    finally:
        deaths.close()
        for process in processes:
            process.kill()
            process.communicate()
    assert told.empty()


STARTS_LATE = """
import os, time
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(0.04)
    os.execvp("sleep", ["sleep", "60"])
os.wait()
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="watches processes on Linux alone")
def test_a_process_that_is_killed_soon_has_the_name_of_its_own_program(tmp_path, monkeypatch):
    monkeypatch.setattr(weft.launch.deaths, "_MAX_RENAMING", 60.0)
    told = queue.Queue()
    launcher = subprocess.Popen([sys.executable, "-c", STARTS_LATE], stdout=subprocess.PIPE, text=True)
    child = int(launcher.stdout.readline())
    deaths = Deaths(tmp_path, told.put, Process.of(launcher.pid))
    try:
        deaths.look()
        os.kill(child, signal.SIGKILL)
        assert told.get(timeout=10).name == "sleep"
    finally:
        deaths.close()
        launcher.kill()
        launcher.communicate()


LOSES_ITS_PROXY = """
import os, signal, sys, time
if os.fork() == 0:
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="watches processes on Linux alone")
def test_a_launcher_that_loses_a_process_before_anyone_has_seen_it_is_not_waited_for(tmp_path, monkeypatch):
    launcher = tmp_path / "launcher"
    launcher.write_text(f"#!{sys.executable}\n{LOSES_ITS_PROXY}")
    launcher.chmod(0o755)
    monkeypatch.setenv("WEFT_MPIEXEC", str(launcher))
    begin = time.monotonic()
    with pytest.raises(RunError, match=r"^the launcher's process launcher was killed by signal 9 \(Killed\); find out"):
        list(Job([Request("echo", 2, {"bytes": (8,)})], 2))
    assert time.monotonic() - begin < 30
