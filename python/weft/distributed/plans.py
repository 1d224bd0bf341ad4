"""Exchanges planned once and done often: shifts of distributed arrays, and the ghosts around their blocks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft import _core, units
from weft._core import UsageError
from weft.array_input import refuse_masked
from weft.distributed import calls, ghosts
from weft.distributed.array import DistributedArray, Halo, widths
from weft.distributed.geometry import Geometry
from weft.distributed.observed import note
from weft.stencils import boundaries
from weft.stencils.boundaries import Ends

if TYPE_CHECKING:
    from weft.shifts.estimates import ShiftEstimate

Shift = tuple[int, int, int, int, str, bytes]
"""As `_core` takes it: source, result, axis, by, kind of boundary, bytes of the boundary."""


class BoundaryArray:
    """An array that comes in at an end, read again at each exchange.

    It is the caller's, who may change it; what the extension module reads are its elements in C order and the
    exchange's type: the array itself where it lies so, else a copy that is made each time.
    """

    def __init__(self, array: NDArray[Any], dtype: np.dtype[Any]) -> None:
        self._array = array
        is_as_read = array.dtype == dtype and array.dtype.isnative and array.flags.c_contiguous
        self._read = array if is_as_read else np.ascontiguousarray(array, dtype).copy()
        self.memory = _core.Memory(self._read)
        """Where its elements are read."""

    @property
    def bytes(self) -> bytes:
        """What it holds now."""
        self.refresh()
        return self._read.tobytes()

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self._array.shape

    def refresh(self) -> None:
        """Take over what the caller's array holds."""
        if self._read is not self._array:
            np.copyto(self._read, self._array, casting="same_kind")


class _Plan:
    """What plans have in common: arrays that must fit, an exchange that is set up, its release."""

    _noun: str
    _result: str

    def __init__(self, geometry: Geometry, dtypes: Sequence[np.dtype[Any]], halo: Halo) -> None:
        self.geometry = geometry
        self.halo = widths(halo, geometry.ndim)
        self.dtypes = tuple(dtypes)
        self._exchange: _core.ArrayExchange | None = None
        self._held: Sequence[DistributedArray] = ()
        self._boundaries: list[BoundaryArray] = []

    @property
    def exchange(self) -> _core.ArrayExchange:
        """What runs it.

        Raises
        ------
        UsageError
            After `release`.
        """
        if self._exchange is None:
            raise UsageError(f"this {self._noun} was released and cannot be used again; make a new one")
        return self._exchange

    @property
    def released(self) -> bool:
        """Whether it was released."""
        return self._exchange is None

    def end(self) -> Any:
        """Complete what `begin` started: afterwards results are there and sources may change again.

        Raises
        ------
        UsageError
            If nothing has begun, or the plan was released.
        RunError
            If the exchange fails.
        """
        self.exchange.end()
        self._held, held = (), self._held
        return self._done(held)

    def _done(self, arrays: Sequence[DistributedArray]) -> Any:
        raise NotImplementedError

    def release(self) -> None:
        """Give back requests and buffers. Memory that ranks of a node share is given back at the end of the run.

        Raises
        ------
        UsageError
            Between `begin` and `end`.
        """
        if self._exchange is not None and self._exchange.active:
            raise UsageError(f"this {self._noun} is under way; call end() before release()")
        self._exchange = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.release()
        else:
            self._exchange = None

    def _prepare(self) -> None:
        """Before each exchange: tell who observes, and take over what boundary arrays hold now."""
        note(self)
        if self._boundaries:
            for boundary in self._boundaries:
                boundary.refresh()
            self.exchange.read_boundaries([boundary.memory for boundary in self._boundaries])

    def _start(self, arrays: Sequence[DistributedArray]) -> None:
        self._prepare()
        self.exchange.begin([array.memory for array in arrays])
        self._held = arrays

    def _fits(self, array: Any, dtype: np.dtype[Any], what: str) -> None:
        if not isinstance(array, DistributedArray):
            raise UsageError(
                f"{what} is a {type(array).__name__}; expected a DistributedArray (geometry.scatter or "
                "geometry.distribute make one)"
            )
        if array.geometry is not self.geometry and array.geometry != self.geometry:
            raise UsageError(
                f"{what} has another geometry than the {self._noun}: {array.geometry}, not {self.geometry}"
            )
        if array.dtype != dtype:
            raise UsageError(f"{what} is of {array.dtype}, but the {self._noun} was made for {dtype}")
        if array.halo != self.halo:
            raise UsageError(f"{what} has a halo of {array.halo}, but the {self._noun} was made for {self.halo}")

    def _setup(self, dtypes: Sequence[np.dtype[Any]], shifts: list[Shift], halos: list[Any]) -> None:
        ranks = self.geometry.communicator
        stored = [DistributedArray(self.geometry, dtype, self.halo).storage for dtype in dict.fromkeys(dtypes)]
        storages = dict(zip(dict.fromkeys(dtypes), stored, strict=True))
        arrays = [storages[dtype] for dtype in dtypes]
        number = ranks.number()
        # Two plans that do the same have messages of their own, so that they are different calls.
        of = f"{', '.join(map(str, self.dtypes))} on {self.geometry.shape}"
        words = f"{self._noun} {number} of {of}, planned at {calls.caller()}"
        digest = calls.remembered(f"{self._noun} {number}", words)
        self._exchange = _core.ArrayExchange(ranks.native, self.geometry.blocks, arrays, shifts, halos, number, digest)

    def _explained(self, what: Iterable[str]) -> str:
        exchange = self.exchange
        ranks = self.geometry.communicator
        lines = [
            f"{self._noun} of {self.geometry}",
            *(f"  {line}" for line in what),
            f"rank {ranks.rank} of {ranks.size}, each time:",
            f"  sends {exchange.messages} message{'s' * (exchange.messages != 1)} with "
            f"{units.length(exchange.sent_bytes)} in all, by {exchange.transport}",
            f"  copies {units.length(exchange.local_bytes)} of its own",
        ]
        return "\n".join(lines)


