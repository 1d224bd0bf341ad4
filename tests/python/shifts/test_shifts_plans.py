"""What a plan promises besides right elements: overlaps, live boundaries, order of axes, release, messages."""

import numpy as np
import pytest

import weft
from weft import UsageError
from weft.shifts import Shift, ShiftPlan

BOTH_WAYS = [(1, 0), (-1, 0), (1, 1), (-1, 1)]


@pytest.fixture
def x():
    return np.arange(24.0).reshape(4, 6)


def test_numpy_roll_counts_the_other_way(x):
    np.testing.assert_array_equal(weft.arrays.cshift(x, 1, 1), np.roll(x, -1, 1))


def test_the_paper_s_five_point_stencil(x):
    """George, Brickner, Johnsson 1994, figure 5: N, E, W, S by one call, and the sum."""
    north, east, west, south = weft.arrays.polyshift(x.shape, x.dtype, [(-1, 0), (1, 1), (-1, 1), (1, 0)])(x)
    found = 4 * x - north - east - west - south
    wanted = 4 * x - sum(np.roll(x, by, axis) for by in (1, -1) for axis in (0, 1))
    np.testing.assert_array_equal(found, wanted)


def test_the_paper_s_lattice_of_spinors():
    """Figure 6: eight sources of (3, 2) spinors on a 4-D lattice, each shifted its own way."""
    shape = (2, 3, 4, 2, 3, 2)
    sources = [np.random.default_rng(seed).random(shape, dtype=np.float32) for seed in range(8)]
    ways = [(by, axis) for axis in range(4) for by in (1, -1)]
    plan = weft.arrays.polyshift(
        shape, "float32", [Shift(by, axis, source=number) for number, (by, axis) in enumerate(ways)]
    )
    for found, source, (by, axis) in zip(plan(*sources), sources, ways, strict=True):
        np.testing.assert_array_equal(found, np.roll(source, -by, axis))


@pytest.mark.parametrize("offset", [-7, -1, 0, 1, 5, 6])
def test_overlaps_are_copied_first(offset):
    memory = np.arange(60.0)
    x, out = memory[10:34].reshape(4, 6), memory[10 + offset : 34 + offset].reshape(4, 6)
    before = x.copy()
    plan = weft.arrays.polyshift(x.shape, x.dtype, [(1, 1)])
    assert plan.bind(x, out=[out]).copied_first == 1
    plan(x, out=[out])
    np.testing.assert_array_equal(out, np.roll(before, -1, 1))


def test_in_place_again_and_again(x):
    wanted = x.copy()
    bound = weft.arrays.polyshift(x.shape, x.dtype, [(-1, 0)]).bind(x, out=x)
    for _ in range(3):
        bound()
        wanted = np.roll(wanted, 1, 0)
        np.testing.assert_array_equal(x, wanted)


def test_a_boundary_array_that_an_output_overlaps(x):
    boundary = x[0]
    before, wanted = x.copy(), x[0].copy()
    weft.arrays.eoshift(x, 1, 0, boundary=boundary, out=x)
    np.testing.assert_array_equal(x, np.vstack([before[1:], wanted]))


def test_boundary_arrays_are_read_at_each_call(x):
    edge, single = np.zeros(4), np.array(0.0)
    plan = weft.arrays.polyshift(x.shape, x.dtype, [(1, 1, edge), (1, 0, single)])
    bound = plan.bind(x)
    edge[...], single[...] = 7, 8
    for outputs in (plan(x), bound()):
        np.testing.assert_array_equal(outputs[0][:, -1], [7] * 4)
        np.testing.assert_array_equal(outputs[1][-1], [8] * 6)


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", "g"])
def test_a_boundary_of_zero_keeps_its_sign(dtype):
    """Shifts move bits, and a comparison does not tell these two apart."""
    x = np.ones((3, 4), dtype)
    for zero in (0.0, -0.0, np.float32(-0.0)):
        expected = [[False, False, False, np.signbit(zero)]] * 3
        alone = weft.arrays.eoshift(x, 1, 1, zero)
        planned, _ = weft.arrays.polyshift(x.shape, dtype, [(1, 1, zero), (1, 1, -zero)])(x)
        geometry = weft.arrays.Geometry(x.shape)
        divided = weft.arrays.eoshift(geometry.distribute(x.astype(x.dtype.newbyteorder("="))), 1, 1, zero).local
        for result in (alone, planned, divided):
            assert np.signbit(result).tolist() == expected
            assert np.array_equal(result, np.where(expected, 0, [[1, 1, 1, 0]] * 3))
    assert weft.arrays.eoshift(np.ones(2, int), 1, 0, -0.0).tolist() == [1, 0]
    assert weft.arrays.eoshift(np.ones(2, complex), 1, 0, -0.0).tolist() == [1, 0]


