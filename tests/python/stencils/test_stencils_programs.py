"""The example programs find the answers that are known."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.launch import mpiexec

PROGRAMS = Path(__file__).parents[3] / "programs"


def run(name, *words):
    command = [sys.executable, str(PROGRAMS / name), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("heat.py", ["--size", "64", "--steps", "150"]),
        ("heat.py", ["--size", "31", "--steps", "37", "--threads", "2"]),
        ("stencil27.py", ["--size", "20"]),
        ("lattice.py", ["--extents", "4,3,5,6"]),
        ("lattice.py", ["--extents", "2,2,2,8", "--sides", "1", "--seed", "5"]),
        ("multigrid.py", ["--size", "63"]),
        ("multigrid.py", ["--size", "63", "--before", "2", "--after", "1"]),
        ("maxwell.py", ["--size", "33", "--steps", "70"]),
        ("gray_scott.py", ["--size", "50", "--steps", "20"]),
        ("shallow_water.py", ["--size", "33", "--steps", "30"]),
        ("v_cycle.py", ["--power", "5"]),
        ("v_cycle.py", ["--power", "6", "--before", "1", "--after", "3", "--cycles", "8"]),
    ],
)
def test_the_program_passes(name, words):
    done = run(name, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "passed"


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("heat.py", ["--size", "33", "--steps", "60"]),
        ("stencil27.py", ["--size", "11"]),
        ("lattice.py", ["--extents", "4,3,5,6"]),
        ("multigrid.py", ["--size", "63", "--cycles", "12"]),
        ("particles.py", ["--steps", "10", "--cells", "5"]),
        ("maxwell.py", ["--size", "17", "--steps", "40"]),
        ("gray_scott.py", ["--size", "29", "--steps", "10"]),
        ("shallow_water.py", ["--size", "13", "--steps", "10"]),
        ("v_cycle.py", ["--power", "4"]),
    ],
)
def test_the_program_passes_over_ranks(native, name, words):
    command = [*mpiexec.command(), "-n", "3", sys.executable, str(PROGRAMS / name), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines().count("passed") == 1, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("heat.py", ["--size", "64", "--steps", "10"]),
        ("maxwell.py", ["--size", "9", "--steps", "5"]),
        ("gray_scott.py", ["--size", "12", "--steps", "3"]),
        ("shallow_water.py", ["--size", "8", "--steps", "3"]),
        ("v_cycle.py", ["--power", "3", "--cycles", "4"]),
        ("wave.py", ["--size", "12", "--steps", "5"]),
        ("jacobi.py", ["--size", "12", "--sweeps", "20"]),
    ],
)
def test_the_program_passes_in_virtual_time(native, name, words):
    """The same answers, and messages that take time."""
    command = [
        str(Path(sys.executable).parent / "weft"),
        "run",
        "--on",
        "ipsc860",
        "-n",
        "4",
        str(PROGRAMS / name),
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    took = re.search(r"4 ranks on ipsc860: ([\d.]+) .*s of virtual time, (\d+) messages", done.stdout + done.stderr)
    assert float(took[1]) > 0
    assert int(took[2]) > 10


@pytest.mark.parametrize("words", [["--steps", "20"], ["--particles", "60", "--cells", "3", "--seed", "4"]])
def test_particles_pass(words):
    done = run("particles.py", *words)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("lattice.py", ["--extents", "4,4"], "expected four extents"),
        ("multigrid.py", ["--size", "64"], "expected an odd size"),
        ("v_cycle.py", ["--power", "1"], "expected a power of at least 2"),
        ("shallow_water.py", ["--size", "3"], "expected 4 points along each axis or more"),
    ],
)
def test_what_it_cannot_do_it_says(name, words, message):
    done = run(name, *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_wrong_answer_fails(monkeypatch, capsys):
    """The check of a program is one: with another stencil it does not pass."""
    spec = importlib.util.spec_from_file_location("heat", PROGRAMS / "heat.py")
    heat = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(heat)
    monkeypatch.setattr(
        heat, "five_points", lambda share: weft.arrays.stencil({(0, 0): 1 - 4 * share, (1, 0): 4 * share})
    )
    monkeypatch.setattr(sys, "argv", ["heat.py", "--size", "32", "--steps", "10"])
    assert heat.main() == 1
    assert "FAILED" in capsys.readouterr().out
