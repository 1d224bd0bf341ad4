"""`weft fghc advise`: the bound, the sites and the best grain."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.fghc import advising
from weft.fghc.advising import advise

PROGRAM = Path(__file__).parents[3] / "programs" / "fghc" / "program1.fghc"
GOAL = "t([1,2,3,4,5,6],PEs,Depth)"


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "weft.cli.main", "fghc", "advise", *map(str, words)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_the_best_grain_is_the_fastest_of_all():
    advice = advise(PROGRAM, goal=GOAL, pes=4, on="multi-psi-v1", grain="Depth", grains=(1, 4))
    assert [standing.grain for standing in advice.standings] == [1, 2, 3, 4]
    fastest = min(advice.standings, key=lambda standing: standing.run.seconds)
    assert advice.best is fastest
    assert advice.best.run.goal == f"t([1,2,3,4,5,6],4,{advice.best.grain})"
    for standing in advice.standings:
        assert standing.ideal == pytest.approx(4 / 2.25e-3)
        assert 0.0 < standing.share <= standing.run.work_rate + 1e-9
        assert standing.largest_rate == pytest.approx(1 / standing.relative_time)
    assert advice.sites[0].text.startswith("alloc(P1)@@queen_n(")


def test_a_smaller_share_allows_more_messages():
    found = [advise(PROGRAM, goal=GOAL.replace("Depth", "2"), pes=4, on="multi-psi-v1", lowest=s) for s in (0.5, 0.8)]
    assert found[0].best.largest_rate == pytest.approx(4 * found[1].best.largest_rate)


def test_a_long_range_is_searched_from_far_to_near(monkeypatch):
    tried = []

    class Asked:
        def __init__(self, *words):
            pass

        def standing(self, grain, pes, lowest):
            tried.append(grain)

            class Run:
                performance = -abs(grain - 700)
                messages = 0

            return advising.Standing(grain, Run(), 1.0, None, None)

    monkeypatch.setattr(advising, "_Asked", Asked)
    advice = advise(PROGRAM, goal=GOAL, pes=4, grain="Depth", grains=(1, 1000))
    assert advice.best.grain == 700
    assert len(tried) == len(set(tried)) < 60


def test_here_it_is_measured():
    advice = advise(PROGRAM, goal=GOAL.replace("Depth", "2"), pes=2, launches=2)
    assert advice.best.run.machine == "here"
    assert advice.best.ideal > 0


def test_on_the_command_line():
    words = (PROGRAM, "--goal", GOAL, "-n", 4, "--on", "multi-psi-v1", "--grain", "Depth", "1:3")
    done = run(*words, "--lowest", "50%")
    assert done.returncode == 0, done.stderr
    assert "Messages alone leave 50% of the ideal performance up to" in done.stdout
    assert "alloc(P1)@@queen_n(" in done.stdout
    assert "best" in done.stdout
    found = json.loads(run(*words, "--json").stdout)
    assert [each["grain"] for each in found["tried"]] == [1, 2, 3]
    assert found["sites"][0]["throws"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--lowest", "120%"), "above 0% and below 100%"),
        (("--lowest", "half"), "'half' is no share"),
        (("--grain", "Width", "1:3"), "has no variable Width"),
        (("--grain", "Depth", "1-3"), "'1-3' is no range"),
        (("--grain", "Depth", "3:1"), "is empty"),
    ],
)
def test_bad_requests_are_refused(words, message):
    done = run(PROGRAM, "--goal", GOAL, "-n", 4, "--on", "multi-psi-v1", *words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_a_program_without_an_end_gives_no_advice(tmp_path):
    program = tmp_path / "waits.fghc"
    program.write_text("main :- p(X)@node(1), q(X).\np(X) :- X = 1 | true.\nq(_).\n")
    with pytest.raises(weft.RunError, match="cannot go on"):
        advise(program, pes=2, on="multi-psi-v1")
