"""VP sets: grids of virtual processors, and which of them are selected."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from weft._core import UsageError
from weft.array_input import refuse_masked
from weft.pvar import memory, selections, words
from weft.pvar.meter import Meter, current
from weft.pvar.variable import ParallelVariable

if TYPE_CHECKING:
    from weft.data_parallel import Time
    from weft.pvar.execution import Execution
    from weft.pvar.processor_arrays import ProcessorArrays
    from weft.pvar.randomness import Random

_latest, _enter, _frame = selections.LATEST.get, selections.LATEST.set, sys._getframe

Order = Literal["news", "send"]

MAX_AXES = 31
"""'n-dimensional NEWS grids, where n is any positive integer less than 32' (Wu and Shu 1989, section 3)."""


class VPSet:
    """A grid of virtual processors.

    Parameters
    ----------
    shape
        Virtual processors along each of 1 to 31 axes. Where an extent is 0, variables have no elements: operations
        give variables without elements, sums are 0, and extremes and means are errors, as those of nobody are.
    machine
        The machine that the program is meant for. "here", or one of the catalogue, or a path of a machine file, with
        costs of data-parallel operations: operations still run here, but are recorded, and `time` is what that machine
        takes for them.
    order
        "news" (neighbours in the grid are neighbours in the machine) or "send" (consecutive addresses are on
        consecutive processors), or one of them for each axis. Default: "news". Over ranks that needs a power of two of
        them along the axis, else it is as "send".
    comm
        A communicator of mpi4py whose ranks the grid is divided over, or another VP set, whose ranks these are too.
        Default: the ranks of this run, or this process alone.
    grid
        Ranks along each axis, where they shall not be chosen.
    meter
        What records the operations. Default: that of the `metered()` around, if any.

    Raises
    ------
    UsageError
        For a shape or order that cannot be, a grid whose variables cannot be in memory, and a machine without costs.
    MachineError
        If there is no such machine.

    Examples
    --------
    >>> vp = VPSet((2, 3))
    >>> x = vp.array([[1, 2, 3], [4, 5, 6]])
    >>> with vp.where(x > 3):
    ...     x[...] = 0
    >>> x.numpy().tolist()
    [[1, 2, 3], [0, 0, 0]]
    """

    def __init__(
        self,
        shape: int | Sequence[int],
        machine: Any = "here",
        *,
        order: Order | Sequence[Order | None] | None = None,
        comm: Any = None,
        grid: Sequence[int] | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.shape = _extents(shape)
        self.ndim = len(self.shape)
        self.size = math.prod(self.shape)
        self.order = _orders(order, self.ndim)
        if isinstance(comm, VPSet):
            comm = comm.execution.communicator
        self.execution: Execution = _execution(self.shape, self.order, comm, grid)
        self._elements = math.prod(self.execution.shape)
        memory.check(self._elements, f"one variable of 8 bits on {self.shape} virtual processors")
        memory.keep_freed_pages()
        self.machine = "here"
        self.processors = self.execution.ranks
        self._irregular = self._elements * 8 >= memory.LARGE
        self._meter = meter if meter is not None else current()
        self._costs: Any = None
        if machine != "here":
            self._costs = _costs(machine)
            self.machine = self._costs.machine
            self.processors = self._costs.processors
            if self._meter is None:
                self._meter = Meter()
        self.plain = False
        """Whether nothing is to be done but to compute: no selection, meter, word length or want of memory."""
        self.selecting = False
        """Whether nothing but a selection is to be thought of; that of another context perhaps (see `mask`)."""
        self._open = 0
        """How many blocks with selections are open, of all contexts."""
        self._settling = threading.Lock()
        self.alone = self.execution.ranks == 1
        """Whether this process has all elements."""
        self._settle()
        if self._meter is not None:
            self._meter.note(self, "VP set")

    def __copy__(self) -> VPSet:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> VPSet:
        """Itself: copies of variables are variables of the same processors."""
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a VP set cannot be pickled, for it belongs to the ranks of this run: pickle its shape")

    def _settle(self) -> None:
        with self._settling:
            usual = self._meter is None and not self._irregular
            self.plain = usual and not self._open
            self.selecting = usual and self._open > 0

    @property
    def mask(self) -> Any:
        """Who of this process's is selected in this context: numpy's array of booleans, or None for all."""
        if not self._open:
            return None
        entry = _latest()
        if entry is not None and entry.vp is self and entry.is_open and entry.generator is None:
            return entry.mask
        return selections.mask_of(self, entry)

    def irregular(self) -> None:
        """Variables of this VP set need checks from now on."""
        self._irregular = True
        self._settle()

    @property
    def meter(self) -> Meter | None:
        """What records the operations, if anything."""
        return self._meter

    @meter.setter
    def meter(self, meter: Meter | None) -> None:
        self._meter = meter
        self._settle()

    def is_with(self, other: VPSet) -> bool:
        """Whether `get` and `send` can move elements between both: on one machine, over the same ranks."""
        return other is self or (other.machine == self.machine and self.execution.is_with(other.execution))

    def is_alike(self, other: VPSet) -> bool:
        """Whether variables of both can be computed with together: of one shape, divided alike."""
        return other is self or (other.machine == self.machine and self.execution.is_alike(other.execution))

    @property
    def vp_ratio(self) -> int:
        """Virtual processors a processor of the machine; here, a rank."""
        if self.machine == "here":
            return int(-(-self.size // self.processors))
        return vp_ratio(self.shape, self.processors)

    @property
    def time(self) -> Time:
        """What the machine takes for all operations so far.

        Raises
        ------
        UsageError
            Here, where nothing describes it (see `weft.estimate`); for operations that the machine has no costs of.
        """
        if self._costs is None or self._meter is None:
            raise UsageError(
                "only a VP set of a described machine knows its time: VPSet(…, machine='cm2-8k'); here, measure it, or "
                "calibrate and use weft.estimate"
            )
        return self._meter.time(self._costs)

    def array(
        self, elements: ArrayLike, dtype: DTypeLike | None = None, *, bits: int | None = None, copy: bool | None = None
    ) -> ParallelVariable:
        """A variable with these elements, in numpy's order of axes.

        Parameters
        ----------
        elements
            An array of the grid's shape; over ranks, every rank gives the whole.
        dtype
            Default: that of `elements`, or of the shortest integers with `bits`.
        bits
            Word length of integers. Default: the dtype's.
        copy
            None: the variable is `elements` itself where it can be (numpy's, of this dtype, dense, writable): no copy,
            and each sees what is assigned to the other. True: always a copy. False: never, or an error.

        Raises
        ------
        UsageError
            For another shape, a dtype that variables do not have, numbers that the word does not hold, or where
            `copy=False` cannot be.
        """
        refuse_masked("the array", elements)
        values = np.asarray(elements)
        if bits is not None and dtype is None and values.dtype.kind in "iu":
            dtype = words.type_for(bits, values.dtype.kind == "i")
        target = words.check_dtype(values.dtype if dtype is None else np.dtype(dtype))
        word = words.word_of(target, bits)
        if values.shape != self.shape:
            raise UsageError(f"the array has shape {values.shape}, but the VP set has {self.shape}")
        if target.kind in "iu" and values.size and (target != values.dtype or word is not None):
            low, high = words.limits(target, word or target.itemsize * 8)
            least, most = values.min(), values.max()
            if values.dtype.kind == "f" or not (low <= int(least) and int(most) <= high):
                raise UsageError(
                    f"the array of {values.dtype} has elements from {least} to {most}; {target} of "
                    f"{word or target.itemsize * 8} bits holds whole numbers from {low} to {high}"
                )
        data = self.execution.own(values)
        usable = data.dtype == target and data.flags.c_contiguous and data.flags.writeable and data.flags.aligned
        if copy is False and not (usable and isinstance(elements, np.ndarray)):
            raise UsageError(
                "copy=False: the elements cannot be used where they are: they have to be a dense, writable numpy array "
                f"of {target}" + (" on one rank" if self.execution.ranks > 1 else "")
            )
        if copy or not usable:
            self.check_memory(target)
            data = np.array(data, dtype=target, order="C", copy=True)
        if self._meter is not None and self.alone:
            what = "array" if data is values else "array, copied" if target == values.dtype else "array, converted"
            self._meter.note(self, what, data, *([] if data is values else [values]))
        return self._variable(data, word)

    def zeros(self, dtype: DTypeLike = np.float64, *, bits: int | None = None) -> ParallelVariable:
        """A variable of zeros."""
        return self.full(0, dtype, bits=bits)

    def full(self, value: Any, dtype: DTypeLike | None = None, *, bits: int | None = None) -> ParallelVariable:
        """A variable with one value everywhere (a broadcast, whoever is selected). Default dtype: the value's."""
        target = words.check_dtype(np.dtype(dtype) if dtype is not None else np.asarray(value).dtype)
        word = words.word_of(target, bits)
        self.check_memory(target)
        try:
            data = np.full(self.execution.shape, value, target)
        except (OverflowError, ValueError, TypeError):
            raise UsageError(f"{target} cannot be {value!r}") from None
        variable = self._variable(data if word is None else words.wrap(data, word), word)
        if self._meter is not None:
            self._meter.record(self, "broadcast", "broadcast", variable.bits, arrays=(variable.data,))
        return variable

    def arrays(
        self, extents: int | Sequence[int], dtype: DTypeLike = np.float64, *, bits: int | None = None
    ) -> ProcessorArrays:
        """An array of zeros on each processor, of one extent or several; see `weft.pvar.ProcessorArrays`.

        Raises
        ------
        UsageError
            For extents below 1, and a dtype or word length that variables do not have.

        Examples
        --------
        >>> import numpy as np
        >>> stack = VPSet(3).arrays(10, np.int32)
        >>> stack[9].numpy().tolist()
        [0, 0, 0]
        """
        from weft.pvar.processor_arrays import ProcessorArrays

        return ProcessorArrays(self, extents, dtype, bits=bits)

    def coordinate(self, axis: int, dtype: DTypeLike | None = None) -> ParallelVariable:
        """Each processor's place along an axis, from 0. Default dtype: int32, int64 for grids of 2**31 or more."""
        axis = self.axis(axis, "coordinate")
        target = self._index_type(dtype)
        self.check_memory(target)
        start, length = self.execution.start[axis], self.execution.shape[axis]
        along = np.arange(start, start + length, dtype=target)
        line = along.reshape([-1 if a == axis else 1 for a in range(self.ndim)])
        return self._of_indices("coordinate", line)

    def address(self, dtype: DTypeLike | None = None) -> ParallelVariable:
        """Each processor's address for `get` and `send`: its number, the last axis fastest."""
        target = self._index_type(dtype)
        self.check_memory(target)
        total = np.zeros((1,) * self.ndim, dtype=target)
        stride = 1
        for axis in range(self.ndim - 1, -1, -1):
            start, length = self.execution.start[axis], self.execution.shape[axis]
            along = np.arange(start, start + length, dtype=target) * target.type(stride)
            total = total + along.reshape([-1 if a == axis else 1 for a in range(self.ndim)])
            stride *= self.shape[axis]
        return self._of_indices("address", total)

    def _of_indices(self, name: str, along: Any) -> ParallelVariable:
        """A variable of what processors know of themselves, and need no time for on machines of many."""
        data = np.broadcast_to(along, self.execution.shape).copy()
        if self._meter is not None:
            self._meter.note(self, name, data)
        return self._variable(data, None)

    def enumerate(self) -> ParallelVariable:
        """Each selected processor's number among the selected, from 0 in the order of addresses; zero elsewhere.

        Sum-scans and spreads along the axes, the last first.
        """
        from weft.pvar import primitives

        selected = self.selected
        counted = selected.astype(self.address_dtype)
        number = self.zeros(self.address_dtype)
        with self.everywhere():
            for axis in range(self.ndim - 1, -1, -1) if self.size else ():
                before = primitives.scan(counted, "add", axis, exclusive=True)
                number += before
                if axis:
                    counted = primitives.spread(before + counted, axis, -1)
            number[~selected] = 0
        return number

    def rng(self, seed: int) -> Random:
        """Random numbers, one on each processor at a time; the same on any number of ranks. See `weft.pvar.Random`.

        Raises
        ------
        UsageError
            If the seed is no whole number of 0 or more.
        """
        from weft.pvar.randomness import Random

        return Random(self, seed)

    def where(self, condition: ParallelVariable) -> Selection:
        """Select those of the selected processors on which a condition holds: `with vp.where(x > 0): …`. Nests.

        The selection is made when the block is entered: assignments to `condition` within do not change it. It holds
        while the block is open, in the context that entered it (a thread, a task of asyncio) and those copied from that
        meanwhile; other threads see all processors. That of a block within a generator holds while the generator runs,
        not for those who call it, unless it is a context manager's (`contextlib.contextmanager`).

        Raises
        ------
        UsageError
            If the condition is no boolean variable of this VP set; when blocks are left in another order than the
            reverse of that in which they were entered, or in another context.
        """
        if condition.__class__ is not ParallelVariable:
            raise UsageError(
                f"where: a {type(condition).__name__} is no condition; expected a boolean parallel variable"
            )
        if not self.is_alike(condition.vp):
            raise UsageError(f"where: the condition is of another VP set, {condition.vp!r}, not {self!r}")
        if condition.data.dtype.kind != "b":
            raise UsageError(f"where: the condition is of {condition.data.dtype}; compare it with something (x != 0)")
        return Selection(self, condition)

    def everywhere(self) -> Selection:
        """Select all processors, whatever is selected around: `with vp.everywhere(): …`."""
        return Selection(self, None)

    @property
    def selected(self) -> ParallelVariable:
        """Who is selected, as a boolean variable of its own."""
        if self.mask is None:
            return self._variable(np.ones(self.execution.shape, dtype=bool), None)
        return self._variable(self.mask.copy(), None)

    def axis(self, axis: Any, what: str) -> int:
        """An axis from 0.

        Raises
        ------
        UsageError
            If there is none.
        """
        if axis.__class__ is not int and (isinstance(axis, bool) or not isinstance(axis, int | np.integer)):
            raise UsageError(f"{what}: the axis is {axis!r}; expected a whole number")
        if not -self.ndim <= axis < self.ndim:
            raise UsageError(f"{what}: there is no axis {axis}; the axes are {-self.ndim} to {self.ndim - 1}")
        return int(axis) % self.ndim

    def position(self, index: Any) -> tuple[int, ...]:
        """Coordinates of one processor, each from 0.

        Raises
        ------
        UsageError
            For another number of them, and where there is no such processor.
        """
        at = index if isinstance(index, tuple) else (index,)
        if any(isinstance(one, bool | np.bool_) or not isinstance(one, int | np.integer) for one in at):
            raise UsageError(
                f"x[{', '.join(map(repr, at))}] is not one element; expected whole numbers, or ... for all (select "
                "with vp.where, move with shift, spread and get)"
            )
        if len(at) != self.ndim:
            raise UsageError(f"an element has {self.ndim} coordinates, not {len(at)}: the shape is {self.shape}")
        for axis, (one, extent) in enumerate(zip(at, self.shape, strict=True)):
            if not -extent <= one < extent:
                raise UsageError(f"there is no element {one} along axis {axis}: its extent is {extent}")
        return tuple(int(one) % extent for one, extent in zip(at, self.shape, strict=True))

    def part(self, index: Any, verb: str) -> tuple[Any, ...]:
        """An integer from 0 or a slice for each axis.

        Raises
        ------
        UsageError
            For too many of them, for a processor that there is not, and where operations are recorded.
        """
        if self.meter is not None:
            raise UsageError(
                f"x[{index!r}] is {verb} as a part, and what that costs is not known; read and write single elements, "
                "or select with vp.where"
            )
        words = list(index) if isinstance(index, tuple) else [index]
        if words.count(Ellipsis) > 1:
            raise UsageError("an index has one ellipsis at most")
        at = words.index(Ellipsis) if Ellipsis in words else len(words)
        words[at : at + 1] = [slice(None)] * (self.ndim - len(words) + (at < len(words)))
        if len(words) != self.ndim:
            raise UsageError(f"an index of {len(words)} axes into a variable of {self.ndim}: the shape is {self.shape}")
        for axis, (one, extent) in enumerate(zip(words, self.shape, strict=True)):
            if not isinstance(one, slice):
                if not -extent <= one < extent:
                    raise UsageError(f"there is no element {one} along axis {axis}: its extent is {extent}")
                words[axis] = int(one) % extent
        return tuple(words)

    def check_memory(self, dtype: np.dtype[Any]) -> None:
        """Refuse a variable that memory does not hold, before it is taken."""
        needed = self._elements * dtype.itemsize
        if needed > memory.ASKED:
            memory.check(needed, f"a variable of {dtype} on {self.shape} virtual processors")

    @property
    def address_dtype(self) -> np.dtype[Any]:
        """The integers that addresses are: int32, int64 for grids of 2**31 or more."""
        return np.dtype(np.int32 if self.size < 1 << 31 else np.int64)

    def _index_type(self, dtype: DTypeLike | None) -> np.dtype[Any]:
        return self.address_dtype if dtype is None else words.check_dtype(np.dtype(dtype))

    def _variable(self, data: Any, word: int | None) -> ParallelVariable:
        if word is not None:
            self.irregular()
        return ParallelVariable(self, data, word)

    def __repr__(self) -> str:
        on = "" if self.machine == "here" else f" on {self.machine}, VP ratio {self.vp_ratio}"
        over = f" over {self.execution.ranks} ranks" if self.execution.ranks > 1 else ""
        return f"<VPSet {self.shape}{on}{over}>"


class Selection:
    """A block in which some processors are selected; `VPSet.where` makes it."""

    __slots__ = ("_condition", "_entries", "_held", "_vp")

    def __init__(self, vp: VPSet, condition: ParallelVariable | None) -> None:
        self._vp = vp
        self._condition = condition
        self._entries: list[selections.Entry] = []
        self._held: Any = None

    def otherwise(self) -> Selection:
        """Select those that are selected around, but were not when this block was entered last.

        >>> vp = VPSet((4,))
        >>> x = vp.array([3, 1, 4, 1])
        >>> large = vp.where(x > 2)
        >>> with large:
        ...     x[...] = 0
        >>> with large.otherwise():
        ...     x[...] = 9
        >>> x.numpy().tolist()
        [0, 9, 0, 9]

        The condition is not evaluated again, so what the first block assigned does not change who is left over.

        Raises
        ------
        UsageError
            If the block has not been entered yet, or selects everybody whatever the condition (`everywhere`).
        """
        if self._condition is None:
            raise UsageError("everywhere() selects all processors: there is no otherwise()")
        if self._held is None:
            raise UsageError("otherwise() is of a selection whose block has been entered: `with c: …`, then this")
        return Selection(self._vp, ParallelVariable(self._vp, ~self._held))

    def __enter__(self) -> VPSet:
        vp, condition, outer = self._vp, self._condition, _latest()
        mask = None
        if condition is not None:
            around = selections.mask_of(vp, outer) if vp._open else None
            # A copy: the condition may be assigned to within the block.
            mask = condition.data.copy() if around is None else around & condition.data
            self._held = mask
        entry = selections.Entry(vp, mask, outer, _frame(1))
        self._entries.append(entry)
        _enter(entry)
        with vp._settling:
            vp._open += 1
            if vp.plain:
                vp.plain, vp.selecting = False, True
        if condition is not None and vp._meter is not None:
            vp._meter.selected(vp, condition)
        return vp

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._entries:
            raise UsageError("a selection is left that was not entered: use it as a block, `with vp.where(…):`")
        vp, entry = self._vp, self._entries[-1]
        if _latest() is entry:
            _enter(entry.outer)
        else:
            selections.unlink(entry)
        self._entries.pop()
        entry.is_open = False
        with vp._settling:
            vp._open -= 1
            if vp.selecting and not vp._open:
                vp.plain, vp.selecting = True, False


def vp_ratio(shape: Sequence[int], processors: int) -> int:
    """Virtual processors a processor.

    Extents are rounded up to powers of two, as the Connection Machine had them (section 5 of Wu and Shu 1989: 127x128
    virtual processors on 8192 are a ratio of 2, 255x256 one of 8), where the number of processors is one; else only
    their product is rounded.
    """
    if processors & (processors - 1):
        return max(1, -(-math.prod(shape) // processors))
    return max(1, math.prod(1 << max(0, extent - 1).bit_length() for extent in shape) // processors)


def _extents(shape: Any) -> tuple[int, ...]:
    extents: Sequence[Any] = list(shape) if isinstance(shape, Iterable) else [shape]
    if not 1 <= len(extents) <= MAX_AXES:
        raise UsageError(f"a VP set has 1 to {MAX_AXES} axes, not {len(extents)}")
    for extent in extents:
        if isinstance(extent, bool) or not isinstance(extent, int | np.integer) or extent < 0:
            raise UsageError(f"the shape has {extent!r}; expected whole numbers of 0 or more")
    return tuple(int(extent) for extent in extents)


def _orders(order: Any, ndim: int) -> tuple[str | None, ...]:
    orders = [order] * ndim if order is None or isinstance(order, str) else list(order)
    if len(orders) != ndim:
        raise UsageError(f"order has {len(orders)} entries, but the VP set has {ndim} axes")
    for one in orders:
        if one not in (None, "news", "send"):
            raise UsageError(f"there is no order {one!r}; there are 'news' and 'send'")
    return tuple(orders)


def _execution(shape: tuple[int, ...], order: tuple[str | None, ...], comm: Any, grid: Any) -> Any:
    """What runs operations: this process alone, or the ranks of the run."""
    from weft.pvar import execution
    from weft.pvar.native import Native

    return execution.choose(shape, order, comm, grid) or Native(shape)


def _costs(machine: Any) -> Any:
    from weft._core import Machine
    from weft.catalogue import machine as find
    from weft.data_parallel import Costs

    return Costs(machine if isinstance(machine, Machine) else find(machine))
