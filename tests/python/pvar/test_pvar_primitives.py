"""Every primitive against a reference of a few lines, under random geometry, selection, segments and collisions."""

import contextlib

import numpy as np
import pvar_cases as cases
import pvar_reference as reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import UsageError
from weft.pvar.operators import neutral


@pytest.fixture(autouse=True)
def _native(native):
    pass


def selection(vp, mask):
    return contextlib.nullcontext() if mask.all() else vp.where(vp.array(mask))


quick = settings(deadline=None, max_examples=min(60, cases.EXAMPLES))
NUMBERS = st.sampled_from(["add", "max", "min", "logand", "logior", "logxor"])
BOOLEANS = st.sampled_from(["max", "min", "logand", "logior", "logxor", "and", "or", "xor"])


@st.composite
def operands(draw, operators=NUMBERS, shapes=cases.SHAPES):
    """A shape, elements, a selection, and an operator that the dtype has."""
    shape = draw(shapes)
    dtype = draw(st.one_of(cases.DTYPES, st.just("?")))
    if dtype == "?":
        operator = draw(BOOLEANS)
    else:
        operator = draw(operators.filter(lambda name: dtype[0] != "f" or not name.startswith("log")))
    seed = draw(cases.SEEDS)
    return shape, cases.elements(shape, dtype, seed), cases.mask(shape, draw(cases.DENSITIES), seed), operator, seed


@quick
@given(operands(shapes=cases.ANY_SHAPES))
def test_reductions(case):
    shape, x, mask, operator, _ = case
    vp = weft.pvar.VPSet(shape)
    with selection(vp, mask):
        if not mask.any() and operator in ("max", "min"):
            with pytest.raises(UsageError, match="no processor is selected"):
                weft.pvar.reduce(vp.array(x), operator)
            assert weft.pvar.reduce(vp.array(x), operator, initial=7) == 7
            return
        got = weft.pvar.reduce(vp.array(x), operator)
    expected = reference.reduced(x, operator, mask) if mask.any() else neutral(operator, x.dtype).item()
    assert got == expected
    assert type(got) is {"b": bool, "f": float}.get(x.dtype.kind, int)


@quick
@given(cases.SHAPES, cases.DTYPES, cases.SEEDS, st.data())
def test_spread_and_shift(shape, dtype, seed, data):
    x = cases.elements(shape, dtype, seed)
    vp = weft.pvar.VPSet(shape)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    index = data.draw(st.integers(0, shape[axis] - 1))
    line = np.take(x, [index], axis)
    assert np.array_equal(weft.pvar.spread(vp.array(x), axis, index).numpy(), np.broadcast_to(line, shape))
    distance = data.draw(st.integers(-10, 10))
    boundary = data.draw(st.sampled_from([None, 0, 3]))
    given_boundary = "circular" if boundary is None else boundary
    fetched = weft.pvar.shift(vp.array(x), distance, axis, given_boundary)
    assert np.array_equal(fetched.numpy(), reference.shifted(x, distance, axis, boundary))
    mask = cases.mask(shape, data.draw(cases.DENSITIES), seed)
    into = cases.elements(shape, dtype, seed + 1)
    with selection(vp, mask):
        stored = weft.pvar.shift(
            vp.array(x), distance, axis, given_boundary, form="store", into=vp.array(into, copy=True)
        )
        alone = weft.pvar.shift(vp.array(x), distance, axis, given_boundary, form="store")
    assert np.array_equal(stored.numpy(), reference.stored(x, distance, axis, boundary, mask, into))
    below = np.zeros_like(x)
    if boundary is not None:
        ends = reference.stored(np.ones(shape, bool), distance, axis, 0, np.ones(shape, bool), np.zeros(shape, bool))
        below[~ends] = boundary
    assert np.array_equal(alone.numpy(), reference.stored(x, distance, axis, boundary, mask, below))