class Polyshift(_Plan):
    """Shifts of distributed arrays, planned once and all done at once.

    All faces of all arrays that go to one rank travel in one message, all messages at the same time; what stays on its
    rank is copied and no message. A distance may be longer than a block and an extent need not divide.

    Parameters
    ----------
    geometry
        That of the arrays.
    dtype
        Of the source, or a list with one for each of several sources.
    shifts
        Each a tuple `(by, axis)`, `(by, axis, boundary)` or `(by, axis, boundary, source)`, a mapping with these
        names, or an object with these attributes. As in Fortran's CSHIFT and EOSHIFT, element i of the result is
        element i + by of the source (`numpy.roll` has the opposite sign). Without a boundary, or with "circular", a
        shift goes around; else it is end-off, and the boundary, a scalar or an array of the geometry's shape without
        the axis (whole on every rank, each of which takes its part; read at each call), comes in. `source` is an index
        into several sources.
    halo
        Ghosts that the arrays have memory for; shifts do not touch them.

    Raises
    ------
    UsageError
        On every rank, for an axis, a boundary, a dtype that does not fit, or if ranks ask for different shifts.

    Examples
    --------
    >>> import numpy as np
    >>> geometry = Geometry(6)
    >>> x = geometry.distribute(np.arange(6))
    >>> plan = geometry.polyshift(int, shifts=[(1, 0), (-2, 0, 99)])
    >>> [y.local.tolist() for y in plan(x)]
    [[1, 2, 3, 4, 5, 0], [99, 99, 0, 1, 2, 3]]
    """

    _noun = "polyshift"

    def __init__(
        self,
        geometry: Geometry,
        dtype: DTypeLike | Sequence[DTypeLike] = np.float64,
        *,
        shifts: Iterable[Any],
        halo: Halo = 0,
    ) -> None:
        def prepare() -> tuple[object, list[np.dtype[Any]]]:
            dtypes = _dtypes(dtype)
            super(Polyshift, self).__init__(geometry, dtypes, halo)
            checked = [_shift(shift, number, geometry, dtypes) for number, shift in enumerate(shifts)]
            self.shifts = [shift for shift, _ in checked]
            self._boundaries = [boundary for _, boundary in checked if boundary is not None]
            if not self.shifts:
                raise UsageError("a polyshift needs at least one shift: shifts=[(1, 0), (-1, 0)]")
            described = (
                geometry.shape,
                geometry.grid,
                geometry.order,
                self.halo,
                [str(d) for d in dtypes],
                # Arrays are read at each call: what they hold now need not be the same.
                [(*shift[:5], b"" if shift[4] == "array" else shift[5]) for shift in self.shifts],
            )
            return described, dtypes

        dtypes = geometry.communicator.agreed("polyshift", prepare)
        results = [dtypes[shift[0]] for shift in self.shifts]
        self._setup([*dtypes, *results], self.shifts, [])
        self._results = results
        self._copies: dict[int, DistributedArray] = {}

    def __call__(
        self, *sources: DistributedArray, out: Sequence[DistributedArray] | None = None
    ) -> tuple[DistributedArray, ...]:
        """Do all shifts.

        Parameters
        ----------
        sources
            As many arrays as the plan was made for.
        out
            The results' arrays; default: new ones. One that is a source too is allowed: the source is copied first.

        Returns
        -------
        tuple of DistributedArray
            A result for each shift, in order.
        """
        self.begin(*sources, out=out)
        results: tuple[DistributedArray, ...] = self.end()
        return results

    def begin(self, *sources: DistributedArray, out: Sequence[DistributedArray] | None = None) -> None:
        """Start: faces travel while the caller computes. Until `end`, sources may not change."""
        if len(sources) != len(self.dtypes):
            raise UsageError(f"this polyshift is of {len(self.dtypes)} arrays, but {len(sources)} were given")
        for number, (source, dtype) in enumerate(zip(sources, self.dtypes, strict=True)):
            self._fits(source, dtype, f"source {number}" if len(sources) > 1 else "the source")
        if out is None:
            out = [DistributedArray(self.geometry, dtype, self.halo) for dtype in self._results]
        elif len(out) != len(self._results):
            raise UsageError(f"this polyshift has {len(self._results)} results, but out has {len(out)} arrays")
        else:
            for number, (result, dtype) in enumerate(zip(out, self._results, strict=True)):
                self._fits(result, dtype, f"out[{number}]")
            if len({id(result) for result in out}) < len(out):
                raise UsageError("two shifts write the same array of out; give each its own")
        self._start([*(self._apart(number, source, out) for number, source in enumerate(sources)), *out])

    def _apart(self, number: int, source: DistributedArray, out: Sequence[DistributedArray]) -> DistributedArray:
        """The source, or a copy of it where it is a result too."""
        if all(result is not source for result in out):
            return source
        if number not in self._copies:
            self._copies[number] = DistributedArray(self.geometry, source.dtype, self.halo)
        self._copies[number].padded[...] = source.padded
        return self._copies[number]

    def bind(self, *sources: DistributedArray, out: Sequence[DistributedArray]) -> Bound:
        """The shifts of these arrays, checked once: `begin` and `end` then cost what the exchange costs.

        They are done once now. Raises UsageError where a copy would be needed: a source that is a result too.
        """
        if any(result is source for result in out for source in sources):
            raise UsageError("a source of a bound polyshift is a result too: it would have to be copied each time")
        self.begin(*sources, out=out)
        held = list(self._held)
        self.end()
        return Bound(self, held)

    def _done(self, arrays: Sequence[DistributedArray]) -> tuple[DistributedArray, ...]:
        return tuple(arrays[len(self.dtypes) :])

    def estimate(self, machine: str | os.PathLike[str] | _core.Machine) -> ShiftEstimate:
        """What one call takes on a described machine with costs of shifts, as of a plan of `weft.arrays.polyshift`.

        The arrays are laid out over all nodes of the machine, whatever this run's ranks are.

        Raises
        ------
        UsageError
            If the machine has no costs of shifts, or there is nothing to shift.

        Examples
        --------
        >>> plan = Geometry((1024, 512)).polyshift(float, shifts=[(1, 0), (-1, 0)])
        >>> plan.estimate("cm200").subgrid
        (16, 16)
        """
        from weft.shifts.description import Shift as Described
        from weft.shifts.estimates import estimate

        def boundary(shift: Shift) -> Any:
            source, _, _, _, kind, value = shift
            if kind == "value":
                return np.frombuffer(value, self.dtypes[source])[0]
            return None if kind == "circular" else np.empty(0)

        shifts = [Described(shift[3], shift[2], boundary(shift), shift[0]) for shift in self.shifts]
        longest = max(self.dtypes, key=lambda dtype: dtype.itemsize)
        return estimate(self.geometry.shape, longest, shifts, machine)

    def explain(self) -> str:
        """What is done each time, and what it costs."""

        def described(number: int, shift: Shift) -> str:
            source, _, axis, by, kind, _ = shift
            how = {"circular": "circular", "value": "end-off, a scalar comes in", "array": "end-off, an array comes in"}
            of = f" of source {source}" if len(self.dtypes) > 1 else ""
            return f"shift {number}{of}: by {by:+d} along axis {axis}, {how[kind]}"

        return self._explained(described(number, shift) for number, shift in enumerate(self.shifts))


