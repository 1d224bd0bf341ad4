"""Distributed arrays in files: every rank writes and reads its own block, whatever the format.

HDF5 files hold each array in one piece at a known offset, and .npy files always do, so ranks write there at the same
time; no parallel build of HDF5 is needed. Zarr has one chunk for each block, or several. Files that others wrote are
read whatever their chunks and compression.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft import files
from weft._core import RunError, UsageError
from weft.distributed.array import DistributedArray, Halo
from weft.distributed.geometry import Geometry
from weft.distributed.moving import exchanged
from weft.extras import require

HDF5 = (".h5", ".hdf5")
ZARR = (".zarr",)
NPY = (".npy",)
SUFFIXES = (*HDF5, *ZARR, *NPY)

_ONLY = "data"
"""The name of an array that is saved without one."""

_CHUNK = 64 << 20
"""Bytes of a chunk of Zarr at most, where the block can be divided so; codecs take 2 GiB at most."""


def save(
    path: str | os.PathLike[str], arrays: DistributedArray | Mapping[str, DistributedArray], *, force: bool = False
) -> None:
    """Write distributed arrays to a file, whole or not at all. Collective.

    Parameters
    ----------
    path
        A file that all ranks see, whose name ends in .h5 or .hdf5 (HDF5, with h5py), .zarr (with zarr) or .npy (one
        array).
    arrays
        One array, which the file calls "data", or several by the names that they shall have ("fields/u").
    force
        Whether a file that exists is replaced.

    Raises
    ------
    UsageError
        On every rank: for another name, a file that exists without `force`, elements that the format does not have,
        arrays of different ranks, and where the package is not installed.
    RunError
        On every rank, if one cannot write.

    Examples
    --------
    >>> import tempfile, numpy as np, weft
    >>> x = weft.arrays.Geometry((2, 3)).distribute(np.arange(6.0).reshape(2, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     weft.arrays.save(f"{folder}/x.npy", x)
    ...     np.load(f"{folder}/x.npy")[1].tolist(), weft.arrays.load(f"{folder}/x.npy").sum()
    ([3.0, 4.0, 5.0], np.float64(15.0))
    """
    several = {_ONLY: arrays} if isinstance(arrays, DistributedArray) else dict(arrays)
    _check_arrays(several)
    first = next(iter(several.values()))
    ranks, target = first.geometry.communicator, Path(path)

    def prepare() -> tuple[object, None]:
        _check_target(target, several, force, ranks.rank == 0)
        return [(name, one.shape, one.dtype.str) for name, one in several.items()], None

    ranks.agreed("save", prepare)
    if target.suffix.lower() in ZARR:
        _save_zarr(target, several, first)
    else:
        _save_in_pieces(target, several, first)


def load(
    path: str | os.PathLike[str], name: str | None = None, *, geometry: Geometry | None = None, halo: Halo = 0
) -> DistributedArray:
    """Read an array of a file, every rank its block. Collective.

    Parameters
    ----------
    path
        A file of HDF5 (.h5, .hdf5), Zarr (.zarr) or numpy (.npy), by whomever it was written.
    name
        The array's name in the file. Default: the only one there is.
    geometry
        How it shall be divided. Default: `Geometry` of its shape.
    halo
        Memory for ghosts around each block.

    Raises
    ------
    UsageError
        On every rank: for a file or an array that there is not, several arrays without a name, a geometry of another
        shape, elements that cannot be sent to other ranks, and where the package is not installed.

    Examples
    --------
    >>> import tempfile, numpy as np, weft
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.arange(6))
    ...     weft.arrays.load(f"{folder}/x.npy", halo=1)
    <DistributedArray (6,) of int64 over (1,) ranks>
    """
    from weft.distributed.ranks import of_run

    source = Path(path)
    ranks = of_run() if geometry is None else geometry.communicator

    def prepare() -> tuple[object, tuple[tuple[int, ...], str]]:
        with _opened(source) as members:
            array = _chosen(source, members, name)
            shape, kind = tuple(int(n) for n in array.shape), np.dtype(array.dtype)
        if not shape:
            raise UsageError(f"{source}: {name or 'the array'} is one number, without axes")
        if geometry is not None and geometry.shape != shape:
            raise UsageError(f"{source}: the array has shape {shape}, but the geometry has {geometry.shape}")
        if kind.hasobject or kind.itemsize == 0:
            raise UsageError(
                f"{source}: elements of {kind} cannot be sent to other ranks; expected numbers or booleans"
            )
        return (shape, kind.str), (shape, kind.str)

    shape, kind = ranks.agreed("load", prepare)
    result = DistributedArray(Geometry(shape) if geometry is None else geometry, np.dtype(kind), halo)
    _, failure = _attempted(lambda: _read_block(source, name, result))
    _agree_on_success(result, f"{source} could not be read", failure)
    return result


def _read_block(source: Path, name: str | None, array: DistributedArray) -> None:
    with _opened(source) as members:
        if array.local.size:
            array.local[...] = _chosen(source, members, name)[array.geometry.local_slices()]


def _check_arrays(arrays: Mapping[str, Any]) -> None:
    if not arrays:
        raise UsageError("save: there is no array to save")
    for name, one in arrays.items():
        if not isinstance(name, str):
            raise UsageError(f"save: the name {name!r} of an array is a {type(name).__name__}; expected a text")
        if not isinstance(one, DistributedArray):
            raise UsageError(
                f"save: {name} is a {type(one).__name__}; expected a distributed array (Geometry.distribute makes one)"
            )
        if one.dtype.names is not None:
            raise UsageError(f"save: {name} has elements of {one.dtype}, which load cannot read; save an array a field")
    communicators = [one.geometry.communicator for one in arrays.values()]
    if not all(one.are(communicators[0]) for one in communicators):
        raise UsageError("save: the arrays are over different ranks; write a file for each")


def _suffix(path: Path) -> str:
    """How a name ends. Raises UsageError where no format is known by that."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: expected a name that ends in {' or '.join(SUFFIXES)}")
    return suffix


