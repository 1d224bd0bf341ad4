"""Scripts that use weft's own ranks, in virtual time: what they compute there is what one rank computes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from weft.hosting.binary import needs_processes
from weft.hosting.library import path
from weft.hosting.run import run

pytestmark = pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built")

SHAPE = (6, 10, 40)

PROGRAM = f"""import numpy as np
import weft
geometry = weft.arrays.Geometry({SHAPE})
x = geometry.distribute(np.arange({np.prod(SHAPE)}.0).reshape({SHAPE}) % 17, halo=1)
points = {{(0, 0, 0): 3.0, (1, 0, 0): 1.0, (0, -1, 0): -2.0, (0, 0, 1): 0.5}}
y = weft.arrays.stencil(points)(x, steps=3)
z = weft.arrays.cshift(y, 2, 1)
vp = weft.pvar.VPSet((8, 16))
total = float(weft.pvar.reduce(weft.pvar.scan(vp.coordinate(1), "add", axis=1), "add"))
print(geometry.ranks, x.sum(), total)
whole = z.gather(None)
print(float((whole * np.arange(whole.size).reshape(whole.shape) % 1013).sum()))
"""


def started(tmp_path, text, *options, ranks):
    program = tmp_path / "program.py"
    program.write_text(text)
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", str(ranks), *options]
    # Without buffers Python writes the end of a line by itself, and the lines of two processes mix.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    start = [*command, str(program)]
    return subprocess.run(start, check=False, capture_output=True, text=True, timeout=120, env=variables)


@pytest.mark.parametrize(("ranks", "options"), [(2, []), (5, []), (8, ["--ranks-per-node", "2"])])
def test_arrays_and_parallel_variables_of_a_run_are_divided_over_its_ranks(tmp_path, ranks, options):
    x = np.arange(float(np.prod(SHAPE))).reshape(SHAPE) % 17
    y = x
    for _ in range(3):
        y = 3.0 * y + np.roll(y, -1, 0) - 2.0 * np.roll(y, 1, 1) + 0.5 * np.roll(y, -1, 2)
    z = np.roll(y, -2, 1)
    expected = float((z * np.arange(z.size).reshape(z.shape) % 1013).sum())
    total = 8.0 * np.cumsum(np.arange(16)).sum()
    done = started(tmp_path, PROGRAM, *options, ranks=ranks)
    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines(), key=len)
    assert f"{ranks} {x.sum()} {total}" in lines
    assert [float(line) for line in lines if " " not in line] == [expected] * ranks
    assert f"{ranks} ranks on ipsc860: 0 ns" not in done.stderr
    assert "never received" not in done.stderr
    assert "neither completed nor freed" not in done.stderr


def test_two_runs_take_the_same_virtual_time(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    first, second = (run(program, on="frontera", ranks=4) for _ in range(2))
    assert (first.finished, first.messages) == (second.finished, second.messages)
    assert first.makespan > 0


def test_ranks_that_share_a_process_are_refused_with_the_option_to_give(tmp_path):
    done = started(tmp_path, "from mpi4py import MPI\n" + PROGRAM, ranks=2)
    assert done.returncode == 1
    assert "weft's arrays need a process for each rank: start it with weft run --isolate" in done.stderr
    isolated = started(tmp_path, "from mpi4py import MPI\n" + PROGRAM, "--isolate", ranks=2)
    assert isolated.returncode == 0, isolated.stderr


MISMATCHED = Path(__file__).parents[1] / "distributed"


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(
    ("program", "scenario"),
    [
        ("mismatch_program.py", "operators"),
        ("mismatch_program.py", "kinds"),
        ("mismatch_program.py", "more"),
        ("neighbor_mismatch_program.py", "others"),
        ("neighbor_mismatch_program.py", "kinds"),
        ("neighbor_mismatch_program.py", "more"),
    ],
)
def test_ranks_in_different_calls_are_told_so_once_none_can_go_on(program, scenario, ranks):
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", str(ranks), "--isolate"]
    environment = {**os.environ, "STRATEGY": "direct"}
    start = [*command, str(MISMATCHED / program), scenario]
    done = subprocess.run(start, check=False, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode != 0
    said = re.findall(r"the ranks disagree[^\n]*((?:\n  rank \d+: [^\n]*)+)", done.stderr)
    assert said, done.stderr
    for text in said:
        lines = dict(re.findall(r"\n  rank (\d+): ([^\n]*)", text))
        assert sorted(lines) == [str(rank) for rank in range(ranks)], text
        assert lines["0"] != lines["1"], text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import weft", True),
        ("from weft import arrays", True),
        ("import weft.pvar as p", True),
        ("def f():\n    from weft.arrays import Geometry", True),
        ("import weft\nfrom mpi4py import MPI", False),
        ("import numpy", False),
        ("from .weft import x", False),
        ("this is no Python", False),
        ("", False),
    ],
)
def test_a_script_of_weft_alone_gets_a_process_for_each_rank(tmp_path, text, expected):
    script = tmp_path / "script.py"
    script.write_text(text)
    assert needs_processes(script) is expected