class HaloExchange(_Plan):
    """The ghosts around the blocks of distributed arrays: filled from the ranks that have the elements.

    Parameters
    ----------
    geometry
        That of the arrays.
    dtype
        Of the array, or a list with one for each of several arrays, whose faces travel together.
    halo
        Ghosts of each axis and side, as `DistributedArray` takes it; all of them are filled.
    boundary
        What ghosts beyond an end of the array hold. None or "circular": the elements of the other end; "antiperiodic":
        these with the other sign; "reflect" and "symmetric": the elements of that end backwards, without and with the
        last one, as `numpy.pad` has them; a scalar: that; "keep" or "none": what they held; an array of the geometry's
        shape without the axis (whole on every rank; read at each call): its element on their line along the axis; a
        function, called with an array of indices for each axis (they broadcast) when the plan is made: what it returns.
        One for all axes, or a list with one for each, in which a tuple `(before, after)` gives each end its own.
        Beyond the ends of several axes, axes are taken one after another as by `numpy.pad`: the last with a scalar, an
        array or a function has its say, an array with the line that is nearest or that the array continues with.
    corners
        "none": only ghosts across faces. "at once": those across edges and corners too, each from the rank that has
        them. "staged": these too, axis by axis and so with fewer messages, but one after the other.

    Raises
    ------
    UsageError
        On every rank, as `Polyshift` does.

    Examples
    --------
    >>> geometry = Geometry(4)
    >>> x = geometry.zeros(halo=1)
    >>> x.local[...] = [1, 2, 3, 4]
    >>> with geometry.halo_exchange() as fill:
    ...     fill(x)
    >>> x.local_with_halo.tolist()
    [4.0, 1.0, 2.0, 3.0, 4.0, 1.0]
    """

    _noun = "halo exchange"

    def __init__(
        self,
        geometry: Geometry,
        dtype: DTypeLike | Sequence[DTypeLike] = np.float64,
        *,
        halo: Halo = 1,
        boundary: Any = None,
        corners: Literal["none", "at once", "staged"] = "none",
    ) -> None:
        def prepare() -> tuple[object, tuple[list[np.dtype[Any]], list[Any]]]:
            dtypes = _dtypes(dtype)
            super(HaloExchange, self).__init__(geometry, dtypes, halo)
            ends = ghosts.ends_of(boundary, geometry)
            edges = [_edges(ends, geometry, of) for of in dtypes]
            self._boundaries = [array for of in edges for pair in of for _, array in pair if array is not None]
            self._beyond = [ghosts.Beyond(ends, geometry, self.halo, of, corners != "none") for of in dtypes]
            if corners not in ("none", "at once", "staged"):
                raise UsageError(f"corners cannot be had {corners!r}; there are 'none', 'at once' and 'staged'")
            native = [[(before[0], after[0]) for before, after in of] for of in edges]
            halos = [(array, list(self.halo), of, corners) for array, of in enumerate(native)]
            kinds = [
                [(kind, b"" if kind == "array" else value) for pair in of for kind, value in pair] for of in native
            ]
            described = (
                *(geometry.shape, geometry.grid, geometry.order),
                self.halo,
                list(map(str, dtypes)),
                kinds,
                [beyond.description for beyond in self._beyond],
                corners,
            )
            return described, (dtypes, halos)

        dtypes, halos = geometry.communicator.agreed("halo exchange", prepare)
        self.corners = corners
        self._setup(dtypes, [], halos)

    def __call__(self, *arrays: DistributedArray) -> None:
        """Fill the ghosts of these arrays."""
        self.begin(*arrays)
        self.end()

    def begin(self, *arrays: DistributedArray) -> None:
        """Start: the caller computes on what needs no ghosts meanwhile. Until `end`, elements may not change."""
        if len(arrays) != len(self.dtypes):
            raise UsageError(f"this halo exchange is of {len(self.dtypes)} arrays, but {len(arrays)} were given")
        for number, (array, dtype) in enumerate(zip(arrays, self.dtypes, strict=True)):
            self._fits(array, dtype, f"array {number}" if len(arrays) > 1 else "the array")
        if len({id(array) for array in arrays}) < len(arrays):
            raise UsageError("an array is given twice")
        self._start(arrays)

    def bind(self, *arrays: DistributedArray) -> Bound:
        """The exchange of these arrays, checked once: `begin` and `end` then cost what the exchange costs."""
        self.begin(*arrays)
        self.end()
        return Bound(self, arrays)

    def _done(self, arrays: Sequence[DistributedArray]) -> None:
        for array, beyond in zip(arrays, self._beyond, strict=True):
            beyond.fill(array)

    def explain(self) -> str:
        """What is done each time, and what it costs."""
        corners = {"none": "faces only", "at once": "with corners, at once", "staged": "with corners, axis by axis"}
        return self._explained([f"{len(self.dtypes)} x ghosts {self.halo}, {corners[self.corners]}"])