def _require(suffix: str) -> None:
    """Refuse a format whose package is missing. Raises UsageError."""
    if suffix in HDF5:
        require("an HDF5 file", "h5py")
    if suffix in ZARR:
        require("a Zarr store", "zarr")


def _check_target(path: Path, arrays: Mapping[str, DistributedArray], force: bool, writes: bool) -> None:
    suffix = _suffix(path)
    if suffix in NPY and len(arrays) > 1:
        raise UsageError(f"{path}: a .npy file holds one array; .h5 and .zarr hold several")
    _require(suffix)
    for name, one in arrays.items():
        _check_element(suffix, name, one.dtype)
    if not writes:
        return
    space = sum(one.nbytes for one in arrays.values())
    if suffix in ZARR and path.is_dir():
        if not force or not _is_store(path):
            also = "force=True replaces it, or choose" if _is_store(path) else "and it is no Zarr store; choose"
            raise UsageError(f"{path} exists: {also} another name")
    else:
        files.check_output(path, SUFFIXES, force=force, space=space)


def _is_store(path: Path) -> bool:
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def _check_element(suffix: str, name: str, dtype: np.dtype[Any]) -> None:
    """Whether a format has such elements. Raises UsageError."""
    if suffix in HDF5:
        import h5py

        try:
            h5py.h5t.py_create(dtype, logical=True)
        except TypeError:
            raise UsageError(f"{name}: HDF5 has no elements of {dtype}; convert with astype") from None
    if suffix in ZARR and (dtype.kind not in "biufc" or dtype.itemsize > 16 or dtype.char in "gG"):
        raise UsageError(f"{name}: Zarr has no elements of {dtype}; convert with astype")


def _from_first(array: DistributedArray, message: Any) -> Any:
    """What rank 0 has to say, on every rank. Collective."""
    own = json.dumps(message).encode() if array.geometry.rank == 0 else b""
    return json.loads(exchanged(array, [own] * array.geometry.ranks, "file")[0])


