"""Numbers of processors by their coordinates, beside numpy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft import _core
from weft._core import UsageError
from weft.pvar.native import linear

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@given(st.data())
def test_they_are_those_of_numpy(data):
    extents = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    length = data.draw(st.sampled_from([0, 1, 2, 7, 64, 65, 1023, 1025]))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    coordinates = [
        int(rng.integers(extent))
        if data.draw(st.booleans())
        else rng.integers(0, extent, length).astype(data.draw(st.sampled_from(INTEGERS)))
        for extent in extents
    ]
    found = linear(coordinates, extents, (length,))
    whole = [np.broadcast_to(np.asarray(one, np.int64), (length,)) for one in coordinates]
    assert found.dtype == np.int64
    assert (found == np.ravel_multi_index(whole, extents)).all()


def test_what_is_no_coordinate_is_refused():
    out = np.zeros(4, np.int64)
    with pytest.raises(UsageError, match="coordinates has dtype float64, expected integers"):
        _core.array_addresses([np.zeros(4)], [1], 0, out)
    with pytest.raises(UsageError, match="1 arrays of coordinates have 2 strides"):
        _core.array_addresses([np.zeros(4, np.int8)], [1, 2], 0, out)
    with pytest.raises(UsageError, match="coordinates.*out"):
        _core.array_addresses([out], [1], 0, out)
