"""One rank of an exchange or of the solver above it: `python -m weft.launch.exchange_rank JOB`, started by mpiexec.

As `weft.launch.rank`; a request has `kind`, `exchange` or `solve`, and `request`, as `_core` reads it.
"""

import json
import os
import sys

from weft import _core
from weft.launch.rank import _live, fail, interrupted


def main(text: str) -> int:
    """Runs a job; 0 if all went well."""
    _core.guard_process()
    try:
        job = json.loads(text)
        _live(os.path.dirname(job["rows"]))
        for index, request in enumerate(job["requests"]):
            run = _core.solve_mpi_rank if request["kind"] == "solve" else _core.exchange_mpi_rank
            result = run(_content(request, os.path.dirname(job["rows"])), job["library"])
            if result is not None:
                with open(job["rows"], "a", encoding="utf-8") as file:
                    file.write(f'{{"request": {index}, "rows": [{result}]}}\n')
    except _core.WeftError as error:
        return fail(type(error).__name__, str(error))
    except Exception as error:
        return fail("RunError", f"a rank failed: {type(error).__name__}: {error}")
    except KeyboardInterrupt:
        return fail("RunError", interrupted())
    return 0


def _content(request: dict[str, object], folder: str) -> str:
    """The request itself, from its file: systems of equations are longer than a command line may be."""
    with open(os.path.join(folder, str(request["file"])), encoding="utf-8") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
