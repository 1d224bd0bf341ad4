"""Random programs over ranks, most of them with one call that does not match: is every rank told, and what?

Each program is a file of calls (reductions, scans, spreads, sends, gets, shifts, reads, plans, halo exchanges,
stencils, gathers) that 2 to 4 ranks run. One rank of it makes one call fewer, one more, another one, two in the
other order, or none from some call on. Every rank has to end with an error within the limit that shows a call of
every rank, with the program's file and line; a sixth of the programs match, and nothing may be said about them.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches.benchmark import Benchmark, Need, positive
from benches.recording import ROOT, Report
from weft.launch import mpiexec

LIMIT = 60.0
"""Seconds that a program may take, start and end of Python and MPI on a busy machine among them."""

PREAMBLE = """
import numpy as np
import time
import weft
vp = weft.pvar.VPSet((9, 4))
x = vp.coordinate(0)
y = x.astype("float64")
c = vp.coordinate(1) > 1
g = weft.arrays.Geometry((9, 4))
rank = g.rank
a, b = g.distribute(np.arange(36.0).reshape(9, 4), halo=1), g.zeros(halo=1)
p0 = g.polyshift(shifts=[(1, 0), (-1, 1)], halo=1)
p1 = g.polyshift(shifts=[(1, 0, 0.0)], halo=1)
h0 = g.halo_exchange()
h1 = g.halo_exchange(boundary=0.0, corners="staged")
b0 = p1.bind(a, out=[b])
b1 = h0.bind(a)
s = weft.arrays.stencil({(1, 0): 0.5, (0, -1): 0.5}, boundary=(0.0, "circular"))
s0 = g.stencil(s, halo=1)
s1 = g.stencil(s, steps_per_exchange=2)
began = time.monotonic()
"""

CALLS = [
    'weft.pvar.reduce(x, "sum")',
    'weft.pvar.reduce(x, "max")',
    'weft.pvar.reduce(y, "sum")',
    "weft.pvar.spread(x, 0, 3)",
    "weft.pvar.spread(x, 1, 2)",
    'weft.pvar.scan(x, "add", 0)',
    'weft.pvar.scan(x, "add", 1)',
    'weft.pvar.scan(x, "max", 0, segments=c)',
    "weft.pvar.get(x, vp.address())",
    "weft.pvar.get(y, vp.address())",
    'weft.pvar.send(x, vp.address(), combine="add")',
    "weft.pvar.send(x, (x, 0), combine='max')",
    "weft.pvar.shift(x, 1)",
    "weft.pvar.shift(x, -2, 1)",
    "weft.pvar.shift(y, 1, 0, 0.0)",
    "x[3, 2]",
    "x[8, 0]",
    "x.numpy()",
    "a.gather()",
    "p0(a)",
    "p1(a)",
    "h0(a)",
    "h1(a)",
    "b0()",
    "b1()",
    "s0(a)",
    "s0(a, steps=3)",
    "s1(g.zeros(halo=s1.halo), steps=2)",
    "s(a)",
    "g.polyshift(shifts=[(2, 0)])",
    "weft.pvar.VPSet(7)",
]

KINDS = ["matching", "other", "fewer", "more", "swapped", "ended"]


def program(draw: random.Random, ranks: int, kind: str) -> str:
    """The text of one program."""
    calls = [draw.choice(CALLS) for _ in range(draw.randint(3, 12))]
    at, victim = draw.randrange(len(calls) - 1), draw.randrange(ranks)
    own = list(calls)
    if kind == "other":
        own[at] = draw.choice([call for call in CALLS if call != calls[at]])
    elif kind == "fewer":
        del own[at]
    elif kind == "more":
        own.insert(at, draw.choice(CALLS))
    elif kind == "swapped":
        while calls[at] == calls[at + 1]:
            calls[at + 1] = draw.choice(CALLS)
        own = [*calls[:at], calls[at + 1], calls[at], *calls[at + 2 :]]
    elif kind == "ended":
        own = calls[:at]
    lines = PREAMBLE.strip().splitlines()
    lines += ["try:", f"    if rank == {victim}:", *(f"        {call}" for call in own), "        pass"]
    lines += ["    else:", *(f"        {call}" for call in calls), "except weft.UsageError as error:"]
    lines += ["    print(f'SECONDS {time.monotonic() - began:.2f}', flush=True)", "    raise"]
    return "\n".join(lines) + "\n"


def judged(ranks: int, kind: str, done: subprocess.CompletedProcess[str], name: str) -> str | None:
    """What is wrong with how a program ended."""
    if kind == "matching":
        if done.returncode or "disagree" in done.stderr:
            return f"code {done.returncode} of a program that matches"
        return None
    if not done.returncode:
        return "no error"
    said = re.findall(r"the ranks disagree[^\n]*((?:\n  rank \d+: [^\n]*)+)", done.stderr)
    if len(said) != ranks:
        return f"{len(said)} of {ranks} ranks said why"
    if len(set(said)) > 1:
        return "ranks said different things"
    lines = re.findall(r"\n  rank (\d+): ([^\n]*)", said[0])
    unnamed = [rank for rank, text in lines if name not in text and "the end of the program" not in text]
    if len(lines) != ranks or unnamed:
        return f"no file and line of ranks {unnamed}"
    return None


class Campaign:
    """Programs that are run one after another, and what was wrong with them."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen = chosen
        self.draw = random.Random(chosen.seed)
        self.counts: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.seconds: list[float] = []
        self.slowest = 0.0

    def one(self, number: int, folder: Path) -> None:
        """Draw a program, run it and judge it."""
        ranks, kind = self.draw.choice([2, 2, 3, 4]), self.draw.choice(KINDS)
        shared = self.draw.choice(["1", "1", "0"])
        path = folder / f"calls_{number}.py"
        path.write_text(program(self.draw, ranks, kind))
        variables = {"PYTHONPATH": str(ROOT / "python"), "WEFT_SHARED_MEMORY": shared, "WEFT_BLOCKED_LIMIT": "0"}
        variables |= mpiexec.OVERSUBSCRIBING
        # The launcher of the library that ranks load: one of PATH may be of another.
        words = [*mpiexec.command(), "-n", str(ranks), sys.executable, str(path)]
        start = time.monotonic()
        said = ""
        try:
            done = subprocess.run(
                words, env={**os.environ, **variables}, capture_output=True, text=True, timeout=LIMIT, check=False
            )
            said = done.stderr
            why = judged(ranks, kind, done, path.name)
            self.seconds += [float(seconds) for seconds in re.findall(r"SECONDS (\d+\.\d\d)", done.stdout)]
        except subprocess.TimeoutExpired:
            why = f"not ended after {LIMIT:g} s"
        self.slowest = max(self.slowest, time.monotonic() - start)
        self.counts[f"{kind}, {ranks} ranks"] += 1
        if why is not None:
            self.wrong.append(f"program {number} ({kind}, {ranks} ranks, shared memory {shared}): {why}")
            print(self.wrong[-1])
            if self.chosen.keep:
                self.chosen.keep.mkdir(parents=True, exist_ok=True)
                (self.chosen.keep / path.name).write_text(f"{path.read_text()}'''\n{said}\n'''")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--programs", type=positive, default=200, help="programs (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="that they are drawn with (default 1)")
    parser.add_argument("--keep", type=Path, help="a folder for programs that are told wrongly")


def run(chosen: argparse.Namespace, report: Report) -> None:
    campaign = Campaign(chosen)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(chosen.programs):
            campaign.one(number, Path(folder))
    report.protocol = {"programs": chosen.programs, "seed": chosen.seed}
    report.figure("wrong", len(campaign.wrong), target=0, sense="at most")
    for name, count in sorted(campaign.counts.items()):
        report.figure(f"programs: {name}", count)
    if campaign.seconds:
        ordered = sorted(campaign.seconds)
        report.figure("from the first call to the error, median", ordered[len(ordered) // 2], "s")
        report.figure("from the first call to the error, longest", ordered[-1], "s")
    report.figure("slowest program, start of Python and MPI included", round(campaign.slowest, 1), "s")
    report.notes["wrong"] = campaign.wrong


BENCHMARK = Benchmark(
    "random-calls",
    "programs over ranks with a call that does not match: is every rank told?",
    "five minutes",
    run,
    options,
    needs=(Need("mpiexec", "program", required=True),),
)
