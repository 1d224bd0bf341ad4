"""weft estimate, calibrate and advise as people see them."""

import csv
import io
import json

import pytest

from weft.estimation import random_programs

PROGRAM = """
import argparse
import numpy as np
import weft

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=8192)
parser.add_argument("--times", type=int, default=3)
chosen = parser.parse_args()
vp = weft.pvar.VPSet(chosen.size)
x = vp.zeros(np.float32)
address = vp.array(np.random.default_rng(1).permutation(chosen.size))
for _ in range(chosen.times):
    x = weft.pvar.get(x, address) + 1
print("done")
"""


@pytest.fixture
def weft(native, command, monkeypatch, tmp_path):
    """Runs a command in a folder of its own with a program and no costs; exit code, output, errors."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(random_programs, "LARGEST", 128)
    monkeypatch.setattr(random_programs, "PASSES", {0: 1})
    monkeypatch.setattr(random_programs, "AGAIN", 1)
    (tmp_path / "program.py").write_text(PROGRAM)
    return command


def test_an_estimate_as_csv_ends_with_the_total(weft):
    code, out, err = weft("estimate program.py --on cm2-8k --size 4096 --format csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["operation"], row["count"]) for row in rows] == [
        ("broadcast", "1"),
        ("get", "3"),
        ("add", "3"),
        ("total", "7"),
    ]
    assert float(rows[-1]["real_s"]) == pytest.approx(sum(float(row["real_s"]) for row in rows[:-1]))
    assert float(rows[-1]["low_s"]) < float(rows[-1]["real_s"]) < float(rows[-1]["high_s"])
    assert "note: Arrays that go to or come from the front end" in err
    assert "done" not in out


def test_an_estimate_as_json_and_as_a_table(weft):
    code, out, _ = weft("estimate program.py --on cm2-8k --format json")
    assert code == 0
    found = json.loads(out)
    assert (found["machine"], found["program"], found["total"]["count"]) == ("cm2-8k", "program.py", 7)
    code, out, _ = weft("estimate program.py --on cm2-8k")
    assert code == 0
    assert "program.py on cm2-8k" in out
    assert "range within 10% of each operation and 30% of the total:" in out


def test_words_behind_dashes_are_the_programs(weft):
    code, out, _ = weft("estimate program.py --on cm2-8k --format csv -- --times 5")
    assert code == 0
    assert "get,5," in out


def test_advice_names_the_line(weft):
    code, out, _ = weft("advise program.py --on cm2-8k")
    assert code == 0
    assert "program.py:14  general store instead of general fetch" in out
    assert "in 3 executions" in out
    assert "if every processor can tell who wants its element" in out


def test_advice_is_verified(weft):
    code, out, _ = weft("advise program.py --on cm2-8k --verify --format csv")
    assert code == 0
    (row,) = csv.DictReader(io.StringIO(out))
    assert (row["line"], row["now"], row["better"]) == ("14", "general fetch", "general store")
    assert float(row["measured_now_s"]) > 0
    assert float(row["better_s"]) < float(row["now_s"])


def test_nothing_to_advise(weft):
    code, out, _ = weft("advise program.py --on cm2-8k -- --times 0")
    assert code == 0
    assert "of 0 operations none has a cheaper form" in out
    code, out, _ = weft("advise program.py --on cm2-8k --format json -- --times 0")
    assert json.loads(out)["suggestions"] == []


def test_here_is_calibrated_then_estimated(weft, tmp_path):
    code, _, err = weft("estimate program.py")
    assert code == 2
    assert "weft calibrate measures them" in err
    code, out, err = weft("calibrate --programs 40")
    assert code == 0
    assert "kinds of operations; programs that the fit had not seen were predicted to" in out
    assert "costs: " in err
    code, out, _ = weft("estimate program.py --format csv -- --size 64")
    assert code == 0
    total = list(csv.DictReader(io.StringIO(out)))[-1]
    assert float(total["real_s"]) > 0
    assert total["cm_s"] == ""
    code, _, _ = weft("calibrate --programs 16 -o costs.toml")
    assert (code, (tmp_path / "costs.toml").is_file()) == (0, True)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("estimate nothing.py --on cm2-8k", 2, "there is no program nothing.py"),
        ("estimate program.py --on alfa", 2, 'unknown machine "alfa"'),
        ("estimate program.py --on ipsc860", 2, "ipsc860 has no costs of data-parallel operations"),
        ("estimate program.py --costs none.toml", 2, "there is no none.toml; weft calibrate"),
        ("estimate program.py --on cm2-8k -- --speed 3", 2, "unrecognized arguments: --speed 3"),
        ("advise nothing.py --on cm2-8k", 2, "there is no program nothing.py"),
        ("calibrate -o costs.txt", 2, "expected a name that ends in .toml"),
        ("calibrate --programs 3", 2, "Invalid value"),
    ],
)
def test_what_is_wrong_is_said(weft, line, code, message):
    found, _, err = weft(line)
    assert found == code
    assert message in " ".join(err.split())
