"""Distributed arrays in files, on one rank and over several."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.launch import mpiexec

PROGRAM = Path(__file__).parent / "stored_program.py"


@pytest.mark.mpi
@pytest.mark.parametrize("scenario", ["written", "several", "mistakes", "failing"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_do(native, scenario, ranks, tmp_path):
    words = [*mpiexec.command(), "-n", str(ranks), sys.executable, str(PROGRAM), scenario, str(tmp_path)]
    done = subprocess.run(
        words, check=False, capture_output=True, text=True, timeout=200, env={**os.environ, "WEFT_BLOCKED_LIMIT": "60"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"{scenario}: ok") == ranks, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("package", "suffix", "what"), [("h5py", "h5", "an HDF5 file"), ("zarr", "zarr", "a Zarr store")]
)
def test_without_the_package_its_extra_is_named(package, suffix, what, tmp_path):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"import weft\nweft.arrays.save('x.{suffix}', weft.arrays.Geometry(3).zeros())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False, capture_output=True, text=True)
    extra = {"h5py": "hdf5"}.get(package, package)
    assert f"{what} needs {package}: pip install 'weft[{extra}]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_only_a_block_is_read_of_what_is_read_by_slices(native):
    import numpy as np

    import weft

    class Stored:
        shape, dtype = (4, 3), np.dtype("f4")

        def __getitem__(self, key):
            assert key == (slice(0, 4), slice(0, 3))
            return np.ones((4, 3), "f4")

    assert weft.arrays.Geometry((4, 3)).distribute(Stored()).sum() == 12
