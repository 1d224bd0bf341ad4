"""The short form of the fault campaign (benches/faults): nothing hangs, stays or is lost, and messages are clear."""

import dataclasses
import random
from pathlib import Path

import pytest

from benches.faults import checks, faults, trial
from benches.faults.faults import Fault
from benches.faults.kinds import KINDS

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc"),
]

ATTEMPTS = 3
"""Hydra kills the other ranks of one that was killed: on a busy machine, sometimes before one of them has said so."""
UNHEARD = "unclear: no message of weft"
KILLED_BY_HYDRA = "EXIT STRING: Killed (signal 9)"

OF_NAME = {kind.name: kind for kind in KINDS}


def _long(kind):
    """The same of many launches: no machine is so fast that it has ended before its fault."""
    words = list(kind.words)
    if "--launches" in words:
        words[words.index("--launches") + 1] = "60"
    return dataclasses.replace(kind, words=tuple(words))


@pytest.mark.parametrize(
    ("name", "sort", "where", "moment"),
    [
        ("measure", "SIGKILL", "first", 0.5),
        ("measure", "SIGKILL", "mpiexec", 0.3),
        ("measure", "SIGKILL", "rank", 0.1),
        ("measure-node", "SIGTERM", "rank", 0.3),
        ("compile", "SIGHUP", "first", 0.03),
        ("program", "SIGKILL", "proxy", 0.9),
        ("program", "SIGKILL", "rank", 0.9),
    ],
)
def test_a_fault(native, tmp_path, name, sort, where, moment):
    usual = trial.Undisturbed(3.0, set(), 1.0)
    # What comes of --resume is compared with an undisturbed run, by the campaign and by the tests of journals.
    kind = _long(OF_NAME[name]).without_resuming()
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        outcome = trial.disturbed(
            0, kind, Fault(sort, where, moment), random.Random(16), usual, folder, faults.can_mount()
        )
        if not (kind.under_mpiexec and outcome.failures == [UNHEARD] and KILLED_BY_HYDRA in outcome.said):
            break
    assert outcome.failures == [], outcome.said
    assert outcome.hit


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("error: something went wrong", "no clear message"),
        ("", "no message of weft"),
        ("error: internal error: KeyError: 'x'\nThis is a defect of weft", "a defect is reported"),
        ("error: rank 1: the process was killed by signal 9 (Killed)", "no clear message"),
        ("error: rank 1: the process was killed by signal 9 (Killed); find out what ended it, and measure again", None),
    ],
)
def test_the_checker_tells_clear_messages_from_others(said, problem):
    assert checks.unclear(said, by_hydra=False, is_program=False, had_begun=True) == problem


def test_the_checker_finds_what_is_half_written_or_lost(tmp_path):
    half, output = tmp_path / "half.csv", tmp_path / "whole.csv"
    half.write_text("benchmark,repetition,seconds\necho,0")
    output.write_text("benchmark,repetition,seconds\necho,0,1.5\n")
    assert not checks.whole(half)
    assert checks.whole(output)
    rows = [{"benchmark": "echo", "repetition": number, "seconds": 1.5} for number in range(3)]
    assert checks.lost([{"rows": rows}], output) == 2
