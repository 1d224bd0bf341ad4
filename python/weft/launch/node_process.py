"""One launch of the node suite: `python -m weft.launch.node_process JOB`.

JOB is JSON: `benchmarks`, `requests` (objects as `_core.run_node` reads them) and `variants`, one of each a request,
and `rows`, the file that gets one line a request. What goes wrong is said as ranks say it. Imports the extension
module, and numpy only where its BLAS is asked for.
"""

import json
import sys

from weft import _core
from weft.launch.rank import fail, interrupted

BLAS = "n1000_blas"


def main(text: str) -> int:
    """Runs a job; 0 if all went well."""
    _core.guard_process()
    try:
        job = json.loads(text)
        for index, (benchmark, request) in enumerate(zip(job["benchmarks"], job["requests"], strict=True)):
            rows = measured(benchmark, request, job["variants"][index])
            with open(job["rows"], "a", encoding="utf-8") as file:
                file.write(json.dumps({"request": index, "rows": rows}) + "\n")
    except _core.WeftError as error:
        return fail(type(error).__name__, str(error))
    except OSError as error:
        return fail(
            "RunError",
            f"the process that measures the node cannot write its rows: {error}; set TMPDIR to a folder with space",
        )
    except Exception as error:
        return fail("RunError", f"the process that measures the node failed: {type(error).__name__}: {error}")
    except KeyboardInterrupt:
        return fail("RunError", interrupted())
    return 0


def measured(benchmark: str, request: dict[str, object], variants: list[str]) -> list[dict[str, object]]:
    """The rows of one benchmark; `ranks` is 1 in all."""
    rows: list[dict[str, object]] = []
    if not variants or any(not variant.startswith(BLAS) for variant in variants):
        rows += json.loads(_core.run_node(benchmark, json.dumps(request)))
    if benchmark == "linpack" and (not variants or any(variant.startswith(BLAS) for variant in variants)):
        from weft.launch import blas

        budget, seed = request.get("seconds_per_point", 0.25), request.get("seed", 1991)
        rows.append(blas.row(float(str(budget)), int(str(seed))))
    return [{**row, "ranks": 1} for row in rows]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