class Bound:
    """A plan with its arrays: nothing is checked or made when it is called."""

    def __init__(self, plan: _Plan, arrays: Sequence[DistributedArray]) -> None:
        self._plan = plan
        self._arrays = list(arrays)
        self._memories = [array.memory for array in arrays]

    def __call__(self) -> None:
        """Do it."""
        exchange = self._plan.exchange
        self._plan._prepare()
        exchange.begin(self._memories)
        exchange.end()
        self._plan._done(self._arrays)

    def begin(self) -> None:
        """Start it."""
        self._plan._prepare()
        self._plan.exchange.begin(self._memories)

    def end(self) -> None:
        """Complete it."""
        self._plan.exchange.end()
        self._plan._done(self._arrays)


def _dtypes(dtype: Any) -> list[np.dtype[Any]]:
    several = list(dtype) if isinstance(dtype, list | tuple) else [dtype]
    if not several:
        raise UsageError("dtype is an empty list; expected a dtype for each array")
    dtypes = [np.dtype(one) for one in several]
    for one in dtypes:
        if one.hasobject or one.itemsize == 0:
            raise UsageError(f"elements of {one} cannot be sent to other ranks; expected numbers or booleans")
    return dtypes


def _shift(
    shift: Any, number: int, geometry: Geometry, dtypes: Sequence[np.dtype[Any]]
) -> tuple[Shift, BoundaryArray | None]:
    by, axis, boundary, source = _fields(shift, number)
    if isinstance(by, bool) or not isinstance(by, int | np.integer):
        raise UsageError(f"shift {number} is by {by!r}; expected a whole number")
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer) or not -geometry.ndim <= axis < geometry.ndim:
        raise UsageError(
            f"shift {number} is along axis {axis!r}; an array of {geometry.ndim} axes has {-geometry.ndim} to "
            f"{geometry.ndim - 1}"
        )
    if isinstance(source, bool) or not isinstance(source, int | np.integer) or not 0 <= source < len(dtypes):
        raise UsageError(f"shift {number} is of source {source!r}; the sources are 0 to {len(dtypes) - 1}")
    axis, source = int(axis) % geometry.ndim, int(source)
    # Distances beyond what 64 bits hold are as good as the extent (end-off) or what is left of them (circular).
    extent = geometry.shape[axis]
    lines = geometry.shape[:axis] + geometry.shape[axis + 1 :]
    (kind, value), array = _boundary(boundary, dtypes[source], lines, f"the boundary of shift {number}")
    distance = int(by) % extent if kind == "circular" else max(-extent, min(extent, int(by)))
    if kind == "circular" and by < 0:
        distance -= extent
    return (source, len(dtypes) + number, axis, distance, kind, value), array


