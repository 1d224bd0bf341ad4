"""The process of a run: `python -m weft.hosting REQUEST` runs a script on every rank, and writes a report."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from weft import files
from weft.hosting import ending, exiting, loggers, sleeping
from weft.hosting.hub import Hub, Report, flush
from weft.hosting.library import OF_MPI4PY
from weft.hosting.modules import Modules


def main() -> NoReturn:
    request = json.loads(sys.argv[1])
    script = Path(request["script"])
    ranks = request["ranks"]
    for name in request["heap"]:
        # Set for this process alone: programs and what they start do not see it.
        del os.environ[name]
    os.environ.update(OF_MPI4PY)
    sys.argv = [str(script), *request["arguments"]]
    sys.path[0] = str(script.parent)
    modules = Modules(script.resolve().parent, ranks)
    code = compile(script.read_bytes(), str(script), "exec", dont_inherit=True)
    codes: list[int] = [0] * ranks

    def fail(rank: int, code: int, message: str) -> NoReturn:
        flush()
        _write(request["report"], Report(error=f"rank {rank}: {message}"), codes)
        flush()
        os._exit(code if 0 < code < 256 else 1)

    def program(rank: int) -> Callable[[], None]:
        return lambda: _run(code, script, rank, modules, codes, fail)

    hub = Hub([program(rank) for rank in range(ranks)], modules, fail)
    modules.install()
    sleeping.install()
    exiting.install(modules.is_beside)
    loggers.install(modules.is_beside)
    options = {name: request[name] for name in ("nodes", "compute", "trace")}
    report = hub.run(request["machine"], request["path"], **options)
    _write(request["report"], report, codes)
    exiting.run_shared()
    flush()
    # Modules of C may not come apart in the order that the interpreter likes.
    os._exit(1 if report.error is not None else max(codes))


def _run(
    code: Any, script: Path, rank: int, modules: Modules, codes: list[int], fail: Callable[[int, int, str], NoReturn]
) -> None:
    """Run the script on one rank."""
    main = ModuleType("__main__")
    main.__file__ = str(script)
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    modules.add_main(rank, main)
    sys.modules["__main__"] = main
    try:
        exec(code, main.__dict__)
        exiting.run()
        ending.end()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            codes[rank] = (end.code or 0) & 0xFF
        else:
            print(end.code, file=sys.stderr)
            codes[rank] = 1
        exiting.run()
        ending.end()
    except BaseException as error:
        flush()
        text = traceback.format_exc().splitlines()
        print("\n".join(f"[rank {rank}] {line}" for line in text), file=sys.stderr)
        fail(rank, 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1, text[-1])


def _write(path: str, report: Report, codes: list[int]) -> None:
    content = vars(report) | {"blocked": [vars(blocked) for blocked in report.blocked], "codes": codes}
    files.write_text(json.dumps(content), path)


if __name__ == "__main__":
    main()
