"""Exchanges and the solver above them on ranks that mpiexec starts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft._core import RunError
from weft.launch.mpiexec import Job

_RANK = (sys.executable, "-P", "-m", "weft.launch.exchange_rank")


@dataclass(frozen=True)
class _Request:
    """What a rank is told: what to do, and the file in the launch's folder that says with what."""

    kind: str
    file: str

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "file": self.file})


def run_mpi(kind: str, requests: Sequence[str], ranks: int) -> list[dict[str, Any]]:
    """Run requests one after the other in one launch.

    Parameters
    ----------
    kind
        `exchange` or `solve`.
    requests
        The JSON that `_core.exchange_mpi_rank` and `_core.solve_mpi_rank` read.
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
    files = {f"request-{index}.json": request for index, request in enumerate(requests)}
    wanted = [_Request(kind, name) for name in files]
    job = Job(wanted, ranks, program=_RANK, files=files)  # type: ignore[arg-type]
    row_of = {index: rows[0] for index, rows in job}
    missing = [index for index in range(len(requests)) if index not in row_of]
    if missing:
        raise RunError(f"request {missing[0]} of {len(requests)} gave no result")
    return [row_of[index] for index in range(len(requests))]
