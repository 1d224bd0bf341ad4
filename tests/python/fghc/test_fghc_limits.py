"""Options that are refused, memory that is counted, and Ctrl-C in the middle of something."""

import json
import os
import signal
import subprocess
import sys

import pytest

from waiting import until
from weft import fghc
from weft._core import UsageError, fghc_check, fghc_run, fghc_run_threads

SOURCE = json.dumps([["small.fghc", ":- module small.\n:- public main/0.\nmain :- write(hello).\n"]])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ('{"heap": "64M"}', 'invalid type: string "64M", expected u64'),
        ('{"sed": 3}', "unknown field `sed`, expected one of `heap`, `seed`"),
        ('{"interpret": "yes"}', 'invalid type: string "yes", expected a boolean'),
        ('{"collect_every": -4}', "invalid value: integer `-4`, expected u64"),
        ('{"collect_every": 0}', "a collection every 0 reductions: give at least 1"),
        ('{"heap": 5}', "a heap of 5 bytes is too small: give at least 64K"),
        ('{"enlarge": true}', "only a described machine can be made larger"),
        ('{"step_time": 1.0}', "only described machines are charged"),
        ("[]", "options of a run in FGHC"),
        ("{", "options of a run in FGHC"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_alike_everywhere(options, wanted):
    with pytest.raises(UsageError) as alone:
        fghc_run(SOURCE, "main", options)
    with pytest.raises(UsageError) as threads:
        fghc_run_threads(SOURCE, "main", 1, options)
    assert wanted in str(alone.value)
    assert str(alone.value) == str(threads.value)


def test_one_pe_and_many_give_results_of_one_form():
    alone = json.loads(fghc_run(SOURCE, "main", "{}", True))
    threads = json.loads(fghc_run_threads(SOURCE, "main", 1, "{}", True))
    assert alone.keys() == threads.keys()
    assert alone["pes"][0].keys() == threads["pes"][0].keys()
    assert alone["output"] == threads["output"] == "hello\n"


@pytest.mark.parametrize("sources", ["{}", '[["a"]]', '[["a", 3]]', "["])
def test_sources_of_another_form_are_refused(sources):
    with pytest.raises(UsageError, match="a list of names and texts"):
        fghc_check(sources)


def test_a_byte_order_mark_is_skipped(tmp_path):
    program = tmp_path / "marked.fghc"
    program.write_bytes(b"\xef\xbb\xbfmain :- write(hello).\r\n")
    assert fghc.check(program).findings == []
    assert fghc.run(program).output == "hello\n"


def test_a_file_without_an_end_is_refused(tmp_path):
    with pytest.raises(UsageError, match="/dev/zero: more than 16777216 bytes; divide the program"):
        fghc.check("/dev/zero")


def test_long_lines_and_control_characters_do_not_get_into_findings(tmp_path):
    program = tmp_path / "long.fghc"
    program.write_text("main :- " + "x" * 100_000 + "\x1b[31m ) .\nother :- \x1b]0;title\x07 .\n")
    report = fghc.check(program)
    assert report.errors >= 2
    assert len(report.text) < 2000
    assert "\x1b" not in report.text


def test_output_that_is_captured_has_a_limit(tmp_path):
    program = tmp_path / "talk.fghc"
    program.write_text("main(N) :- M := N + 1 | write(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa), main(M).\n")
    done = fghc.run(program, goal="main(0)", heap=1 << 20)
    assert done.status == "failed"
    assert "the program writes more than the 1048576 bytes of its heap's limit" in done.message


def test_goals_that_nothing_can_wake_are_counted(tmp_path):
    program = tmp_path / "lost.fghc"
    program.write_text("main(0).\nmain(N) :- N > 0, M := N - 1 | wait(_, N), main(M).\nwait(1, _).\n")
    done = fghc.run(program, goal="main(200000)", heap=1 << 20)
    assert (done.status, done.waiting_count, len(done.waiting)) == ("suspended", 200_000, 1000)
    command = [sys.executable, "-m", "weft.cli.main", "fghc", "run", program, "--goal", "main(30000)"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 1
    assert "and 29,980 more" in said.stderr


def interrupted(tmp_path, goal, twice, *words):
    started = tmp_path / "started"
    program = tmp_path / "long.fghc"
    program.write_text(
        f"begin(G) :- unix:unix([write_open(\"{started}\", O)]), shut(O, G).\n"
        "shut(normal(S), R) :- S = [], R = go.\n"
        "blow(go) :- tree(60, X), print(X).\n"
        "tree(0, X) :- X = leaf.\n"
        "tree(N, X) :- N > 0, M := N - 1 | X = t(Y, Y), tree(M, Y).\n"
        "wait(go) :- unix:unix([stdin(R)]), ask(R).\nask(normal(S)) :- S = [getc(_)].\n"
    )  # fmt: skip
    command = [sys.executable, "-m", "weft.cli.main", "fghc", "run", program, "--goal", goal, *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True) as running:
        until(started.exists, running)
        os.kill(running.pid, signal.SIGINT)
        if twice:
            os.kill(running.pid, signal.SIGINT)
        # Standard input stays open: nothing but Ctrl-C ends what reads it.
        code = running.wait(timeout=30)
        said = running.stderr.read()
    assert (code, "Traceback" in said, "panicked" in said) == (130, False, False), said
    return said


@pytest.mark.parametrize("words", [(), ("--interpret",), ("-n", "2")], ids=["native", "interpreted", "two PEs"])
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
def test_ctrl_c_ends_what_is_no_reduction(tmp_path, twice, words):
    interrupted(tmp_path, "begin(G), blow(G)", twice, "--heap", "4G", *words)


def test_ctrl_c_ends_a_wait_for_input(tmp_path):
    interrupted(tmp_path, "begin(G), wait(G)", False)