def _agree_on_success(array: DistributedArray, what: str, failure: str | None) -> None:
    """Refuse to go on where a rank has failed. Collective. Raises RunError."""
    arrived = exchanged(array, [(failure or "").encode()] * array.geometry.ranks, "end of a file")
    failures = [f"rank {rank}: {text.decode()}" for rank, text in enumerate(arrived) if text]
    if failures:
        raise RunError(f"{what}: {'; '.join(failures)}")


def _attempted(step: Callable[[], Any]) -> tuple[Any, str | None]:
    """What a step returns, or why it failed."""
    try:
        return step(), None
    except (OSError, ValueError, TypeError, RuntimeError, KeyError, UsageError) as error:
        return None, getattr(error, "strerror", None) or str(error) or type(error).__name__


def _save_in_pieces(path: Path, arrays: Mapping[str, DistributedArray], first: DistributedArray) -> None:
    """A file in which each array is one piece of bytes: laid out by rank 0, filled by all."""
    what = f"{path} could not be written"
    begin = _lay_out_hdf5 if path.suffix.lower() in HDF5 else _lay_out_npy
    with contextlib.ExitStack() as stack:
        plan, failure = None, None
        if first.geometry.rank == 0:
            # Entered by rank 0 alone, which renames the file when all have written.
            temporary, failure = _attempted(lambda: stack.enter_context(files.replaced(path)))
            if failure is None:
                plan, failure = _attempted(lambda: [str(temporary), begin(temporary, arrays)])
        _agree_on_success(first, what, failure)
        name, offsets = _from_first(first, plan)
        _, failure = _attempted(lambda: _write_blocks(name, arrays, offsets))
        _agree_on_success(first, what, failure)
        _, failure = _attempted(stack.pop_all().close)
    _agree_on_success(first, what, failure)


def _lay_out_hdf5(path: Path, arrays: Mapping[str, DistributedArray]) -> list[int]:
    """Makes the datasets; where in the file the elements of each begin."""
    import h5py

    with h5py.File(path, "w") as file:
        datasets = []
        for name, one in arrays.items():
            parent, _, last = name.rpartition("/")
            group = file.require_group(parent) if parent else file
            how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            kind, space = h5py.h5t.py_create(one.dtype, logical=True), h5py.h5s.create_simple(one.shape)
            datasets.append(h5py.h5d.create(group.id, last.encode(), kind, space, dcpl=how))
        return [int(dataset.get_offset()) for dataset in datasets]