def test_new_outputs_have_the_order_of_axes_of_the_source(x):
    (fortran,) = weft.arrays.polyshift(x.shape, x.dtype, [(1, 0)])(np.asfortranarray(x))
    assert fortran.flags.f_contiguous
    np.testing.assert_array_equal(fortran, np.roll(x, -1, 0))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_extents_of_zero(shape):
    x = np.empty(shape)
    for axis in range(len(shape)):
        plan = weft.arrays.polyshift(shape, float, [(3, axis), (-2, axis, 1.0)])
        assert all(out.shape == shape for out in plan(x))
        assert "nothing is done" in plan.explain()


def test_records_and_times():
    record = np.dtype([("a", "i4"), ("b", "f8")])
    x = np.zeros(3, record)
    x["a"] = [1, 2, 3]
    assert list(weft.arrays.eoshift(x, 1, 0)["a"]) == [2, 3, 0]
    days = np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")
    assert list(weft.arrays.eoshift(days, 1, 0, boundary=np.datetime64("2021-01-01"))) == [
        days[1],
        np.datetime64("2021-01-01"),
    ]


def test_what_numpy_makes_arrays_of():
    np.testing.assert_array_equal(weft.arrays.cshift([1, 2, 3], 1, 0), [2, 3, 1])
    np.testing.assert_array_equal(weft.arrays.polyshift(3, int, [(1, 0)])([1, 2, 3])[0], [2, 3, 1])
    np.testing.assert_array_equal(weft.arrays.cshift(np.rec.array(np.array([[1, 2], [3, 4]])), 1, 1), [[2, 1], [4, 3]])


def test_a_mapped_file(tmp_path):
    mapped = np.memmap(tmp_path / "x", dtype=np.int32, mode="w+", shape=(5,))
    mapped[...] = np.arange(5)
    np.testing.assert_array_equal(weft.arrays.cshift(mapped, 2, 0), [2, 3, 4, 0, 1])


def test_shifts_are_described_in_four_ways():
    ways = [Shift(1, 0, 2.0), (1, 0, 2.0), [1, 0, 2.0], {"by": 1, "axis": 0, "boundary": 2.0}]
    plan = weft.arrays.polyshift(3, float, ways)
    assert len(set(plan.shifts)) == 1
    assert repr(plan) == "<ShiftPlan: 4 shifts of float64 arrays of shape (3,)>"


def test_release(x):
    with weft.arrays.polyshift(x.shape, x.dtype, [(1, 0)]) as plan:
        bound = plan.bind(x)
        plan(x)
    assert plan.released
    for used in (lambda: plan(x), bound, lambda: plan.bind(x), plan.explain, plan.summary):
        with pytest.raises(UsageError, match="this plan has been released: make another with weft.arrays.polyshift"):
            used()
    plan.release()
    assert repr(plan).endswith("released>")


def test_a_bound_plan_keeps_its_arrays():
    bound = weft.arrays.polyshift(3, float, [(1, 0)]).bind(np.arange(3.0))
    np.testing.assert_array_equal(bound()[0], [1, 2, 0])
    np.testing.assert_array_equal(bound.sources[0], [0, 1, 2])
    assert bound.out[0] is bound()[0]


def test_memory_of_large_outputs_is_used_again_when_nobody_has_it():
    x = np.arange(1 << 17, dtype=np.int64).reshape(256, 512)
    plan = weft.arrays.polyshift(x.shape, x.dtype, [(1, 0), (-1, 1)])
    first = plan(x)
    view = first[0][3:5]
    second, third = plan(x + 1), plan(x + 2)
    for by, outputs in enumerate((first, second, third)):
        np.testing.assert_array_equal(outputs[0], np.roll(x + by, -1, 0))
        np.testing.assert_array_equal(outputs[1], np.roll(x + by, 1, 1))
    addresses = {one.ctypes.data for outputs in (second, third) for one in outputs}
    del first, second, third, outputs
    again = plan(x + 3)
    # A view keeps its array's memory, the others' is there again.
    np.testing.assert_array_equal(view, np.roll(x, -1, 0)[3:5])
    np.testing.assert_array_equal(again[0], np.roll(x + 3, -1, 0))
    assert {one.ctypes.data for one in again} <= addresses
    plan.release()
    np.testing.assert_array_equal(again[1], np.roll(x + 3, 1, 1))


