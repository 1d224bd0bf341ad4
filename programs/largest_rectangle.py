"""The largest rectangle under a skyline: how far each bar reaches before a lower one ends it.

    python programs/largest_rectangle.py [--size 2000] [--machine here] [--seed 1]

Minima of windows of one, two, four... bars are made by shifts; each bar then moves away from itself in steps that
halve, fetching the minimum of what is to be passed (the sparse table of Bender and Farach-Colton, LATIN 2000). Checked
with a stack, bar by bar. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

NOBODY = -1


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Heights that go up and down, some of them alike."""
    generator = np.random.default_rng(seed)
    return (1000 + np.cumsum(generator.integers(-3, 4, size)) + generator.integers(0, 5, size)).clip(1).astype(np.int32)


def solve(heights: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of each bar the next lower one on both sides, and which of these is higher; the largest area and its bar."""
    size = len(heights)
    vp = pvar.VPSet(size, machine=machine)
    height, own = vp.array(heights), vp.address()
    windows = [height]
    while 2 << (len(windows) - 1) <= size:
        before = windows[-1]
        windows.append(pvar.minimum(before, pvar.shift(before, 1 << (len(windows) - 1), boundary=0)))
    left, right = own.copy(), own.copy()
    for level in reversed(range(len(windows))):
        window, length = windows[level], 1 << level
        with vp.where(right + length <= size):
            passes = pvar.get(window, right) >= height
        right += passes.astype(np.int32) << level
        with vp.where(left >= length):
            passes = pvar.get(window, left - length) >= height
        left -= passes.astype(np.int32) << level
    lower = left - 1
    heights_beside = []
    for beside in (lower, right):
        with vp.where((beside >= 0) & (beside < size)):
            heights_beside.append(pvar.get(height, beside))
    parent = pvar.where(heights_beside[0] >= heights_beside[1], lower, right)
    with vp.where((lower < 0) & (right == size)):
        parent[...] = NOBODY
    area = (right - left).astype(np.int64) * height
    (bar,) = area.argmax()
    return np.asarray(lower), np.asarray(right), np.asarray(parent), np.array([area.max(), bar])


def expected(heights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same by stacks of bars that nothing lower has ended."""
    size, bars = len(heights), heights.tolist()
    lower, right = [NOBODY] * size, [size] * size
    for ends, order in ((lower, range(size)), (right, range(size - 1, -1, -1))):
        stack: list[int] = []
        for bar in order:
            while stack and bars[stack[-1]] >= bars[bar]:
                stack.pop()
            ends[bar] = stack[-1] if stack else ends[bar]
            stack.append(bar)
    bars.append(0)  # what is beyond either end
    parent = [one if bars[one] >= bars[other] else other for one, other in zip(lower, right, strict=True)]
    parent = [NOBODY if bars[one] == 0 else one for one in parent]
    areas = (np.array(right) - lower - 1) * heights.astype(int)
    return np.array(lower), np.array(right), np.array(parent), np.array([areas.max(), areas.argmax()])


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "bars", "the heights")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one bar")
    heights = problem(chosen.size, chosen.seed)
    answer = solve(heights, chosen.machine)
    print(f"the largest rectangle has an area of {answer[3][0]}, as high as bar {answer[3][1]}")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(heights), strict=True))
    return arguments.verdict(right, "bars must end where those of a stack do")


if __name__ == "__main__":
    sys.exit(main())
