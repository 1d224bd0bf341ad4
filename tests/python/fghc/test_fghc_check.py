"""`weft fghc check` and `explain`: output, messages, exit codes."""

import functools
import json
import sys
from pathlib import Path

import pytest

from weft import UsageError, _core, fghc

PROGRAMS = Path(__file__).parents[3] / "programs" / "fghc"


@pytest.fixture
def weft(command):
    return functools.partial(command, "fghc")


def test_a_good_program(weft):
    code, out, err = weft("check", PROGRAMS / "queens.fghc", "--goal", "queens(8,2,S)")
    assert (code, err) == (0, "")
    assert out.endswith("queens.fghc: no findings\n")


def test_warnings_are_no_failure(weft):
    code, out, _ = weft("check", PROGRAMS / "program1.fghc")
    assert code == 0
    assert "PE, NN and DX occur only once in this clause" in out
    assert out.endswith("program1.fghc: 5 warnings\n")


def test_several_errors_in_one_run(weft, tmp_path):
    program = tmp_path / "wrong.fghc"
    program.write_text("main :- wirte(1).\np(X :- q.\nq(X) :- X := 1.5 + 1.\n")
    code, out, _ = weft("check", program)
    assert code == 1
    for part in ("wrong.fghc:1:9", "did you mean write?", "wrong.fghc:2:5", "wrong.fghc:3:14", "$:=", "3 errors"):
        assert part in out
    code, out, _ = weft("check", program, "--format", "json")
    assert code == 1
    assert [finding["line"] for finding in json.loads(out)] == [1, 2, 3]


def test_a_wrong_goal(weft):
    code, out, _ = weft("check", PROGRAMS / "queens.fghc", "--goal", "queens(8,2)")
    assert code == 1
    assert "--goal:1:1" in out
    assert "there is queens/3: 2 is the number of arguments here" in out


def test_files_that_cannot_be_read(weft, tmp_path):
    code, _, err = weft("check", "none.fghc")
    assert code == 2
    assert "none.fghc: No such file or directory" in err
    (tmp_path / "latin.fghc").write_bytes(b"% \xe9\nmain.\n")
    code, _, err = weft("check", "latin.fghc")
    assert code == 2
    assert "latin.fghc: byte 2 is not UTF-8" in err


def test_explain(weft, tmp_path):
    code, out, _ = weft("explain", PROGRAMS / "program1.fghc")
    assert code == 0
    for part in (
        "% dispatches on argument 1",
        "% may suspend on argument 1 (clause 1): matched with [A|X]",
        "% 1 pragma site\n",
        "alloc(P1)@@queen_n(U, [P|C], L, X, O, P1, N, Depth)",
    ):
        assert part in out
    (tmp_path / "wrong.fghc").write_text("main :- wirte(1).\n")
    for arguments in ([], ["--code"]):
        code, out, err = weft("explain", "wrong.fghc", *arguments)
        assert (code, out) == (1, "")
        assert "did you mean write?" in err


def test_explain_code(weft, tmp_path):
    (tmp_path / "double.fghc").write_text("double(X, Y) :- integer(X) | Y := X + X.\n")
    code, out, _ = weft("explain", "double.fghc", "--code")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines() if line.startswith(" ")][:2] == [
        ["0", "type"],
        ["1", "body_calculate"],
    ]
    assert out.startswith("main:double/2:\n     0  type                kind=integer register=r0 unbound=")
    assert "operation=+" in out
    lines = len(weft("explain", PROGRAMS / "merge.fghc", "--code")[1].splitlines())
    assert len(weft("explain", PROGRAMS / "merge.fghc", "--code", "--library")[1].splitlines()) > lines


def test_from_python(tmp_path):
    report = fghc.check(PROGRAMS / "program1.fghc")
    assert (report.errors, report.warnings) == (0, 5)
    assert report.findings[0].code == "singleton"
    (tmp_path / "latin.fghc").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        fghc.check(tmp_path / "latin.fghc")


def test_a_build_without_the_language_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "any.fghc"
    program.write_text("main.\n")
    monkeypatch.delattr(_core, "fghc_run")
    monkeypatch.delitem(sys.modules, "weft.fghc.core", raising=False)
    with pytest.raises(UsageError, match="without FGHC: build it with the Cargo feature `fghc`"):
        fghc.check(program)
