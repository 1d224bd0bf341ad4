"""Times of programs in virtual time: those of the machine, the same in every run."""

import importlib.util
import subprocess
import sys

import pytest

import weft
from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
]

PINGPONG = """
from mpi4py import MPI
import sys
comm = MPI.COMM_WORLD
data = bytearray(int(sys.argv[1]))
comm.Barrier()
start = MPI.Wtime()
for _ in range(10):
    if comm.rank == 0:
        comm.Send(data, 1)
        comm.Recv(data, 1)
    else:
        comm.Recv(data, 0)
        comm.Send(data, 0)
if comm.rank == 0:
    print((MPI.Wtime() - start) / 20)
"""


@pytest.mark.parametrize("machine", ["ipsc860", "frontera", "ncube6400"])
@pytest.mark.parametrize("length", [0, 8, 1024, 65536])
def test_a_message_takes_what_weft_measures_on_the_machine(tmp_path, capfd, machine, length):
    program = tmp_path / "pingpong.py"
    program.write_text(PINGPONG)
    weft.run(program, str(length), on=machine, ranks=2)
    printed = float(capfd.readouterr().out)
    echo = weft.simulate(machine, "echo", bytes=length)
    assert printed == pytest.approx(echo["seconds"].median(), rel=0.02)


def test_two_runs_are_equal_to_the_bit(tmp_path, capfd):
    program = tmp_path / "pingpong.py"
    program.write_text(PINGPONG)
    runs = [weft.run(program, "1000", on="frontera", ranks=2) for _ in range(2)]
    assert runs[0] == runs[1]
    capfd.readouterr()


def test_computation_counts_where_it_is_asked_for(tmp_path):
    program = tmp_path / "computing.py"
    program.write_text("from mpi4py import MPI\nsum(range(3_000_000))\nMPI.COMM_WORLD.Barrier()\n")
    without = weft.run(program, on="frontera", ranks=2)
    counted = weft.run(program, on="frontera", ranks=2, compute=1.0)
    doubled = weft.run(program, on="frontera", ranks=2, compute=100.0)
    assert without.makespan < 1e-4 < counted.makespan < doubled.makespan


def test_what_computation_may_be(tmp_path, monkeypatch):
    from weft.hosting import rates
    from weft.hosting import run as running

    program = tmp_path / "program.py"
    program.write_text(
        "import time\nfrom mpi4py import MPI\nend = time.thread_time() + 0.05\n"
        "while time.thread_time() < end:\n    pass\nMPI.COMM_WORLD.Barrier()\n"
    )
    # On an iPSC/860 a sum of products takes 50 ns and a copied byte 16.8 ns.
    here = {"float64_sum_of_products": 5e-9, "copy_byte": 1.68e-10}
    monkeypatch.setattr(running, "rates", lambda machine: rates.rates(machine, lambda names: here))
    measured = weft.run(program, on="ipsc860", ranks=2, compute="measured")
    assert measured.compute == pytest.approx((10 * 100) ** 0.5)
    assert [rate.operation for rate in measured.rates] == list(here)
    assert measured.makespan > 0.05 * measured.compute
    shared = weft.run(program, on="ipsc860", ranks=2, ranks_per_node=2, compute="measured")
    assert shared.compute == pytest.approx(2 * measured.compute)
    assert weft.run(program, on="ipsc860", ranks=2, compute="scale=3").compute == 3
    assert weft.run(program, on="ipsc860", ranks=2, compute="declared").makespan < 0.05
    with pytest.raises(weft.UsageError, match="expected measured, declared, none, or a factor such as 50"):
        weft.run(program, on="ipsc860", ranks=2, compute="much")
    with pytest.raises(weft.UsageError, match="not negative, found nan"):
        weft.run(program, on="ipsc860", ranks=2, compute="nan")


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
def test_a_rank_sleeps_on_the_machine_and_keeps_nobody_here(tmp_path, isolate):
    """The second rank polls and sleeps until the first has slept for an hour."""
    text = """
from time import sleep
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    sleep(3600)
    comm.send("awake", 1)
else:
    naps = 0
    while not comm.iprobe(0):
        sleep(10)
        naps += 1
    print(comm.recv(), naps, MPI.Wtime() < 3611)
"""
    script = tmp_path / "program.py"
    script.write_text(text)
    command = [sys.executable, "-m", "weft.cli.main", "run", "-q", "--on", "ipsc860", "-n", "2"]
    command += ["--isolate"] if isolate else []
    done = subprocess.run([*command, str(script)], check=True, capture_output=True, text=True, timeout=60)
    word, naps, soon = done.stdout.split()
    assert (word, soon) == ("awake", "True")
    assert 359 <= int(naps) <= 361


def test_a_time_that_nobody_can_sleep_for_is_refused_as_elsewhere(tmp_path):
    text = "import time\nfrom mpi4py import MPI\nfor value in (-1, float('nan'), 'x'):\n"
    text += "    try:\n        time.sleep(value)\n    except (ValueError, TypeError) as error:\n        print(error)\n"
    script = tmp_path / "program.py"
    script.write_text(text)
    command = [sys.executable, "-m", "weft.cli.main", "run", "-q", "--on", "ipsc860", "-n", "1", str(script)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[:2] == [
        "sleep length must be non-negative",
        "Invalid value NaN (not a number)",
    ]
    assert len(done.stdout.splitlines()) == 3


def test_ranks_whose_computation_counts_have_a_process_each_unless_they_are_many(tmp_path, capfd, monkeypatch):
    from weft.hosting import run as running

    def processes(**options):
        weft.run(program, on="frontera", ranks=2, **options)
        return len(set(capfd.readouterr().out.split()))

    program = tmp_path / "program.py"
    program.write_text("import os\nfrom mpi4py import MPI\nprint(os.getpid())\n")
    assert processes() == processes(compute="declared") == processes(compute=0.0) == 1
    assert processes(compute=1.0) == 2
    assert processes(compute=1.0, isolate=False) == 1
    monkeypatch.setattr(running, "MAX_MEASURED_APART", 1)
    assert processes(compute=1.0) == 1
    assert processes(isolate=True) == 2
