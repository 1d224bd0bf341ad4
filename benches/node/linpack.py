"""weft's LINPACK n = 1000 beside numpy.linalg.solve, interleaved. Target: the row through the BLAS within 10%.

    .venv/bin/python benches/node/linpack.py [--rounds 12] [--row blas|own] [--no-record]

Needs weft and numpy in the interpreter that runs it. The row through the BLAS is weft's second one of `weft measure
linpack`; the other is weft's own blocked factorisation, for which there is no target.
One thread on both sides unless --threads says otherwise. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys

import peers

TARGET = 0.90
ORDER = 1000
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS")

BLAS_ROW = """
import json
from weft.launch import blas
print(json.dumps([blas.row(seconds_per_row=0.5, seed=1991)]))
"""

PEER = """
import json, sys, time
import numpy
order, repetitions = int(sys.argv[1]), int(sys.argv[2])
generator = numpy.random.default_rng(1991)
a = generator.random((order, order)) - 0.5
b = a.sum(axis=1)
seconds = []
for _ in range(repetitions + 1):
    start = time.perf_counter()
    x = numpy.linalg.solve(a, b)
    seconds.append(time.perf_counter() - start)
    if abs(x - 1).max() > 1e-6:
        sys.exit("numpy.linalg.solve gave a wrong solution")
print(json.dumps(seconds[1:]))
"""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12, help="times each side is started (default 12)")
    parser.add_argument("--repetitions", type=int, default=10, help="solutions of numpy in one start (default 10)")
    parser.add_argument("--threads", type=int, default=1, help="threads of the BLAS (default 1)")
    parser.add_argument("--row", choices=("blas", "own"), default="blas", help="weft's row (default blas)")
    parser.add_argument("--no-record", action="store_true", help="print only")
    chosen = parser.parse_args()
    if chosen.rounds < 1 or chosen.repetitions < 1 or chosen.threads < 1:
        parser.error("rounds, repetitions and threads must be at least 1")
    return chosen


def seconds_of_weft(command: list[str], environment: dict[str, str]) -> float:
    [row] = json.loads(peers.run(command, "weft's LINPACK", environment))
    return row["seconds"]


def main() -> None:
    chosen = options()
    try:
        import numpy
    except ImportError:
        sys.exit("numpy is not installed in this interpreter; run this with the one of weft's environment")
    before = peers.machine()
    own = chosen.row == "own"
    weft = [*peers.build_weft(), "--variants", "n1000", "linpack"] if own else [sys.executable, "-c", BLAS_ROW]
    peer = [sys.executable, "-c", PEER, str(ORDER), str(chosen.repetitions)]
    environment = {variable: str(chosen.threads) for variable in THREAD_VARIABLES}
    ours, theirs = [], []
    for number in range(chosen.rounds):
        sides = [
            lambda: ours.append(seconds_of_weft(weft, environment)),
            lambda: theirs.append(statistics.median(json.loads(peers.run(peer, "numpy", environment)))),
        ]
        for side in sides if number % 2 == 0 else reversed(sides):
            side()
        print(f"\rround {number + 1} of {chosen.rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    ratio = peers.ratio(ours, theirs)
    operations = 2 / 3 * ORDER**3 + 2 * ORDER**2
    rates = {"weft": operations / statistics.median(ours) / 1e6, "numpy": operations / statistics.median(theirs) / 1e6}
    met = "met" if ratio["median"] >= TARGET else "MISSED"
    verdict = "no target: weft's own blocked row" if own else f"target {TARGET} {met}"
    print(
        f"n = {ORDER}: weft {rates['weft']:.0f} Mflop/s, numpy {rates['numpy']:.0f} Mflop/s, "
        f"ratio {ratio['median']:.3f} ({ratio['least']:.3f} to {ratio['largest']:.3f}), {verdict}"
    )
    if not chosen.no_record:
        content = {
            "machine": before,
            "row": "own blocked" if own else "through the BLAS",
            "peer": f"numpy {numpy.__version__} linalg.solve",
            "order": ORDER,
            "threads": chosen.threads,
            "target": None if own else TARGET,
            "mflops": rates,
            "ratio": ratio,
        }
        print("recorded in", peers.record("linpack", content).relative_to(peers.ROOT))


if __name__ == "__main__":
    main()
