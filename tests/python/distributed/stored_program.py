"""Distributed arrays in files: `stored_program.py SCENARIO FOLDER`; prints `SCENARIO: ok` where all is well."""

import sys
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import RunError, UsageError
from weft.arrays import Geometry, load, save

SHAPES = [(7,), (1,), (5, 6), (2, 9), (3, 1, 5), (4, 3, 2, 2)]
DTYPES = ["f8", "f4", "f2", "i1", "u8", "?", "c8", "c16"]
SUFFIXES = [".npy", ".h5", ".hdf5", ".zarr"]


def whole(shape, dtype):
    values = np.random.default_rng(len(shape)).integers(0, 100, shape)
    return (values + (1j * values[::-1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype)


def grids(shape):
    """Every axis divided over all ranks, and what the geometry would choose."""
    ranks = Geometry(shape).ranks
    return [None] + [[ranks if a == axis else 1 for a in range(len(shape))] for axis in range(len(shape))]


def plainly(path, name):
    """By the libraries themselves."""
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".zarr":
        import zarr

        return zarr.open(str(path), mode="r")[name][...]
    import h5py

    with h5py.File(path, "r") as file:
        return file[name][...]


def written(folder):
    """What is written, the libraries read; and back into every geometry."""
    for suffix in SUFFIXES:
        for number, shape in enumerate(SHAPES):
            for grid in grids(shape):
                dtype = DTYPES[(number + len(suffix)) % len(DTYPES)]
                x, path = whole(shape, dtype), folder / f"x{suffix}"
                geometry = Geometry(shape, grid=grid)
                save(path, geometry.distribute(x, halo=1), force=True)
                assert path.exists()
                result = plainly(path, "data")
                assert result.dtype == x.dtype
                np.testing.assert_array_equal(result, x)
                for other in grids(shape):
                    back = load(path, geometry=Geometry(shape, grid=other), halo=2)
                    np.testing.assert_array_equal(back.gather(None), x)
    for dtype in DTYPES:
        for suffix in SUFFIXES:
            x = whole((5, 6), dtype)
            save(folder / f"x{suffix}", Geometry((5, 6)).distribute(x), force=True)
            np.testing.assert_array_equal(load(folder / f"x{suffix}").gather(None), x)
    assert not [one for one in folder.iterdir() if one.name.startswith(".")]


def several(folder):
    """Several arrays in one file, in groups; and files that the libraries wrote, compressed and in chunks."""
    x, y = whole((5, 6), "f8"), whole((7,), "i4")
    arrays = {"fields/u": Geometry((5, 6)).distribute(x), "y": Geometry(7).distribute(y)}
    for suffix in (".h5", ".zarr"):
        path = folder / f"several{suffix}"
        save(path, arrays)
        np.testing.assert_array_equal(plainly(path, "fields/u"), x)
        np.testing.assert_array_equal(load(path, "fields/u").gather(None), x)
        np.testing.assert_array_equal(load(path, "/y").gather(None), y)
        with pytest.raises(UsageError, match=r"has 2 arrays \(fields/u, y\): give the name of one"):
            load(path)
        with pytest.raises(UsageError, match="has no array 'z'; it has fields/u, y"):
            load(path, "z")
    if Geometry(1).rank == 0:
        import h5py
        import zarr

        with h5py.File(folder / "theirs.h5", "w") as file:
            file.create_dataset("x", data=x, chunks=(2, 5), compression="gzip")
        zarr.save(str(folder / "theirs.zarr"), x)
        np.save(folder / "theirs.npy", np.asfortranarray(x))
    Geometry(1).zeros().sum()
    for suffix in (".h5", ".zarr", ".npy"):
        np.testing.assert_array_equal(load(folder / f"theirs{suffix}").gather(None), x)


def mistakes(folder):
    """Told to all, before anything is written."""
    x = Geometry((4, 3)).zeros()
    save(folder / "there.npy", x)
    save(folder / "there.zarr", x)
    (folder / "folder.zarr").mkdir(exist_ok=True)
    (folder / "folder.h5").mkdir(exist_ok=True)
    cases = [
        (lambda: save(folder / "x.csv", x), UsageError, "expected a name that ends in .h5 or"),
        (lambda: save(folder / "there.npy", x), UsageError, "exists: --force .from Python, force=True. replaces it"),
        (lambda: save(folder / "there.zarr", x), UsageError, "exists: force=True replaces it"),
        (lambda: save(folder / "folder.zarr", x, force=True), UsageError, "it is no Zarr store; choose another name"),
        (lambda: save(folder / "nowhere" / "x.h5", x), UsageError, "there is no folder"),
        (lambda: save(folder / "x.npy", {"a": x, "b": x}), UsageError, "a .npy file holds one array"),
        (lambda: save(folder / "x.npy", {}), UsageError, "there is no array to save"),
        (lambda: save(folder / "x.npy", {"a": np.zeros(3)}), UsageError, "a is a ndarray; expected a distributed"),
        (lambda: save(folder / "x.h5", Geometry(3).zeros("U4")), UsageError, "HDF5 has no elements of <U4"),
        (lambda: save(folder / "x.zarr", Geometry(3).zeros("g")), UsageError, "Zarr has no elements of float128"),
        (lambda: load(folder / "none.h5"), UsageError, "there is no such file"),
        (lambda: load(folder / "folder.h5"), UsageError, "folder.h5 is a folder$"),
        (lambda: load(folder / "there.npy", geometry=Geometry(5)), UsageError, "but the geometry has"),
        (lambda: load(folder / "there.npy", "y"), UsageError, "has no array 'y'; it has data"),
        (lambda: load(folder / "there.txt"), UsageError, "expected a name that ends in"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()
    if x.geometry.rank == 0:
        for suffix in SUFFIXES[:3]:
            (folder / f"broken{suffix}").write_bytes(b"nothing of the kind")
    x.sum()
    for suffix in SUFFIXES[:3]:
        with pytest.raises(UsageError, match=f"broken{suffix} cannot be read"):
            load(folder / f"broken{suffix}")
    if x.geometry.ranks > 1:
        with pytest.raises(UsageError, match="save"):
            save(folder / "x.h5", x if x.geometry.rank else {"other": x})


def failing(folder):
    """A rank that cannot write: all say so, and the file that was there stays as it was."""
    from weft.distributed import stored

    x = Geometry((4, 3)).distribute(np.ones((4, 3)))
    for suffix in (".npy", ".h5", ".zarr"):
        path = folder / f"old{suffix}"
        save(path, x)
        step = "_write_chunks" if suffix == ".zarr" else "_write_blocks"
        kept = getattr(stored, step)

        def fail(*arguments):
            raise OSError(28, "No space left on device")

        if x.geometry.rank == x.geometry.ranks - 1:
            setattr(stored, step, fail)
        with pytest.raises(RunError, match=rf"could not be written: rank {x.geometry.ranks - 1}: No space left"):
            save(path, 2 * x, force=True)
        setattr(stored, step, kept)
        np.testing.assert_array_equal(load(path).gather(None), np.ones((4, 3)))
    assert not [one for one in folder.iterdir() if one.name.startswith(".")]


if __name__ == "__main__":
    weft.arrays.Geometry(1)
    globals()[sys.argv[1]](Path(sys.argv[2]))
    print(f"{sys.argv[1]}: ok", flush=True)
