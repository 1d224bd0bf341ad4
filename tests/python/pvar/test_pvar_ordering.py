"""Ranks, sorting, numbering, who is left over, random numbers, shifts along several axes."""

import math

import numpy as np
import pvar_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import UsageError

quick = settings(max_examples=min(cases.EXAMPLES, 60), deadline=None)
TYPES = st.sampled_from(["b1", "i1", "u2", "i4", "u8", "i8", "f2", "f4", "f8"])


FIRST = [[661, 276, 874], [228, 328, 317]]
SECOND = [[-1, -2, 1], [2, 1, 0]]
THIRD = 0.9389908135368212


def selected(vp, mask):
    return vp.everywhere() if mask.all() else vp.where(vp.array(mask))


def with_specials(x, seed):
    """NaNs, infinities and both zeros among the numbers."""
    if x.dtype.kind == "f":
        places = np.random.default_rng(seed).integers(0, 20, x.shape)
        for place, special in enumerate((math.nan, math.inf, -math.inf, 0.0, -0.0)):
            x[places == place] = special
    return x


def in_order(x, mask, descending):
    """Addresses of the selected in order, by comparing Python's numbers."""
    numbers = [(value, address) for address, value in enumerate(x.ravel().tolist()) if mask.ravel()[address]]
    there = [one for one in numbers if one[0] == one[0]]
    there.sort(key=lambda one: -one[0] if descending else one[0])
    return [address for _, address in there + [one for one in numbers if one[0] != one[0]]]


@quick
@given(cases.SHAPES, TYPES, cases.DENSITIES, cases.SEEDS, st.booleans())
def test_ranks_and_sorting(shape, dtype, density, seed, descending):
    x = with_specials(cases.elements(shape, dtype, seed), seed)
    mask = cases.mask(shape, density, seed)
    vp = weft.pvar.VPSet(shape)
    with selected(vp, mask):
        ranks = weft.pvar.rank(vp.array(x), descending=descending).numpy().ravel()
        ordered = weft.pvar.sort(vp.array(x), descending=descending)
        number = vp.enumerate().numpy()
    order = in_order(x, mask, descending)
    expected, result = np.zeros(x.size, int), np.zeros(x.size, x.dtype)
    places = np.flatnonzero(mask)
    for position, address in enumerate(order):
        expected[address] = position
        result[places[position]] = x.ravel()[address]
    assert ranks.tolist() == expected.tolist()
    assert ordered.dtype == x.dtype
    assert ordered.numpy().tobytes() == result.tobytes()
    assert number.dtype == vp.address_dtype
    assert np.array_equal(number, np.where(mask, np.cumsum(mask).reshape(shape) - 1, 0))


def test_integers_beyond_what_floats_hold_are_told_apart():
    x = np.array([2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 0])
    assert weft.pvar.rank(weft.pvar.VPSet(5).array(x)).numpy().tolist() == [4, 3, 0, 1, 2]


def test_a_rank_brings_other_variables_into_its_order():
    vp = weft.pvar.VPSet((3, 5))
    keys, payload = vp.array(np.arange(15).reshape(3, 5) * 7 % 15), vp.address()
    assert np.array_equal(
        weft.pvar.send(payload, weft.pvar.rank(keys)).numpy().ravel(), np.argsort(np.arange(15) * 7 % 15)
    )


@quick
@given(cases.SHAPES, st.lists(TYPES, min_size=1, max_size=3), cases.DENSITIES, cases.SEEDS, st.booleans())
def test_ranks_by_several_keys(shape, dtypes, density, seed, descending):
    """Against Python's sort of tuples; few different values, so that later keys decide."""
    mask = cases.mask(shape, density, seed)
    numbers = np.random.default_rng(seed)
    keys = [numbers.integers(0, 3, shape).astype(dtype) for dtype in dtypes]
    vp = weft.pvar.VPSet(shape)
    with selected(vp, mask):
        ranks = weft.pvar.rank(tuple(map(vp.array, keys)), descending=descending).numpy().ravel()
    flat = [[int(one) for one in key.ravel()] for key in reversed(keys)]
    sign = -1 if descending else 1
    order = sorted(np.flatnonzero(mask).tolist(), key=lambda at: [sign * key[at] for key in flat])
    expected = np.zeros(mask.size, int)
    expected[order] = np.arange(len(order))
    assert ranks.tolist() == expected.tolist()


