"""C programs of benchmarks, compiled for MPI."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

from benches.benchmark import SkippedError


def compiled(source: Path, folder: Path) -> Path:
    """A C program, compiled into a folder with the headers and the library of the MPICH wheel."""
    data = Path(sysconfig.get_path("data"))
    if not (data / "include" / "mpi.h").exists():
        raise SkippedError("the headers of the MPICH wheel are not installed")
    program = folder / source.stem
    where = [f"-I{data}/include", f"-L{data}/lib", f"-Wl,-rpath,{data}/lib"]
    subprocess.run(["cc", "-O2", "-o", str(program), str(source), *where, "-lmpi", "-lm"], check=True)
    return program
