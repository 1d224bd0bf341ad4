"""Programs that a benchmark compares with real MPI: they run, and print how long that took."""

import importlib.util
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

import weft
from weft.hosting.library import path

TIMED = Path(__file__).parent / "timed"
DATA = Path(sysconfig.get_path("data"))

pytestmark = pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built")


def seconds(program, capfd):
    """What a program prints of two iterations."""
    run = weft.run(program, "2", on="frontera", ranks=2)
    assert run.codes == (0, 0)
    assert run.unreceived == run.open_requests == 0
    return float(capfd.readouterr().out), run.makespan


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
@pytest.mark.parametrize("program", sorted(TIMED.glob("*.py")), ids=lambda program: program.stem)
def test_scripts_print_their_time(program, capfd):
    printed, makespan = seconds(program, capfd)
    assert 0 < printed <= makespan


@pytest.mark.skipif(
    shutil.which("cc") is None or not (DATA / "include" / "mpi.h").exists(), reason="no C compiler, or no MPICH"
)
@pytest.mark.parametrize("source", sorted(TIMED.glob("*.c")), ids=lambda source: source.stem)
def test_compiled_programs_print_their_time(source, tmp_path, capfd):
    program = tmp_path / source.stem
    where = [f"-I{DATA}/include", f"-L{DATA}/lib"]
    subprocess.run(["cc", "-O1", "-o", str(program), str(source), *where, "-lmpi", "-lm"], check=True)
    printed, makespan = seconds(program, capfd)
    assert 0 < printed <= makespan