def test_words_keep_their_length_when_they_are_sorted():
    vp = weft.pvar.VPSet(6)
    assert weft.pvar.sort(vp.array([3, 1, 2, 0, 3, 2], bits=3)).bits == 3


def test_those_who_are_left_over():
    vp = weft.pvar.VPSet(10)
    x = vp.address() * 1
    with vp.where(vp.address() < 8):
        large = vp.where(x > 4)
        with large:
            x[...] = 0
        with large.otherwise():
            assert vp.selected.numpy().tolist() == [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
            x += 100
    assert x.numpy().tolist() == [100, 101, 102, 103, 104, 0, 0, 0, 8, 9]
    with pytest.raises(UsageError, match=r"otherwise\(\) is of a selection whose block has been entered"):
        vp.where(x > 4).otherwise()
    with pytest.raises(UsageError, match=r"everywhere\(\) selects all processors: there is no otherwise\(\)"):
        vp.everywhere().otherwise()


def test_shifts_along_several_axes():
    vp = weft.pvar.VPSet((4, 5, 3))
    x = np.arange(60).reshape(4, 5, 3)
    got = weft.pvar.shift(vp.array(x), (1, -2), axis=(0, 2))
    assert np.array_equal(got.numpy(), np.roll(x, (-1, 2), (0, 2)))
    padded = np.pad(x, 3, constant_values=-1)
    got = weft.pvar.shift(vp.array(x), [3, -1, 1], axis=[1, 0, -1], boundary=-1)
    assert np.array_equal(got.numpy(), padded[2:6, 6:11, 4:7])
    into = vp.full(-7, "int64")
    with vp.where(vp.coordinate(1) == 2):
        weft.pvar.shift(vp.array(x), (1, 1), axis=(0, 1), form="store", boundary=0, into=into)
    expected = np.full(x.shape, -7)
    expected[1:, 3] = x[:-1, 2]
    assert np.array_equal(into.numpy(), expected)


@pytest.mark.parametrize(
    ("distance", "axis", "text"),
    [
        ((1, 2), 0, r"shift: the distance is \(1, 2\) along axis 0; expected a whole number for each axis"),
        ((), (), r"shift: the distance is \(\) along axis \(\); expected a whole number for each axis"),
        ((1, 2), (0, -2), r"shift: axis \(0, -2\) names one twice; add the distances"),
        ((1, 2.5), (0, 1), r"shift: the distance is 2.5; expected a whole number"),
        ((1, 2), (0, 2), r"shift: there is no axis 2"),
    ],
)
def test_shifts_that_cannot_be(distance, axis, text):
    with pytest.raises(UsageError, match=text):
        weft.pvar.shift(weft.pvar.VPSet((2, 2)).zeros(), distance, axis)


def test_random_numbers_are_the_same_however_they_are_divided():
    """The literal numbers keep ranks, versions and machines to the same ones."""
    rng = weft.pvar.VPSet((2, 3)).rng(seed=7)
    assert rng.integers(1000).numpy().tolist() == FIRST
    assert rng.integers(-3, 3, "int8").numpy().tolist() == SECOND
    assert rng.random().numpy()[1, 2] == THIRD


def test_splitmix_is_splitmix():
    """The stream of seed 1234567 as other implementations print it."""
    from weft.pvar.randomness import _GAMMA, _mixed

    stream = [_mixed((1234567 + step * _GAMMA) % 2**64) for step in range(3)]
    assert stream == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    rng = weft.pvar.VPSet(4).rng(5)
    assert rng._bits(3).tolist() == [
        _mixed((_mixed(_mixed(_mixed(5) ^ 3)) + step * _GAMMA) % 2**64) for step in range(4)
    ]


def test_random_numbers_are_distributed_as_they_say():
    count = 1 << 16
    rng = weft.pvar.VPSet(count).rng(seed=11)
    uniform = np.sort(rng.random().numpy())
    assert np.abs(uniform - np.arange(count) / count).max() < 1.63 / math.sqrt(count)  # Kolmogorov and Smirnov, 1%
    normal = rng.normal(2.0, 3.0).numpy()
    assert abs(normal.mean() - 2) < 4 * 3 / math.sqrt(count)
    assert abs(normal.std() - 3) < 4 * 3 / math.sqrt(2 * count)
    dice = np.bincount(rng.integers(1, 7).numpy(), minlength=7)[1:]
    assert ((dice - count / 6) ** 2 / (count / 6)).sum() < 20.5  # chi square, 5 degrees of freedom, 0.1%
    # Of a range that leaves a quarter of all numbers out, each quarter of it is as likely.
    wide = rng.integers(0, 3 << 62, "uint64").numpy() >> np.uint64(60)
    assert ((np.bincount(wide, minlength=12) - count / 12) ** 2 / (count / 12)).sum() < 31.3  # 11 degrees, 0.1%
    small = rng.random("float32")
    assert small.dtype == np.float32
    assert small.min() >= 0
    assert small.max() < 1
    assert abs(np.corrcoef(rng.random().numpy(), rng.random().numpy())[0, 1]) < 4 / math.sqrt(count)


def test_random_numbers_of_all_words():
    rng = weft.pvar.VPSet(64).rng(1)
    assert rng.integers(-(2**63), 2**63).dtype == np.int64
    assert rng.integers(0, 2**64, "uint64").dtype == np.uint64
    assert set(rng.integers(5, 6).numpy().tolist()) == {5}
    assert set(rng.uniform(2.5, 2.5).numpy().tolist()) == {2.5}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda vp: vp.rng(-1), "rng: the seed is -1; expected a whole number of 0 or more"),
        (lambda vp: vp.rng(0.5), r"rng: the seed is 0.5; expected a whole number"),
        (lambda vp: vp.rng(0).integers(3, 3), "there is no whole number from 3 up to, but without, 3"),
        (lambda vp: vp.rng(0).integers(0, 200, "int8"), "int8 holds whole numbers from -128 to 127, not 0 to 199"),
        (lambda vp: vp.rng(0).integers(4, dtype="f4"), "float32 is no dtype of integers"),
        (lambda vp: vp.rng(0).random("int32"), "random: int32 is no dtype of floating-point numbers"),
        (lambda vp: vp.rng(0).uniform(1, 0), "uniform: from 1.0 to 0.0; expected two finite numbers, the lower first"),
        (lambda vp: vp.rng(0).normal(scale=-1), "normal: the scale is -1; expected a number of 0 or more"),
        (lambda vp: weft.pvar.rank(3), "rank: a int is no parallel variable"),
        (lambda vp: weft.pvar.rank(()), "rank: there is no key; expected a parallel variable, or a tuple"),
        (lambda vp: weft.pvar.rank((vp.zeros(), weft.pvar.VPSet(5).zeros())), "rank: a key is of another VP set"),
        (lambda vp: weft.pvar.sort([3]), "sort: a list is no parallel variable"),
    ],
)
def test_mistakes(call, text):
    with pytest.raises(UsageError, match=text):
        call(weft.pvar.VPSet(4))


def test_order_and_chance_are_recorded_and_not_priced_where_nobody_measured_them():
    vp = weft.pvar.VPSet(8, machine="cm2-8k")
    x = vp.rng(0).random("float32")
    assert [record.kind for record in vp.meter.sequence] == ["random"]
    weft.pvar.rank(x)
    assert [(record.kind, record.bits) for record in vp.meter.sequence] == [("random", 32), ("rank", 32)]
    with pytest.raises(UsageError, match=r"no time of rank \(the order of the elements of all processors\)"):
        _ = vp.time
