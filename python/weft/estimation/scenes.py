"""What random programs compute with: a VP set with variables that hold unremarkable numbers, addresses and conditions.

Numbers lie between one and two (or below one, where a function wants that), so that nothing overflows, divides by zero
or becomes denormal, which takes other times. Results go to places that later statements overwrite, as in programs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.pvar import ParallelVariable, VPSet

DTYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "bool")

LATEST = 0.5
"""Share of operands that are the latest result."""

ADDRESSES = ("permutation", "shifted", "spaced", "clustering", "distributing", "random", "few")
"""Where to send: permutations and what is in order by themselves, and collisions, clustered and scattered."""

BY_COORDINATES = 0.25
"""Share of addresses that are given by coordinates, on grids of several axes."""

NARROW_ADDRESSES = 0.12
"""Share of addresses of 8 or 16 bits, where these are enough."""

OTHER_SIZES, SMALLEST_OTHER, LARGEST_OTHER = 5, 16, 1 << 18
"""The other VP set is larger or smaller by up to so many powers of two; and how large it is at least and, where this
one is not larger, at most."""


VARIABLES, TARGETS = 2, 1
"""Of each dtype: programs have some five to ten variables, so that this decides which cache holds them."""


Step = Callable[[], Any]


@dataclass
class Scene:
    """A VP set with variables to compute with.

    Attributes
    ----------
    vp
        The VP set.
    rng
        Random numbers, of its own.
    variables
        By dtype; never assigned to.
    targets
        By dtype, to be assigned to.
    results
        By dtype of the operands, the latest result of that dtype, and of another.
    """

    vp: VPSet
    rng: np.random.Generator
    variables: dict[str, list[ParallelVariable]] = field(default_factory=dict)
    targets: dict[str, list[ParallelVariable]] = field(default_factory=dict)
    results: dict[str, list[Any]] = field(default_factory=dict)
    _addresses: dict[tuple[str, bool, bool], Any] = field(default_factory=dict)
    _other: tuple[VPSet, dict[str, ParallelVariable]] | None = None

    def variable(self, dtype: str) -> ParallelVariable:
        """Any variable of a dtype."""
        there = self.variables[dtype]
        return there[int(self.rng.integers(len(there)))]

    def other(self, dtype: str) -> str:
        """A dtype that there are variables of: another one, if there is."""
        there = [one for one in sorted(self.variables) if one != dtype]
        return str(self.rng.choice(there)) if there and dtype != "bool" else dtype

    def operand(self, dtype: str) -> Callable[[], ParallelVariable]:
        """A variable, or what was last computed: programs go on with what they have just made."""
        x = self.variable(dtype)
        if self.rng.random() < LATEST:
            latest = self.results[dtype]
            return lambda: x if latest[0] is None else latest[0]
        return lambda: x

    def elsewhere(self, dtype: str) -> ParallelVariable:
        """A variable of another VP set, whose size is any: gets and sends between two are of vertices and edges, of
        rows and elements."""
        if self._other is None:
            size = self.vp.size * 2.0 ** self.rng.uniform(-OTHER_SIZES, OTHER_SIZES)
            self._other = VPSet(int(min(max(size, SMALLEST_OTHER), max(LARGEST_OTHER, self.vp.size)))), {}
        vp, variables = self._other
        if dtype not in variables:
            variables[dtype] = vp.array(numbers(self.rng, vp, dtype))
        return variables[dtype]

    def addresses(self, name: str, other: bool = False) -> Any:
        """One of `ADDRESSES` of this VP set's processors or of the other's; now and then from coordinates."""
        by_coordinates = not other and self.vp.ndim > 1 and bool(self.rng.random() < BY_COORDINATES)
        key = (name, other, by_coordinates)
        if key not in self._addresses:
            extent = self.elsewhere("bool").size if other else self.vp.size
            drawn = self.rng.random()
            dtype: Any = np.int32 if drawn < 0.5 else np.int64
            if drawn < NARROW_ADDRESSES and extent <= np.iinfo(np.int16).max:
                dtype = np.int8 if extent <= np.iinfo(np.int8).max else np.int16
            to: Any = _addresses(self.rng, self.vp.size, extent, name).astype(dtype).reshape(self.vp.shape)
            if by_coordinates:
                along = np.unravel_index(to, self.vp.shape)
                self._addresses[key] = tuple(self.vp.array(one.astype(dtype)) for one in along)
            else:
                self._addresses[key] = self.vp.array(to)
        return self._addresses[key]

    def kept(self, dtype: str, step: Step) -> Step:
        """A step whose result takes the place of an earlier one."""
        latest, which = self.results[dtype], -1

        def run() -> None:
            nonlocal which
            computed = step()
            if which < 0:  # comparing dtypes takes as long as a small operation
                which = 0 if computed.dtype == dtype else 1
            latest[which] = computed

        return run

    def nothing(self, dtype: str) -> Step:
        """A step around no operation: what it takes is not the operations'."""
        x = self.operand(dtype)

        def step() -> ParallelVariable:
            result: ParallelVariable = x()
            return result

        # As much as is around an operation of a result and a number.
        return self.kept(dtype, step)


def scene(rng: np.random.Generator, shape: tuple[int, ...], dtypes: tuple[str, ...]) -> Scene:
    """A VP set with variables of some dtypes."""
    vp = VPSet(shape)
    built = Scene(vp, rng)
    for dtype in dtypes:
        built.variables[dtype] = [vp.array(numbers(rng, vp, dtype)) for _ in range(VARIABLES)]
        built.targets[dtype] = [vp.array(numbers(rng, vp, dtype)) for _ in range(TARGETS)]
        built.results[dtype] = [None, None]
    return built


def numbers(rng: np.random.Generator, vp: VPSet, dtype: str) -> NDArray[Any]:
    if dtype == "bool":
        return np.asarray(rng.random(vp.shape) < rng.choice((0.1, 0.5, 0.9)))
    if dtype.startswith("int"):
        return rng.integers(1, 5, vp.shape).astype(dtype)
    return rng.uniform(1, 2, vp.shape).astype(dtype)


def _addresses(rng: np.random.Generator, size: int, extent: int, name: str) -> NDArray[Any]:
    """Of so many processors, to so many others."""
    index = np.arange(size)
    # From almost one to one to a few targets in all, which small programs have as well as large ones.
    ratio = int(2 ** rng.uniform(0.5, max(1.0, math.log2(size) - 1)))
    if name in ("permutation", "spaced") and size > extent:
        name = "random"
    if name == "permutation":
        return rng.permutation(extent)[:size]
    if name == "spaced":
        return np.sort(rng.permutation(extent)[:size])
    if name == "shifted":
        return (index + int(rng.integers(extent))) % extent
    if name == "clustering":
        return index // ratio % extent
    if name == "distributing":
        return index // ratio * ratio % extent
    return rng.integers(0, extent if name == "random" else max(1, min(size, extent) // ratio), size)


def condition(scene: Scene) -> ParallelVariable:
    """Whom a program may select: some at random, a line of the grid, or those before a place."""
    vp, rng = scene.vp, scene.rng
    axis = int(rng.integers(vp.ndim))
    extent = vp.shape[axis]
    kind = rng.random()
    if kind < 0.5:
        share = float(rng.choice((0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)))
        return vp.array(rng.random(vp.shape) < share)
    if kind < 0.75:
        return vp.coordinate(axis) == int(rng.integers(extent))
    return vp.coordinate(axis) < max(1, math.ceil(extent * rng.random()))