def _fields(shift: Any, number: int) -> tuple[Any, Any, Any, Any]:
    names = ("by", "axis", "boundary", "source")
    if isinstance(shift, Mapping):
        unknown = [name for name in shift if name not in names]
        if unknown or "by" not in shift or "axis" not in shift:
            raise UsageError(f"shift {number} has {', '.join(map(str, shift))}; expected by, axis, boundary, source")
        return shift["by"], shift["axis"], shift.get("boundary"), shift.get("source", 0)
    if isinstance(shift, tuple | list):
        if not 2 <= len(shift) <= len(names):
            raise UsageError(f"shift {number} is {shift!r}; expected (by, axis), and after them boundary and source")
        by, axis, *rest = shift
        return by, axis, rest[0] if rest else None, rest[1] if len(rest) > 1 else 0
    if hasattr(shift, "by") and hasattr(shift, "axis"):
        return shift.by, shift.axis, getattr(shift, "boundary", None), getattr(shift, "source", 0)
    raise UsageError(f"shift {number} is {shift!r}; expected (by, axis), and after them boundary and source")


Edge = tuple[str, bytes]
"""A boundary as `_core` takes it: its kind, and the bytes of a value or an array."""


def _bytes_of(value: NDArray[Any]) -> bytes:
    """An element as bytes, the same on every rank: those of a long double that hold nothing are 0."""
    content = bytearray(value.tobytes())
    if value.dtype.char in "gG" and np.finfo(np.longdouble).nmant == _X87_MANTISSA:
        width = np.dtype(np.longdouble).itemsize
        for start in range(0, len(content), width):
            content[start + _X87_BYTES : start + width] = bytes(width - _X87_BYTES)
    return bytes(content)


