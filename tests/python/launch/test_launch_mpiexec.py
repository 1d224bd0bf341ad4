"""Launches with rank programs of a few lines: what goes wrong is said once and clearly."""

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from weft._core import MpiDiagnosis, RunError, UsageError
from weft.launch import mpiexec
from weft.launch.deaths import Deaths
from weft.launch.mpiexec import Job
from weft.launch.request import Request

pytestmark = pytest.mark.mpi

ROWS = 'import json, os, sys\njob = json.loads(sys.argv[1])\nrank = int(os.environ["PMI_RANK"])\n'
WRITE = (
    'if rank == 0:\n    for i, r in enumerate(job["requests"]):\n        '
    'row = {"request": i, "library": "An MPI\\nbuilt so", "rows": [{"bytes": r["bytes"]}]}\n        '
    'open(job["rows"], "a").write(json.dumps(row) + "\\n")\n'
)


def job(code, ranks=2, lengths=((8,), (16,))):
    return Job([Request("echo", ranks, {"bytes": n}) for n in lengths], ranks, (sys.executable, "-c", ROWS + code))


def running(marker):
    """Processes with that word among theirs."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"-c" in words and marker.encode() in path.read_bytes() and b"mpiexec" not in words[0]:
                found.append(path)
    return found


def test_rows_come_back_in_order():
    expected = [(k, [{"bytes": [n], "library": "An MPI"}]) for k, n in ((0, 8), (1, 16))]
    assert list(job(WRITE)) == expected


def test_the_words_of_a_rank_are_the_message():
    code = (
        "if rank == 1:\n    sys.stderr.write("
        '\'weft-error {"kind": "UsageError", "message": "7 hops are too many"}\\n\')\n'
        "    sys.stderr.flush(); os._exit(1)\nimport time; time.sleep(20)\n"
    )
    with pytest.raises(UsageError, match="^7 hops are too many$"):
        list(job(code))


def test_a_killed_rank_is_a_failure_that_keeps_earlier_rows():
    code = (
        WRITE
        + "import signal, time\nif rank == 1:\n    time.sleep(.4); os.kill(os.getpid(), signal.SIGKILL)\n"
        + "time.sleep(20)\n"
    )
    found = []
    with pytest.raises(RunError) as caught:  # noqa: PT012
        for entry in job(code):
            found.append(entry)  # noqa: PERF402 (rows before the failure count)
    assert len(found) == 2
    assert "signal 9" in str(caught.value) or "code 9" in str(caught.value)


def test_an_end_without_words_shows_the_last_output():
    with pytest.raises(RunError, match="(?s)code 3.*something odd"):
        list(job('print("something odd", flush=True)\nsys.exit(3)\n', ranks=1))


def test_leaving_early_ends_the_ranks():
    marker = f"marker_{os.getpid()}_{time.monotonic_ns()}"
    code = WRITE + f"import time; {marker} = 1; time.sleep(60)\n"
    for _ in job(code):
        assert running(marker)
        break
    deadline = time.monotonic() + 20
    while running(marker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not running(marker)


def test_a_verdict_of_the_diagnosis_ends_the_job(monkeypatch):
    from weft import _core

    class Diagnosis:
        heard = False

        def feed(self, line, now):
            self.heard |= line.startswith("weft-rank ")
            return self.heard

        def processes(self):
            return []

        def verdict(self, now):
            return "deadlock: 2 of 2 ranks cannot go on" if self.heard else None

        def ended(self, exit_code):
            raise AssertionError

    monkeypatch.setattr(_core, "MpiDiagnosis", Diagnosis)
    with pytest.raises(RunError, match="deadlock: 2 of 2"):
        list(job('print("weft-rank {}", flush=True)\nimport time; time.sleep(60)\n'))


def test_no_mpiexec(tmp_path):
    with pytest.raises(
        RunError, match=r"^no mpiexec in PATH: starting ranks needs mpich: pip install 'weft\[mpi\]', or"
    ):
        mpiexec.command({"PATH": str(tmp_path)}, str(tmp_path / "bin" / "python"))


def test_a_wrong_mpiexec():
    with pytest.raises(RunError, match="WEFT_MPIEXEC is '/nowhere/mpiexec -f hosts', but there is no such program"):
        mpiexec.command({"WEFT_MPIEXEC": "/nowhere/mpiexec -f hosts", "PATH": os.environ["PATH"]})


def test_the_mpiexec_of_a_site_library(tmp_path):
    program = tmp_path / "bin" / "mpiexec"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    library = tmp_path / "lib" / "libmpi.so"
    variables = {"WEFT_MPI_LIBRARY": str(library), "PATH": ""}
    with pytest.raises(RunError, match="libmpi.so', but there is no such file"):
        mpiexec.command(variables)
    library.parent.mkdir()
    library.touch()
    assert mpiexec.command(variables) == [str(program)]
    program.unlink()
    with pytest.raises(RunError, match="no mpiexec for WEFT_MPI_LIBRARY=.*Set WEFT_MPIEXEC"):
        mpiexec.command(variables)
    assert mpiexec.command({"WEFT_MPIEXEC": "sh -c", "PATH": os.environ["PATH"]}) == ["sh", "-c"]


def test_the_library_of_a_site_mpiexec(tmp_path):
    """Without a variable and the MPICH wheel: what was installed with the mpiexec in PATH, linked from there."""
    program = tmp_path / "openmpi" / "bin" / "orterun"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    python = str(tmp_path / "venv" / "bin" / "python")
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "mpiexec").symlink_to(program)
    variables = {"PATH": str(bin)}
    assert mpiexec.library(variables, python) == "libmpi_abi.so.1"
    library = tmp_path / "openmpi" / "lib64" / "libmpi.so.40"
    library.parent.mkdir()
    library.touch()
    assert mpiexec.library(variables, python) == str(library)
    assert mpiexec.library({"PATH": "", "WEFT_MPIEXEC": f"{program} -host a"}, python) == str(library)
    assert mpiexec.library({"PATH": ""}, python) == "libmpi_abi.so.1"
    own = tmp_path / "venv" / "lib" / "libmpi.so.12"
    own.parent.mkdir(parents=True)
    own.touch()
    assert mpiexec.library(variables, python) == str(own)


def test_the_default_is_beside_python():
    assert mpiexec.command({"PATH": ""})[0] == os.path.join(os.path.dirname(sys.executable), "mpiexec")
    assert os.path.exists(mpiexec.library())


def test_ctrl_c_reaches_weft_alone():
    """The job is in a session of its own."""
    process = job("import time; time.sleep(20)\n")._start(Path("/dev/null"))
    try:
        assert os.getsid(process.pid) != os.getsid(0)
    finally:
        os.kill(process.pid, signal.SIGTERM)
        mpiexec._stop(process, None, Deaths("/nonexistent", lambda death: None))
    assert process.returncode is not None


def test_what_is_known_of_a_job_may_be_forgotten_by_another_thread():
    """Python's collector runs on whichever thread allocates next; pytest makes an error of what it cannot drop."""
    known = [MpiDiagnosis()]
    other = threading.Thread(target=known.clear)
    other.start()
    other.join()
    assert not known
