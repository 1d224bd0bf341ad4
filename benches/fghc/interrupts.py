"""Ctrl-C while programs in FGHC do something long: how long it takes until the command has ended.

    python3 benches/fghc/interrupts.py [--trials 3] [--no-record]

Each trial starts `weft fghc run`, waits a random time of up to two seconds after its start, sends SIGINT, and in every second
trial another one 0.1 s later. The command must end within two seconds with code 130 and without a traceback.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import recording  # noqa: E402

WITHIN = 2.0
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
    """A program that takes a while to compile."""
    path = folder / "large.fghc"
    text = "".join(f"p{i}(X) :- X=p{i}, q{i % 7}(X).\n" for i in range(60_000))
    text += "".join(f"q{i}(_).\n" for i in range(7))
    path.write_text(f":- module main.\n{text}main :- p0(_).\n")
    return path


def trial(command: list[str], delay: float, twice: bool) -> dict[str, object]:
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


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-record", action="store_true")
    chosen = parser.parse_args()
    started, load = datetime.datetime.now(datetime.UTC), os.getloadavg()
    draw = random.Random(chosen.seed)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        common = folder / "common.fghc"
        common.write_text(f":- module main.\n{COMMON}")
        run = [sys.executable, "-m", "weft.cli.main", "fghc", "run"]
        commands = {kind: [*run, str(common), "--goal", goal, *words] for kind, (goal, words) in PROGRAMS.items()}
        path = large(folder)
        commands["compiling a large program"] = [*run, str(path)]
        commands["checking a large program"] = [*run[:-1], "check", str(path)]
        reading = folder / "pipe"
        os.mkfifo(reading)
        commands["reading a program from a pipe"] = [*run, str(reading)]
        for kind, command in commands.items():
            for number in range(chosen.trials):
                found = trial(command, 0.8 + 1.2 * draw.random(), number % 2 == 1)
                rows.append({"kind": kind, "twice": number % 2 == 1} | found)
            mine = rows[-chosen.trials :]
            counted = [row for row in mine if not row["ended before"]]
            worst = max((row["seconds"] for row in counted), default=0.0)
            bad = [
                row for row in counted if row["seconds"] > WITHIN or row["code"] not in (130, -2) or row["traceback"]
            ]
            print(f"{kind:36} worst {worst:5.2f} s of {len(counted)} {'' if not bad else f'BAD: {bad}'}")
    if not chosen.no_record:
        head = recording.head("fghc-interrupts", started, load)
        record = head | {"seed": chosen.seed, "within_s": WITHIN, "rows": rows}
        out = HERE.parent / "records" / f"{started:%Y-%m-%d}-fghc-interrupts.json"
        out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