def test_explain_says_what_and_what_it_costs():
    plan = weft.arrays.polyshift((4, 6), float, [(1, 0), (-7, 1), (2, 1, np.zeros(4)), Shift(1, 0, 3, source=1)])
    text = plan.explain(bytes_per_second=2e10)
    assert text.splitlines()[0] == "4 shifts of 2 sources, float64 of shape (4, 6):"
    assert "element i is (i - 7) mod 6 of source 0; 4 slabs of 48 B, of which 32 B wrap around" in text
    assert "element i is i + 2 of source 0; 4 slabs of 48 B, of which 64 B come from the boundary array" in text
    assert "element i is i + 1 of source 1; 1 slab of 192 B, of which 48 B are 3.0" in text
    assert "384 B read, 768 B written a call; 1.50 KiB read and written if each shift were done by itself" in text
    assert "57.6 ns at 20.0 GB/s" in text
    large = weft.arrays.polyshift((1 << 14, 1 << 14), float, [(1, 0)], threads=2).explain()
    assert "outputs are written by non-temporal stores" in large
    assert "2 threads" in large


def message(call):
    with pytest.raises(UsageError) as caught:
        call()
    return str(caught.value)


PLANNED = [
    (
        lambda: weft.arrays.polyshift((2, 3), float, [(1, 2)]),
        "shift 0: axis 2 is none of an array of rank 2: expected -2 to 1",
    ),
    (lambda: weft.arrays.polyshift((), float, [(1, 0)]), "an array of rank 0 has no axis to shift along"),
    (lambda: weft.arrays.polyshift((2,), float, []), "there are no shifts"),
    (lambda: weft.arrays.polyshift((2,), float, (1, 0)), "shift 0: expected (by, axis)"),
    (lambda: weft.arrays.polyshift((2,), float, Shift(1, 0)), "shifts: expected a list, such as [(1, 0), (-1, 0)]"),
    (lambda: weft.arrays.polyshift((2,), float, [{"by": 1, "axes": 0}]), "shift 0: 'axes' is none of a shift's words"),
    (lambda: weft.arrays.polyshift((2,), float, [{"by": 1}]), "shift 0: 'by' and 'axis' are needed"),
    (
        lambda: weft.arrays.polyshift((2,), float, [(0.5, 0)]),
        "shift 0: by must be an integer that is known now, got 0.5",
    ),
    (
        lambda: weft.arrays.polyshift((2,), float, [Shift(1, 0, source=1)]),
        "no shift uses source 0, but there are sources up to 1",
    ),
    (lambda: weft.arrays.polyshift((2,), float, [Shift(1, 0, source=-1)]), "source -1: sources are counted from 0"),
    (lambda: weft.arrays.polyshift((-2,), float, [(1, 0)]), "shape (-2,): extents cannot be negative"),
    (lambda: weft.arrays.polyshift((2**62, 8), float, [(1, 0)]), "is larger than can be addressed"),
    (lambda: weft.arrays.polyshift((2,), object, [(1, 0)]), "dtype object holds Python objects"),
    (lambda: weft.arrays.polyshift((2,), "flaot", [(1, 0)]), "'flaot' is no dtype"),
    (lambda: weft.arrays.polyshift((2,), "S0", [(1, 0)]), "has elements of no bytes"),
    (
        lambda: weft.arrays.polyshift((2,), ("f8", (3,)), [(1, 0)]),
        "is an array itself: put its extents at the end of the shape",
    ),
    (lambda: weft.arrays.polyshift((2,), float, [(1, 0)], threads=0), "threads must be at least 1, got 0"),
    (lambda: weft.arrays.polyshift((2,), int, [(1, 0, 1.5)]), "shift 0: boundary 1.5 does not fit dtype int64"),
    (lambda: weft.arrays.polyshift((2,), "int8", [(1, 0, 300)]), "shift 0: boundary 300 does not fit dtype int8"),
    (lambda: weft.arrays.polyshift((2,), bool, [(1, 0, 2)]), "boundary 2 does not fit dtype bool"),
    (lambda: weft.arrays.polyshift((2,), float, [(1, 0, np.complex64(1))]), "does not fit dtype float64"),
    (lambda: weft.arrays.polyshift((2,), float, [(1, 0, [1.0])]), "boundary: expected a number or an array, got [1.0]"),
    (
        lambda: weft.arrays.polyshift((2, 3), float, [(1, 0, np.zeros(2))]),
        "shift 0: boundary array has shape (2,), expected (3,)",
    ),
    (
        lambda: weft.arrays.polyshift((2, 3), float, [(1, 0, np.zeros(3, int))]),
        "shift 0: boundary array has dtype int64, expected float64: convert it with .astype",
    ),
    (lambda: weft.arrays.polyshift((2, 3), float, [(1, 0, np.ma.zeros(3))]), "a masked array has no element"),
    (lambda: weft.arrays.eoshift(np.zeros(2), 1, 0, boundary=None), "an end-off shift needs a boundary"),
    (lambda: weft.arrays.cshift(np.zeros(2), 1, 1), "axis 1 is none of an array of rank 1: expected -1 to 0"),
    (lambda: weft.arrays.cshift(3.0, 1, 0), "an array of rank 0 has no axis to shift along"),
    (lambda: weft.arrays.cshift(np.ma.zeros(2), 1, 0), "masked arrays: shift the data and the mask, each by itself"),
]


