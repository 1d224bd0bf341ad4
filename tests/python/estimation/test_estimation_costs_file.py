"""The file of costs: what is written is read again, what is wrong is said."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft._core import UsageError
from weft.estimation.costs_file import MeasuredCosts, default_path, read
from weft.estimation.curves import SINCE, TERMS, Curve
from weft.estimation.recurrence import Recurrence

COSTS = MeasuredCosts(
    {
        "add float64": Curve((512, 2048), (1e-10, 2e-10), (1e-6,) * 4, {"run": 2e-9}, 0.03, 17),
        "read": Curve((8,), (0.0,)),
    },
    (0.01, -0.02),
    {"machine": "a", "seed": 1},
    recurrence=Recurrence((20, 400), (1.0, 1.25)),
)


@st.composite
def curves(draw):
    seconds = st.floats(0, 1e3).map(lambda value: float(f"{value:.5g}"))
    knots = tuple(sorted(draw(st.sets(st.integers(1, 1 << 40), min_size=1, max_size=6))))
    element = tuple(draw(st.lists(seconds, min_size=len(knots), max_size=len(knots))))
    terms = draw(st.dictionaries(st.sampled_from(TERMS), seconds))
    call = tuple(draw(st.lists(seconds, min_size=len(SINCE), max_size=len(SINCE))))
    return Curve(knots, element, call, terms, 0.01, draw(st.integers(0, 1000)))


END = "error = 0\nobservations = 1"

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1)


@given(st.dictionaries(NAMES, curves(), min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("costs") / "costs.toml"
    MeasuredCosts(found).write(path)
    assert read(path).curves == found


def test_the_head_is_kept(tmp_path):
    COSTS.write(tmp_path / "new" / "costs.toml")
    found = read(tmp_path / "new" / "costs.toml")
    assert found.held_out == COSTS.held_out
    assert found.about == COSTS.about
    assert found.recurrence == COSTS.recurrence
    assert found.origin == str(tmp_path / "new" / "costs.toml")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "costs.toml"
    COSTS.write(path)
    before = path.read_text()

    def fail(*of):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        MeasuredCosts({}).write(path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_file_it_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert default_path() == tmp_path / "weft" / Path(default_path()).name
    with pytest.raises(UsageError, match=r"there is no .*costs-.*\.toml; weft calibrate measures them.*cm2-8k"):
        read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format = ", "is no TOML"),
        ("format = 99", "format 99 is not 11"),
        ("format = 11", r"there is no table \[operations\]; weft calibrate"),
        ("format = 11\n[operations.add]\nknots = [8]", r'\[operations."add"\] has no element'),
        (
            "format = 11\n[operations.add]\nknots = [8]\nelement = [1, 2]\ncall = [0, 0, 0, 0]\n" + END,
            "as many element times as knots",
        ),
        (
            "format = 11\n[operations.add]\nknots = [8, 8]\nelement = [1, 2]\ncall = [0, 0, 0, 0]\n" + END,
            "knots must be positive and rise",
        ),
        (
            "format = 11\n[operations.add]\nknots = [8]\nelement = [1]\ncall = [0, -1, 0, 0]\n" + END,
            "no time is negative",
        ),
        (
            "format = 11\n[operations.add]\nknots = [8]\nelement = [1]\ncall = [0]\n" + END,
            "there must be 4 call times",
        ),
        (
            'format = 11\n[operations.add]\nknots = ["x"]\nelement = [1]\ncall = [0]\n' + END,
            r'\[operations."add"\], knots: expected a finite number, found x',
        ),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, text, message):
    (tmp_path / "costs.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        read(tmp_path / "costs.toml")


@pytest.mark.parametrize(
    ("recurrence", "message"),
    [
        ("distances = [1, 2]\nfactors = [1]", "as many factors as distances, which rise"),
        ("distances = [2, 1]\nfactors = [1, 1]", "as many factors as distances, which rise"),
        ("distances = [1]\nfactors = [0]", "factors must be positive"),
        ("distances = [1]", "factors: expected a list of numbers"),
    ],
)
def test_what_is_wrong_with_a_recurrence(tmp_path, recurrence, message):
    COSTS.write(tmp_path / "costs.toml")
    head, _, rest = (tmp_path / "costs.toml").read_text().partition("[recurrence]\n")
    after = rest.split("\n", 2)[2]
    (tmp_path / "costs.toml").write_text(f"{head}[recurrence]\n{recurrence}\n{after}")
    with pytest.raises(UsageError, match=message):
        read(tmp_path / "costs.toml")


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "costs.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="found bytes that are no UTF-8 text"):
        read(tmp_path / "costs.toml")
