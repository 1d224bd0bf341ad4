"""weft's STREAM beside a plain C program, interleaved. Target: within 5% for every kernel and thread count.

    python3 benches/node/stream.py [--rounds 12] [--bytes 536870912] [--threads 1,ALL] [--no-record]

Each round starts both programs once, in alternating order; a program reports the median pass of each kernel, and the
ratio is taken within the round. Only plain stores are compared. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import peers

KERNELS = ("copy", "scale", "add", "triad")
TARGET = 0.95


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12, help="times each program is started (default 12)")
    parser.add_argument("--passes", type=int, default=10, help="passes of a kernel in one C run (default 10)")
    parser.add_argument("--bytes", type=int, default=512 << 20, help="bytes of one array (default 512 MiB)")
    everyone = str(os.cpu_count() or 1)
    default = "1" if everyone == "1" else f"1,{everyone}"
    parser.add_argument("--threads", default=default, help=f"thread counts, comma-separated (default {default})")
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds for a row of weft (default 0.5)")
    parser.add_argument("--no-record", action="store_true", help="print only")
    chosen = parser.parse_args()
    if chosen.rounds < 1 or chosen.passes < 1 or chosen.bytes < 64 or chosen.seconds <= 0:
        parser.error("rounds, passes, bytes (at least 64) and seconds must be positive")
    try:
        chosen.threads = [int(count) for count in chosen.threads.split(",")]
    except ValueError:
        parser.error(f"'{chosen.threads}' is no comma-separated list of thread counts")
    if min(chosen.threads) < 1:
        parser.error("a thread count must be at least 1")
    return chosen


def build_peer(folder: Path, threads: int) -> list[str]:
    """The serial program for one thread, OpenMP for more: as each would be built by hand."""
    program = folder / f"stream-{threads}"
    source = Path(__file__).with_name("stream.c")
    openmp = ["-fopenmp"] if threads > 1 else []
    command = ["cc", "-O3", "-march=native", *openmp, str(source), "-o", str(program), "-lm"]
    peers.run(command, "building the C peer")
    return [str(program)]


def round_of_weft(command: list[str], chosen: argparse.Namespace, threads: int) -> dict[str, float]:
    arguments = ["--threads", str(threads), "--lengths", str(chosen.bytes), "--seconds", str(chosen.seconds)]
    output = peers.run([*command, *arguments, "--variants", ",".join(KERNELS), "stream"], "weft's STREAM")
    return {row["variant"]: row["seconds"] for row in json.loads(output)}


def round_of_peer(command: list[str], chosen: argparse.Namespace, threads: int) -> dict[str, float]:
    environment = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"}
    output = peers.run([*command, str(chosen.bytes), str(chosen.passes)], "the C peer", environment)
    # The first pass touches pages the processor has not translated yet; weft does one unreported pass too.
    return {kernel: statistics.median(seconds[1:] or seconds) for kernel, seconds in json.loads(output).items()}


def compare(chosen: argparse.Namespace, weft: list[str], peer: list[str], threads: int) -> dict[str, object]:
    ours: dict[str, list[float]] = {kernel: [] for kernel in KERNELS}
    theirs: dict[str, list[float]] = {kernel: [] for kernel in KERNELS}
    for number in range(chosen.rounds):
        sides = [(ours, round_of_weft, weft), (theirs, round_of_peer, peer)]
        for collected, once, command in sides if number % 2 == 0 else reversed(sides):
            for kernel, seconds in once(command, chosen, threads).items():
                collected[kernel].append(seconds)
        print(f"\r{threads} threads: round {number + 1} of {chosen.rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    rows = {}
    for kernel in KERNELS:
        moved = chosen.bytes * (2 if kernel in ("copy", "scale") else 3)
        rows[kernel] = {
            "ratio": peers.ratio(ours[kernel], theirs[kernel]),
            "weft_mb_per_s": moved / statistics.median(ours[kernel]) / 1e6,
            "peer_mb_per_s": moved / statistics.median(theirs[kernel]) / 1e6,
        }
    return rows


def main() -> None:
    chosen = options()
    before = peers.machine()
    weft = peers.build_weft()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for threads in chosen.threads:
            peer = build_peer(Path(folder), threads)
            results[str(threads)] = compare(chosen, weft, peer, threads)
    for threads, rows in results.items():
        for kernel, row in rows.items():
            ratio = row["ratio"]
            verdict = "met" if ratio["median"] >= TARGET else "MISSED"
            print(
                f"{threads:>3} threads {kernel:<6} "
                f"weft {row['weft_mb_per_s']:9.0f} MB/s  C {row['peer_mb_per_s']:9.0f} MB/s  "
                f"ratio {ratio['median']:.3f} ({ratio['least']:.3f} to {ratio['largest']:.3f})  "
                f"target {TARGET} {verdict}"
            )
    if not chosen.no_record:
        content = {"machine": before, "peer": "cc -O3 -march=native, stream.c", "bytes": chosen.bytes, "target": TARGET}
        print("recorded in", peers.record("stream", {**content, "threads": results}).relative_to(peers.ROOT))


if __name__ == "__main__":
    main()
