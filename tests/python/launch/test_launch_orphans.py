"""What becomes of a launch when weft, the launcher, or one of their processes is gone or stopped."""

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from waiting import until
from weft._core import RunError
from weft.launch import keeper, mpiexec, processes
from weft.launch.deaths import Deaths
from weft.launch.mpiexec import Job
from weft.launch.processes import GONE, LIVES, STOPPED, Process
from weft.launch.request import Request

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc"),
]


def sleeping(seconds=60):
    return subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])


def test_a_process_lives_stops_and_is_gone():
    child = sleeping()
    process = Process.of(child.pid)
    descriptor = processes.open_end(process)
    assert process.state() == LIVES
    assert process in Process.of(os.getpid()).below()
    child.send_signal(signal.SIGSTOP)
    until(lambda: process.state() == STOPPED, child)
    child.kill()
    child.wait()
    assert process.state() == GONE
    assert Process(os.getpid(), process.start + 10**9).state() == GONE, "a number that was given again"
    assert processes.how_it_ended(descriptor) in (None, "was killed by signal 9 (Killed)")
    os.close(descriptor)


def test_the_end_of_a_launch_reaches_what_ignores_it():
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child.stdout.readline()
    processes.end(Process.of(child.pid), [], 0.2)
    assert child.wait(timeout=10) == -signal.SIGKILL
    child.stdout.close()


def test_the_keeper_ends_launches_and_removes_their_files(tmp_path):
    folder, file, other = tmp_path / "launch", tmp_path / "segment", tmp_path / "of another"
    folder.mkdir()
    file.touch()
    other.touch()
    first, lost = sleeping(), sleeping()
    found = [Process.of(child.pid) for child in (first, lost)]
    said = [
        {"launch": first.pid, "start": found[0].start, "folder": str(folder)},
        {"launch": first.pid, "processes": [[lost.pid, found[1].start]]},
        {"launch": first.pid, "files": {str(file): file.stat().st_ino, str(other): other.stat().st_ino + 1}},
    ]
    text = "".join(json.dumps(line) + "\n" for line in said)
    words = [sys.executable, "-P", "-m", "weft.launch.keeper", str(os.getpid())]
    subprocess.run(words, input=text, text=True, check=True, timeout=60)
    assert first.wait(timeout=10) == -signal.SIGTERM
    assert lost.wait(timeout=10) == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == ["of another"]


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no shared memory in files")
def test_the_keeper_removes_the_memory_that_ranks_have_open(tmp_path):
    memory, other = (Path(f"/dev/shm/{name}-{os.getpid()}") for name in ("mpich_shm_weft-test", "of-a-user"))
    # What the launcher starts is seen as a rank by its variables.
    rank = f"PMI_RANK=0 sh -c 'exec sleep 60 3>{memory} 4>{other}'"
    first = subprocess.Popen(["sh", "-c", f"{rank} & sleep 60; true"])
    try:
        until(lambda: memory.exists() and other.exists(), first)
        everyone = Process.of(first.pid).below()
        said = {"launch": first.pid, "start": Process.of(first.pid).start, "folder": str(tmp_path / "launch")}
        words = [sys.executable, "-P", "-m", "weft.launch.keeper", str(os.getpid())]
        subprocess.run(words, input=json.dumps(said) + "\n", text=True, check=True, timeout=60)
        first.wait(timeout=10)
        assert left(everyone) == []
        assert not memory.exists()
        assert other.exists(), "what has another name may be a user's own"
    finally:
        first.kill()
        memory.unlink(missing_ok=True)
        other.unlink(missing_ok=True)


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no shared memory in files")
def test_memory_of_a_rank_that_was_not_found_is_removed_once_nobody_has_it(tmp_path):
    memory, other = (Path(f"/dev/shm/{name}-{os.getpid()}") for name in ("mpich_shm_weft-lost", "of-a-user"))
    first = sleeping()
    deaths = Deaths(tmp_path, lambda death: None, Process.of(first.pid))
    # A rank whose proxy was killed is no longer below the launcher.
    rank = subprocess.Popen(["sh", "-c", f"exec sleep 60 3>{memory} 4>{other}"])
    try:
        until(lambda: memory.exists() and other.exists(), rank)
        time.sleep(0.3)
        rank.kill()
        rank.wait()
        deaths.close()
        assert not memory.exists()
        assert other.exists(), "what has another name may be a user's own"
    finally:
        first.kill()
        first.wait()
        memory.unlink(missing_ok=True)
        other.unlink(missing_ok=True)