@pytest.mark.parametrize(("call", "words"), PLANNED)
def test_what_cannot_be_planned_is_said(call, words):
    assert words in message(call)


def broadcast(shape):
    return np.lib.stride_tricks.as_strided(np.zeros(shape[1]), shape, (0, 8))


CALLED = [
    (lambda plan, x: plan(), "the plan shifts 1 arrays, 0 were given"),
    (lambda plan, x: plan(x, x), "the plan shifts 1 arrays, 2 were given"),
    (lambda plan, x: plan(x.T), "source 0 has shape (6, 4), expected (4, 6)"),
    (lambda plan, x: plan(x[0]), "source 0 has shape (6,), expected (4, 6)"),
    (
        lambda plan, x: plan(x.astype("f4")),
        "source 0 has dtype float32, expected float64: convert it with .astype, or plan for float32",
    ),
    (lambda plan, x: plan(x.astype(">f8")), "source 0 has dtype >f8, expected float64"),
    (lambda plan, x: plan(x, out=[x]), "out has 1 arrays for 4 shifts"),
    (lambda plan, x: plan(x, out=3), "out: expected 4 numpy arrays, one for each shift"),
    (lambda plan, x: plan(x, out=[[], [], [], []]), "out[0] is a list: expected a numpy array"),
    (lambda plan, x: plan(x, out=[np.empty((4, 6)) for _ in range(3)] + [np.empty(24)]), "out[3] has shape (24,)"),
    (lambda plan, x: plan(x, out=[np.empty((4, 6), int)] * 4), "out[0] has dtype int64"),
    (lambda plan, x: plan(x, out=[np.broadcast_to(0.0, (4, 6))] * 4), "out[0] is read-only"),
    (lambda plan, x: plan(x, out=[broadcast((4, 6))] * 4), "elements of out[0] share memory, as of a broadcast array"),
    (lambda plan, x: plan(x, out=[np.empty((4, 6))] * 4), "out[0] and out[1] share memory"),
    (lambda plan, x: plan.bind([[1.0]]), "source 0 is a list: expected a numpy array"),
]


@pytest.mark.parametrize(("call", "words"), CALLED)
def test_what_does_not_fit_a_plan_is_said(x, call, words):
    plan = weft.arrays.polyshift(x.shape, x.dtype, BOTH_WAYS)
    assert words in message(lambda: call(plan, x))


def test_outputs_may_be_interleaved_in_one_array(x):
    together = np.zeros((4, 6, 4))
    weft.arrays.polyshift(x.shape, x.dtype, BOTH_WAYS)(x, out=[together[..., number] for number in range(4)])
    for number, (by, axis) in enumerate(BOTH_WAYS):
        np.testing.assert_array_equal(together[..., number], np.roll(x, -by, axis))
    outputs = [together[..., 0], together[..., 1], together[::-1, :, 0], together[..., 3]]
    with pytest.raises(UsageError, match=r"out\[0\] and out\[2\] share memory"):
        weft.arrays.polyshift(x.shape, x.dtype, BOTH_WAYS)(x, out=outputs)


def test_plans_are_made_by_their_class_too():
    assert isinstance(weft.arrays.polyshift(3, float, [(1, 0)]), ShiftPlan)
    np.testing.assert_array_equal(ShiftPlan(3, float, [(1, 0)])(np.arange(3.0))[0], [1, 2, 0])
