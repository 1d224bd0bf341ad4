"""LINPACK n = 1000 through numpy's BLAS: the peer of weft's own row, on one thread like it."""

from __future__ import annotations

import os
import time
from typing import Any

ORDER = 1000
MAX_RESIDUAL = 20.0
"""A normalised residual above this is wrong (as in crates/suite, `node::linpack`)."""

MINIMUM_SAMPLES = 5

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def row(seconds_per_point: float, seed: int) -> dict[str, Any]:
    """Solve a random dense system of order 1000 in double precision, each time with another right-hand side.

    Operations are counted as LINPACK does, 2/3 n^3 + 2 n^2 (Dongarra, Performance of various computers using standard
    linear equations software). The residual max |b - A x| / (n max |A| max |x| eps) of every solution is checked.

    Parameters
    ----------
    seconds_per_point
        Time for repetitions, s; at least `MINIMUM_SAMPLES` are made.
    seed
        Of the matrix.

    Returns
    -------
    dict
        A row as the node suite's; the variant names the BLAS.

    Raises
    ------
    RunError
        If a solution is wrong.
    """
    for name in _THREADS:
        # Read when numpy is first imported, which is below.
        os.environ[name] = "1"
    import numpy as np

    from weft._core import RunError

    matrix = np.random.default_rng(seed).uniform(-0.5, 0.5, (ORDER, ORDER))
    sums = matrix.sum(axis=1)
    scale = ORDER * np.abs(matrix).max() * np.finfo(float).eps
    np.linalg.solve(matrix, sums)  # Untimed: pages of the work space, and threads that a library starts.
    samples: list[float] = []
    begin = time.perf_counter()
    while len(samples) < MINIMUM_SAMPLES or time.perf_counter() - begin < seconds_per_point:
        right = sums * (1 + len(samples))
        start = time.perf_counter()
        solution = np.linalg.solve(matrix, right)
        samples.append(time.perf_counter() - start)
        residual = float(np.abs(right - matrix @ solution).max() / (scale * np.abs(solution).max()))
        if not residual <= MAX_RESIDUAL:
            raise RunError(
                f"linpack: numpy.linalg.solve gave a wrong result, nothing is reported: the residual is "
                f"{residual:.3g}, expected at most {MAX_RESIDUAL:g}"
            )
    name, version = _library(np)
    median = float(np.median(samples))
    return {
        "benchmark": "linpack",
        "variant": f"n1000_blas_{name}",
        "extent": ORDER,
        "bytes": None,
        "threads": 1,
        "seconds": median,
        "seconds_p10": float(np.quantile(samples, 0.1)),
        "unit": "one solution",
        "iterations": len(samples),
        "share_above_3x": float(np.mean(np.array(samples) > 3 * median)),
        "rate": (2 / 3 * ORDER**3 + 2 * ORDER**2) * 1e-6 / median,
        "rate_unit": "Mflop/s",
        "checked": True,
        "note": f"numpy.linalg.solve {np.__version__}, {name} {version}",
    }


def _library(np: Any) -> tuple[str, str]:
    """Name and version of the BLAS that numpy was built with."""
    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return str(blas.get("name", "unknown")), str(blas.get("version", "of unknown version"))
