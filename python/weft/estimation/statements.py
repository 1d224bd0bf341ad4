"""Statements of random programs: one of each kind of operation, on what a scene has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft import pvar
from weft.estimation.scenes import ADDRESSES, DTYPES, Scene, Step, numbers
from weft.pvar import ParallelVariable, VPSet
from weft.pvar.operations import FUNCTIONS, SILENT

CONVERTED = 0.15
"""Share of operations whose operands are of two dtypes, where a program has two."""

BITWISE = ("bitwise_and", "bitwise_or", "bitwise_right_shift", "bitwise_left_shift")

NARROW = ("int16", "int8")
"""What programs combine less often than longer numbers."""

DIVISIONS = ("floor_divide", "remainder")
"""Functions that take the longer the longer the quotient is: programs divide places and counts by small numbers."""

BY_NUMBER = 0.7
"""Share of these that divide by one number, as programs do that find rows and columns or compute modulo a prime."""

NUMBER_FIRST = 0.4
"""Share of operations with a number that have it in front: `1 - x`, `0.5 * x`."""

SENT_NUMBER = 0.25
"""Share of sends that combine what arrives in which all send a number: they count, or mark."""

BY_NUMPY = 0.25
"""Share of choices that have no kernel: with one of numpy's numbers."""

OF_NUMBERS = 0.125
"""Share of choices between two of Python's numbers, which are of 64 bits."""

BELOW_ONE = ("asin", "acos", "atanh")
"""Functions of numbers below one."""

COMBINED_NARROW = 1.5
"""Weight of combining these."""

IN_ORDER = 0.1
"""Share of ranks of elements that are in order already."""


@dataclass(frozen=True)
class Statement:
    """A statement that random programs draw.

    Attributes
    ----------
    label
        What it is, for messages.
    dtype
        What it computes with.
    step
        Makes a step of a scene.
    weight
        How often it is drawn, relative to others.
    cheap
        Whether it takes about as long as copying its operands: for large arrays only these are drawn.
    """

    label: str
    dtype: str
    step: Callable[[Scene], Step]
    weight: float = 1
    cheap: bool = True


@functools.cache
def menu() -> tuple[Statement, ...]:
    """All statements."""
    return (*_functions(), *_moves(), *_combinations(), *_messages(), *_orders(), *_local(), *_own())


APART = 3
"""So many of them are without collisions, where there are enough elements to send to."""

OTHERS = 0.35
"""Share of gets and sends that are from or to another VP set."""

INTO = 0.6
"""Share of sends to a variable that is there already."""

OWN_EXTENT = 8
"""Extents of processors' own arrays are below this: they are as long as what a processor keeps for itself."""

COMMON = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "abs", "negative", "maximum", "minimum"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("bitwise_and", "bitwise_or", "bitwise_right_shift", "bitwise_left_shift"),
    )
)
"""Drawn more often, since programs do."""


def _functions() -> Iterator[Statement]:
    for name, function in FUNCTIONS.items():
        for dtype in DTYPES:
            if _takes(name, dtype):
                slow = function.floating in ("float_function", "float_divide") or dtype not in (
                    "float64",
                    "float32",
                    "int64",
                )
                common = name in COMMON or (name in DIVISIONS and dtype in ("int64", "int32"))
                weight = 3 if common else 0.5
                yield Statement(f"{name} {dtype}", dtype, functools.partial(_computed, name, dtype), weight, not slow)
    for dtype in ("float64", "float32", "int64", "int32", *NARROW):
        yield Statement(f"where {dtype}", dtype, functools.partial(_chosen, dtype), 6)


def _takes(name: str, dtype: str) -> bool:
    """Whether numpy has the function of this dtype, as computed there."""
    function = FUNCTIONS[name]
    one = np.ones(2, dtype)
    if dtype == "bool" and name not in SILENT:
        return False
    if function.floating in ("float_function", "float_sqrt") and not dtype.startswith("float"):
        # Of integers all but powers are computed as of floats.
        return name == "pow" and dtype in ("int64", "int32")
    try:
        with np.errstate(all="ignore"):
            result = function.compute(*[one] * function.operands)
    except TypeError:
        return False
    return result.dtype.itemsize * 8 in (8, 16, 32, 64)


