"""The command line as people see it: output, messages, exit codes."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from waiting import children, until
from weft.samples import read


@pytest.fixture
def weft(stand_ins, command):
    return command


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("measure ehco", "there is no benchmark 'ehco'; did you mean 'echo'?"),
        ("measure xyzzy", "there is no benchmark 'xyzzy'; `weft measure --help` lists them"),
        ("measure echo --on alfa", "there is no machine 'alfa'; did you mean 'alpha'?"),
        ("measure echo --on alpha --hops 7", "no two nodes of alpha are 7 hops apart"),
        ("measure echo --bytes 8:x", "bytes: 'x' in '8:x' is not a number"),
        ("measure echo --hops 0", "hops: 0 in '0' means nothing; the least is 1"),
        ("measure echo --ranks 0", "ranks: 0 in '0' means nothing; the least is 1"),
        ("measure barrier --bytes 8", "barrier sends no data, so it takes no bytes"),
        ("measure ring --hops 2", "ring takes no hops; echo does"),
        ("measure allreduce --bytes 0 --on alpha", "zero bytes means nothing"),
        ("measure allreduce --bytes 0", "zero bytes means nothing"),
        ("measure echo --trace t.json", "--trace is of a simulated run; name a machine with --on"),
        ("measure echo --resume", "--resume goes on with a file; name it with -o"),
        ("measure echo --on alpha -o nowhere/x.csv", "there is no folder nowhere"),
        ("measure echo --on alpha -o x.txt", "x.txt: expected a name that ends in .csv or .parquet"),
        ("measure echo ring --on alpha --trace t.json", "a timeline shows one run"),
        ("fit missing.csv", "missing.csv: No such file or directory"),
        ("compare alpha", "a comparison needs two subjects or more"),
        ("reproduce dunigan-1992", "there is no paper 'dunigan-1992'; did you mean 'dunigan-1991'?"),
        ("machines show alfa", "did you mean 'alpha'?"),
        ("machines mine.toml", "`weft machines show mine.toml` shows a machine"),
        ("machines grain alfa", "did you mean 'alpha'?"),
        ("machines grain missing.csv", "missing.csv: No such file or directory"),
        ("measure arithmetic --ranks 4", "arithmetic runs on one rank: it is of one node and sends no messages"),
        ("measure arithmetic --bytes 8", "arithmetic sends no messages, so it takes no bytes"),
        ("measure arithmetic --variant nothing", "arithmetic has no row 'nothing'; there are float64_multiply"),
        ("measure echo --neighbours 2", "echo takes no neighbours"),
        ("measure echo --probe 13", "probe: '13' is not a pair of ranks; expected for example '1-3'"),
        ("measure echo --extent 8", "echo takes no extent; pshift does"),
        ("measure stream --on alpha", "alpha has no stream (copy): it is more than its operations"),
        ("measure stream --on alpha --threads 2", "threads is of a measurement here"),
        ("reproduce dunigan-1991 --figure 13", "dunigan-1991 has no figure 13; there are 1 to 12"),
        ("report missing.csv -o r.html", "missing.csv: No such file or directory"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_message_and_ends_with_2(weft, line, message, tmp_path):
    code, out, err = weft(line)
    assert code == 2
    assert message in err.replace("\n", " ")
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ["frobnicate", "measure echo --byte 8", "measure echo --launches none"])
def test_words_that_are_no_command_end_with_2(weft, line):
    code, _, err = weft(line)
    assert code == 2
    assert "Traceback" not in err


def test_a_defect_is_called_one_and_debug_shows_where(weft, monkeypatch):
    import weft as package

    monkeypatch.setattr(package, "machines", lambda: 1 / 0)
    code, _, err = weft("machines")
    assert code == 1
    assert "internal error: ZeroDivisionError" in err
    assert "Traceback" not in err
    code, _, err = weft("machines --debug")
    assert code == 1
    assert "Traceback" in err


def test_a_malformed_file_of_samples_names_the_place(weft, tmp_path):
    (tmp_path / "bad.csv").write_text("source,machine\nmeasured,here\n")
    code, _, err = weft("fit bad.csv")
    assert code == 2
    assert "bad.csv: the columns benchmark" in err


def test_a_fit_that_is_not_determined_ends_with_1(weft, tmp_path):
    header = "source,machine,benchmark,ranks,hops,bytes,repetition,seconds\n"
    (tmp_path / "one.csv").write_text(header + "measured,here,echo,2,1,8,0,1e-6\n")
    code, _, err = weft("fit one.csv -o here.toml")
    assert code == 1
    assert err.startswith("error: ")
    assert not (tmp_path / "here.toml").exists()


def test_a_startup_that_may_be_0_makes_no_machine(weft, tmp_path):
    header = "source,machine,benchmark,ranks,hops,bytes,repetition,seconds\n"
    times = [(8, 1e-6), (8, 3e-6), (1024, 1.5e-6), (1024, 9e-7), (65536, 2e-6), (65536, 8e-6)]
    lines = [f"measured,here,echo,2,1,{length},{number},{time}\n" for number, (length, time) in enumerate(times)]
    (tmp_path / "noisy.csv").write_text(header + "".join(lines))
    code, out, err = weft("fit noisy.csv -o here.toml")
    assert code == 1, out
    assert "the startup of here, " in err
    assert "cannot be told from 0 (it is below " in err
    assert "so no machine file was written; measure more short messages and more launches" in err
    assert not (tmp_path / "here.toml").exists()
    assert weft("fit noisy.csv")[0] == 0


@pytest.mark.parametrize(
    ("spread", "why"),
    [
        ([(1.0, 3.0, 2.0), (2.0, 0.9, 4.0), (1.0, 5.0, 1.5)], "the startup of here is anything from "),
        ([(1.0, 1.001, 1.002)] * 3, "the byte time of here cannot be told from 0, so no machine file was written"),
    ],
    ids=["wide", "flat"],
)
def test_what_is_not_known_makes_no_machine(weft, tmp_path, spread, why):
    lengths = zip((8, 64, 512), spread, strict=True)
    rows = [f"measured,here,echo,2,1,{n},{k},{f * 1e-6}\n" for n, times in lengths for k, f in enumerate(times)]
    header = "source,machine,benchmark,ranks,hops,bytes,repetition,seconds\n"
    (tmp_path / "few.csv").write_text(header + "".join(rows))
    code, out, err = weft("fit few.csv -o here.toml")
    assert code == 1, out
    assert why in err
    assert not (tmp_path / "here.toml").exists()


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version(weft, option):
    from weft._core import __version__

    assert weft(option) == (0, f"weft {__version__}\n", "")


def test_csv_has_the_promised_columns(weft):
    code, out, _ = weft("measure echo --on alpha --bytes 8:64 --hops 1:2 --format csv")
    assert code == 0
    found = list(csv.DictReader(io.StringIO(out)))
    assert list(found[0])[:8] == ["source", "machine", "benchmark", "ranks", "hops", "bytes", "repetition", "seconds"]
    assert len(found) == 8
    assert {row["source"] for row in found} == {"simulated"}


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_samples_go_to_files(weft, tmp_path, name):
    code, out, err = weft(f"measure echo ring --on beta --bytes 8,1K -o {name}")
    assert code == 0
    assert "4 samples" in err
    assert "1 KiB" in out
    assert read(tmp_path / name)["bytes"].to_list() == [8, 1024, 8, 1024]


def test_a_timeline_is_written(weft, tmp_path):
    code, _, err = weft("measure barrier --on alpha --ranks 4 --trace t.json")
    assert code == 0
    assert "traceEvents" in json.loads((tmp_path / "t.json").read_text())
    assert "ui.perfetto.dev" in err


def test_fit_compare_and_report_follow_each_other(weft, tmp_path):
    assert weft("measure echo --on alpha --bytes 8:8192 --hops 1:3 -o a.csv")[0] == 0
    code, out, _ = weft("fit a.csv -o alpha2.toml")
    assert code == 0
    assert "startup" in out
    assert "name = " in (tmp_path / "alpha2.toml").read_text()
    code, out, _ = weft("compare a.csv beta --format csv")
    assert code == 0
    table = pl.read_csv(io.StringIO(out))
    assert table["ratio beta"].max() < 1
    code, _, _ = weft("report a.csv -o r.html")
    assert code == 0
    assert (tmp_path / "r.html").stat().st_size > 1e6


def test_help_teaches(weft):
    code, out, _ = weft("measure --help")
    assert code == 0
    for words in ("what echo does", "what allreduce does", "Examples", "weft measure echo --on ipsc860 --hops 1:6"):
        assert words in out
    for command in ("machines", "machines show", "measure", "fit", "compare", "report", "reproduce", "study", "suite"):
        assert "Examples" in weft(f"{command} --help")[1], command


def test_the_node_suite_is_priced_on_described_machines(weft):
    code, out, err = weft("measure arithmetic stream --on alpha --format csv")
    assert code == 0
    assert "alpha has no stream (copy)" in err.replace("\n", " ")
    found = list(csv.DictReader(io.StringIO(out)))
    assert [(row["variant"], row["rate_unit"]) for row in found] == [("float64_multiply", "Mflop/s")]
    assert float(found[0]["seconds"]) == pytest.approx(1e-7)


def test_the_conclusion_is_data(weft):
    code, out, _ = weft("machines grain --format csv")
    assert code == 0
    found = pl.read_csv(io.StringIO(out))
    assert found["machine"].unique(maintain_order=True).to_list() == ["alpha", "beta"]
    half = found.filter((pl.col("share") == 0.5) & (pl.col("bytes") == 8))
    assert half["operations"].to_list() == pytest.approx(half["ratio"].to_list())
    code, out, _ = weft("machines grain")
    assert code == 0
    assert "operations at 5%" in out


def test_a_file_without_both_figures_says_what_makes_them(weft):
    assert weft("measure ring --on beta --bytes 8 -o r.csv")[0] == 0
    code, _, err = weft("machines grain r.csv")
    assert code == 2
    assert "weft measure echo arithmetic -o FILE" in err.replace("\n", " ")


def test_ranks_that_are_not_the_first_are_silent(weft, monkeypatch, tmp_path):
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "2")
    assert weft("measure echo -o x.csv") == (0, "", "")
    assert weft("measure ehco") == (2, "", "")
    assert list(tmp_path.iterdir()) == []


def test_the_first_rank_of_a_launcher_writes_and_counts_launches(weft, monkeypatch, tmp_path):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "2")
    code, _, err = weft("measure echo --bytes 8:64 -o x.csv")
    assert code == 0
    assert "One launch" in err
    assert weft("measure echo --bytes 8:64 -o x.csv --resume")[0] == 0
    found = read(tmp_path / "x.csv")
    assert found["repetition"].to_list() == [0] * 4 + [1] * 4
    assert weft("measure echo --ranks 4")[0] == 2


def test_a_study_within_a_launcher_is_refused(weft, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "2")
    for command in ("study", "suite"):
        code, _, err = weft(command)
        assert code == 2
        assert f"weft {command} starts its own ranks" in err
        assert "run it by itself" in err.replace("\n", " ")
    code, _, err = weft("measure arithmetic")
    assert code == 2
    assert "measure it by itself" in err.replace("\n", " ")


def command(*words, **variables):
    return subprocess.run(
        [sys.executable, "-m", "weft.cli.main", *words],
        capture_output=True, text=True, check=False, env=os.environ | variables, timeout=120,
    )  # fmt: skip


@pytest.mark.mpi
def test_real_echo_over_mpi(native, tmp_path):
    path = tmp_path / "here.csv"
    found = command(
        "measure", "echo", "--bytes", "8,1K", "--seconds-per-point", "0.002", "--budget", "0", "-o", str(path)
    )
    assert found.returncode == (3 if "NOT CONVERGED" in found.stderr else 0), found.stderr
    table = read(path)
    assert set(table["source"]) == {"measured"}
    assert sorted(set(table["repetition"])) == list(range(6))
    assert table["seconds"].is_between(1e-8, 1.0).all()
    assert table["library"].n_unique() == 1


@pytest.mark.mpi
def test_a_measurement_that_has_not_converged_ends_with_3_and_keeps_its_samples(native, tmp_path):
    path = tmp_path / "here.csv"
    words = [
        "echo",
        "--bytes",
        "8",
        "--launches",
        "2",
        "--half-width",
        "0.0001",
        "--budget",
        "0",
        "-q",
        "-o",
        str(path),
    ]
    found = command("measure", *words, "--seconds-per-point", "0.002")
    assert found.returncode == 3, found.stderr
    assert "NOT CONVERGED" in found.stderr
    assert len(read(path)) == 2


def test_a_wrong_library_is_named(native):
    found = command("measure", "echo", "--bytes", "8", WEFT_MPI_LIBRARY="/nowhere/libmpi.so")
    assert found.returncode == 1
    assert "/nowhere/libmpi.so" in found.stderr
    assert "Traceback" not in found.stderr


def test_no_mpiexec_is_said(native):
    found = command("measure", "echo", "--bytes", "8", WEFT_MPIEXEC="/nowhere/mpiexec")
    assert found.returncode == 1
    assert "WEFT_MPIEXEC is '/nowhere/mpiexec', but there is no such program" in found.stderr


def test_a_file_that_is_no_library_is_named(native, tmp_path):
    wrong = tmp_path / "libmpi.so"
    wrong.write_text("not a library")
    own = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    variables = {"WEFT_MPI_LIBRARY": str(wrong), "WEFT_MPIEXEC": own}
    found = command("measure", "echo", "--bytes", "8", **variables)
    assert found.returncode == 1
    assert str(wrong) in found.stderr
    assert "Traceback" not in found.stderr


def test_too_many_hops_on_a_real_machine_are_usage(native):
    assert command("measure", "echo", "--bytes", "8", "--on", "ipsc2", "--hops", "7").returncode == 2


@pytest.mark.mpi
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="launches are seen in /proc")
def test_an_interrupted_measurement_keeps_its_launches(native, tmp_path):
    path = tmp_path / "here.csv"
    words = [sys.executable, "-m", "weft.cli.main", "measure", "echo", "--bytes", "8", "--seconds-per-point", "0.2"]
    words += ["--launches", "50", "-o", str(path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen: set[int] = set()

    def second_launch() -> bool:
        seen.update(children(process.pid))
        # The first is the process that outlives this one to end its launches.
        return len(seen) > 2

    until(second_launch, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert set(read(path)["status"]) == {"interrupted"}
    assert "--resume" in err


@pytest.mark.mpi
def test_a_budget_holds_against_launches(native, tmp_path):
    path = tmp_path / "here.csv"
    words = ["echo", "--bytes", "8", "--seconds-per-point", "0.5", "--launches", "1000", "--budget", "0.1"]
    found = command("measure", *words, "-o", str(path))
    assert found.returncode == 3, found.stderr
    said = " ".join(found.stderr.split())
    assert "--budget 0.1 ended it before the 1000 launches that were asked for; go on with --resume." in said
    assert len(read(path)) == 1


def test_exchanges_take_no_budget():
    found = command("measure", "messages", "--pattern", "all-to-all", "--ranks", "2", "--budget", "5")
    assert found.returncode == 2
    assert "--budget: exchanges are measured in just --launches launches" in found.stderr


@pytest.mark.mpi
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="launches are seen in /proc")
def test_a_measurement_interrupted_in_its_first_launch_says_what_there_is(native, tmp_path):
    path = tmp_path / "here.csv"
    words = [sys.executable, "-m", "weft.cli.main", "measure", "echo", "--bytes", "8", "--seconds-per-point", "60"]
    words += ["--launches", "2", "--budget", "600", "-o", str(path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # The first child is the process that outlives this one to end its launches, the second the first launch.
    until(lambda: len(children(process.pid)) > 1, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted: nothing was measured yet, and nothing was written; run it again" in err
    assert list(tmp_path.iterdir()) == []
