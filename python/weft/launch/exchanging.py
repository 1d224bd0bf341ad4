"""Exchanges and the solver above them on ranks that mpiexec starts."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft._core import RunError
from weft.launch.mpiexec import Job

_RANK = (sys.executable, "-P", "-m", "weft.launch.exchange_rank")


@dataclass(frozen=True)
class _Request:
    """What a rank is told: what to do, and the file that says with what."""

    kind: str
    file: str

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "file": self.file})


def run_mpi(kind: str, requests: Sequence[Mapping[str, Any]], ranks: int) -> list[dict[str, Any]]:
    """Run requests one after the other in one launch.

    Parameters
    ----------
    kind
        `exchange` or `solve`.
    requests
        As `_core.exchange_mpi_rank` and `_core.solve_mpi_rank` read them.
    ranks
        How many are started; each request must be of as many.

    Returns
    -------
    list of dict
        The result of each request.

    Raises
    ------
    UsageError, RunError
        If the launch fails, with the first rank's message: a rank that is lost ends the others.
    """
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        told = []
        for index, request in enumerate(requests):
            path = Path(folder, f"{index}.json")
            path.write_text(json.dumps(request), encoding="utf-8")
            told.append(_Request(kind, str(path)))
        found = {index: rows[0] for index, rows in Job(told, ranks, program=_RANK)}  # type: ignore[arg-type]
    missing = [index for index in range(len(requests)) if index not in found]
    if missing:
        raise RunError(f"request {missing[0]} of {len(requests)} gave no result")
    return [found[index] for index in range(len(requests))]
