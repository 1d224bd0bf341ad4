"""Files that people name: never replaced unasked, checked before any work, not lost where they cannot be written."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import until
from weft import _core, catalogue, files
from weft.conset import pattern as find_pattern
from weft.conset.compiling import read as read_schedule
from weft.samples import read


@pytest.fixture
def weft(stand_ins, command):
    return command


SAMPLES = "measure echo --on alpha --bytes 8:8192 --hops 1:3 -o a.csv"

WRITERS = [
    ("measure echo --on alpha --bytes 8", "-o", "x.csv"),
    ("measure echo --on alpha --bytes 8", "-o", "x.parquet"),
    ("measure barrier --on alpha --ranks 4", "--trace", "x.json"),
    ("run --on alpha {} program.py", "--trace", "x.json"),
    ("measure echo --bytes 8", "-o", "x.csv"),
    ("health --on alpha", "-o", "x.csv"),
    ("import old.txt", "-o", "x.csv"),
    ("fit a.csv", "-o", "x.toml"),
    ("compare a.csv beta", "-o", "x.csv"),
    ("report a.csv", "-o", "x.html"),
    ("reproduce dunigan-1991", "-o", "x.csv"),
    ("calibrate --programs 16", "-o", "x.toml"),
    ("compile all-to-all --on iwarp64", "-o", "x.json"),
    ("show s.json", "-o", "x.html"),
    ("export s.json", "-o", "x.xml"),
    ("fghc run p.fghc", "-o", "x.csv"),
    ("fghc run p.fghc", "--trace", "x.json"),
    ("fghc advise p.fghc", "-o", "x.csv"),
]
"""Every option of a command that names a file which is written; at the end, or where {} stands."""


def with_option(line, option):
    """A command with an option."""
    return line.format(option) if "{}" in line else f"{line} {option}"


@pytest.mark.parametrize(("line", "option", "name"), WRITERS, ids=lambda part: part)
def test_a_file_that_exists_is_refused_before_any_work(weft, line, option, name, tmp_path):
    (tmp_path / name).write_text("mine")
    code, out, err = weft(with_option(line, f"{option} {name}"))
    assert code == 2
    assert err.replace("\n", " ").startswith(f"error: {name} exists: --force (from Python, force=True) replaces it")
    assert out == ""
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


@pytest.mark.parametrize(("line", "option", "name"), WRITERS, ids=lambda part: part)
def test_a_folder_that_is_not_there_is_refused_before_any_work(weft, line, option, name, tmp_path):
    code, _, err = weft(with_option(line, f"{option} nowhere/{name}"))
    assert code == 2
    assert f"error: nowhere/{name}: there is no folder nowhere" in err
    assert list(tmp_path.iterdir()) == []


def test_every_option_that_names_an_output_is_among_these():
    from typer.main import get_command

    from weft.cli.main import app

    found = set()

    def walk(group, words):
        for name, one in getattr(group, "commands", {}).items():
            walk(one, [*words, name])
        found.update(
            (" ".join(words), option)
            for parameter in group.params
            for option in parameter.opts
            if option in ("-o", "--trace", "--output")
        )

    walk(get_command(app), [])
    commands = {words for words, _ in found}
    assert commands - {"study", "suite"} == {
        "fghc advise" if line.startswith("fghc advise") else "fghc run" if line.startswith("fghc") else line.split()[0]
        for line, _, _ in WRITERS
    }


def test_force_replaces_it(weft, tmp_path):
    assert weft(SAMPLES)[0] == 0
    for line, name in ((SAMPLES, "a.csv"), ("fit a.csv -o x.toml", "x.toml"), ("report a.csv -o x.html", "x.html")):
        (tmp_path / name).write_text("source\n") if name != "a.csv" else None
        before = (tmp_path / name).stat().st_ino
        assert weft(f"{line} --force")[0] == 0
        assert (tmp_path / name).stat().st_ino != before
        assert (tmp_path / name).stat().st_size > 100


@pytest.mark.parametrize("kind", ["study", "suite"])
@pytest.mark.parametrize("name", ["samples.csv", "here.toml", "report.html"])
def test_a_folder_with_a_study_is_refused(weft, tmp_path, kind, name):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / name).write_text("mine")
    code, _, err = weft(f"{kind} -o there")
    assert code == 2
    assert (
        f"there/{name} exists: --force (from Python, force=True) replaces it, --resume adds launches to this study"
        in err.replace("\n", " ")
    )
    assert (tmp_path / "there" / name).read_text() == "mine"


def test_to_go_on_and_to_begin_again_is_one_of_the_two(weft):
    for line in ("measure echo -o x.csv", "study", "suite", "calibrate"):
        code, _, err = weft(f"{line} --resume --force")
        assert code == 2
        assert "--resume goes on with what is there, --force replaces it: one of the two" in err.replace("\n", " ")


def test_an_existing_file_from_python(tmp_path):
    import weft as package
    from weft import fghc
    from weft.conset import exchange

    path = tmp_path / "t.json"
    path.write_text("mine")
    program = tmp_path / "p.fghc"
    program.write_text(":- module(p).\nmain :- true | true.\n")
    for call in (
        lambda: package.simulate("ipsc860", "barrier", ranks=4, trace=path),
        lambda: exchange.simulate("iwarp64", ["messages"], pattern="torus", words=(32,), trace=path),
        lambda: fghc.run(program, trace=path),
    ):
        with pytest.raises(
            package.UsageError, match=r"t\.json exists: --force \(from Python, force=True\) replaces it"
        ):
            call()
    assert path.read_text() == "mine"


def test_what_cannot_be_written_in_the_end_is_elsewhere(weft, monkeypatch, tmp_path):
    """The folder goes while the command works."""
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "folder").mkdir()
    write = files.write_bytes

    def removed(content, path):
        if "folder" in str(path):
            shutil.rmtree(tmp_path / "folder", ignore_errors=True)
        write(content, path)

    monkeypatch.setattr(files, "write_bytes", removed)
    code, out, err = weft("measure echo --on alpha --bytes 8:64 --hops 1 -o folder/x.csv")
    assert code == 1
    (saved,) = (tmp_path / "elsewhere").iterdir()
    assert (
        err.replace("\n", " ")
        .strip()
        .endswith(
            f"error: folder/x.csv could not be written: there is no such folder. What belongs in it is in {saved}: "
            "move that to folder/x.csv once it can be written"
        )
    )
    assert len(read(saved)) == 4
    assert "echo" in out
    monkeypatch.setattr(files.tempfile, "tempdir", "/nowhere")
    (tmp_path / "folder").mkdir()
    code, out, err = weft("measure echo --on alpha --bytes 8:64 --hops 1 -o folder/x.csv")
    assert code == 1
    assert "nor could /nowhere/weft-x-" in err
    assert len(out.strip().splitlines()) == 5, "all samples are on standard output"


def test_a_disk_without_space_is_refused_before_any_work(weft, monkeypatch):
    monkeypatch.setattr(files.os, "statvfs", lambda path: type("Free", (), {"f_bavail": 3, "f_frsize": 1024}))
    code, _, err = weft("measure echo --on alpha -o x.csv")
    assert code == 2
    assert "x.csv: 3,072 bytes are free in ., and it needs some 65,536" in err.replace("\n", " ")


@pytest.mark.mpi
def test_a_measurement_that_is_killed_goes_on_and_comes_to_the_same_launches(native, tmp_path):
    words = [sys.executable, "-m", "weft.cli.main", "measure", "echo", "ring", "--bytes", "8,1K"]
    words += ["--seconds-per-point", "0.002", "--budget", "0", "--launches", "4", "-q", "-o", str(tmp_path / "x.csv")]
    journal = tmp_path / "x.csv.journal"
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 3, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    kept = [json.loads(line.partition(b" ")[2]) for line in journal.read_bytes().splitlines()[1:]]
    assert not (tmp_path / "x.csv").exists()
    again = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert again.returncode == 2
    assert "of an unfinished run (begun by `weft measure echo ring" in again.stderr.replace("\n", " ")
    done = subprocess.run([*words, "--resume"], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 3, done.stderr
    table = read(tmp_path / "x.csv")
    points = {(name, length, launch) for name in ("echo", "ring") for length in (8, 1024) for launch in range(4)}
    assert sorted(table.select("benchmark", "bytes", "repetition").rows()) == sorted(points)
    seconds = {(row["benchmark"], row["bytes"], row["repetition"]): row["seconds"] for row in table.to_dicts()}
    rows = [row for record in kept for row in record["rows"]]
    assert len(rows) >= 8
    assert all(seconds[row["benchmark"], row["bytes"], row["repetition"]] == row["seconds"] for row in rows)
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def is_searching(pid):
    """Whether a thread of weft has computed for longer than the pattern takes, whose thread has the same name."""
    for status in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end while it is read
            name, _, fields = status.read_text().partition("(")[2].rpartition(")")
            if name == "weft" and int(fields.split()[11]) >= 0.3 * os.sysconf("SC_CLK_TCK"):
                return True
    return False


def test_a_compilation_that_is_killed_goes_on_from_the_best_it_had(tmp_path):
    path, journal = tmp_path / "s.json", tmp_path / "s.json.journal"
    words = [sys.executable, "-m", "weft.cli.main", "compile", "random:12", "--on", "iwarp64", "--words", "500", "-q"]
    words += ["--effort", "600", "-o", str(path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 3, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    kept = [json.loads(json.loads(line.partition(b" ")[2])["plan"]) for line in journal.read_bytes().splitlines()[1:]]
    assert all(len([placed for phase in plan for placed in phase]) >= 64 * 12 for plan in kept)
    again = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert again.returncode == 2
    assert "of an unfinished run (begun by `weft compile random:12" in again.stderr.replace("\n", " ")
    resumed = subprocess.Popen([*words, "--resume"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: is_searching(resumed.pid), resumed)
    resumed.send_signal(signal.SIGINT)
    _, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 130
    assert err == f"interrupted: the best schedule so far is in {path}; --force looks for a better one\n"
    machine = catalogue.machine("iwarp64")
    found = find_pattern("random:12", machine, words=500)
    before, _ = _core.compile_connections(found, machine, effort=0.0, kept=json.dumps(kept[-1]))
    assert read_schedule(path).predicted_seconds <= before.predicted_seconds
    assert [found.name for found in tmp_path.iterdir()] == ["s.json"]


CTRL_C = """
import os, signal, sys, time
from pathlib import Path
from weft.cli import outputs
output = Path(sys.argv[1])
with outputs.journal(output, {"test": 1}, resume=False, force=False) as log:
    if sys.argv[2] == "kept":
        log.append({"launch": 0})
    output.with_name(f".{output.name}.abc.part").touch()
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        print("ended", flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("kept", ["kept", "nothing"])
def test_a_second_ctrl_c_ends_a_command_at_once_and_keeps_the_journal(tmp_path, kept):
    path = tmp_path / "x.csv"
    words = [sys.executable, "-c", CTRL_C, str(path), kept]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "ended\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    journal = tmp_path / "x.csv.journal"
    left = f"what was found is kept in {journal}: the same command with --resume goes on with it"
    assert err == (f"interrupted twice: {left}\n" if kept == "kept" else "interrupted twice\n")
    assert list(tmp_path.iterdir()) == ([journal] if kept == "kept" else [])
