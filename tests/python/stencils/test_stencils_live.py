"""One rule for arrays that are given to plans: they are read at each call. Masked and foreign arrays are refused."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shift_formulation import apply

import weft


def grids(draw, rank):
    return tuple(draw(st.lists(st.integers(1, 5), min_size=rank, max_size=rank)))


@st.composite
def changing(draw):
    """A stencil with arrays of all sorts, and how to change them."""
    rank = draw(st.integers(1, 3))
    grid = grids(draw, rank)
    site = draw(st.sampled_from([(), (), (2,), (2, 3)]))
    dtype = np.dtype(draw(st.sampled_from(["f4", "f8", "c8", "c16"])))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = ["f4", "f8", "i4"] + ["c16"] * (dtype.kind == "c")

    def array(shape):
        made = random.integers(-4, 5, shape).astype(draw(st.sampled_from(kinds)))
        lying = draw(st.sampled_from(["plain", "fortran", "strided", "unaligned", "swapped"]))
        if lying == "fortran" and made.ndim:
            return np.asfortranarray(made)
        if lying == "strided" and made.ndim:
            return np.repeat(made, 2, axis=-1)[..., ::2]
        if lying == "unaligned":
            raw = np.zeros(made.nbytes + 1, np.uint8)[1:].view(made.dtype).reshape(made.shape)
            raw[...] = made
            return raw
        return made.astype(made.dtype.newbyteorder()) if lying == "swapped" else made

    points, arrays = {}, []
    for _ in range(draw(st.integers(1, 4))):
        offset = tuple(draw(st.lists(st.integers(-2, 2), min_size=rank, max_size=rank)))
        if draw(st.booleans()):
            points[offset] = array(tuple(n if draw(st.booleans()) else 1 for n in grid))
            arrays.append(points[offset])
        else:
            points[offset] = float(draw(st.integers(-3, 3)))
    arrays = [one for one in points.values() if isinstance(one, np.ndarray)]
    boundary = []
    for axis in range(rank):
        kind = draw(st.sampled_from(["circular", "number", "array", "site"]))
        if kind in ("circular", "number"):
            boundary.append("circular" if kind == "circular" else 2.0)
            continue
        boundary.append(array(grid[:axis] + grid[axis + 1 :] + (site if kind == "site" else ())))
        arrays.append(boundary[-1])
    x = random.integers(-5, 6, (*grid, *site)).astype(dtype)
    return points, tuple(boundary), x, len(site), arrays


@settings(max_examples=150, deadline=None)
@given(changing(), st.integers(1, 3))
def test_changes_of_arrays_are_seen_by_the_next_call(case, steps):
    points, boundary, x, site_rank, arrays = case
    stencil = weft.arrays.stencil(points, boundary=boundary, site_rank=site_rank)
    plan, out = stencil.plan(x.shape, x.dtype, steps=steps), np.empty_like(x)
    bound = plan.bind(x, out)
    geometry = weft.arrays.Geometry(x.shape, serial=range(x.ndim))
    y, z = geometry.distribute(x), geometry.zeros(x.dtype)
    several = geometry.stencil(stencil, x.dtype, steps_per_exchange=2)
    once = geometry.stencil(stencil, x.dtype)
    ready = once.bind(y, z, steps=steps)

    def check():
        expected = x
        for _ in range(steps):
            expected = apply(points, expected, boundary, site_rank)
        bound()
        ready()
        with np.errstate(all="ignore"):
            for found in (
                *(stencil(x, steps=steps), plan(x), out, z.local),
                *(once(y, steps=steps).local, several(y, steps=steps).local),
            ):
                np.testing.assert_array_equal(found, expected.astype(x.dtype))

    check()
    for array in arrays:
        array[...] = array[...] * -2 + 3
    check()


def test_boundaries_of_rank_0_are_read_at_each_call():
    value, x = np.array(3.0), np.arange(4.0)
    for shifted in (
        weft.arrays.stencil({1: 1.0}, boundary=value),
        lambda x: weft.arrays.eoshift(x, 1, 0, value),
        lambda x: weft.arrays.polyshift(4, float, [(1, 0, value)])(x)[0],
    ):
        value[...] = 3.0
        assert shifted(x)[-1] == 3.0
        value[...] = 5.0
        assert shifted(x)[-1] == 5.0


def test_boundary_arrays_of_shifts_and_halos_are_read_at_each_call():
    edge, x = np.array([1.0, 2.0, 3.0]), np.zeros((4, 3))
    out = np.empty_like(x)
    geometry = weft.arrays.Geometry((4, 3), serial=(0, 1))
    y, z = geometry.distribute(x, halo=1), geometry.zeros(halo=1)
    plan = weft.arrays.polyshift((4, 3), float, [(1, 0, edge)])
    bound = plan.bind(x, out=[out])
    far = geometry.polyshift(shifts=[(1, 0, edge)], halo=1)
    ready = far.bind(y, out=[z])
    fill = geometry.halo_exchange(boundary=[edge, 0.0])
    filled = fill.bind(y)
    for change in (0.0, 10.0):
        edge += change
        bound()
        ready()
        filled()
        assert weft.arrays.eoshift(x, 1, 0, edge)[-1].tolist() == edge.tolist()
        assert plan(x)[0][-1].tolist() == out[-1].tolist() == z.local[-1].tolist() == edge.tolist()
        assert y.local_with_halo[0, 1:-1].tolist() == y.local_with_halo[-1, 1:-1].tolist() == edge.tolist()


def masked(shape=(3,)):
    return np.ma.masked_equal(np.arange(float(np.prod(shape))).reshape(shape), 1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: weft.arrays.stencil({1: 1.0})(masked()),
        lambda: weft.arrays.stencil({1: 1.0}).plan(3)(masked()),
        lambda: weft.arrays.stencil({1: 1.0}).plan(3)(np.zeros(3), out=masked()),
        lambda: weft.arrays.stencil({1: 1.0}).plan(3).bind(masked(), np.zeros(3)),
        lambda: weft.arrays.stencil({1: masked()}),
        lambda: weft.arrays.stencil({(1, 0): 1.0}, boundary=(masked(), 0)),
        lambda: weft.arrays.cshift(masked(), 1, 0),
        lambda: weft.arrays.eoshift(np.zeros((3, 3)), 1, 0, masked()),
        lambda: weft.arrays.polyshift((3,), float, [(1, 0)])(masked()),
        lambda: weft.arrays.Geometry(3).distribute(masked()),
        lambda: weft.arrays.Geometry(3).scatter(masked()),
        lambda: weft.arrays.Geometry((3, 3)).polyshift(shifts=[(1, 0, masked())]),
        lambda: weft.arrays.Geometry((3, 3)).halo_exchange(boundary=[masked(), 0]),
        lambda: weft.pvar.VPSet(3).array(masked()),
    ],
)
def test_masked_arrays_are_refused(call):
    with pytest.raises(weft.UsageError, match="masked array"):
        call()


class Labelled:
    """As pandas has it: numpy would make an array of it, but it is none."""

    shape, ndim, dtype = (3,), 1, np.dtype(float)

    def __array__(self, dtype=None, copy=None):
        return np.zeros(3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: weft.arrays.stencil({1: 1.0})(Labelled()),
        lambda: weft.arrays.stencil({1: 1.0}).plan(3)(Labelled()),
        lambda: weft.arrays.cshift(Labelled(), 1, 0),
        lambda: weft.arrays.polyshift((3,), float, [(1, 0)])(Labelled()),
    ],
)
def test_what_numpy_would_only_convert_is_refused(call):
    with pytest.raises(weft.UsageError, match="is a Labelled of test_stencils_live, no array of numpy and none that"):
        call()


def test_lists_and_subclasses_are_taken_as_the_arrays_that_they_are():
    twice = weft.arrays.stencil({0: 2.0})
    assert twice([1.0, 2.0]).tolist() == [2.0, 4.0]
    found = weft.arrays.stencil({(0, 0): 2.0})(np.rec.array(np.array([[1.0, 2.0]])))
    assert type(found) is np.ndarray
    assert found.tolist() == [[2.0, 4.0]]


def test_arrays_of_the_standard_stay_what_they_are():
    found = weft.arrays.stencil({1: 2.0, -1: 1.0}, boundary=3.0)(array_api_strict.asarray([1.0, 2.0, 4.0]))
    assert type(found).__module__.startswith("array_api_strict")
    assert np.asarray(found).tolist() == [7.0, 9.0, 8.0]


@pytest.mark.parametrize(("boundary", "last"), [("circular", 0), ("reflect", 3), ((0.0, "symmetric"), 4)])
def test_unaligned_arrays_are_copied_or_refused_where_a_copy_is_out_of_the_question(boundary, last):
    raw = np.zeros(8 * 5 + 1, np.uint8)[1:].view(float)
    raw[...] = np.arange(5)
    records = np.zeros(5, dtype=[("flag", "i1"), ("value", "f8")])
    records["value"] = np.arange(5)
    stencil = weft.arrays.stencil({1: 1.0}, boundary=(boundary,))
    for x in (raw, records["value"]):
        out = x.copy() * 0
        assert stencil(x).tolist() == [1, 2, 3, 4, last]
        assert stencil(np.arange(5.0), out=x) is x
        assert x.tolist() == [1, 2, 3, 4, last]
        x[...] = np.arange(5)
        with pytest.raises(weft.UsageError, match="contiguous and aligned"):
            stencil.plan(5).bind(x, out)