def _lay_out_npy(path: Path, arrays: Mapping[str, DistributedArray]) -> list[int]:
    (one,) = arrays.values()
    with open(path, "wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(one.dtype), "fortran_order": False, "shape": one.shape}
        np.lib.format.write_array_header_1_0(file, header)
        begin = file.tell()
        file.truncate(begin + one.nbytes)
    return [begin]


def _write_blocks(name: str, arrays: Mapping[str, DistributedArray], offsets: Sequence[int]) -> None:
    """This rank's blocks into the file, run after run of elements that lie together in it."""
    descriptor = os.open(name, os.O_WRONLY)
    try:
        for one, offset in zip(arrays.values(), offsets, strict=True):
            for position, run in _runs(one):
                _write_all(descriptor, run, offset + position)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _runs(array: DistributedArray) -> Iterator[tuple[int, NDArray[Any]]]:
    """Elements of this rank's block that follow one another in the whole array, each with its offset in bytes."""
    shape, slices, block = array.shape, array.geometry.local_slices(), array.local
    if not block.size:
        return
    # Axes from the last to the first that is not whole lie together.
    inner = len(shape) - 1
    while inner > 0 and block.shape[inner] == shape[inner]:
        inner -= 1
    strides = [math.prod(shape[axis + 1 :]) * array.itemsize for axis in range(len(shape))]
    begin = sum(one.start * stride for one, stride in zip(slices, strides, strict=True))
    for index in np.ndindex(*block.shape[:inner]):
        at = begin + sum(one * stride for one, stride in zip(index, strides, strict=False))
        yield at, np.ascontiguousarray(block[index])


def _write_all(descriptor: int, run: NDArray[Any], offset: int) -> None:
    content = run.reshape(-1).view(np.uint8).data
    while content:
        written = os.pwrite(descriptor, content[: 1 << 30], offset)
        content, offset = content[written:], offset + written


def _save_zarr(path: Path, arrays: Mapping[str, DistributedArray], first: DistributedArray) -> None:
    """A folder of chunks, each written by one rank."""
    what, temporary = f"{path} could not be written", path.resolve().parent / f".{path.name}.part"
    owns = first.geometry.rank == 0
    try:
        _, failure = _attempted(lambda: _lay_out_zarr(temporary, arrays)) if owns else (None, None)
        _agree_on_success(first, what, failure)
        _, failure = _attempted(lambda: _write_chunks(temporary, arrays))
        _agree_on_success(first, what, failure)
        _, failure = _attempted(lambda: _replace_store(temporary, path.resolve())) if owns else (None, None)
    finally:
        if owns:
            shutil.rmtree(temporary, ignore_errors=True)
    _agree_on_success(first, what, failure)


def _lay_out_zarr(temporary: Path, arrays: Mapping[str, DistributedArray]) -> None:
    import zarr

    shutil.rmtree(temporary, ignore_errors=True)
    group = zarr.open_group(str(temporary), mode="w")
    for name, one in arrays.items():
        chunk = _chunk(one.geometry.block, one.itemsize)
        group.create_array(name, shape=one.shape, chunks=chunk, dtype=one.dtype.newbyteorder("="))


def _chunk(block: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """A block, or an even part of it, so that each chunk is of one rank."""
    chunk = list(block)
    for axis, extent in enumerate(block):
        parts = 1
        while math.prod(chunk) * itemsize > _CHUNK and parts < extent:
            parts = next(one for one in range(parts + 1, extent + 1) if extent % one == 0)
            chunk[axis] = extent // parts
    return tuple(chunk)


def _write_chunks(temporary: Path, arrays: Mapping[str, DistributedArray]) -> None:
    import zarr

    group = zarr.open_group(str(temporary), mode="r+")
    for name, one in arrays.items():
        if one.local.size:
            chunks: Any = group[name]
            chunks[one.geometry.local_slices()] = one.local


def _replace_store(temporary: Path, path: Path) -> None:
    """The new folder in the place of an old one, which is removed then."""
    old = path.parent / f".{path.name}.old"
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.replace(path, old)
    os.replace(temporary, path)
    shutil.rmtree(old, ignore_errors=True)
    files.sync_folder(path.parent)


Members = Mapping[str, Any]
"""What can be read by slices, by name."""


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Members]:
    """The arrays of a file. Raises UsageError where it cannot be read."""
    suffix = _suffix(path)
    if not path.exists():
        raise UsageError(f"{path}: there is no such file")
    if path.is_dir() and suffix != ".zarr":
        raise UsageError(f"{path} is a folder")
    _require(suffix)
    with contextlib.ExitStack() as stack:
        try:
            yield _members(path, suffix, stack)
        except UsageError:
            raise
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _members(path: Path, suffix: str, stack: contextlib.ExitStack) -> Members:
    if suffix in NPY:
        return {_ONLY: np.load(path, mmap_mode="r", allow_pickle=False)}
    arrays: dict[str, Any] = {}
    if suffix in HDF5:
        import h5py

        file = stack.enter_context(h5py.File(path, "r"))
        file.visititems(lambda name, one: arrays.update({name: one} if isinstance(one, h5py.Dataset) else {}))
        return arrays
    import zarr

    store = zarr.open(str(path), mode="r")
    if isinstance(store, zarr.Array):
        return {_ONLY: store}
    return {name: one for name, one in store.members(max_depth=None) if isinstance(one, zarr.Array)}


def _chosen(path: Path, members: Members, name: str | None) -> Any:
    if name is None and len(members) == 1:
        return next(iter(members.values()))
    known = ", ".join(sorted(members)) or "none"
    if name is None:
        raise UsageError(f"{path} has {len(members)} arrays ({known}): give the name of one")
    if name.strip("/") not in members:
        raise UsageError(f"{path} has no array {name!r}; it has {known}")
    return members[name.strip("/")]
