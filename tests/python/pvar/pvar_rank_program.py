"""What each rank of the tests does: `pvar_rank_program.py SCENARIO`; prints `SCENARIO: ok` where all is well.

The tests of one process are run again on all ranks: a VP set is divided over them, what is asked of it is the same.
Every rank draws the same examples.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, settings

import weft
from weft import UsageError

# Before the tests are imported, whose settings begin with these.
settings.register_profile(
    "ranks", derandomize=True, database=None, phases=[Phase.explicit, Phase.generate], max_examples=20
)
settings.load_profile("ranks")
sys.path.insert(0, str(Path(__file__).parent))
meter, tests, variables, by_numpy, ordering, functions, arrays, empty = (
    importlib.import_module(f"test_pvar_{name}")
    for name in ("meter", "primitives", "variables", "numpy", "ordering", "functions", "processor_arrays", "empty")
)


def primitives():
    """Reductions, spreads, shifts, gets and sends against the reference."""
    tests.test_reductions()
    tests.test_spread_and_shift()
    tests.test_gets()
    tests.test_sends_that_combine()
    tests.test_a_number_is_sent_by_all()
    tests.test_plain_sends_are_permutations_or_errors()
    tests.test_gets_from_another_shape()
    tests.test_sends_to_another_shape()
    tests.test_words_move_to_another_shape()
    tests.test_variables_of_two_sets_of_one_shape_are_computed_with_together()
    tests.test_ranks_of_another_set_are_taken_over()


def numpy():
    """Reductions along divided axes, and by numpy's names."""
    by_numpy.test_reductions_along_an_axis()
    by_numpy.test_reductions_by_their_names()
    by_numpy.test_the_mean_of_lines()
    by_numpy.test_functions_of_numpy_are_those_of_variables()
    by_numpy.test_assignment_under_a_condition_can_be_in_place()
    by_numpy.test_products_that_arrive_together()


def more_numpy():
    """Several axes, statistics, parts, functions that are no ufuncs, complex numbers."""
    by_numpy.test_reductions_along_several_axes()
    by_numpy.test_statistics()
    by_numpy.test_rows_and_other_parts()
    by_numpy.test_functions_of_numpy_that_are_no_ufuncs()
    by_numpy.complex_cases()


def scans():
    """Scans along divided axes, in segments that go over blocks."""
    tests.test_scans()
    tests.test_float_scans_do_not_cancel_over_segments()
    for dtype in ("f2", "f4", "f8", "c8", "c16"):
        tests.test_sums_of_negative_zeros_have_no_sign(dtype)
    tests.test_thirty_one_axes()
    variables.test_words_of_any_length_wrap_around()


def own_functions():
    """Functions of the program's, in the order of addresses whatever the blocks; what they raise, all ranks do."""
    functions.test_reductions()
    functions.test_scans()
    functions.test_sends()
    functions.test_functions_of_numpy()
    functions.test_words_wrap_around_and_complex_numbers_combine()
    functions.test_calls_are_few()
    for call, kind, text in functions.mistakes():
        with pytest.raises((kind, UsageError), match=text):
            call()
    vp = weft.pvar.VPSet(12)
    x = vp.address()

    def picky(a, b):
        if (b == 11).any():
            raise ValueError("eleven")
        return a + b

    with pytest.raises((ValueError, UsageError), match="eleven"):
        weft.pvar.reduce(x, picky)
    with pytest.raises((ValueError, UsageError), match="eleven"):
        weft.pvar.scan(x, picky)
    assert weft.pvar.reduce(x, lambda a, b: a + b) == 66


def own_arrays():
    """An array on each processor; an index that is wrong on one rank is an error on all."""
    arrays.test_elements_by_an_index_of_their_own()
    arrays.test_elements_by_numbers()
    arrays.test_what_is_recorded_is_what_is_computed()
    for call, text in arrays.mistakes():
        with pytest.raises(UsageError, match=text):
            call()
    vp = weft.pvar.VPSet(12)
    with pytest.raises(UsageError, match="there is no element 11"):
        vp.arrays(11)[vp.address()] = 1
    assert weft.pvar.reduce(vp.address(), "sum") == 66


