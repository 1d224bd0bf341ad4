"""VP sets without processors: every operation is defined, on one rank, over ranks and against a described machine."""

import numpy as np
import pytest

import weft
from weft import UsageError

SHAPES = [(0,), (3, 0), (0, 4), (0, 0), (2, 0, 3)]
DTYPES = [np.float64, np.int32, np.bool_, np.float16, np.complex128]
NEUTRAL = {
    "sum": 0,
    "multiply": 1,
    "logior": 0,
    "logxor": 0,
    "logand": -1,
    "and": True,
    "or": False,
    "xor": False,
    "count": 0,
}


@pytest.fixture(autouse=True)
def _native(native):
    pass


def empty(variable, vp, dtype=None):
    assert variable.numpy().shape == vp.shape
    assert dtype is None or variable.dtype == dtype


def operators(dtype):
    kinds = {"f": "sum multiply max min", "c": "sum multiply", "b": "and or xor logand logior logxor max min"}
    return kinds.get(np.dtype(dtype).kind, "sum multiply max min logand logior logxor").split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions(shape, dtype):
    vp = weft.pvar.VPSet(shape)
    x = vp.zeros(dtype)
    for operator in [*operators(dtype), "count"]:
        if operator in NEUTRAL:
            neutral = NEUTRAL[operator]
            if operator == "logand" and dtype is np.bool_:
                neutral = True
            got = weft.pvar.reduce(x, operator)
            assert got == neutral
            assert isinstance(got, bool) == isinstance(neutral, bool) or dtype is np.bool_
        else:
            with pytest.raises(UsageError, match=f"no processor is selected, so there is no {operator}"):
                weft.pvar.reduce(x, operator)
            assert weft.pvar.reduce(x, operator, initial=5) == 5
        for axes in (0, -1, tuple(range(len(shape)))):
            along = weft.pvar.reduce(x, operator, axis=axes)
            numbers = {"count": np.dtype(np.int64)}
            expected = np.add.reduce(np.zeros(3, dtype)).dtype if operator in ("sum", "multiply") else np.dtype(dtype)
            empty(along, vp, numbers.get(operator, expected))
    for operator in ("mean", "var", "std"):
        if dtype is not np.bool_:
            with pytest.raises(UsageError, match="no processor is selected"):
                weft.pvar.reduce(x, operator)
            empty(weft.pvar.reduce(x, operator, axis=0), vp)
    if dtype is not np.complex128:
        with pytest.raises(UsageError, match="no processor is selected"):
            x.argmax()
        empty(x.argmin(axis=0), vp)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_everything_else(shape, dtype):
    vp, others = weft.pvar.VPSet(shape), weft.pvar.VPSet(5)
    x, address = vp.array(np.zeros(shape, dtype)), vp.address()
    empty(x == x, vp, bool)
    for axis in range(len(shape)):
        for operator in (*operators(dtype), "copy"):
            name = "add" if operator == "sum" else operator
            for form in ({}, {"direction": "down"}, {"segments": x == x}, {"exclusive": operator != "copy"}):
                empty(weft.pvar.scan(x, name, axis, **form), vp, dtype)
        for boundary in ("circular", 0):
            empty(weft.pvar.shift(x, 1, axis, boundary), vp, dtype)
            empty(weft.pvar.shift(x, -2, axis, boundary, form="store"), vp, dtype)
        if shape[axis]:
            empty(weft.pvar.spread(x, axis, 0), vp, dtype)
        else:
            with pytest.raises(UsageError, match="its extent is 0"):
                weft.pvar.spread(x, axis, 0)
        empty(vp.coordinate(axis), vp)
    empty(weft.pvar.get(x, address), vp, dtype)
    empty(weft.pvar.send(x, address), vp, dtype)
    empty(weft.pvar.send(x, address, combine="overwrite", into=x), vp, dtype)
    arrived = weft.pvar.send(x, address, vp=others)
    assert not arrived.numpy().any()
    empty(weft.pvar.get(others.zeros(dtype), address), vp, dtype)
    for call in (
        lambda: weft.pvar.get(x, others.address()),
        lambda: weft.pvar.send(others.zeros(dtype), others.address(), combine="overwrite", into=x),
    ):
        with pytest.raises(UsageError, match=r"there is no processor \d: the VP set has none"):
            call()
    if dtype is not np.complex128:
        empty(weft.pvar.sort(x), vp, dtype)
        empty(weft.pvar.rank(x), vp)
    empty(vp.enumerate(), vp)
    empty(vp.rng(1).random(), vp)
    with vp.where(x == x):
        x[...] = x
        empty(vp.enumerate(), vp)
        empty(vp.selected, vp, bool)
    assert x.numpy().size == x.size == 0
    assert len(x) == shape[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_against_a_described_machine(shape):
    vp = weft.pvar.VPSet(shape, machine="cm2-8k")
    x, address = vp.zeros(np.int32), vp.address()
    with vp.where(x > 3):
        x[...] = weft.pvar.scan(x, "add") + weft.pvar.shift(x, 1)
        weft.pvar.send(x, address, combine="add")
        weft.pvar.get(x, address)
    assert weft.pvar.reduce(x, "sum") == 0
    assert vp.vp_ratio == 1
    assert vp.time.cm > 0