@quick
@given(operands(st.one_of(NUMBERS, st.just("copy")), cases.ANY_SHAPES), st.booleans(), st.booleans(), st.data())
def test_scans(case, exclusive, down, data):
    shape, x, mask, operator, seed = case
    exclusive = exclusive and operator != "copy"
    axis = data.draw(st.integers(0, len(shape) - 1))
    density = data.draw(st.sampled_from([None, 0.0, 0.2, 0.8]))
    segments = np.zeros(shape, bool) if density is None else cases.mask(shape, density, seed + 5)
    vp = weft.pvar.VPSet(shape)
    given_segments = None if density is None else vp.array(segments)
    direction = "down" if down else "up"
    with selection(vp, mask):
        got = weft.pvar.scan(
            vp.array(x), operator, axis, segments=given_segments, exclusive=exclusive, direction=direction
        ).numpy()
    nothing = 0 if operator == "copy" else neutral(operator, x.dtype).item()
    expected = reference.scanned(x, operator, axis, mask, segments, exclusive, down, nothing)
    assert got.dtype == x.dtype
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_sums_of_negative_zeros_have_no_sign(dtype):
    """Whatever computes them: numpy (float16, complex numbers), kernels, over ranks their blocks."""
    vp = weft.pvar.VPSet(13)
    x = vp.array(np.full(13, -0.0, dtype))
    x[5] = 1
    x[6] = -1
    sums = [weft.pvar.send(x, 0 * vp.address(), combine="add"), weft.pvar.reduce(x, "sum", axis=0)]
    for segments in (None, vp.address() % 4 == 3):
        for exclusive in (False, True):
            sums += [
                weft.pvar.scan(x, "add", segments=segments, exclusive=exclusive, direction=d) for d in ("up", "down")
            ]
    for one in sums:
        values = one.real.numpy()
        assert not np.signbit(values[values == 0]).any()
    assert not np.signbit(weft.pvar.reduce(x.real, "sum"))


@quick
@given(cases.SHAPES, cases.DTYPES, cases.DENSITIES, cases.SEEDS, st.sampled_from(["allowed", "many", "backward"]))
def test_gets(shape, dtype, density, seed, collisions):
    x, mask = cases.elements(shape, dtype, seed), cases.mask(shape, density, seed)
    addresses = np.random.default_rng(seed).integers(0, x.size, shape)
    addresses[~mask] = -5
    vp = weft.pvar.VPSet(shape)
    coordinates = tuple(vp.array(np.ascontiguousarray(c)) for c in np.unravel_index(np.maximum(addresses, 0), shape))
    with selection(vp, mask):
        got = weft.pvar.get(vp.array(x), vp.array(addresses), collisions=collisions).numpy()
        by_place = weft.pvar.get(vp.array(x), coordinates, collisions=collisions).numpy()
    expected = reference.got(x, addresses, mask)
    assert np.array_equal(got, expected)
    assert np.array_equal(by_place, expected)


@quick
@given(operands(st.one_of(NUMBERS, st.just("overwrite"))), st.booleans(), st.integers(1, 30))
def test_sends_that_combine(case, keep, targets):
    shape, x, mask, operator, seed = case
    random = np.random.default_rng(seed)
    addresses = random.integers(0, x.size, targets)[random.integers(0, targets, shape)]
    addresses[~mask] = x.size + 3
    vp = weft.pvar.VPSet(shape)
    into = cases.elements(shape, x.dtype, seed + 9) if keep else None
    with selection(vp, mask):
        target = vp.array(into, copy=True) if keep else None
        got = weft.pvar.send(vp.array(x), vp.array(addresses), combine=operator, into=target)
    assert target is None or got is target
    assert np.array_equal(got.numpy(), reference.sent(x, addresses, operator, mask, into))


@quick
@given(operands(st.one_of(NUMBERS, st.just("overwrite"))), st.booleans(), st.integers(1, 30))
def test_a_number_is_sent_by_all(case, keep, targets):
    """A send of a number is that of a variable which is the same everywhere."""
    shape, x, mask, operator, seed = case
    x[...] = x.flat[0]
    addresses = np.random.default_rng(seed).integers(0, min(x.size, targets), shape)
    addresses[~mask] = x.size + 3
    vp = weft.pvar.VPSet(shape)
    into = cases.elements(shape, x.dtype, seed + 9) if keep else None
    number = x.flat[0].item() if keep else x.flat[0]
    with selection(vp, mask):
        target = vp.array(into, copy=True) if keep else None
        got = weft.pvar.send(number, vp.array(addresses), combine=operator, into=target)
    assert target is None or got is target
    assert got.data.dtype == x.dtype
    assert np.array_equal(got.numpy(), reference.sent(x, addresses, operator, mask, into))