def none():
    """VP sets without processors."""
    for shape in empty.SHAPES:
        for dtype in empty.DTYPES:
            empty.test_reductions(shape, dtype)
            empty.test_everything_else(shape, dtype)
        empty.test_against_a_described_machine(shape)


def order():
    """Ranks, sorting, numbering, random numbers, shifts along several axes."""
    ordering.test_ranks_and_sorting()
    ordering.test_integers_beyond_what_floats_hold_are_told_apart()
    ordering.test_a_rank_brings_other_variables_into_its_order()
    ordering.test_those_who_are_left_over()
    ordering.test_shifts_along_several_axes()
    ordering.test_random_numbers_are_the_same_however_they_are_divided()


def elements():
    """Elements read and written, coordinates, assignment, selections."""
    variables.test_one_element()
    variables.test_a_selection_is_made_when_its_block_is_entered()
    variables.test_masked_assignment_keeps_old_values()
    for order in (None, "send", ("news", "send", None)):
        vp = weft.pvar.VPSet((3, 4, 2), order=order)
        places = np.indices((3, 4, 2))
        for axis in range(3):
            assert np.array_equal(vp.coordinate(axis).numpy(), places[axis])
        assert np.array_equal(vp.address().numpy(), np.arange(24).reshape(3, 4, 2))
    grid = (vp.execution.ranks, 1, 1)
    assert weft.pvar.VPSet((6, 4, 2), grid=grid).execution.geometry.grid == grid


def mistakes():
    """Each raises on every rank, also where only one has it; the ranks then still agree."""
    for call, text in tests.mistakes():
        with pytest.raises(UsageError, match=text):
            call()
    vp = weft.pvar.VPSet(12)
    x = vp.address()
    wrong, twice = np.arange(12), np.arange(12)
    wrong[7], twice[11] = 40, 0
    with pytest.raises(UsageError, match="get: there is no processor 40"):
        weft.pvar.get(x, vp.array(wrong))
    with pytest.raises(UsageError, match="send: there is no processor 40"):
        weft.pvar.send(x, vp.array(wrong), combine="max")
    with pytest.raises(UsageError, match="get: there is no coordinate 40 along axis 0"):
        weft.pvar.get(x, (vp.array(wrong),))
    into = x.copy()
    with pytest.raises(UsageError, match="send: 2 processors send to processor 0; say how"):
        weft.pvar.send(x + 100, vp.array(twice), into=into)
    assert into.numpy().tolist() == list(range(12))
    assert weft.pvar.reduce(x, "sum") == 66


def metered():
    """The meter of every rank sees the whole."""
    meter.test_every_operation_is_recorded_with_what_it_is()
    meter.test_facts_find_shifts()
    vp = weft.pvar.VPSet(12)
    with weft.pvar.metered(vp) as made, vp.where(vp.coordinate(0) < 5):
        weft.pvar.send(vp.address(), vp.address() // 3, combine="add")
    record = made.sequence[-1]
    assert (record.selected, record.facts.messages, record.facts.targets) == (5, 5, 2)


def floats():
    """Sends combine in the order of one rank, to the bit; sums and scans to rounding."""
    shape = (23, 17)
    random = np.random.default_rng(4)
    x, to = random.standard_normal(shape), random.integers(0, 40, shape)
    vp = weft.pvar.VPSet(shape)
    expected = np.zeros(x.size)
    np.add.at(expected, to.ravel(), x.ravel())
    assert np.array_equal(weft.pvar.send(vp.array(x), vp.array(to), combine="add").numpy().ravel(), expected)
    assert weft.pvar.reduce(vp.array(x), "sum") == pytest.approx(x.sum(), rel=1e-13)
    for axis in (0, 1):
        got = weft.pvar.scan(vp.array(x), "add", axis).numpy()
        assert np.allclose(got, np.cumsum(x, axis), rtol=1e-13, atol=1e-13)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(f"{sys.argv[1]}: ok", flush=True)