_X87_MANTISSA = 63
_X87_BYTES = 10
"""Of the processor's extended format."""


def _boundary(
    boundary: Any, dtype: np.dtype[Any], lines: tuple[int, ...], what: str
) -> tuple[Edge, BoundaryArray | None]:
    """A boundary for `_core`, and its array if it is one; `lines` is the shape without the axis."""
    if boundary is None or (isinstance(boundary, str) and boundary == "circular"):
        return ("circular", b""), None
    values = _cast(boundary, dtype, what)
    if values.ndim == 0:
        return ("value", _bytes_of(values)), None
    if values.shape != lines:
        raise UsageError(f"{what} has shape {values.shape}; expected {lines}, the shape without the axis")
    array = BoundaryArray(boundary if isinstance(boundary, np.ndarray) else values, dtype)
    return ("array", array.bytes), array


_Filled = tuple[Edge, BoundaryArray | None]


def _edges(ends: Sequence[Ends], geometry: Geometry, dtype: np.dtype[Any]) -> list[tuple[_Filled, _Filled]]:
    """What the exchange puts beyond the ends of each axis."""
    is_local = ghosts.is_local(ends)
    shape = geometry.shape

    def edge(axis: int, end: Any) -> _Filled:
        if boundaries.is_word(end, boundaries.CIRCULAR, boundaries.REFLECT, boundaries.SYMMETRIC):
            return (end, b""), None
        if boundaries.is_word(end, boundaries.ANTIPERIODIC):
            return (boundaries.CIRCULAR, b""), None
        if boundaries.is_word(end, boundaries.NONE) or boundaries.is_function(end):
            return ("keep", b""), None
        filled = _boundary(end, dtype, shape[:axis] + shape[axis + 1 :], f"the boundary of axis {axis}")
        # Where some are filled after the exchange, all are, in the order of axes.
        return (("keep", b""), None) if is_local else filled

    return [(edge(axis, pair.low), edge(axis, pair.high)) for axis, pair in enumerate(ends)]


def _cast(value: Any, dtype: np.dtype[Any], what: str) -> NDArray[Any]:
    if isinstance(value, str):
        raise UsageError(f"{what} is {value!r}; expected 'circular', a scalar or an array")
    refuse_masked(what, value)
    values = np.asarray(value)
    if isinstance(value, int) and not isinstance(value, bool) and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise UsageError(f"{what} is {value}, which {dtype} cannot hold")
    elif dtype.kind == "b" and isinstance(value, int) and value in (0, 1):
        pass
    elif not np.can_cast(values.dtype, dtype, "same_kind"):
        raise UsageError(f"{what} is of {values.dtype}, which {dtype} cannot hold")
    return values.astype(dtype)
