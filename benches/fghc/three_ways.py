"""FGHC, three ways: random programs by an evaluator of their own, by the interpreter and by native code.

The evaluator (crates/fghc/tests/oracle) runs the checked clauses as they stand, without registers or a compiler, and
tells programs apart whose answers depend on the order of goals; those are not counted. All others must give the same
answers, what is written, goals that wait for ever and numbers of reductions: in order, in a random order with
collections, interpreted and native; and, half of them on 2 and half on 4 PEs, with packets delivered in random
order, random schedules, copy limits and collections. Programs go in chunks that are compiled together, every second
chunk with commitments counted by predicate; up to five programs share their predicates ("sets") and differ in their
goal.

What is done is appended to a progress file, chunk by chunk; the next run with the same file takes it up. A program
that shows a difference is printed with its seed and as little of it as shows the same, and the exit code is 1. With
--minutes it ends after that time, and records how far it came.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benches import building
from benches.benchmark import Benchmark, Need, positive
from benches.recording import Report

Row = dict[str, Any]
"""What a chunk came to."""

SIZES = {1: 200, 2: 100, 4: 100}
"""Programs of a chunk, by PEs."""
AT_ONCE = 8
"""Chunks that one process does."""


COUNTS = ("compared", "sets", "finished", "suspended", "failed", "reductions")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--programs", type=int, default=200_000, help="programs on one PE (default 200000)")
    parser.add_argument("--on-pes", type=int, default=20_000, help="programs on 2 and 4 PEs together (default 20000)")
    parser.add_argument("--minutes", type=float, help="end after so much time")
    default_threads = os.cpu_count() or 1
    parser.add_argument("--threads", type=positive, default=default_threads, help="chunks at one time")
    default = Path(tempfile.gettempdir()) / "weft-three-ways.jsonl"
    parser.add_argument("--progress", type=Path, default=default, help=f"what is done (default {default})")
    parser.add_argument("--executable", help="the release example three_ways, where it is built already")


def done_before(progress: Path) -> list[Row]:
    """Chunks of a progress file; a line that was cut off by the end of a run is none."""
    rows = []
    for line in progress.read_text().splitlines() if progress.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"{progress}: a line that is no JSON is left out", file=sys.stderr)
    return rows


def show(row: Row) -> None:
    for failure in row["failures"]:
        print(f"chunk {row['chunk']}, seed {failure['seed']}, goal {failure['goal']}, on {failure['pes']} PEs:")
        print("\n".join(failure["differences"]))
        print(failure["program"], flush=True)


def work(command: str, chunks: list[tuple[int, int]], chosen: argparse.Namespace, rows: list[Row]) -> bool:
    """Runs what is left of chunks, each its PEs and number; false where a process ended in the middle of one."""
    until = time.monotonic() + 60 * chosen.minutes if chosen.minutes is not None else float("inf")
    # A process takes neighbours of one number of PEs.
    runs: list[tuple[int, int, int]] = []
    for pes, number in chunks:
        if runs and runs[-1][0] == pes and runs[-1][1] + runs[-1][2] == number and runs[-1][2] < AT_ONCE:
            runs[-1] = (pes, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((pes, number, 1))
    with chosen.progress.open("a") as kept:
        for pes, first, count in runs:
            if time.monotonic() > until:
                print("the time is over", file=sys.stderr)
                break
            words = [command, str(first), str(count), str(SIZES[pes]), str(pes), str(chosen.threads)]
            finished = []
            with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    finished.append(json.loads(line))
                    rows.append(finished[-1])
                    kept.write(line)
                    kept.flush()
                    show(finished[-1])
            if process.returncode != 0:
                missing = sorted(set(range(first, first + count)) - {row["chunk"] for row in finished})
                print(f"{' '.join(words)} ended with {process.returncode} in chunks {missing}", file=sys.stderr)
                return False
    return True


def summarise(rows: list[Row], chosen: argparse.Namespace, report: Report) -> None:
    """Figures by numbers of PEs, and what differed."""
    for pes in SIZES:
        own = [row for row in rows if row["pes"] == pes]
        unfit: collections.Counter[str] = collections.Counter()
        for row in own:
            unfit.update(row["unfit"])
        for what in COUNTS:
            report.figure(f"{pes} PEs: {what}", sum(row[what] for row in own))
        report.figure(f"{pes} PEs: differing", sum(len(row["failures"]) for row in own), target=0, sense="at most")
        report.notes[f"{pes} PEs: native"] = all(row["native"] for row in own)
        report.notes[f"{pes} PEs: not compared"] = unfit
    compared = {pes: sum(row["compared"] for row in rows if row["pes"] == pes) for pes in SIZES}
    report.figure("programs compared on one PE", compared[1], target=chosen.programs, sense="at least")
    report.figure("programs compared on 2 and 4 PEs", compared[2] + compared[4], target=chosen.on_pes, sense="at least")
    report.notes["failures"] = [failure for row in rows for failure in row["failures"]]


def run(chosen: argparse.Namespace, report: Report) -> None:
    command = chosen.executable or building.example("weft-fghc", "three_ways")
    rows = done_before(chosen.progress)
    finished = {(row["pes"], row["chunk"]) for row in rows}
    wanted = {1: chosen.programs, 2: chosen.on_pes // 2, 4: chosen.on_pes - chosen.on_pes // 2}
    chunks = [(pes, number) for pes, count in wanted.items() for number in range(-(-count // SIZES[pes]))]
    # All kinds from the beginning, so that a run that is cut short has some of each.
    chunks.sort(key=lambda chunk: (chunk[1] // AT_ONCE, chunk))
    left = [chunk for chunk in chunks if chunk not in finished]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    complete = work(command, left, chosen, rows)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report.protocol = {"programs": chosen.programs, "on PEs": chosen.on_pes, "threads": chosen.threads}
    summarise(rows, chosen, report)
    report.figure("processor time of this run", round(seconds, 1), "s")
    if not complete:
        report.fail("a process ended in the middle of a chunk")


BENCHMARK = Benchmark(
    "fghc-three-ways",
    "random programs in FGHC by an evaluator of their own, the interpreter and native code",
    "hours; --minutes ends it, and it is gone on with",
    run,
    options,
    needs=(Need("cargo", "program", required=True),),
)
