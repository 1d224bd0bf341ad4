"""What the tests of parallel variables draw."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

EXAMPLES = settings.default.max_examples
"""The most examples of a property: fewer where ranks have to agree on each."""

SHAPES = st.lists(st.integers(1, 7), min_size=1, max_size=4).map(tuple)
ANY_SHAPES = st.one_of(SHAPES, st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple))
"""Those of VP sets without processors too."""
DTYPES = st.sampled_from(["i1", "u2", "i4", "u8", "i8", "f4", "f8"])


def elements(shape, dtype, seed):
    """Numbers that a float32 holds exactly, sums of them too, so that rounding has no part in the order of sums."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    low, high = (-100, 100) if dtype.kind != "u" else (0, 200)
    return random.integers(low, high, shape).astype(dtype)


def mask(shape, density, seed):
    if density is None:
        return np.ones(shape, dtype=bool)
    return np.random.default_rng(seed + 1).random(shape) < density


DENSITIES = st.sampled_from([None, 0.0, 0.1, 0.5, 0.9])
SEEDS = st.integers(0, 2**32 - 2)