def _computed(name: str, dtype: str, scene: Scene) -> Step:
    function = getattr(pvar, name)
    if name in COMMON and name != "divide":
        return _common(function, name, dtype, scene)
    x = scene.variable(dtype)
    if name in BELOW_ONE:
        with np.errstate(all="ignore"):
            x = x * dtype_of(dtype)(0.45)
    if name in DIVISIONS and dtype in ("int64", "int32"):
        x = x * dtype_of(dtype)(10_007)
    if FUNCTIONS[name].operands == 1:
        return scene.kept(dtype, lambda: function(x))
    by_number = BY_NUMBER if name in DIVISIONS else 0.4
    if dtype != "bool" and scene.rng.random() < by_number:
        number: Any = 1.5 if dtype.startswith("float") else 3
        if name not in DIVISIONS and scene.rng.random() < NUMBER_FIRST:
            return scene.kept(dtype, lambda: function(number, x))
        return scene.kept(dtype, lambda: function(x, number))
    y = scene.variable(dtype)
    return scene.kept(dtype, lambda: function(x, y))


def _common(function: Callable[..., Any], name: str, dtype: str, scene: Scene) -> Step:
    """Functions that may have any operand: nothing that overflows makes them slow."""
    first = scene.operand(dtype)
    if FUNCTIONS[name].operands == 1:
        return scene.kept(dtype, lambda: function(first()))
    if dtype != "bool" and scene.rng.random() < 0.4:
        number: Any = 1.5 if dtype.startswith("float") else 3
        if scene.rng.random() < NUMBER_FIRST:
            return scene.kept(dtype, lambda: function(number, first()))
        return scene.kept(dtype, lambda: function(first(), number))
    y = scene.variable(scene.other(dtype) if name not in BITWISE and scene.rng.random() < CONVERTED else dtype)
    return scene.kept(dtype, lambda: function(first(), y))


def dtype_of(name: str) -> Any:
    """numpy's scalar type."""
    return np.dtype(name).type


def _chosen(dtype: str, scene: Scene) -> Step:
    condition = scene.operand("bool")
    x, y = scene.operand(dtype), scene.operand(dtype)
    number, other = (dtype_of(dtype)(one).item() for one in (1, 0))
    drawn = scene.rng.random()
    if drawn < BY_NUMPY:
        of_numpy = dtype_of(dtype)(1)
        return scene.kept(dtype, lambda: pvar.where(condition(), x(), of_numpy))
    if drawn < BY_NUMPY + OF_NUMBERS and dtype in ("float64", "int64"):
        return scene.kept(dtype, lambda: pvar.where(condition(), number, other))
    if drawn < 0.5:
        return scene.kept(dtype, lambda: pvar.where(condition(), x(), number))
    return scene.kept(dtype, lambda: pvar.where(condition(), x(), y()))


def _moves() -> Iterator[Statement]:
    for dtype in DTYPES:
        yield Statement(f"assign {dtype}", dtype, functools.partial(_assigned, dtype), 8)
        yield Statement(f"broadcast {dtype}", dtype, functools.partial(_broadcast, dtype), 6)
        yield Statement(f"full {dtype}", dtype, functools.partial(_full, dtype), 6)
        yield Statement(f"spread {dtype}", dtype, functools.partial(_spread, dtype), 6)
        yield Statement(f"shift fetch {dtype}", dtype, functools.partial(_shifted, dtype, "fetch"), 6)
        yield Statement(f"shift store {dtype}", dtype, functools.partial(_shifted, dtype, "store"), 2)
    for source, target in (
        ("float64", "float32"),
        ("float32", "float64"),
        ("int32", "float32"),
        ("int64", "float64"),
        ("int32", "int64"),
        ("int64", "int32"),
        ("int8", "int16"),
        ("int32", "int16"),
        ("int16", "int32"),
        ("bool", "int8"),
        ("bool", "int32"),
        ("int8", "bool"),
    ):
        yield Statement(f"astype {source} {target}", source, functools.partial(_converted, source, target), 2)
    for dtype in ("float64", "int32"):
        yield Statement(f"read {dtype}", dtype, functools.partial(_read, dtype), 3)
        yield Statement(f"write {dtype}", dtype, functools.partial(_written, dtype), 3)


