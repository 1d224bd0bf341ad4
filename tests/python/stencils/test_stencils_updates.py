"""Updates of coupled fields, against whole arrays of numpy."""

import numpy as np
import pytest
from update_cases import CASES, FIVE

import weft
from weft.stencils import update as module

X = {"x": np.zeros((4, 4)), "y": np.zeros((4, 4))}


@pytest.mark.parametrize("tile", [1, 4000, 1 << 30])
@pytest.mark.parametrize("case", CASES)
def test_the_same_as_whole_arrays(native, monkeypatch, case, tile):
    monkeypatch.setattr(module, "TILE_BYTES", tile)
    update, fields, others, mask, results, reductions = case()
    actual = update(**fields, **others, mask=mask)
    for name, expected in results.items():
        np.testing.assert_array_equal(fields[name], expected)
    assert actual == reductions


def test_right_hand_sides_and_sites(native):
    x = np.random.default_rng(1).integers(-4, 5, (3, 11, 6, 2)).astype(float)
    stencil = weft.arrays.stencil({(1, 0): 2.0, (0, -1): 1.0}, site_rank=1)
    y = np.zeros_like(x)
    weft.arrays.Update(lambda s, x: s - x, {"s": (stencil, "x")}, "y")(x=x, y=y)
    np.testing.assert_array_equal(y, 2 * np.roll(x, -1, 1) + np.roll(x, 1, 2) - x)


def plain(**options):
    return weft.arrays.Update(lambda s: s, {"s": (weft.arrays.stencil(FIVE), "x")}, "y", **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: weft.arrays.Update(lambda s: s, {"s": (weft.arrays.stencil(FIVE), "x")}, "x"),
            "x is a result and sums read it",
        ),
        (
            lambda: weft.arrays.Update(lambda s: s, {"s": weft.arrays.stencil(FIVE)}, "y"),
            "expected a stencil and the name of a field",
        ),
        (lambda: weft.arrays.Update(lambda s: s, {}, "y"), "an update has at least one sum"),
        (lambda: plain(reductions={"r": "mean"}), "the reduction r is 'mean'; there are sum, max, min"),
        (
            lambda: weft.arrays.Update(lambda *s: s, {"s": (weft.arrays.stencil(FIVE), "x")}, "y"),
            "names its parameters",
        ),
        (
            lambda: weft.arrays.Update(lambda s: s, {"s": (weft.arrays.stencil(FIVE, boundary="none"), "x")}, "y"),
            "the sum s has no boundary at an end",
        ),
        (lambda: plain()(x=np.zeros((4, 4))), "the update needs y: give them by name"),
        (lambda: plain()(**X, z=1), "the update has no z; it has x, y"),
        (lambda: plain()(x=np.zeros((4, 4)), y=np.zeros((4, 5))), "fields are alike"),
        (lambda: plain()(x=X["x"], y=X["x"]), "y and x share memory"),
        (lambda: plain()(**X, mask=np.zeros(3, bool)), r"mask of shape \(3,\) does not broadcast"),
        (lambda: plain()(**X, mask=1), "the mask is of int64; expected booleans"),
        (lambda: plain(reductions={"r": "max"})(**X), "returned 1 arrays; expected 1 results and 1 reductions"),
        (
            lambda: weft.arrays.Update(lambda s: (s, s), {"s": (weft.arrays.stencil(FIVE), "x")}, "y", {"r": "max"})(
                **X, mask=False
            ),
            "the max r is over no sites",
        ),
        (
            lambda: weft.arrays.Update(lambda s: 1j * s, {"s": (weft.arrays.stencil(FIVE), "x")}, "y")(**X),
            "what the function returned for y does not fit",
        ),
    ],
)
def test_what_is_refused(native, make, message):
    with pytest.raises(weft.UsageError, match=message):
        make()
