"""Which modules are each rank's own: those in the script's folder, but not those of an environment that lies there."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.hosting.library import path
from weft.hosting.modules import Modules

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
]

PROGRAM = """\
import numpy as np
from mpi4py import MPI

import weft.estimation
import {own} as own

own.ranks.append(MPI.COMM_WORLD.rank)
print(own.ranks, np.arange(3).sum())
"""


def noted(modules, monkeypatch, folder, name):
    monkeypatch.syspath_prepend(folder)
    modules.find_spec(name)
    return name in modules._names


def test_modules_of_the_folder_are_own_and_those_of_one_whose_name_begins_alike_are_not(tmp_path, monkeypatch):
    for folder in ("program", "program-2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{folder.replace('-', '_')}_part.py").touch()
    modules = Modules(tmp_path / "program", 2)
    assert noted(modules, monkeypatch, tmp_path / "program", "program_part")
    assert not noted(modules, monkeypatch, tmp_path / "program-2", "program_2_part")


def test_modules_of_an_environment_in_the_folder_are_shared(tmp_path, monkeypatch):
    packages = tmp_path / ".venv" / "lib" / "python" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "installed_part.py").touch()
    monkeypatch.setattr("site.getsitepackages", lambda: [str(packages)])
    assert not noted(Modules(tmp_path, 2), monkeypatch, packages, "installed_part")
    # Of a script that is installed itself, what lies beside it is its own.
    assert noted(Modules(packages, 2), monkeypatch, packages, "installed_part")


def test_a_folder_that_is_reached_by_a_link_is_the_same(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "linked_part.py").touch()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert noted(Modules(tmp_path / "there", 2), monkeypatch, tmp_path / "link", "linked_part")


@pytest.mark.parametrize("isolate", [[], ["--isolate"]], ids=["one process", "processes"])
def test_a_program_in_whose_folder_its_environment_lies(tmp_path, isolate):
    if not os.access(sys.prefix, os.W_OK):
        pytest.skip("the environment is not to be written in")
    # The folder of the environment itself is one in which it lies. Names of their own, as tests run beside each other.
    own, program = Path(sys.prefix, f"own_{os.getpid()}.py"), Path(sys.prefix, f"program_{os.getpid()}.py")
    try:
        own.write_text("ranks = []\n")
        program.write_text(PROGRAM.format(own=own.stem))
        command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", "3", *isolate, str(program)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    finally:
        own.unlink(missing_ok=True)
        program.unlink(missing_ok=True)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[0] 3", "[1] 3", "[2] 3"]


SWITCHING = """\
import pickle
import random
import sys
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
token = [rank]

def state():
    main = sys.modules["__main__"]
    return main.token is token and main.rank == rank

def around():
    right = []
    for _ in range(3):
        comm.sendrecv(rank, (rank + 1) % size, source=(rank - 1) % size)
        right.append(state())
        comm.Barrier()
        right.append(state())
    return all(right)

seen = [around()]
import numpy as np
seen.append(around())
np.random.seed(rank)
random.seed(rank)
seen.append(around())
import late
late.ranks.append(rank)
seen.append(around())
comm.Barrier()
seen.append(late.ranks == [rank] and sys.modules["late"] is late)
seen.append(np.random.rand() == np.random.RandomState(rank).rand())
seen.append(random.random() == random.Random(rank).random())
print(all(seen), seen)
"""


def test_what_is_each_ranks_own_is_so_after_every_switch(tmp_path):
    """Whether ranks differ in their main module alone, or also in modules that some of them import late."""
    (tmp_path / "late.py").write_text("ranks = []\n")
    program = tmp_path / "program.py"
    program.write_text(SWITCHING)
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", "4", str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [line.split(" ", 1)[0] for line in done.stdout.splitlines()] == ["True"] * 4, done.stdout


LOOPS = """\
import asyncio
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

async def beside(seen):
    for i in range(3):
        seen.append(i)
        await asyncio.sleep(0)

async def main():
    seen, task = [], asyncio.current_task()
    other = asyncio.create_task(beside(seen))
    for _ in range(2):
        assert comm.sendrecv(rank, (rank + 1) % size, source=(rank - 1) % size) == (rank - 1) % size
        assert asyncio.current_task() is task and asyncio.get_running_loop() is task.get_loop()
        await asyncio.sleep(0)
    await other
    comm.Barrier()
    return seen

assert asyncio.run(main()) == [0, 1, 2]
asyncio.set_event_loop(asyncio.new_event_loop())
loop = asyncio.get_event_loop()
comm.Barrier()
assert asyncio.get_event_loop() is loop
loop.run_until_complete(main())
loop.close()
print("done")
"""


def test_each_rank_has_event_loops_of_its_own(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(LOOPS)
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", "4", str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["done"] * 4), done.stderr


EXITING = """\
import atexit
import os
import sys
import tempfile
import installed_part
from mpi4py import MPI

