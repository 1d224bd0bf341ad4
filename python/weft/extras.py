"""Packages that not everyone needs: which extra of weft installs each, and what is said where one is missing."""

from __future__ import annotations

import importlib.util

from weft._core import UsageError

EXTRAS = {
    "mpich": "mpi",
    "jinja2": "report",
    "matplotlib": "report",
    "plotext": "report",
    "resvg_py": "report",
    "meshio": "meshes",
    "pymetis": "meshes",
    "greenlet": "run",
    "mpi4py": "run",
    "ruptures": "watch",
    "h5py": "hdf5",
    "jax": "jax",
    "zarr": "zarr",
    "numba": "compile",
}
"""The extra (`[project.optional-dependencies]` of pyproject.toml) that installs a module."""


def needs(what: str, package: str) -> str:
    """One sentence for a package that is missing, with the line to type.

    >>> needs("a report", "jinja2")
    "a report needs jinja2: pip install 'weft[report]'"
    """
    return f"{what} needs {package}: pip install 'weft[{EXTRAS[package]}]'"


def require(what: str, *packages: str) -> None:
    """Refuse what needs packages that are not installed. Nothing is imported: it can be asked before long work.

    Raises
    ------
    UsageError
        For the first of them that is missing.

    Examples
    --------
    >>> require("a report", "jinja2")
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise UsageError(needs(what, package))
