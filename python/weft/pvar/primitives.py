"""Communication of parallel variables: spreads, shifts, router, scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from weft._core import UsageError
from weft.pvar import operators, words
from weft.pvar.combining import Combiner
from weft.pvar.execution import Scan, Send
from weft.pvar.native import any_beyond, linear
from weft.pvar.variable import ParallelVariable

if TYPE_CHECKING:
    from weft.pvar.vpset import VPSet

Collisions = Literal["allowed", "many", "backward"]

Function = np.ufunc | Combiner | Callable[[Any, Any], Any]
"""Functions that combine elements."""


def spread(x: ParallelVariable, axis: int, index: int) -> ParallelVariable:
    """The elements at one place of an axis, at every place of it.

    All processors give and get, whoever is selected.

    Raises
    ------
    UsageError
        For an axis or a place that there is not.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((2, 2))
    >>> spread(vp.array(np.array([[1, 2], [3, 4]])), axis=0, index=1).data
    array([[3, 4],
           [3, 4]])
    """
    vp = variable_set(x, "spread")
    axis = vp.axis(axis, "spread")
    index = whole_number(index, "spread: the index")
    extent = vp.shape[axis]
    if not -extent <= index < extent:
        raise UsageError(f"spread: there is no element {index} along axis {axis}: its extent is {extent}")
    copies = ParallelVariable(vp, vp.execution.spread(x.data, axis, index % extent), x.word)
    if vp.meter is not None:
        plane = x.data[(slice(None),) * axis + (slice(0, 1),)]
        vp.meter.record(vp, "spread", "spread", x.bits, arrays=(plane, copies.data), axis=axis, extent=max(extent, 1))
    return copies


def shift(
    x: ParallelVariable,
    distance: int | Sequence[int] = 1,
    axis: int | Sequence[int] = 0,
    boundary: Any = "circular",
    *,
    form: Literal["fetch", "store"] = "fetch",
    into: ParallelVariable | None = None,
) -> ParallelVariable:
    """Elements from, or to, the processor at a distance along an axis of the grid, or along several (NEWS).

    Parameters
    ----------
    x
        A parallel variable.
    distance
        How far, of either sign and any size; with several axes, how far along each.
    axis
        Along which axis, or which axes: `shift(x, (1, -1), axis=(0, 1))` is from a diagonal neighbour, in one shift
        after another.
    boundary
        "circular": the grid goes around. A number: what comes in from beyond an end; what goes beyond one is lost.
    form
        "fetch": element i of the result is element i + distance of x, on all processors, whoever is selected. "store":
        the selected processors send, and element i + distance of the result is element i of x.
    into
        Of the form "store": a variable whose elements are kept where nothing arrives, and which is returned. Without it
        zeros are there.

    Raises
    ------
    UsageError
        For an axis or form that there is not, an axis that is named twice, not as many distances as axes, and a
        boundary that is no number of the variable's dtype.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((4,))
    >>> shift(vp.array(np.array([3, 1, 4, 1])), 1, boundary=0)
    <ParallelVariable (4,) of int64: [1 4 1 0]>
    """
    vp = variable_set(x, "shift")
    moves = _moves(vp, distance, axis)
    edge = None if boundary == "circular" else _boundary(boundary, x)
    if form == "fetch":
        if into is not None:
            raise UsageError("shift: into is of the form 'store'; assign what is fetched (y[...] = weft.pvar.shift(…))")
        shifted = ParallelVariable(vp, _moved(vp, x.data, moves, edge), x.word)
    elif form == "store":
        shifted = _stored(vp, x, [(-one, along) for one, along in moves], edge, into)
    else:
        raise UsageError(f"shift: there is no form {form!r}; there are 'fetch' and 'store'")
    if vp.meter is not None:
        for one, along in moves:
            vp.meter.shifted(vp, x.bits, form, one, along, boundary == "circular", (x.data, shifted.data))
    return shifted


def _moves(vp: VPSet, distance: Any, axis: Any) -> list[tuple[int, int]]:
    """Distances and axes, each checked."""
    if axis.__class__ is int and distance.__class__ is int and 0 <= axis < vp.ndim:
        return [(distance, axis)]
    distances = list(distance) if isinstance(distance, tuple | list) else [distance]
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    if len(distances) != len(axes) or not axes:
        raise UsageError(
            f"shift: the distance is {distance!r} along axis {axis!r}; expected a whole number for each axis"
        )
    along = [vp.axis(one, "shift") for one in axes]
    if len(set(along)) < len(along):
        raise UsageError(f"shift: axis {axis!r} names one twice; add the distances")
    return [(whole_number(one, "shift: the distance"), a) for one, a in zip(distances, along, strict=True)]


def _moved(vp: VPSet, data: Any, moves: list[tuple[int, int]], edge: Any) -> Any:
    for distance, axis in moves:
        data = vp.execution.shift(data, distance, axis, edge)
    return data


def _stored(
    vp: VPSet, x: ParallelVariable, moves: list[tuple[int, int]], edge: Any, into: ParallelVariable | None
) -> ParallelVariable:
    arriving = _moved(vp, x.data, moves, edge)
    if vp.mask is None and into is None:
        return ParallelVariable(vp, arriving, x.word)
    # Who gets something: those whose sender is selected, and at an open end those whom the boundary reaches.
    senders = np.ones(vp.execution.shape, dtype=bool) if vp.mask is None else vp.mask
    reached = _moved(vp, senders, moves, None if edge is None else into is None)
    target = _target(vp, x, into, "shift")
    np.copyto(target.data, arriving, where=reached)
    return target


def scan(
    x: ParallelVariable,
    operator: str | Function,
    axis: int = 0,
    *,
    segments: ParallelVariable | None = None,
    exclusive: bool = False,
    direction: Literal["up", "down"] = "up",
) -> ParallelVariable:
    """Each processor gets the combination of all selected before it along an axis, and itself.

    Parameters
    ----------
    x
        A parallel variable.
    operator
        "add", "multiply", "max", "min", "logand", "logior", "logxor", "and", "or", "xor", or "copy" (the first selected
        element of the segment). Or a function of two arrays, Python's or compiled, or a `weft.pvar.Combiner` of one:
        called with elements that the scan has met before and elements that it meets after them; associative.
    axis
        Along which axis.
    segments
        A boolean variable, true where a new segment begins, whoever is selected: each is scanned by itself.
    exclusive
        Without the element itself: the neutral element at the beginning of a segment (0; the least or largest number of
        the word for max and min; -1 for logand; a combiner's identity).
    direction
        "up" from the first element; "down" from the last of the same segments.

    Returns
    -------
    ParallelVariable
        Of the dtype and word length of `x`, wrapping around; zero where not selected. Sums begin with 0, as those of
        `reduce` and `send` do: none is -0.0, which `numpy.cumsum` gives where all elements so far are.

    Raises
    ------
    UsageError
        For an operator, axis or direction that there is not, a dtype without the operator, and segments that are no
        boolean variable of this VP set.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((4,))
    >>> scan(vp.array(np.array([3, 1, 4, 1])), "add")
    <ParallelVariable (4,) of int64: [3 4 8 9]>
    """
    vp = variable_set(x, "scan")
    operator = operators.check(operator, x.data.dtype, "scan", ("copy",))
    axis = vp.axis(axis, "scan")
    if direction not in ("up", "down"):
        raise UsageError(f"scan: there is no direction {direction!r}; there are 'up' and 'down'")
    if operator == "copy" and exclusive:
        raise UsageError("scan: copy has no exclusive form, because nothing is before the first element")
    if exclusive and isinstance(operator, Combiner):
        operator.neutral(x.data.dtype, x.word, "scan")
    flags = None
    if segments is not None:
        check_same(vp, segments, "scan: segments")
        if segments.data.dtype.kind != "b":
            raise UsageError(f"scan: segments are of {segments.data.dtype}; expected booleans, true where one begins")
        flags = segments.data
    how = Scan(operator, axis, vp.mask, flags, bool(exclusive), direction == "down", x.word)
    begin = 0.0 if vp.meter is None else perf_counter()
    data = vp.execution.scan(x.data, how)
    scanned = ParallelVariable(vp, data, x.word)
    if vp.meter is not None:
        spent = perf_counter() - begin if isinstance(operator, Combiner) else 0.0
        name = operators.name_of(operator)
        kind = {"add": "scan_sum", "max": "scan_max", "min": "scan_max"}.get(name, f"scan_{name}")
        if isinstance(operator, Combiner):
            kind = "scan_function"
        form = "".join(
            [" segmented" * (flags is not None), " exclusive" * bool(exclusive), " down" * (direction == "down")]
        )
        arrays = (x.data, data) if flags is None else (x.data, flags, data)
        vp.meter.record(
            vp,
            f"scan {name}{form}",
            kind,
            x.bits,
            arrays=arrays,
            axis=axis,
            extent=vp.shape[axis],
            dtype=x.data.dtype.name,
            spent=spent,
        )
    return scanned


def get(x: ParallelVariable, address: Any, *, collisions: Collisions = "many") -> ParallelVariable:
    """Each selected processor fetches the element at an address, through the router.

    Parameters
    ----------
    x
        A parallel variable.
    address
        A variable of integers: numbers of processors of the VP set of `x` (as `VPSet.address`), or a tuple with a
        variable or a number for each coordinate. Its own VP set, of any shape, is that of those who fetch.
    collisions
        How the machine is to meet processors that fetch from the same one: "allowed" (one after the other; on the
        CM-2 at most 32), "many" (sorted), "backward" (combined on the way there, spread on the way back, for
        memory). The result is the same, its cost is not (Wu and Shu 1989, section 3).

    Returns
    -------
    ParallelVariable
        Of the VP set of `address`; zero where not selected.

    Raises
    ------
    UsageError
        For addresses of no processor where one is selected, VP sets of different machines or ranks, and, on a machine
        that has such a limit, more than 32 processors that fetch from one with collisions allowed.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((4,))
    >>> x = vp.array(np.array([3, 1, 4, 1]))
    >>> get(x, 3 - vp.address())
    <ParallelVariable (4,) of int64: [1 4 1 3]>
    >>> pair = weft.pvar.VPSet((2,))
    >>> get(x, 2 * pair.address())
    <ParallelVariable (2,) of int64: [3 4]>
    """
    source = variable_set(x, "get")
    if collisions not in ("allowed", "many", "backward"):
        raise UsageError(
            f"get: there is no way {collisions!r} to meet collisions; there are 'allowed', 'many', 'backward'"
        )
    vp = _asking(source, address)
    to = _addresses(vp, address, source, "get")
    data = (
        vp.execution.get(x.data, to, vp.mask)
        if vp is source
        else vp.execution.get(x.data, to, vp.mask, source.execution)
    )
    fetched = _variable(vp, data, x.word)
    if vp.meter is not None:
        moved, within = (x.data, to, fetched.data), vp is source
        vp.meter.routed(vp, "get", x.bits, moved, collisions, within, coordinates=_variables_of(address))
    return fetched


def send(
    x: ParallelVariable | complex | np.generic,
    address: Any,
    *,
    combine: str | Function | None = None,
    into: ParallelVariable | None = None,
    vp: VPSet | None = None,
) -> ParallelVariable:
    """Each selected processor sends its element to an address, through the router.

    Parameters
    ----------
    x
        A parallel variable, or a number that every selected processor of the address's VP set sends: 1 counts messages.
    address
        A variable of integers of the VP set of `x`: numbers of processors (as `VPSet.address`), or a tuple with a
        variable or a number for each coordinate. Who gets something need not be selected.
    combine
        What several elements that arrive at one processor come to: "add", "multiply", "max", "min", "logand", "logior",
        "logxor", "and", "or", "xor", "overwrite" (that of the sender with the highest address). Or a function of two
        arrays, Python's or compiled, or a `weft.pvar.Combiner` of one: elements arrive in the order of their senders'
        addresses, after what `into` holds; associative. Without it several are an error.
    into
        A variable that takes what arrives, combined with what it holds (`combine`) or in place of it, and is returned.
        Without it there are zeros where nothing arrives. Where Ctrl-C ends a long send it holds anything. Addresses are
        of its VP set, which may have any shape.
    vp
        The VP set that gets the elements, where it is another and there is no `into`.

    Raises
    ------
    UsageError
        For collisions without `combine`, addresses of no processor, a dtype without the operator, a target of another
        dtype or word length, a number that it cannot hold, and VP sets of different machines or ranks.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((4,))
    >>> send(vp.array(np.array([3, 1, 4, 1])), vp.address() // 2, combine="add")
    <ParallelVariable (4,) of int64: [4 5 0 0]>
    >>> sums = send(vp.array(np.array([3, 1, 4, 1])), vp.address() // 2, combine="add", vp=weft.pvar.VPSet((2,)))
    >>> sums
    <ParallelVariable (2,) of int64: [4 5]>
    >>> send(1, vp.address() // 2, combine="add")
    <ParallelVariable (4,) of int64: [2 2 0 0]>
    """
    is_number = not isinstance(x, ParallelVariable)
    if not isinstance(x, ParallelVariable):
        x = _sent_by_all(x, address, into)
    own = variable_set(x, "send")
    whose = _receiving(own, into, vp)
    operator = None if combine is None else operators.check(combine, x.data.dtype, "send", ("overwrite",))
    to = _addresses(own, address, whose, "send")
    target = _target(whose, x, into, "send")
    values = x.data
    if into is not None and target.data is values:
        values = values.copy()
    how = Send(operator, own.mask, x.word, into is None)
    begin = 0.0 if own.meter is None else perf_counter()
    own.execution.send(values, to, target.data, how, None if whose is own else whose.execution)
    if own.meter is not None:
        spent = perf_counter() - begin if isinstance(operator, Combiner) else None
        sent = values[(slice(1),) * values.ndim] if is_number else values
        moved = sent, to, target.data
        name = f"send {'plain' if operator is None else operators.name_of(operator)}"
        coordinates = _variables_of(address)
        within, dtype, into_one = whose is own, x.data.dtype.name, into is not None
        own.meter.routed(own, name, x.bits, moved, "many", within, dtype, spent, coordinates, into_one, is_number)
    return target


def _sent_by_all(number: Any, address: Any, into: ParallelVariable | None) -> ParallelVariable:
    """A variable of the VP set of those who have the addresses: the number everywhere, which is in memory once."""
    if not isinstance(number, _SENT):
        raise UsageError(f"send: a {type(number).__name__} is neither a number nor a parallel variable")
    vp = _knowing(address)
    if vp is None:
        raise UsageError("send: a number is sent by the processors of its address, which is no parallel variable here")
    if into.__class__ is ParallelVariable:
        element, word = words.element(number, into.data.dtype, into.bits), into.word
    else:
        dtype = words.check_dtype(np.asarray(number).dtype)
        element, word = dtype.type(number), None
    shape = vp.execution.shape
    # As numpy.broadcast_to, which takes as long as sending a thousand elements does.
    everywhere: Any = np.ndarray(shape, element.dtype, np.array([element]), strides=(0,) * len(shape))
    return _variable(vp, everywhere, word)


_SENT = (complex, float, int, np.generic)
"""Classes of numbers that all may send."""


def _knowing(address: Any) -> VPSet | None:
    """The VP set of an address, or of the first of its coordinates that is a variable."""
    if address.__class__ is ParallelVariable:
        vp: VPSet = address.vp
        return vp
    if isinstance(address, tuple):
        for one in address:
            if one.__class__ is ParallelVariable:
                return _knowing(one)
    return None


def _asking(source: VPSet, address: Any) -> VPSet:
    """The VP set of those who fetch: that of the address, which may be another than that of what is fetched."""
    return _together(_knowing(address) or source, source, "get")


def _receiving(own: VPSet, into: ParallelVariable | None, vp: VPSet | None) -> VPSet:
    """The VP set of those who get what is sent."""
    if into is None:
        return own if vp is None else _together(own, vp, "send", vp)
    whose = variable_set(into, "send: into")
    if vp is not None and vp is not whose:
        raise UsageError(f"send: into is of {whose!r}, but vp is {vp!r}; into says which VP set gets the elements")
    return _together(own, whose, "send", whose)


def _together(vp: VPSet, other: VPSet, what: str, chosen: VPSet | None = None) -> VPSet:
    """The chosen of two VP sets (by default the first), between which messages can pass."""
    if other is not vp and not vp.is_with(other):
        raise UsageError(
            f"{what}: {vp!r} and {other!r} are not on the same machine and ranks; make one with machine=… and comm=… "
            "of the other"
        )
    return vp if chosen is None else chosen


def _variable(vp: VPSet, data: Any, word: int | None) -> ParallelVariable:
    """A variable of a VP set that may not know words of this length yet."""
    if word is not None:
        vp.irregular()
    return ParallelVariable(vp, data, word)


def _target(vp: VPSet, x: ParallelVariable, into: ParallelVariable | None, what: str) -> ParallelVariable:
    if into is None:
        return _variable(vp, np.zeros(vp.execution.shape, x.data.dtype), x.word)
    check_same(vp, into, f"{what}: into")
    if into.data.dtype != x.data.dtype or into.word != x.word:
        raise UsageError(
            f"{what}: into is of {into.data.dtype} ({into.bits} bits), but what is sent is of {x.data.dtype} "
            f"({x.bits} bits)"
        )
    return into


def _addresses(vp: VPSet, address: Any, whose: VPSet, what: str) -> Any:
    """Numbers of processors of a VP set, which those of another (or the same) know."""
    if address.__class__ is ParallelVariable:
        check_same(vp, address, f"{what}: the address")
        if address.data.dtype.kind not in "iu":
            raise UsageError(f"{what}: addresses are integers, not {address.data.dtype}")
        return address.data
    if not isinstance(address, tuple):
        raise UsageError(
            f"{what}: a {type(address).__name__} is no address; expected an integer variable, or a tuple of coordinates"
        )
    if len(address) != whose.ndim:
        raise UsageError(
            f"{what}: an address has {whose.ndim} coordinates, not {len(address)}: the shape is {whose.shape}"
        )
    coordinates: list[Any] = []
    error: str | None = None
    along: Any
    for axis, (one, extent) in enumerate(zip(address, whose.shape, strict=True)):
        if one.__class__ is ParallelVariable:
            check_same(vp, one, f"{what}: coordinate {axis}")
            along = one.data
            if along.dtype.kind not in "iu":
                raise UsageError(f"{what}: coordinate {axis} is of {along.dtype}; expected integers")
            wrong = _first_beyond(along, extent, vp.mask)
        else:
            along = whole_number(one, f"{what}: coordinate {axis}")
            wrong = along if not 0 <= along < extent and (vp.mask is None or vp.mask.any()) else None
        if wrong is not None:
            error = error or f"{what}: there is no coordinate {wrong} along axis {axis}: its extent is {extent}"
            along = 0
        coordinates.append(along)
    vp.execution.agree(error)
    return linear(coordinates, whose.shape, vp.execution.shape)


def _variables_of(address: Any) -> int:
    """How many coordinates of an address are variables; none of one that is a number itself."""
    if not isinstance(address, tuple):
        return 0
    return sum(one.__class__ is ParallelVariable for one in address)


def _first_beyond(coordinates: Any, extent: int, mask: Any) -> Any:
    """The first selected coordinate that is none of so many; None where all are."""
    if not any_beyond(coordinates, extent, mask):
        return None
    outside = (coordinates < 0) | (coordinates >= extent)
    return coordinates[outside if mask is None else outside & mask].flat[0]


def variable_set(x: Any, what: str) -> VPSet:
    if x.__class__ is not ParallelVariable:
        raise UsageError(f"{what}: a {type(x).__name__} is no parallel variable; vp.array(…) makes one")
    vp: VPSet = x.vp
    return vp


def check_same(vp: VPSet, other: Any, what: str) -> None:
    if other.__class__ is not ParallelVariable:
        raise UsageError(f"{what}: a {type(other).__name__} is no parallel variable; vp.array(…) makes one")
    if not vp.is_alike(other.vp):
        raise UsageError(f"{what} is of another VP set, {other.vp!r}, not {vp!r}")


def whole_number(number: Any, what: str) -> int:
    if isinstance(number, bool | np.bool_) or not isinstance(number, int | np.integer):
        raise UsageError(f"{what} is {number!r}; expected a whole number")
    return int(number)


_LIMITS = {char: words.limits(np.dtype(char), 8 * np.dtype(char).itemsize) for char in "bhilqBHILQ"}
"""The least and the largest integer of each dtype."""


_KINDS = {float: "f", bool: "b"}
"""Kinds of elements that a number of Python's class is one of, whatever it is."""


def _boundary(boundary: Any, x: ParallelVariable) -> Any:
    dtype = x.data.dtype
    if boundary.__class__ is int and dtype.kind in "iu" and x.word is None:
        low, high = _LIMITS[dtype.char]
        if low <= boundary <= high:
            return dtype.type(boundary)
    if dtype.kind == _KINDS.get(boundary.__class__) or (boundary.__class__ is int and boundary == 0):
        return dtype.type(boundary)
    if boundary is None or isinstance(boundary, str) or np.ndim(boundary):
        raise UsageError(f"shift: the boundary is {boundary!r}; expected 'circular' or a number")
    try:
        value = dtype.type(boundary)
        if dtype.kind in "iub" and value != boundary:
            raise ValueError
        if dtype.kind in "iu":
            low, high = words.limits(dtype, x.bits)
            if not low <= int(boundary) <= high:
                raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"shift: the boundary is {boundary!r}, which {dtype} cannot hold") from None
    return value
