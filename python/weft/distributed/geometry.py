"""Which rank has which elements of an array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from weft import _core
from weft._core import Machine, UsageError
from weft.array_input import refuse_masked
from weft.distributed.ranks import Ranks, of_communicator, of_run
from weft.inputs import quoted, unsigned

if TYPE_CHECKING:
    from weft.distributed.array import DistributedArray, Halo
    from weft.distributed.plans import HaloExchange, Polyshift
    from weft.distributed.stencils import DistributedStencilPlan
    from weft.stencils import Stencil

Order = Literal["news", "send"]

_Asked = tuple[tuple[int, ...], int, list[float], list[int], list[Any], list[int] | None]
"""What the blocks are made from: extents, ranks, weights, serial axes, orders, grid."""


class Geometry:
    """The blocks of an array over ranks (George, Brickner, Johnsson 1994, section 2.1, the canonical layout).

    Every axis of `M` elements over `N` ranks is divided into blocks of `ceil(M / N)` consecutive elements; the last
    block with elements may be shorter and blocks after it empty. The ranks are divided over the axes so that the
    surface of a block is least.

    Parameters
    ----------
    shape
        Elements of each axis.
    ranks
        How many ranks. Default: those of `comm`. A geometry over another number than the run has can be looked at,
        but has no arrays.
    comm
        A communicator of mpi4py. Default: all ranks that the launcher started, or this process alone.
    weights
        What an element that crosses a cut costs, by axis: an axis with a high weight is longer within a rank, at the
        expense of the others. Default: 1 each.
    serial
        Axes that are not divided.
    order
        "news" (the binary-reflected Gray code: blocks next to each other are on ranks that differ in one bit), "send"
        (block i on the i-th rank), or one of them (or None) for each axis. Default: "news" on axes with a power of
        two of ranks, "send" on others.
    grid
        Ranks of each axis, where they shall not be chosen.

    Raises
    ------
    UsageError
        For a shape, axis, weight, order or grid that cannot be; on every rank of `comm`.

    Examples
    --------
    >>> geometry = Geometry((1000, 100, 100), ranks=16)
    >>> geometry.grid, geometry.block
    ((16, 1, 1), (63, 100, 100))
    >>> geometry.owner((500, 3, 4))
    (4, (59, 3, 4))
    """

    def __init__(
        self,
        shape: int | Sequence[int],
        *,
        ranks: int | None = None,
        comm: Any = None,
        weights: Sequence[float] | None = None,
        serial: Iterable[int] = (),
        order: Order | Sequence[Order | None] | None = None,
        grid: Sequence[int] | None = None,
    ) -> None:
        self._ranks: Ranks | None = None
        self._has_own_communicator = comm is not None
        if ranks is None or comm is not None:
            self._ranks = of_run() if comm is None else of_communicator(comm)
        if self._ranks is not None and ranks not in (None, self._ranks.size):
            raise UsageError(f"ranks is {ranks}, but comm has {self._ranks.size}; leave one of them out")

        def prepare() -> tuple[_Asked, _core.Blocks]:
            count = self._ranks.size if self._ranks is not None else _whole(ranks or 0, "ranks")
            extents = _extents(shape)
            axes = [_axis(axis, len(extents), "serial") for axis in serial]
            orders = [order] * len(extents) if isinstance(order, str) else list(order or ())
            chosen = None if grid is None else [_whole(number, "grid") for number in grid]
            self._asked = (extents, count, list(map(float, weights or ())), axes, orders, chosen)
            return self._asked, _core.Blocks(*self._asked)

        self._describe(self._ranks.agreed("geometry", prepare) if self._ranks is not None else prepare()[1])

    def _describe(self, blocks: _core.Blocks) -> None:
        self.blocks = blocks
        self.shape = self._asked[0]
        self.grid: tuple[int, ...] = tuple(self.blocks.grid)
        """Ranks of each axis."""
        self.block: tuple[int, ...] = tuple(self.blocks.block)
        """The shape of a full block: what every rank has memory for."""
        self.order: tuple[str, ...] = tuple(self.blocks.order)
        """The order of each axis."""

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return int(np.prod(self.grid))

    @property
    def communicator(self) -> Ranks:
        """The ranks of this run that the geometry is over.

        Raises
        ------
        UsageError
            If the run has another number of ranks.
        """
        if self._ranks is None:
            here = of_run()
            if here.size != self.ranks:
                raise UsageError(
                    f"this geometry is over {self.ranks} rank{'s' * (self.ranks != 1)}, but the run has {here.size}; "
                    "leave ranks out, or start the program with mpiexec -n "
                    f"{self.ranks}"
                )
            self._ranks = here
        return self._ranks

    @property
    def rank(self) -> int:
        """This process's rank."""
        return self.communicator.rank

    def coordinates(self, rank: int | None = None) -> tuple[int, ...]:
        """The coordinates of a rank's block in the grid. Default: this rank's."""
        return tuple(self.blocks.coordinates(self._rank(rank)))

    def rank_of(self, coordinates: Sequence[int]) -> int:
        """The rank of the block at some coordinates: the inverse of `coordinates`."""
        if len(coordinates) != self.ndim or any(
            not 0 <= at < ranks for at, ranks in zip(coordinates, self.grid, strict=True)
        ):
            raise UsageError(f"there is no block at {tuple(coordinates)}: the grid is {self.grid}")
        return self.blocks.rank_of(list(coordinates))

    def local_shape(self, rank: int | None = None) -> tuple[int, ...]:
        """The shape of what a rank has: a full block, or less at the end of an axis. Default: this rank's."""
        return tuple(self.blocks.local_shape(self._rank(rank)))

    def start(self, rank: int | None = None) -> tuple[int, ...]:
        """The first element of a rank's block. Default: this rank's."""
        return tuple(self.blocks.start(self._rank(rank)))

    def local_slices(self, rank: int | None = None) -> tuple[slice, ...]:
        """Where a rank's block lies in the whole array. Default: this rank's."""
        return tuple(
            slice(start, start + length) for start, length in zip(self.start(rank), self.local_shape(rank), strict=True)
        )

    def owner(self, element: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        """The rank that has an element, and its index in that block.

        Raises
        ------
        UsageError
            If the array has no such element.
        """
        block = None if any(at < 0 for at in element) else self.blocks.owner(list(element))
        if block is None:
            raise UsageError(f"there is no element {tuple(element)}: the shape is {self.shape}")
        return block[0], tuple(block[1])

    def element(self, local: Sequence[int], rank: int | None = None) -> tuple[int, ...] | None:
        """The element at an index of a rank's block: the inverse of `owner`. None where the index is padding."""
        element = None if any(at < 0 for at in local) else self.blocks.element(self._rank(rank), list(local))
        return None if element is None else tuple(element)

    def neighbour(self, axis: int, step: int, rank: int | None = None, circular: bool = True) -> int | None:
        """The rank with the elements before (`step` -1) or after (+1) those of a rank. None at an end."""
        return self.blocks.neighbour(self._rank(rank), _axis(axis, self.ndim, "axis"), step, circular)

    def garbage_mask(self, rank: int | None = None) -> NDArray[np.bool_]:
        """A mask of the shape of a full block, true where the index is padding and holds no element."""
        mask = np.ones(self.block, dtype=bool)
        mask[tuple(slice(0, length) for length in self.local_shape(rank))] = False
        return mask

    def zeros(self, dtype: DTypeLike = np.float64, halo: Halo = 0) -> DistributedArray:
        """An array of zeros, with memory for ghosts around each block."""
        from weft.distributed.array import DistributedArray

        return DistributedArray(self, dtype, halo)

    def distribute(self, array: ArrayLike, dtype: DTypeLike | None = None, halo: Halo = 0) -> DistributedArray:
        """An array that every rank has as a whole, each keeping its block. No rank sends anything.

        Of what is read by slices, as an open dataset of h5py or an array of zarr, each rank reads its block only.
        One that is distributed already is divided in this way, which is collective.

        Raises
        ------
        UsageError
            If the array's shape is not the geometry's, and for a masked array.
        """
        from weft.distributed.array import DistributedArray

        refuse_masked("the array", array)
        if isinstance(array, DistributedArray):
            divided = array.redistribute(self)
            result = self.zeros(array.dtype if dtype is None else dtype, halo)
            result.local[...] = divided.local
            return result
        is_sliced = all(hasattr(array, name) for name in ("shape", "dtype", "__getitem__"))
        whole: Any = array if is_sliced else np.asarray(array)
        self.check_shape(whole, "the array")
        result = self.zeros(np.dtype(whole.dtype) if dtype is None else dtype, halo)
        if result.local.size:
            result.local[...] = np.asarray(whole[self.local_slices()], result.dtype)
        return result

    def scatter(
        self, array: ArrayLike | None, root: int = 0, dtype: DTypeLike | None = None, halo: Halo = 0
    ) -> DistributedArray:
        """Divide an array that `root` has over the ranks. Collective; other ranks pass None.

        Raises
        ------
        UsageError
            On every rank: if the root's array has another shape or is missing, or there is no such root.
        """
        from weft.distributed.array import scattered

        return scattered(self, array, root, dtype, halo)

    def polyshift(
        self,
        dtype: DTypeLike | Sequence[DTypeLike] = np.float64,
        *,
        shifts: Iterable[Any],
        halo: Halo = 0,
    ) -> Polyshift:
        """Plan shifts of arrays of this geometry; see `weft.distributed.Polyshift`. Collective."""
        from weft.distributed.plans import Polyshift

        return Polyshift(self, dtype, shifts=shifts, halo=halo)

    def halo_exchange(
        self,
        dtype: DTypeLike | Sequence[DTypeLike] = np.float64,
        *,
        halo: Halo = 1,
        boundary: Any = None,
        corners: Literal["none", "at once", "staged"] = "none",
    ) -> HaloExchange:
        """Plan to fill the ghosts of arrays; see `weft.distributed.HaloExchange`. Collective."""
        from weft.distributed.plans import HaloExchange

        return HaloExchange(self, dtype, halo=halo, boundary=boundary, corners=corners)

    def stencil(
        self,
        stencil: Stencil,
        dtype: DTypeLike = np.float64,
        *,
        halo: Halo | None = None,
        threads: int | None = None,
        steps_per_exchange: int | Machine = 1,
    ) -> DistributedStencilPlan:
        """Plan a stencil of arrays of this geometry; see `weft.distributed.DistributedStencilPlan`. Collective."""
        from weft.distributed.extended import plan

        return plan(self, stencil, dtype, halo=halo, threads=threads, steps_per_exchange=steps_per_exchange)

    def check_shape(self, array: NDArray[Any], what: str) -> None:
        """Refuse an array that is not of the geometry's shape."""
        if tuple(array.shape) != self.shape:
            raise UsageError(f"{what} has shape {array.shape}, but the geometry has {self.shape}")

    def _rank(self, rank: int | None) -> int:
        if rank is None:
            return self.rank
        if not 0 <= rank < self.ranks:
            raise UsageError(f"there is no rank {rank}: the geometry is over ranks 0 to {self.ranks - 1}")
        return rank

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Geometry):
            return NotImplemented
        if (self.shape, self.grid, self.order) != (other.shape, other.grid, other.order):
            return False
        if not (self._has_own_communicator or other._has_own_communicator):
            return True
        return self.communicator.are(other.communicator)

    def __hash__(self) -> int:
        return hash((self.shape, self.grid, self.order))

    def __getstate__(self) -> _Asked:
        if self._has_own_communicator:
            raise UsageError("a geometry over a communicator of mpi4py cannot be pickled: the communicator cannot")
        return self._asked

    def __setstate__(self, state: _Asked) -> None:
        # The ranks are those of the run that reads it, and are found when they are needed.
        self._ranks, self._has_own_communicator, self._asked = None, False, state
        self._describe(_core.Blocks(*state))

    def __repr__(self) -> str:
        return f"<Geometry {self.shape} over {self.grid} ranks in blocks of {self.block}>"


def _extents(shape: int | Sequence[int]) -> tuple[int, ...]:
    words: Iterable[Any] = shape if isinstance(shape, Iterable) else [shape]
    return tuple(_whole(extent, "shape") for extent in words)


def _whole(number: Any, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise UsageError(f"{what} has {quoted(number)}; expected whole numbers of 0 or more")
    return unsigned(number, what)


def _axis(axis: Any, ndim: int, what: str) -> int:
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer) or not -ndim <= axis < ndim:
        raise UsageError(f"{what}: there is no axis {axis!r}; an array of {ndim} axes has {-ndim} to {ndim - 1}")
    return int(axis) % ndim
