"""One rank of a measurement: `python -m weft.launch.rank JOB`, started by mpiexec.

JOB is JSON: `requests` (objects as `_core` reads them), `library` (the MPI library to use where the environment names
none) and `rows`, the file to which the rank that has results appends one line a request. What goes wrong is said in
one line on standard error, which starts with `weft-error`. Imports nothing but the extension module, and CuPy where
messages lie on a device: ranks start fast.
"""

import fcntl
import json
import os
import sys
from collections.abc import Mapping

from weft import _core

ERROR = "weft-error "
_HIGH = 200
"""Of the number of an open file: more than a launcher's files have."""


def main(text: str) -> int:
    """Runs a job; 0 if all went well."""
    _core.guard_process()
    try:
        job = json.loads(text)
        _live(os.path.dirname(job["rows"]))
        device: object = None
        for index, request in enumerate(job["requests"]):
            device = device or memory_of(request)
            rows = _core.run_mpi_rank(json.dumps(request), job["library"], device)
            if rows is not None:
                library = json.loads(_core.mpi_version(job["library"]))["version"]
                with open(job["rows"], "a", encoding="utf-8") as file:
                    file.write(f'{{"request": {index}, "library": {json.dumps(library)}, "rows": {rows}}}\n')
    except _core.WeftError as error:
        return fail(type(error).__name__, str(error))
    except OSError as error:
        return fail(
            "RunError",
            f"the first rank cannot write its rows: {error}; set TMPDIR to a folder with space that it can reach",
        )
    except Exception as error:
        return fail("RunError", f"a rank failed: {type(error).__name__}: {error}")
    except KeyboardInterrupt:
        return fail("RunError", interrupted())
    return 0


def memory_of(request: Mapping[str, object]) -> object:
    """The memory of a device, where the messages of a request lie in one; else None."""
    if request.get("buffers") != "device":
        return None
    from weft.launch.device import DeviceMemory

    return DeviceMemory()


def interrupted() -> str:
    """What a process of a launch says that was sent SIGINT: Ctrl-C reaches weft alone, which then ends the launch."""
    rank = os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK")
    who = "the process that measures" if rank is None else f"rank {rank}: the process"
    return f"{who} was interrupted (signal 2); find out who sent the signal, and measure again"


def sign_of_life(process: int, host: str) -> str:
    """The name of the pipe that a rank keeps open while it lives."""
    return f"alive-{host}-{process}"


def _live(folder: str) -> None:
    """Opens that pipe; see `weft.launch.deaths`. Without it a rank that dies is not named, which is no failure."""
    try:
        path = os.path.join(folder, sign_of_life(os.getpid(), os.uname().nodename))
        os.mkfifo(path)
        pipe = os.open(path, os.O_RDWR)
        fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        os.close(pipe)
    except OSError:
        pass


def fail(kind: str, message: str) -> int:
    """Say what went wrong and end at once."""
    # One write, so that lines of several ranks do not mix.
    sys.stderr.write(ERROR + json.dumps({"kind": kind, "message": message}) + "\n")
    sys.stderr.flush()
    # Ordinary exit would finalise MPI, which waits for ranks that may wait for this one.
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
