"""What an execution does for parallel variables, and which one a VP set has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from numpy.typing import NDArray

if TYPE_CHECKING:
    from weft.pvar.combining import Combiner

Array = NDArray[Any]


class Scan(NamedTuple):
    """What a scan is to do.

    Attributes
    ----------
    operator
        What combines: an operator's name, a function of the program's, or "copy".
    axis
        Along which axis.
    mask
        Who is selected; None: all.
    segments
        True where a segment begins; None: one a line.
    exclusive
        Whether an element does not count itself.
    down
        Whether from the last to the first.
    word
        The word length, where it is not the dtype's.
    """

    operator: str | Combiner
    axis: int = 0
    mask: Array | None = None
    segments: Array | None = None
    exclusive: bool = False
    down: bool = False
    word: int | None = None


class Send(NamedTuple):
    """What a send is to do.

    Attributes
    ----------
    operator
        What combines elements that arrive at one place; None: that is an error.
    mask
        Who is selected to send; None: all.
    word
        The word length, where it is not the dtype's.
    fresh
        Whether the target holds nothing yet (zeros), which is then not combined with what arrives.
    """

    operator: str | Combiner | None = None
    mask: Array | None = None
    word: int | None = None
    fresh: bool = False

    def messages(self, data: Array, addresses: Array) -> tuple[Array, Array]:
        """Addresses and elements of the selected, in the order of the senders."""
        if self.mask is None:
            return addresses.reshape(-1), data.reshape(-1)
        return addresses[self.mask], data[self.mask]


class Execution(Protocol):
    """This machine's or all ranks' way of doing what is not elementwise.

    Arrays are this process's elements in the grid's shape; masks say who is selected of them (None: all). What comes in
    has been checked: axes, distances and operators are what they have to be; addresses are not.
    """

    shape: tuple[int, ...]
    """Extents of what this process has."""
    start: tuple[int, ...]
    """Where that begins in the grid."""
    ranks: int
    """How many processes."""
    communicator: Any
    """Theirs; None of a process alone."""

    def agree(self, error: str | None) -> None:
        """Raises UsageError on every rank where there is an error on any."""

    def own(self, whole: Array) -> Array:
        """This process's part of an array, without a copy where it can be."""

    def whole(self, data: Array) -> Array:
        """All elements, on every rank."""

    def assign(self, data: Array, value: Any, mask: Array | None, word: int | None) -> None:
        """Gives the selected the elements of an array, or a scalar. Raises TypeError, OverflowError where it cannot."""

    def read(self, data: Array, index: tuple[int, ...]) -> Any:
        """One element, as Python's."""

    def write(self, data: Array, index: tuple[int, ...], value: Any) -> None:
        """Changes one element."""

    def part(self, data: Array, key: Any) -> Any:
        """Elements by integers and slices, which are none of every axis, as numpy's array."""

    def put(self, data: Array, key: Any, value: Any) -> None:
        """Changes elements by integers and slices, all to a number or each to that of an array."""

    def count(self, mask: Array) -> int:
        """How many are selected."""

    def elementwise(self, name: str, operands: list[Any]) -> Array | None:
        """An elementwise function, where there is a better way than numpy's; else None."""

    def reduce(self, data: Array, operator: str, mask: Array | None) -> Any:
        """The selected elements in one, as Python's; None of nothing where the operator has no neutral element."""

    def reduce_axis(
        self, data: Array, operator: str, axis: int, mask: Array | None, initial: Any = None
    ) -> Array | None:
        """What the selected of each line along an axis come to, at all of its elements; None leaves it to a scan.

        Sums and products of integers have 64 bits. `initial` is the largest or smallest of a line that has nobody.
        """

    def combine(
        self, data: Array, combiner: Combiner, axes: list[int], mask: Array | None, word: int | None
    ) -> tuple[Array, Array]:
        """What the selected along some axes come to by a function of the program's, in the order of addresses.

        And whether there are any. Both have an extent of 1 along these axes, and are the same on all ranks along them.
        """

    def spread(self, data: Array, axis: int, index: int) -> Array:
        """The elements at one place of an axis at all of its places."""

    def shift(self, data: Array, distance: int, axis: int, boundary: Any) -> Array:
        """Element i of the result is element i + distance; boundary is None (circular) or a scalar."""

    def scan(self, data: Array, how: Scan) -> Array:
        """Running combinations along an axis; zero where nobody is selected."""

    def rank(self, data: Array, descending: bool, mask: Array | None, dtype: Any) -> tuple[Array, int]:
        """Where each selected element comes among the selected, equal ones by address, NaNs last; else zero.

        Of a dtype for addresses. And how often the elements were gone through, where that depends on them; else 0.
        """

    def is_with(self, other: Any) -> bool:
        """Whether the same processes have the other's elements, so that messages can pass between both."""

    def is_alike(self, other: Any) -> bool:
        """Whether every process has the same elements of both."""

    def get(self, data: Array, addresses: Array, mask: Array | None, source: Any = None) -> Array:
        """The elements at the addresses; zero where nobody is selected. Raises UsageError for addresses of nobody.

        `source` is the execution whose elements `data` are, where it is another than this, whose processors ask.
        """

    def send(self, data: Array, addresses: Array, into: Array, how: Send, target: Any = None) -> None:
        """Puts elements to addresses, combined with each other and with what is there, unless that is fresh.

        `target` is the execution whose elements `into` are, where it is another than this, whose processors send.
        Raises UsageError for addresses out of range and, without an operator, for collisions; `into` is then as before,
        unless it is fresh.
        """


def choose(shape: tuple[int, ...], order: tuple[str | None, ...], comm: Any, grid: Any) -> Execution | None:
    """The execution over ranks, if this process is one of several or a communicator or grid is given; else None."""
    if comm is None and grid is None:
        from weft.launch import environment

        mpi4py = sys.modules.get("mpi4py.MPI")
        if environment.launcher() is None and (mpi4py is None or mpi4py.COMM_WORLD.Get_size() == 1):
            return None
    from weft.pvar.over_ranks import OverRanks, WithoutElements

    if 0 in shape:
        return WithoutElements(shape, comm)
    return OverRanks(shape, order, comm, grid)