def test_numbers_that_cannot_be_sent():
    vp = weft.pvar.VPSet((4,))
    to = vp.address()
    with pytest.raises(
        UsageError, match="send: a number is sent by the processors of its address, which is no parallel"
    ):
        weft.pvar.send(1, 3)
    with pytest.raises(UsageError, match=r"an element of int8 \(8 bits\) cannot be 300"):
        weft.pvar.send(300, to, into=vp.zeros("int8"))
    with pytest.raises(UsageError, match=r"an element of int8 \(3 bits\) cannot be 4"):
        weft.pvar.send(4, to, into=vp.array(np.zeros(4, int), bits=3))
    with pytest.raises(UsageError, match="an element of int64 .* cannot be 0.5"):
        weft.pvar.send(0.5, to, into=vp.zeros("int64"))
    with pytest.raises(UsageError, match="send: a list is neither a number nor a parallel variable"):
        weft.pvar.send([1], to)
    with pytest.raises(UsageError, match="send: 4 processors send to processor 0; say how"):
        weft.pvar.send(1, to * 0)
    with pytest.raises(UsageError, match="send: there is no processor 4"):
        weft.pvar.send(1, to + 1)
    assert weft.pvar.send(4, to // 2, combine="add", into=vp.array(np.zeros(4, int), bits=4)).numpy().tolist() == [
        -8,
        -8,
        0,
        0,
    ]


@quick
@given(cases.SHAPES, cases.DTYPES, cases.SEEDS)
def test_plain_sends_are_permutations_or_errors(shape, dtype, seed):
    x = cases.elements(shape, dtype, seed)
    vp = weft.pvar.VPSet(shape)
    permutation = np.random.default_rng(seed).permutation(x.size).reshape(shape)
    there = weft.pvar.send(vp.array(x), vp.array(permutation))
    assert np.array_equal(weft.pvar.get(there, vp.array(permutation)).numpy(), x)
    if x.size > 1:
        permutation.flat[0] = permutation.flat[-1]
        with pytest.raises(UsageError, match=f"2 processors send to processor {permutation.flat[0]}; say how"):
            weft.pvar.send(vp.array(x), vp.array(permutation))


@quick
@given(cases.SHAPES, cases.SHAPES, cases.DTYPES, cases.DENSITIES, cases.SEEDS)
def test_gets_from_another_shape(shape, source_shape, dtype, density, seed):
    """Those who fetch are of the VP set of the address, whose selection counts."""
    x, mask = cases.elements(source_shape, dtype, seed), cases.mask(shape, density, seed)
    addresses = np.random.default_rng(seed).integers(0, x.size, shape)
    expected = np.zeros(shape, x.dtype)
    for place in np.ndindex(shape):
        if mask[place]:
            expected[place] = x.flat[addresses[place]]
    source, vp = weft.pvar.VPSet(source_shape), weft.pvar.VPSet(shape)
    coordinates = tuple(vp.array(np.ascontiguousarray(c)) for c in np.unravel_index(addresses, source_shape))
    addresses[~mask] = -5
    variable = source.array(x)
    with selection(vp, mask), source.where(source.zeros(bool)):
        got = weft.pvar.get(variable, vp.array(addresses))
        by_place = weft.pvar.get(variable, coordinates)
    assert got.vp is vp
    assert np.array_equal(got.numpy(), expected)
    assert np.array_equal(by_place.numpy(), expected)


@quick
@given(operands(st.one_of(NUMBERS, st.just("overwrite"))), cases.SHAPES, st.booleans(), st.integers(1, 30))
def test_sends_to_another_shape(case, target_shape, keep, targets):
    """Those who send are of the VP set of the element and the address, whose selection counts."""
    shape, x, mask, operator, seed = case
    random = np.random.default_rng(seed)
    whole = np.prod(target_shape)
    addresses = random.integers(0, whole, targets)[random.integers(0, targets, shape)]
    into = cases.elements(target_shape, x.dtype, seed + 9) if keep else np.zeros(target_shape, x.dtype)
    arrived = dict(enumerate(into.ravel().tolist())) if keep else {}
    for value, to, chosen in zip(x.ravel().tolist(), addresses.ravel().tolist(), mask.ravel(), strict=True):
        if chosen:
            arrived[to] = value if to not in arrived else reference.COMBINE[operator](arrived[to], value)
    expected = np.zeros(whole, x.dtype)
    for to, value in arrived.items():
        expected[to] = reference.wrapped(value, x.dtype)
    addresses[~mask] = whole + 3
    vp, other = weft.pvar.VPSet(shape), weft.pvar.VPSet(target_shape)
    target = other.array(into, copy=True) if keep else None
    with selection(vp, mask), other.where(other.zeros(bool)):
        got = weft.pvar.send(
            vp.array(x), vp.array(addresses), combine=operator, into=target, vp=None if keep else other
        )
    assert got.vp is other
    assert np.array_equal(got.numpy().ravel(), expected)