def _assigned(dtype: str, scene: Scene) -> Step:
    target, value = scene.targets[dtype][0], scene.operand(dtype)

    def run() -> None:
        target[...] = value()

    return _apart(run)


def _broadcast(dtype: str, scene: Scene) -> Step:
    target, value = scene.targets[dtype][0], dtype_of(dtype)(1).item()

    def run() -> None:
        target[...] = value

    return _apart(run)


def _full(dtype: str, scene: Scene) -> Step:
    value = dtype_of(dtype)(1).item()
    return scene.kept(dtype, lambda: scene.vp.full(value, dtype))


def _spread(dtype: str, scene: Scene) -> Step:
    x, axis = scene.operand(dtype), int(scene.rng.integers(scene.vp.ndim))
    index = int(scene.rng.integers(scene.vp.shape[axis]))
    return scene.kept(dtype, lambda: pvar.spread(x(), axis=axis, index=index))


def _shifted(dtype: str, form: Any, scene: Scene) -> Step:
    x, axis = scene.operand(dtype), int(scene.rng.integers(scene.vp.ndim))
    extent = scene.vp.shape[axis]
    distance = int(scene.rng.choice((1, -1, max(1, extent // 2), int(scene.rng.integers(1, max(2, extent))))))
    edge = dtype_of(dtype)(0).item()
    boundary: Any = "circular" if scene.rng.random() < 0.6 else edge
    return scene.kept(dtype, lambda: pvar.shift(x(), distance, axis=axis, boundary=boundary, form=form))


def _converted(source: str, target: str, scene: Scene) -> Step:
    x = scene.variable(source)
    return scene.kept(source, lambda: x.astype(target))


def _read(dtype: str, scene: Scene) -> Step:
    x, at = scene.variable(dtype), _coordinates(scene)
    return _apart(lambda: x[at])


def _written(dtype: str, scene: Scene) -> Step:
    x, at, value = scene.targets[dtype][0], _coordinates(scene), dtype_of(dtype)(1).item()

    def run() -> None:
        x[at] = value

    return _apart(run)


def _coordinates(scene: Scene) -> tuple[int, ...]:
    return tuple(int(scene.rng.integers(extent)) for extent in scene.vp.shape)


def _operators(dtype: str) -> tuple[str, ...]:
    if dtype == "bool":
        return ("or", "and", "logxor", "max")
    more = ("logand", "logior", "logxor") if dtype.startswith("int") else ()
    return ("add", "multiply", "max", "min", *more)


def _combinations() -> Iterator[Statement]:
    for dtype in DTYPES:
        for operator in _operators(dtype):
            common = operator in ("add", "max", "min", "or")
            weight: float = 6 if common else 1
            yield Statement(f"reduce {operator} {dtype}", dtype, functools.partial(_reduced, dtype, operator), weight)
            along = functools.partial(_reduced_along, dtype, operator)
            yield Statement(f"reduce {operator} {dtype} along", dtype, along, 4 if common else 1)
            step = functools.partial(_scanned, dtype, operator)
            weight = COMBINED_NARROW if dtype in NARROW else 8 if common else 2
            yield Statement(f"scan {operator} {dtype}", dtype, step, weight, False)
        yield Statement(f"scan copy {dtype}", dtype, functools.partial(_scanned, dtype, "copy"), 2, False)


def _reduced(dtype: str, operator: str, scene: Scene) -> Step:
    initial = dtype_of(dtype)(0).item()
    if operator == "multiply":
        # Of ones: other products overflow, of which numpy warns.
        ones = scene.vp.full(1, dtype)
        return _apart(lambda: pvar.reduce(ones, operator, initial=initial))
    x = scene.operand(dtype)
    return _apart(lambda: pvar.reduce(x(), operator, initial=initial))


def _reduced_along(dtype: str, operator: str, scene: Scene) -> Step:
    axis, initial = int(scene.rng.integers(scene.vp.ndim)), dtype_of(dtype)(0).item()
    # Of ones: other products overflow.
    ones = scene.vp.full(1, dtype) if operator == "multiply" else None
    operand = scene.operand(dtype)

    def x() -> ParallelVariable:
        return operand() if ones is None else ones

    return scene.kept(dtype, lambda: pvar.reduce(x(), operator, axis=axis, initial=initial))


def _scanned(dtype: str, operator: str, scene: Scene) -> Step:
    rng = scene.rng
    x, axis = scene.operand(dtype), int(rng.integers(scene.vp.ndim))
    segments = scene.variable("bool") if rng.random() < 0.5 else None
    exclusive = operator != "copy" and bool(rng.random() < 0.3)
    direction: Any = "down" if rng.random() < 0.2 else "up"
    return scene.kept(
        dtype, lambda: pvar.scan(x(), operator, axis, segments=segments, exclusive=exclusive, direction=direction)
    )


def _messages() -> Iterator[Statement]:
    for dtype in DTYPES:
        common = dtype not in (*NARROW, "bool")
        yield Statement(f"get {dtype}", dtype, functools.partial(_got, dtype), 20 if common else 3)
        yield Statement(f"send {dtype}", dtype, functools.partial(_sent, dtype, None), 15 if common else 2)
        for operator in (*_operators(dtype), "overwrite"):
            weight = COMBINED_NARROW if dtype in NARROW else 10 if operator in ("add", "min", "max", "or") else 1.5
            step = functools.partial(_sent, dtype, operator)
            yield Statement(f"send {operator} {dtype}", dtype, step, weight, False)


def _got(dtype: str, scene: Scene) -> Step:
    other, name = bool(scene.rng.random() < OTHERS), str(scene.rng.choice(ADDRESSES))
    address = scene.addresses(name, other)
    if other:
        far = scene.elsewhere(dtype)
        return scene.kept(dtype, lambda: pvar.get(far, address))
    x = scene.operand(dtype)
    return scene.kept(dtype, lambda: pvar.get(x(), address))


def _sent(dtype: str, operator: str | None, scene: Scene) -> Step:
    rng = scene.rng
    other, into = bool(rng.random() < OTHERS), bool(rng.random() < INTO)
    if other and operator is None and scene.elsewhere(dtype).size < scene.vp.size:
        other = False
    there = ADDRESSES[:APART] if operator is None else ADDRESSES
    x: Callable[[], Any] = scene.operand(dtype)
    address = scene.addresses(str(rng.choice(there)), other)
    if operator is not None and into and rng.random() < SENT_NUMBER:
        one = dtype_of(dtype)(1).item()
        x = lambda: one  # noqa: E731
    if into:
        target = scene.elsewhere(dtype) if other else scene.targets[dtype][0]
        return _apart(lambda: pvar.send(x(), address, combine=operator, into=target))
    if other:
        vp = scene.elsewhere(dtype).vp
        return _apart(lambda: pvar.send(x(), address, combine=operator, vp=vp))
    return scene.kept(dtype, lambda: pvar.send(x(), address, combine=operator))


def _local() -> Iterator[Statement]:
    """What the front end does for a program, mostly at its beginning."""
    for dtype in ("int64", "int32", "float64"):
        yield Statement(f"VP set {dtype}", dtype, _vp_set)
    for dtype in NARROW:
        yield Statement(f"coordinate {dtype}", dtype, functools.partial(_coordinate, dtype))
    for dtype in ("int64", "int32"):
        yield Statement(f"coordinate {dtype}", dtype, functools.partial(_coordinate, dtype), 3)
        yield Statement(f"address {dtype}", dtype, functools.partial(_address, dtype), 3)
    for dtype in ("float64", "int32", "int64", "float32", "int16", "bool"):
        yield Statement(f"array {dtype}", dtype, functools.partial(_array, dtype, dtype, None))
        yield Statement(f"array copied {dtype}", dtype, functools.partial(_array, dtype, dtype, True))
    for source, target in (("int64", "int32"), ("int32", "int64"), ("float64", "float32")):
        yield Statement(f"array converted {source} {target}", source, functools.partial(_array, source, target, None))


def _own() -> Iterator[Statement]:
    """Elements of processors' own arrays, by indices of their own."""
    for dtype in ("float64", "float32", "int32", "int8"):
        yield Statement(f"own get {dtype}", dtype, functools.partial(_own_get, dtype), 2)
        yield Statement(f"own send {dtype}", dtype, functools.partial(_own_send, dtype), 2)
        yield Statement(f"own element {dtype}", dtype, functools.partial(_own_element, dtype), 2)


def _own_arrays(dtype: str, scene: Scene) -> tuple[Any, Any]:
    """Arrays of one axis or two, and an index into them."""
    rng, vp = scene.rng, scene.vp
    extents = tuple(int(one) for one in rng.integers(2, OWN_EXTENT, int(rng.choice((1, 1, 2)))))
    arrays = vp.arrays(extents, dtype)
    index = tuple(vp.array(rng.integers(0, extent, vp.shape).astype(np.int32)) for extent in extents)
    # Of two, one is mostly a number: a row, a step.
    return arrays, (0, *index[1:]) if len(index) > 1 and rng.random() < 0.7 else index


def _own_get(dtype: str, scene: Scene) -> Step:
    arrays, index = _own_arrays(dtype, scene)
    return scene.kept(dtype, lambda: arrays[index])


def _own_element(dtype: str, scene: Scene) -> Step:
    arrays = scene.vp.arrays(OWN_EXTENT, dtype)
    return _apart(lambda: arrays[1])


def _own_send(dtype: str, scene: Scene) -> Step:
    (arrays, index), x = _own_arrays(dtype, scene), scene.operand(dtype)

    def run() -> None:
        arrays[index] = x()

    return _apart(run)


def _apart(step: Step) -> Step:
    """A step whose result, if any, takes the place of its last, and is no operand of others.

    Around operations without a result there is then as much as around the others (`Scene.nothing`), which is taken off.
    """
    latest: list[Any] = [None]

    def run() -> None:
        latest[0] = step()

    return run


def _vp_set(scene: Scene) -> Step:
    return _apart(lambda: VPSet(scene.vp.shape, machine="here"))


def _coordinate(dtype: str, scene: Scene) -> Step:
    axis = int(scene.rng.integers(scene.vp.ndim))
    return _apart(lambda: scene.vp.coordinate(axis, dtype))


def _address(dtype: str, scene: Scene) -> Step:
    return _apart(lambda: scene.vp.address(dtype))


def _array(source: str, target: str, copy: bool | None, scene: Scene) -> Step:
    elements = numbers(scene.rng, scene.vp, source)
    return _apart(lambda: scene.vp.array(elements, target, copy=copy))


def _orders() -> Iterator[Statement]:
    for dtype in ("float64", "float32", "int64", "int32"):
        yield Statement(f"rank {dtype}", dtype, functools.partial(_ranked, dtype), 5, False)
    for what, dtypes in (
        ("random", ("float64", "float32")),
        ("random uniform", ("float64", "float32")),
        ("random normal", ("float64", "float32")),
        ("random integers", ("int64", "int32")),
    ):
        for dtype in dtypes:
            yield Statement(f"{what} {dtype}", dtype, functools.partial(_random, what, dtype), 2, False)


def _ranked(dtype: str, scene: Scene) -> Step:
    x = _keys(dtype, scene)
    return scene.kept(dtype, lambda: pvar.rank(x()))


def _keys(dtype: str, scene: Scene) -> Callable[[], ParallelVariable]:
    """What programs order: buckets, places and other whole numbers of few values or many, numbers as they come, and
    now and then what is in order already."""
    rng, vp = scene.rng, scene.vp
    if rng.random() < IN_ORDER:
        x = vp.array(np.sort(np.asarray(scene.variable(dtype)), axis=None).reshape(vp.shape))
        return lambda: x
    if not dtype.startswith("int"):
        return scene.operand(dtype)
    most = 1 << int(rng.integers(2, 31 if dtype == "int32" else 63))
    x = vp.array(rng.integers(-most if rng.random() < 0.3 else 0, most, vp.shape).astype(dtype))
    return lambda: x


def _random(what: str, dtype: str, scene: Scene) -> Step:
    numbers = scene.vp.rng(int(scene.rng.integers(1 << 30)))
    if what == "random integers":
        return scene.kept(dtype, lambda: numbers.integers(0, 10, dtype))
    draw = getattr(numbers, what.rsplit(maxsplit=1)[-1])
    return scene.kept(dtype, lambda: draw(dtype=dtype))
