"""Ctrl-C while programs in FGHC do something long: how long it takes until the command has ended.

Each trial starts `weft fghc run`, waits a random time of up to two seconds after its start, sends SIGINT, and in
every second trial another one 0.1 s later. The command must end within two seconds with code 130 and without a
traceback.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benches.benchmark import Benchmark, positive
from benches.recording import Report

WITHIN = 2.0
CLAUSES = 300_000
COMMON = """
tree(0, X) :- X = leaf.
tree(N, X) :- N > 0, M := N - 1 | X = t(Y, Y), tree(M, Y).
list(0, X) :- X = [].
list(N, X) :- N > 0, M := N - 1 | X = [N|Y], list(M, Y).
ones(0, L, T) :- L = T.
ones(N, L, T) :- N > 0, M := N - 1 | L = [1|R], ones(M, R, T).
hold(L, N) :- M := N + 1 | hold([N|L], M).
fill(0, L) :- spin(L, 0).
fill(N, L) :- N > 0, M := N - 1 | fill(M, [N|L]).
spin(L, N) :- M := N + 1 | X = [M, M, M, M], use(X, L, M).
use([_|_], L, M) :- true | spin(L, M).
lose(N) :- M := N + 1 | wait(_, N), lose(M).
wait(1, _).
calls(N) :- M := N + 1 | call(wait(_, N), _, _), calls(M).
"""
PROGRAMS = {
    "a loop": ("spin([], 0)", []),
    "printing a value with shared parts": ("tree(60, X), print(X)", ["--heap", "8G"]),
    "printing a long list": ("list(3000000, X), print(X)", []),
    "unifying cyclic values": ("ones(9973, X, X), ones(9967, Y, Y), Z = f(X, Y), Z = f(Y, X), spin([], 0)", []),
    "comparing cyclic values": ("ones(9973, X, X), ones(9967, Y, Y), compare(X, Y, _), spin([], 0)", []),
    "much to collect": ("fill(20000000, [])", ["--heap", "1G"]),
    "out of memory": ("hold([], 0)", ["--heap", "2G"]),
    "goals that nothing can wake": ("lose(0)", ["--heap", "64M"]),
    "metacalls": ("calls(0)", ["--heap", "1G"]),
    "on two PEs": ("spin([], 0)", ["-n", "2"]),
    "interpreted": ("tree(60, X), print(X)", ["--interpret", "--heap", "8G"]),
}


def large(folder: Path) -> Path:
    """A program that takes longer to read than any trial waits."""
    path = folder / "large.fghc"
    text = "".join(f"p{i}(X) :- X=p{i}, q{i % 7}(X).\n" for i in range(CLAUSES))
    text += "".join(f"q{i}(_).\n" for i in range(7))
    path.write_text(f":- module main.\n{text}main :- p0(_).\n")
    return path


def trial(command: list[str], delay: float, twice: bool) -> dict[str, Any]:
    # Output that nobody reads would block the program, which is a trial of its own.
    with tempfile.TemporaryFile() as said:
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, stdin=subprocess.PIPE)
        time.sleep(delay)
        ended_before = running.poll() is not None
        begin = time.perf_counter()
        if not ended_before:
            running.send_signal(signal.SIGINT)
            if twice:
                time.sleep(0.1)
                if running.poll() is None:
                    running.send_signal(signal.SIGINT)
        try:
            running.wait(timeout=60)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        elapsed = time.perf_counter() - begin
        said.seek(0)
        text = said.read().decode(errors="replace")
    return {
        "ended before": ended_before,
        "seconds": elapsed,
        "code": running.returncode,
        "traceback": "Traceback" in text or "panicked" in text,
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trials", type=positive, default=3, help="trials of each kind (default 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default 1)")
    parser.add_argument("--kind", action="append", default=[], help="only this kind; may be repeated")


def commands(folder: Path) -> dict[str, list[str]]:
    """What is interrupted."""
    common = folder / "common.fghc"
    common.write_text(f":- module main.\n{COMMON}")
    run = [sys.executable, "-m", "weft.cli.main", "fghc", "run"]
    by_kind = {kind: [*run, str(common), "--goal", goal, *words] for kind, (goal, words) in PROGRAMS.items()}
    path = large(folder)
    by_kind["compiling a large program"] = [*run, str(path)]
    by_kind["checking a large program"] = [*run[:-1], "check", str(path)]
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    by_kind["reading a program from a pipe"] = [*run, str(pipe)]
    return by_kind


def is_bad(row: dict[str, Any]) -> bool:
    """Whether a command did not end as it should."""
    return row["seconds"] > WITHIN or row["code"] not in (130, -2) or bool(row["traceback"])


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"trials": chosen.trials, "seed": chosen.seed}
    # A shell has what it starts in the background ignore SIGINT, and the commands would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    draw = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as name:
        for kind, command in commands(Path(name)).items():
            if chosen.kind and kind not in chosen.kind:
                continue
            rows = [trial(command, 0.8 + 1.2 * draw.random(), number % 2 == 1) for number in range(chosen.trials)]
            counted = [row for row in rows if not row["ended before"]]
            worst = max((row["seconds"] for row in counted), default=0.0)
            report.figure(f"{kind}: the longest", worst, "s", WITHIN, "at most")
            report.figure(f"{kind}: trials", len(counted), quiet=True)
            for row in filter(is_bad, counted):
                report.fail(f"{kind}: code {row['code']} after {row['seconds']:.2f} s, traceback: {row['traceback']}")


BENCHMARK = Benchmark(
    "fghc-interrupts", "how long programs in FGHC take to end after Ctrl-C", "five minutes", run, options
)
