"""The pace of this machine now: which programs are timed again, and what is made of their times."""

import re

import pytest

import weft
from weft._core import UsageError
from weft.estimation import drift, random_programs
from weft.estimation.costs_file import MeasuredCosts, read
from weft.estimation.curves import Curve, Work
from weft.estimation.drift import Drift, Reference, references
from weft.estimation.kinds import Kind
from weft.estimation.pace import Pace, Probe
from weft.estimation.random_programs import Timed


def timed(*seconds):
    kind = Kind("add float64", "fast", Work(1, 8))
    return Timed((1,), tuple((kind, one) for one in seconds), Probe(1.0, 1.0))


def additions():
    x = weft.pvar.VPSet((64, 128)).zeros("float32")
    for _ in range(10):
        x = x + 1


def test_the_median_of_the_programs_counts():
    drifted = drift.drift([Reference(at, 1, 2e-3) for at in range(101)], [(1 + at / 100) * 2e-3 for at in range(101)])
    assert drifted.ratio == pytest.approx(1.5)
    # Ranks 41 to 61 of 101, by the table of the binomial distribution.
    assert (drifted.low, drifted.high) == (pytest.approx(1.4, abs=0.011), pytest.approx(1.6, abs=0.011))


def test_short_programs_are_kept_with_their_numbers():
    long = timed(drift.SHORT, 1e-6)
    kept = references({3: timed(1e-6, 2e-6), 1: long, 2: timed(5e-6)})
    assert [(one.number, one.operations) for one in kept] == [(2, 1), (3, 2)]
    assert [one.seconds for one in kept] == pytest.approx([5e-6, 3e-6])
    many = references({number: timed(1e-6) for number in range(1000)})
    assert len(many) == drift.REFERENCES
    assert many[-1].number > 900


def test_a_program_is_timed_again_by_its_number():
    pace = Pace()
    before = random_programs.draw(1, 5, pace)
    kept = references({1: before})
    (again,) = drift.time_again(kept, 5, pace)
    assert again > 0
    with pytest.raises(UsageError, match="cannot be timed again, since this weft draws others"):
        drift.time_again([kept[0]._replace(operations=len(before.operations) + 1)], 5, pace)


def test_of_each_program_the_lesser_time_counts():
    rounds = iter([[3e-3, 1e-3], [2e-3, 2e-3]])
    drifted = drift.now([Reference(0, 1, 1e-3), Reference(1, 1, 1e-3)], 1, lambda *_: next(rounds))
    assert drifted.ratio == 1.5


def test_a_file_keeps_them(tmp_path):
    kept = (Reference(0, 12, 1.5e-4), Reference(7, 3, 2e-5))
    path = tmp_path / "costs.toml"
    MeasuredCosts({"read": Curve((8,), (0.0,))}, (0.1,), {"seed": 1}, reference=kept).write(path)
    assert read(path).reference == kept
    text = path.read_text()
    path.write_text(re.sub(r"operations = \[12, 3\]", "operations = [12]", text))
    with pytest.raises(UsageError, match=r"expected a table \[reference\] with three lists of one length"):
        read(path)
    path.write_text(text.replace("2e-05", "0.0"))
    with pytest.raises(UsageError, match="times must be positive"):
        read(path)


def test_an_estimate_is_for_the_pace_of_now(tmp_path, monkeypatch):
    curves = {"add float32": Curve((8,), (1e-9,), (1e-6,) * 4), "broadcast 4 bytes": Curve((8,), (0.0,), (1e-6,) * 4)}
    path = tmp_path / "costs.toml"
    MeasuredCosts(curves, (0.04, -0.04), {"seed": 9}, reference=(Reference(4, 2, 1e-3),)).write(path)
    calls = []
    monkeypatch.setattr(drift, "now", lambda *of: calls.append(of) or Drift(1.25, 1.2, 1.3))
    then = weft.estimate(additions, "here", costs=path)
    now = weft.estimate(additions, "here", costs=path, now=True)
    assert calls == [((Reference(4, 2, 1e-3),), 9)]
    for key in ("real_s", "low_s", "high_s"):
        assert getattr(now.total, key) == pytest.approx(1.25 * getattr(then.total, key))
    assert "This machine takes 1.25 (1.20 to 1.30) times as long now as when it was calibrated." in now.notes


def test_where_there_is_nothing_to_time_again_it_is_said(tmp_path):
    with pytest.raises(UsageError, match="cm2-8k is described, so its pace does not change"):
        weft.estimate(additions, "cm2-8k", now=True)
    path = tmp_path / "costs.toml"
    MeasuredCosts({"read": Curve((8,), (0.0,))}, (), {"seed": 1}).write(path)
    with pytest.raises(UsageError, match="has kept no programs that could be timed again"):
        weft.estimate(additions, "here", costs=path, now=True)