def test_words_move_to_another_shape():
    vp, other = weft.pvar.VPSet(4), weft.pvar.VPSet((2,))
    x = vp.array(np.array([3, 1, 2, 1]), bits=3)
    sums = weft.pvar.send(x, vp.address() // 2, combine="add", vp=other)
    assert (sums.bits, sums.numpy().tolist()) == (3, [-4, 3])  # 4 is beyond three bits
    assert (weft.pvar.get(x, other.address() + 2) + 1).numpy().tolist() == [3, 2]


def test_variables_of_two_sets_of_one_shape_are_computed_with_together():
    one, two = weft.pvar.VPSet((3, 4)), weft.pvar.VPSet((3, 4))
    x, y = one.address(np.int64), two.coordinate(1, np.int64)
    assert np.array_equal((x + y).numpy(), np.arange(12).reshape(3, 4) + np.arange(4))
    assert (x + y).vp is one
    with one.where(y > 1):
        x[...] = y
    assert x.numpy().tolist() == [[0, 1, 2, 3], [4, 5, 2, 3], [8, 9, 2, 3]]
    with two.where(two.zeros(bool)):
        x += y  # the selection of the set that is assigned to counts
    assert x.numpy()[0].tolist() == [0, 2, 4, 6]
    assert weft.pvar.get(x, y * 0 + 5).vp is two


def test_addresses_can_be_assigned_to():
    """On one axis they are made without a copy of what they are spread from."""
    addresses = weft.pvar.VPSet(4).address()
    addresses[...] = 2 * addresses
    assert addresses.numpy().tolist() == [0, 2, 4, 6]


def test_ranks_of_another_set_are_taken_over():
    vp = weft.pvar.VPSet(6)
    assert weft.pvar.VPSet((2, 2), comm=vp).is_with(vp)
    assert not weft.pvar.VPSet(6, machine="cm2-8k").is_with(vp)
    assert weft.pvar.VPSet(6, comm=vp).is_alike(vp)


def test_float_scans_do_not_cancel_over_segments():
    vp = weft.pvar.VPSet(4)
    x = vp.array([1e20, 1.0, 2.0, 3.0])
    segments = vp.array([False, True, False, False])
    assert weft.pvar.scan(x, "add", segments=segments).numpy().tolist() == [1e20, 1.0, 3.0, 6.0]


def test_thirty_one_axes():
    shape = tuple(2 if axis in (0, 30) else 1 for axis in range(31))
    vp = weft.pvar.VPSet(shape)
    x = vp.address()
    assert weft.pvar.shift(x, 1, axis=30).numpy().ravel().tolist() == [1, 0, 3, 2]
    assert weft.pvar.scan(x, "add", axis=0).numpy().ravel().tolist() == [0, 1, 2, 4]
    with pytest.raises(UsageError, match="a VP set has 1 to 31 axes, not 32"):
        weft.pvar.VPSet((1,) * 32)


def mistakes():
    vp, other = weft.pvar.VPSet((3, 4)), weft.pvar.VPSet((4, 3))
    x, f, b = vp.zeros(int), vp.zeros(), vp.zeros(bool)
    y = other.zeros(int)
    return [
        (lambda: weft.pvar.reduce(f, "median"), "reduce: there is no operator 'median'; there are sum, multiply, max"),
        (lambda: weft.pvar.reduce(f, "logand"), "reduce: logand is of integers and booleans, not of float64"),
        (lambda: weft.pvar.reduce(x, "or"), "reduce: or is of booleans, not of int64"),
        (lambda: weft.pvar.scan(b, "add"), "booleans are not added; x.astype"),
        (lambda: weft.pvar.reduce(3, "sum"), "reduce: a int is no parallel variable"),
        (lambda: weft.pvar.spread(x, 2, 0), "spread: there is no axis 2; the axes are -2 to 1"),
        (lambda: weft.pvar.spread(x, 1, 4), "spread: there is no element 4 along axis 1: its extent is 4"),
        (lambda: weft.pvar.spread(x, 1, 0.5), "spread: the index is 0.5"),
        (lambda: weft.pvar.shift(x, 1.5), "shift: the distance is 1.5; expected a whole number"),
        (lambda: weft.pvar.shift(x, 1, axis=5), "shift: there is no axis 5"),
        (lambda: weft.pvar.shift(x, 1, 0, "round"), "the boundary is 'round'; expected 'circular' or a number"),
        (lambda: weft.pvar.shift(x, 1, 0, 1.5), "the boundary is 1.5, which int64 cannot hold"),
        (lambda: weft.pvar.shift(x, 1, form="push"), "there is no form 'push'; there are 'fetch' and 'store'"),
        (lambda: weft.pvar.shift(x, 1, into=x), "into is of the form 'store'"),
        (
            lambda: weft.pvar.shift(x, 1, form="store", into=f),
            r"into is of float64 \(64 bits\), but what is sent is of int64",
        ),
        (lambda: weft.pvar.scan(x, "add", segments=x), "segments are of int64; expected booleans"),
        (lambda: weft.pvar.scan(x, "add", segments=other.zeros(bool)), "segments is of another VP set"),
        (lambda: weft.pvar.scan(x, "add", direction="left"), "no direction 'left'"),
        (lambda: weft.pvar.scan(x, "copy", exclusive=True), "copy has no exclusive form"),
        (lambda: weft.pvar.get(x, f), "get: addresses are integers, not float64"),
        (lambda: weft.pvar.get(x, x + 12), "get: there is no processor 12: addresses are 0 to 11"),
        (lambda: weft.pvar.get(x, x - 1), "get: there is no processor -1"),
        (lambda: weft.pvar.get(x, (x, x + 4)), "get: there is no coordinate 4 along axis 1: its extent is 4"),
        (lambda: weft.pvar.get(x, (x,)), r"an address has 2 coordinates, not 1: the shape is \(3, 4\)"),
        (lambda: weft.pvar.get(x, 3), "a int is no address"),
        (lambda: weft.pvar.get(x, (x, y)), "get: coordinate 1 is of another VP set"),
        (lambda: weft.pvar.get(x, x, collisions="few"), "there is no way 'few' to meet collisions"),
        (lambda: weft.pvar.send(x, x), "send: 12 processors send to processor 0; say how they combine"),
        (lambda: weft.pvar.send(x, x - 1, combine="add"), "send: there is no processor -1"),
        (lambda: weft.pvar.send(f, x, combine="logior"), "send: logior is of integers and booleans, not of float64"),
        (lambda: weft.pvar.send(x, y, combine="add"), "send: the address is of another VP set"),
        (lambda: weft.pvar.send(x, x, combine="add", into=y, vp=vp), "into says which VP set gets the elements"),
        (lambda: weft.pvar.send(x, x + 12, vp=other), "send: there is no processor 12: addresses are 0 to 11"),
        (
            lambda: weft.pvar.send(x, (x, x), vp=weft.pvar.VPSet(9)),
            r"an address has 1 coordinates, not 2: the shape is \(9,\)",
        ),
        (
            lambda: weft.pvar.send(x, x, vp=weft.pvar.VPSet(9, machine="cm2-8k")),
            "are not on the same machine and ranks; make one",
        ),
        (lambda: weft.pvar.shift(x, form="store", into=y), "shift: into is of another VP set"),
        (lambda: vp.where(other.zeros(bool)), "where: the condition is of another VP set"),
        (lambda: x + y, r"add: the variables are of two VP sets.*with get or send"),
    ]


@pytest.mark.parametrize("number", range(38))
def test_mistakes_are_named(number):
    call, text = mistakes()[number]
    with pytest.raises(UsageError, match=text):
        call()


def test_every_mistake_is_tested():
    assert len(mistakes()) == 38