def test_the_keeper_leaves_launches_that_are_over():
    child = sleeping()
    said = [
        {"launch": child.pid, "start": Process.of(child.pid).start, "folder": "/nowhere/at/all"},
        {"launch": child.pid, "over": True},
    ]
    text = "".join(json.dumps(line) + "\n" for line in said)
    words = [sys.executable, "-P", "-m", "weft.launch.keeper", str(os.getpid())]
    subprocess.run(words, input=text, text=True, check=True, timeout=60)
    assert Process.of(child.pid) is not None
    child.kill()
    child.wait()


def test_a_file_of_memory_that_was_made_anew_is_kept(tmp_path):
    file = tmp_path / "segment"
    file.touch()
    keeper.remove(str(file), file.stat().st_ino + 1)
    assert file.exists()
    keeper.remove(str(file), file.stat().st_ino)
    assert not file.exists()


def test_a_folder_in_which_a_dying_process_still_writes_is_removed(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    real, looks = shutil.rmtree, []

    def with_a_late_file(path, **options):
        looks.append(path)
        if len(looks) == 1:
            (folder / "late").touch()
        else:
            real(path, **options)

    monkeypatch.setattr(shutil, "rmtree", with_a_late_file)
    keeper.remove_folder(str(folder))
    assert not folder.exists()
    assert len(looks) == 2


class Measuring:
    """`weft measure` in a long echo, in a process of its own."""

    def __init__(self, folder):
        words = ["measure", "echo", "--bytes", "8", "--seconds-per-point", "30", "--launches", "1", "-o", "samples.csv"]
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "weft.cli.main", *words],
            cwd=folder,
            # Whoever runs the tests may ignore it, as nohup does.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # noqa: PLW1509
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_COLOR": "1", "TMPDIR": str(self.temporary)},
        )
        self.root = Process.of(self.process.pid)
        until(lambda: len(self.ranks()) == 2, self.process)

    def has_seen(self):
        """The numbers of the processes that have made a pipe as a sign of life."""
        return {int(pipe.name.rpartition("-")[2]) for pipe in self.temporary.glob("weft-*/alive-*")}

    def ranks(self):
        return {process.rank(): process for process in self.root.below() if process.rank() is not None}


@pytest.fixture
def measuring(tmp_path, native):
    found = Measuring(tmp_path)
    everyone = found.root.below()
    yield found
    found.process.kill()
    found.process.communicate()
    processes.end(None, everyone, 10)


def left(everyone, seconds=30.0):
    deadline = time.monotonic() + seconds
    while any(process.state() != GONE for process in everyone) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [process.name() for process in everyone if process.state() != GONE]


def test_when_weft_is_killed_everything_ends(measuring):
    everyone = measuring.root.below()
    assert len(everyone) >= 5, "mpiexec, its proxy, two ranks and the keeper"
    measuring.process.kill()
    assert left(everyone) == []
    assert list(measuring.temporary.iterdir()) == []


def test_a_closed_terminal_ends_everything_in_order(measuring):
    everyone = measuring.root.below()
    measuring.process.send_signal(signal.SIGHUP)
    _, err = measuring.process.communicate(timeout=60)
    assert measuring.process.returncode == 130, err
    assert left(everyone) == []


def test_a_launcher_that_loses_its_helper_is_named(measuring):
    until(lambda: {process.pid for process in measuring.ranks().values()} <= measuring.has_seen(), measuring.process)
    everyone = measuring.root.below()
    helper = next((process for process in everyone if process.name().startswith("hydra_pmi")), None)
    if helper is None:
        pytest.skip("this launcher has no hydra_pmi_proxy")
    os.kill(helper.pid, signal.SIGKILL)
    _, err = measuring.process.communicate(timeout=60)
    assert measuring.process.returncode == 1
    assert "error: the launcher's process hydra_pmi_proxy" in err, err
    assert left(everyone) == []


@pytest.mark.parametrize(("proxy", "begins"), [("hydra_pmi_proxy", True), ("none", True), ("hydra_pmi_proxy", False)])
def test_a_launcher_that_waits_for_nothing_is_ended(tmp_path, monkeypatch, proxy, begins):
    """Hydra's mpiexec, which has waited for its proxy already, waits for it to connect; others may wait for ranks."""
    launcher, never = tmp_path / "mpiexec", tmp_path / "never"
    shutil.copy(Path(shutil.which("sh")).resolve(), launcher)
    (tmp_path / proxy).touch()
    os.mkfifo(never)
    begun = f"{shutil.which('true')}; " if begins else ""
    script = f"{begun}exec 3< {never}"
    monkeypatch.setenv("WEFT_MPIEXEC", f"{launcher} -c '{script}'")
    monkeypatch.setattr(mpiexec, "_LOOK", 0.02)
    results = queue.Queue()

    def run():
        try:
            results.put(list(Job([Request("echo", 2, {"bytes": (8,)})], 2)))
        except RunError as error:
            results.put(str(error))

    threading.Thread(target=run, daemon=True).start()
    if proxy != "none" and begins:
        assert "the launcher, mpiexec, waits for processes that have ended; find out what" in results.get(timeout=60)
        return
    with pytest.raises(queue.Empty):
        results.get(timeout=3)
    with never.open("w"):
        # It ends now, and well, but without a rank.
        results.get(timeout=60)