comm = MPI.COMM_WORLD
folder = tempfile.TemporaryDirectory()
print("folder", folder.name)


def count(what):
    print(what, comm.rank, comm.allreduce(1), os.path.isdir(folder.name))


@atexit.register
def never():
    print("never")


atexit.register(count, "first")
atexit.register(count, "second")
atexit.register(lambda: 1 / 0)
atexit.unregister(never)
sys.exit(3)
"""


@pytest.mark.parametrize("isolate", [[], ["--isolate"]], ids=["one process", "a process each"])
def test_functions_for_the_exit_are_called_on_every_rank_and_those_of_packages_at_the_end(tmp_path, isolate):
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "installed_part.py").write_text("import atexit\natexit.register(print, 'package')\n")
    program = tmp_path / "program" / "program.py"
    program.parent.mkdir()
    program.write_text(EXITING)
    start = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", "2", *isolate, str(program)]
    environment = os.environ | {"PYTHONPATH": str(packages)}
    done = subprocess.run(start, env=environment, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr
    lines = done.stdout.splitlines()
    folders = [line.split()[1] for line in lines if line.startswith("folder")]
    assert len(set(folders)) == 2
    assert not any(os.path.exists(folder) for folder in folders)
    assert done.stderr.count("ZeroDivisionError") == 2
    rest = [line for line in lines if not line.startswith("folder")]
    calls = [f"{what} {rank} 2 True" for what in ("second", "first") for rank in (0, 1)]
    assert sorted(rest[:4] if not isolate else [line for line in rest if line != "package"]) == sorted(calls)
    assert rest.count("package") == (2 if isolate else 1)
    assert rest[-1] == "package"


BEGINNING = """\
import mpi4py
mpi4py.rc.initialize = False
mpi4py.rc.finalize = False
from mpi4py import MPI
assert not MPI.Is_initialized()
assert not MPI.Is_finalized()
MPI.Init()
assert MPI.Is_initialized()
print(MPI.COMM_WORLD.allreduce(1))
MPI.Finalize()
assert MPI.Is_finalized()
"""


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
def test_each_rank_initializes_mpi_where_the_import_does_not(tmp_path, capfd, isolate):
    script = tmp_path / "program.py"
    script.write_text(BEGINNING)
    weft.run(script, on="ipsc860", ranks=3, isolate=isolate)
    assert capfd.readouterr().out.splitlines() == ["3"] * 3


LOGGING_PACKAGE = """\
import logging
import sys

log = logging.getLogger("part")
log.setLevel(logging.ERROR)
log.propagate = False
log.addHandler(logging.StreamHandler(sys.stdout))
"""

LOGGING = """\
import logging
import sys

import installed_part
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
logging.basicConfig(format=f"{rank}: %(levelname)s %(message)s", level=10 * (1 + rank), stream=sys.stdout)
comm.Barrier()
log = logging.getLogger("script")
for _ in range(2):
    log.debug("debug")
    log.info("info")
    log.warning("warning")
    comm.Barrier()
    logging.getLogger().setLevel(logging.WARNING)
    comm.Barrier()
installed_part.log.info("quiet")
installed_part.log.error("loud")
comm.Barrier()
assert len(logging.getLogger().handlers) == 1, logging.getLogger().handlers
installed_part.log.addFilter(lambda record: rank == 1)
installed_part.log.error("filtered")
if rank == 0:
    logging.disable()
comm.Barrier()
log.error("error")
"""


@pytest.mark.parametrize("isolate", [[], ["--isolate"]], ids=["one process", "a process each"])
def test_each_rank_has_loggers_of_its_own_but_what_packages_set_as_they_are_imported(tmp_path, isolate):
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "installed_part.py").write_text(LOGGING_PACKAGE)
    program = tmp_path / "program" / "program.py"
    program.parent.mkdir()
    program.write_text(LOGGING)
    start = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", "3", *isolate, str(program)]
    environment = os.environ | {"PYTHONPATH": str(packages)}
    done = subprocess.run(start, env=environment, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    of_ranks = [
        ["0: DEBUG debug", "0: INFO info", "0: WARNING warning", "0: WARNING warning"],
        ["1: INFO info", "1: WARNING warning", "1: WARNING warning", "1: ERROR error"],
        ["2: WARNING warning", "2: WARNING warning", "2: ERROR error"],
    ]
    assert [[line for line in done.stdout.splitlines() if line.startswith(f"{rank}:")] for rank in range(3)] == of_ranks
    of_package = [line for line in done.stdout.splitlines() if not line[0].isdigit()]
    assert sorted(of_package) == ["filtered", "loud", "loud", "loud"]
