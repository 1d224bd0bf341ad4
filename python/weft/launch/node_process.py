"""One launch of the node suite: `python -m weft.launch.node_process JOB`.

JOB is as `weft.launch.alone` says; a request is an object as `_core.run_node` reads it. Imports the extension module,
and numpy only where its BLAS is asked for.
"""

import json
import sys

from weft import _core
from weft.launch.alone import serve

BLAS = "n1000_blas"


def main(text: str) -> int:
    """Runs a job; 0 if all went well."""
    return serve(text, measured, "the node")


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