def test_a_stopped_rank_is_named(measuring):
    everyone = measuring.root.below()
    rank = measuring.ranks()[1]
    os.kill(rank.pid, signal.SIGSTOP)
    _, err = measuring.process.communicate(timeout=60)
    assert measuring.process.returncode == 1
    assert f"error: rank 1: the process {rank.pid} is stopped (signal SIGSTOP or SIGTSTP)" in err, err
    assert left(everyone) == []


@pytest.mark.parametrize("leaves", ["sys.exit(3)", "os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_a_rank_that_is_lost_before_mpi_has_started_is_named(native, leaves):
    code = (
        "import os, sys, time; from weft import _core; from weft.launch import rank\n"
        "if os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK')) == '1':\n"
        f"    time.sleep(1); {leaves}\n"
        "sys.exit(rank.main(sys.argv[1]))\n"
    )
    job = Job([Request("echo", 2, {"bytes": (8,)})], 2, program=(sys.executable, "-P", "-c", code))
    with pytest.raises(RunError) as error:
        list(job)
    how = r"was killed by signal 9 \(Killed\)" if "kill" in leaves else "ended with exit code 3 before the run was over"
    # Older systems do not tell others than the parent how a process ended, and the launcher does not tell whose it was.
    assert error.match(f"rank 1: the process ({how}|ended before the run was over); find out what ended it")


def run_program(tmp_path, text, ranks=2):
    program = tmp_path / "program.py"
    program.write_text(f"import os, sys, time\nimport numpy as np\nimport weft\n{text}")
    words = [*mpiexec.command(), "-n", str(ranks), sys.executable, str(program)]
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=120), program


PROGRAM = """
geometry = weft.arrays.Geometry((8, 8))
x = geometry.distribute(np.ones((8, 8)))
if geometry.rank == 1:
    LEAVES
x.gather()
x.gather()
"""


@pytest.mark.parametrize(
    ("leaves", "said"),
    [
        (
            "os._exit(3)",
            "weft: rank 1: the process ended with exit code 3 before the run was over: os._exit, PROGRAM:8",
        ),
        ("1 / 0", "weft: rank 1 ended the run with exit code 1: ZeroDivisionError at PROGRAM:8"),
        ("sys.exit(3)", "  rank 1: the end of the program: sys.exit(3), PROGRAM:8"),
        ("x.gather(); sys.exit()", "at PROGRAM:10\n  rank 1: the end of the program: sys.exit(None), PROGRAM:8"),
    ],
)
def test_a_rank_of_a_program_that_leaves_is_named(native, tmp_path, leaves, said):
    done, program = run_program(tmp_path, PROGRAM.replace("LEAVES", leaves))
    assert done.returncode != 0, done.stderr
    assert said.replace("PROGRAM", str(program)) in done.stderr, done.stderr


def test_a_program_that_leaves_before_it_starts_mpi_ends_the_others(native, tmp_path):
    done, _ = run_program(
        tmp_path,
        "if os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK')) == '1':\n    sys.exit(0)\n" + PROGRAM,
    )
    assert done.returncode != 0, done.stderr
    # Which of its guards sees it first, the other ranks' or the launcher's, is a matter of load.
    assert re.search(
        "weft: rank 1: the process ended (before it had started MPI|with exit code 0 before the run was over)",
        done.stderr,
    ), done.stderr


def test_ranks_end_with_their_launcher(native, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, weft\nx = weft.arrays.Geometry((8, 8)).distribute(np.ones((8, 8)))\nprint(1, flush=True)\n"
        "while True:\n    x.gather()\n"
    )
    words = [*mpiexec.command(), "-n", "2", sys.executable, str(program)]
    job = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    job.stdout.readline()
    everyone = Process.of(job.pid).below()
    helper = next((process for process in everyone if process.name().startswith("hydra_pmi")), None)
    if helper is None:
        job.kill()
        pytest.skip("this launcher has no hydra_pmi_proxy")
    os.kill(helper.pid, signal.SIGKILL)
    output, _ = job.communicate(timeout=60)
    assert left(everyone) == [], output
