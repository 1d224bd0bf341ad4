"""A launch of one process that sends no messages: reads a job, writes rows, says what went wrong as ranks say it.

A job is JSON: `benchmarks`, `requests` (what each is asked, as an object) and `variants`, one of each a request, and
`rows`, the file that gets one line a request. Imports the extension module alone.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from weft import _core
from weft.launch.rank import fail, interrupted

Measured = Callable[[str, dict[str, Any], list[str]], Iterable[dict[str, object]]]
"""The rows of a benchmark, of its name, what it is asked, and the variants that are wanted (none: all)."""


def serve(text: str, measured: Measured, what: str) -> int:
    """Runs a job; 0 if all went well. `what` says in errors what the process measures."""
    _core.guard_process()
    try:
        job = json.loads(text)
        for index, (benchmark, request) in enumerate(zip(job["benchmarks"], job["requests"], strict=True)):
            rows = list(measured(benchmark, request, job["variants"][index]))
            with open(job["rows"], "a", encoding="utf-8") as file:
                file.write(json.dumps({"request": index, "rows": rows}) + "\n")
    except _core.WeftError as error:
        return fail(type(error).__name__, str(error))
    except OSError as error:
        return fail(
            "RunError",
            f"the process that measures {what} cannot write its rows: {error}; set TMPDIR to a folder with space",
        )
    except Exception as error:
        return fail("RunError", f"the process that measures {what} failed: {type(error).__name__}: {error}")
    except KeyboardInterrupt:
        return fail("RunError", interrupted())
    return 0
