"""Running programs: results, counters, the command's exit codes and messages."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import until
from weft import fghc
from weft._core import RunError, UsageError

PROGRAMS = Path(__file__).parents[3] / "programs" / "fghc"
QUEENS = "t([1,2,3,4,5,6,7,8],6,2)"


def command(*words):
    return [sys.executable, "-m", "weft.cli.main", "fghc", "run", *map(str, words)]


def run(*words):
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("interpret", [False, True])
def test_a_run_tells_what_was_counted(interpret):
    done = fghc.run(PROGRAMS / "program1.fghc", goal=QUEENS, counts=True, interpret=interpret)
    assert done.status == "done"
    assert done.reductions == 38_879
    assert len(done.output.splitlines()) == 92
    assert done.counts["queenx:append/3"] == 12_052
    assert [pe.pe for pe in done.pes] == [0]


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.fghc")), ids=lambda path: path.stem)
def test_native_and_interpreted_runs_agree(path):
    if ":- public main/0" not in path.read_text():
        pytest.skip("has no goal main")
    native = fghc.run(path)
    interpreted = fghc.run(path, interpret=True)
    shuffled = fghc.run(path, seed=5, collect_every=20)
    assert (native.status, native.reductions, native.output) == (
        interpreted.status,
        interpreted.reductions,
        interpreted.output,
    )
    assert native.pes[0].suspensions == interpreted.pes[0].suspensions
    if path.stem not in ("metacalls", "several"):  # which answer of several they give depends on the order
        assert (shuffled.status, sorted(shuffled.output)) == (native.status, sorted(native.output))


def test_statistics_have_a_row_for_each_pe_and_a_total():
    done = run(PROGRAMS / "program1.fghc", "--goal", QUEENS, "--stats", "csv")
    assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in done.stdout.splitlines()[92:]]
    assert rows[0][:3] == ["pe", "reductions", "suspensions"]
    assert [row[:2] for row in rows[1:]] == [["0", "38879"], ["total", "38879"]]
    done = run(PROGRAMS / "program1.fghc", "--goal", QUEENS, "--stats", "json")
    assert json.loads(done.stdout.splitlines()[-1])["total"]["reductions"] == 38_879


def test_what_cannot_go_on_is_shown():
    done = run(PROGRAMS / "deadlock.fghc", "--goal", "cross(0)")
    assert done.returncode == 1
    assert "goals wait for variables that nothing will bind" in done.stderr
    assert " waits for _" in done.stderr


def test_what_cannot_be_meant_is_said(tmp_path):
    with pytest.raises(UsageError, match="counted on one PE here only"):
        fghc.run(PROGRAMS / "program1.fghc", goal=QUEENS, pes=4, counts=True)
    with pytest.raises(RunError, match="the program has errors"):
        fghc.run(PROGRAMS / "program1.fghc", goal="nothing_of_the_kind(1)")
    done = run(PROGRAMS / "program1.fghc", "--goal", QUEENS, "--heap", "lots")
    assert done.returncode == 2
    assert "64M" in done.stderr
    program = tmp_path / "fails.fghc"
    program.write_text(":- module fails.\n:- public main/0.\nmain :- p(3).\np(1).\n")
    done = run(program)
    assert done.returncode == 1
    assert "no clause of fails:p/1 can take the goal" in done.stderr
    assert "p(3)" in done.stderr


def test_a_small_heap_is_reported(tmp_path):
    program = tmp_path / "grow.fghc"
    program.write_text(
        ":- module grow.\n:- public main/0.\nmain :- grow([], 0).\ngrow(L, N) :- M := N + 1 | grow([N|L], M).\n"
    )
    done = run(program, "--heap", "1M")
    assert done.returncode == 1
    assert "the heap is exhausted" in done.stderr


def test_ctrl_c_shows_the_state(tmp_path):
    program = tmp_path / "loop.fghc"
    started = tmp_path / "started"
    program.write_text(
        f':- module loop.\n:- public main/0.\nmain :- unix:unix([write_open("{started}", O)]), shut(O).\n'
        "shut(normal(S)) :- S = [], loop(0).\nloop(N) :- M := N + 1 | loop(M).\n"
    )
    running = subprocess.Popen(command(program), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    until(started.exists, running)
    os.kill(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted after" in said
    assert "loop(" in said


IO = """
:- module main.
:- public main/0.
main :- io:outstream([print(item("a", 'B c')), putc(33), nl, print("text"), puts(" more"), nl | Rest]),
    late(X), Rest = [print(X), nl], show([1, 2, 3]).
late(X) :- X = f(Y), Y = g.
show([]).
show([N|Rest]) :- io:outstream([print(N), nl]), show(Rest).
"""


@pytest.mark.parametrize("interpret", [False, True])
def test_the_module_io_prints_as_klic_does(tmp_path, interpret):
    path = tmp_path / "out.fghc"
    path.write_text(IO)
    done = fghc.run(path, interpret=interpret)
    assert done.status == "done"
    lines = done.output.splitlines()
    assert sorted(lines) == sorted(["item(a,B c)!", '"text" more', "f(g)", "1", "2", "3"])


def test_the_module_io_reads_and_writes_files(tmp_path):
    program = tmp_path / "copy.fghc"
    program.write_text(
        ":- module main.\n:- public main/0.\n"
        "main :- unix:argv([From, To]), io:instream(From, In), io:outstream(To, Out), In = [getc(C)|Rest], "
        "copy(C, Rest, Out).\n"
        "copy(-1, In, Out) :- In = [], Out = [].\n"
        "copy(C, In, Out) :- C >= 0 | Out = [putc(C)|More], In = [getc(D)|Rest], copy(D, Rest, More).\n"
    )
    (tmp_path / "from.txt").write_text("two\nlines\n")
    done = run(program, "--argument", tmp_path / "from.txt", "--argument", tmp_path / "to.txt")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "to.txt").read_text() == "two\nlines\n"
