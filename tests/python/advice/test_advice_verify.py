"""The forms that rules pair do the same: both are run here and their results are equal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft._core import RunError
from weft.advice.engine import Suggestion
from weft.advice.forms import as_recorded
from weft.advice.rules import RULES
from weft.advice.verify import case, verify
from weft.estimation.estimates import record

SHAPES = ((12,), (1,), (4, 6), (2, 3, 4))


@st.composite
def operations(draw):
    """A program with one communication under a selection, perhaps."""
    shape = draw(st.sampled_from(SHAPES))
    size = int(np.prod(shape))
    made = np.random.default_rng(draw(st.integers(0, 1000)))
    dtype = draw(st.sampled_from(("float32", "float64", "int32", "int64")))
    what = draw(st.sampled_from(("get", "send", "send add", "send max", "shift fetch", "shift store", "spread")))
    kind = draw(st.sampled_from(("permutation", "few", "shifted", "line", "clustering", "sorted")))
    mask = made.random(shape) < draw(st.sampled_from((0.2, 0.6))) if draw(st.booleans()) else np.ones(shape, bool)
    if draw(st.integers(0, 5)) == 0:
        mask = np.zeros(size, bool)
        mask[made.integers(size)] = True
        mask = mask.reshape(shape)
    axis = draw(st.integers(0, len(shape) - 1))
    place = np.arange(size).reshape(shape)
    address = {
        "permutation": made.permutation(size).reshape(shape),
        "few": made.integers(0, max(1, size // 4), shape),
        "shifted": np.roll(place, int(made.integers(size)), axis),
        "line": np.broadcast_to(np.take(place, [0], axis), shape).copy(),
        "clustering": place // 3,
        "sorted": np.sort(made.integers(0, size, size)).reshape(shape),
    }[kind]
    if what == "send" and kind not in ("permutation", "shifted"):
        address = place[::-1].copy()
    hops = draw(st.integers(0, 5))

    def program():
        vp = weft.pvar.VPSet(shape)
        x, to = vp.array(made.integers(1, 5, shape).astype(dtype)), vp.array(address)

        def communicate():
            if what == "get":
                weft.pvar.get(x, to)
            elif what.startswith("send"):
                weft.pvar.send(x, to, combine=what.removeprefix("send").strip() or None)
            elif what == "spread":
                weft.pvar.spread(x, axis=axis, index=0)
            else:
                weft.pvar.shift(x, hops, axis=axis, form=what.removeprefix("shift "))

        if mask.all():
            communicate()
        else:
            with vp.where(vp.array(mask)):
                communicate()

    return program


def suggestions(program):
    for one, *_ in record(program):
        for rule in RULES:
            for form in rule.alternatives(one):
                yield Suggestion(one.file, one.line, 1, rule, as_recorded(one), form, 1.0, 0.5, one)


@settings(deadline=None, max_examples=150)
@given(operations())
def test_forms_do_the_same(program):
    for suggestion in suggestions(program):
        made = case(suggestion)
        assert made.same(made.now(), made.better()), (suggestion.now, suggestion.better)


def test_each_processor_of_another_line_fetches_without_collisions():
    def program():
        vp = weft.pvar.VPSet((2, 3, 4))
        first = np.broadcast_to(np.arange(12).reshape(3, 4), (2, 3, 4))
        with vp.where(vp.address() % 7 == 0):
            weft.pvar.get(vp.array(np.arange(24.0).reshape(2, 3, 4)), vp.array(first.copy()))

    checked = [(case(one), one) for one in suggestions(program)]
    assert "general store" in {one.better.name for _, one in checked}
    for made, one in checked:
        assert made.same(made.now(), made.better()), one.better


def fetched():
    vp = weft.pvar.VPSet(64)
    weft.pvar.get(vp.zeros(np.float32), vp.array(np.random.default_rng(1).permutation(64)))


def test_both_forms_are_measured():
    (suggestion,) = suggestions(fetched)
    found = verify(suggestion, seconds=0.01)
    assert found.rounds >= 5
    assert min(found.now_s, found.better_s) > 0
    assert found.factor == found.now_s / found.better_s


def test_forms_that_differ_are_a_defect(monkeypatch):
    (suggestion,) = suggestions(fetched)
    monkeypatch.setattr("weft.pvar.send", lambda x, address, **more: x.vp.full(7, np.float32))
    with pytest.raises(RunError, match="general fetch and general store differ"):
        verify(suggestion, seconds=0.01)
