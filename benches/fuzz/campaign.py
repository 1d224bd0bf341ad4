"""Mutation fuzzing of every format that weft reads, guided by what weft says.

    python -m benches fuzz                                   # a minute a format
    python -m benches fuzz --inputs 7000                     # the record: 7,000 inputs of each of the formats
    python -m benches fuzz --formats trace,costs --inputs 300 --seed 1 --no-record

An input is a seed (the corpus in tests/data/fuzz, files of the repository) with a few mutations, read by a process
that does what the command line does. One that makes weft say something new is kept as a further seed of the run. A
fault is an `internal error`, an exception or a panic past the handler of the command line, the end of the process,
more than five seconds of processor time, more than a GiB of memory, or a message that echoes more than a line of the
input or characters that move a terminal. Inputs with faults are written to --keep; mended, they belong into the
corpus.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import random
import re
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benches.benchmark import Benchmark, positive
from benches.fuzz import mutation
from benches.fuzz.formats import FORMATS, Format, generated
from benches.recording import ROOT, Report

CORPUS = ROOT / "tests" / "data" / "fuzz"
MAX_SECONDS = 5.0
"""Of processor time an input."""
MAX_BYTES = 1 << 30
"""Of memory, beyond what the process has before it reads anything: address space, and what is in memory at once."""
COMMANDS_SHARE = 0.03
"""Of inputs that whole commands read, where functions read the others."""
WORKER_INPUTS = 4000
"""A worker is ended after so many: what one input leaves behind must not be another's fault for ever."""


Answer = dict[str, Any]
"""What a worker says of an input, and what was found in a format."""


class Worker:
    """A process that reads inputs."""

    def __init__(self, name: str, folder: Path, warming: list[tuple[Path, int]]) -> None:
        self.read = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benches.fuzz.worker", name, str(folder), str(MAX_BYTES)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{ROOT}", "XDG_CACHE_HOME": str(folder)},
        )  # fmt: skip
        self._answer(120.0)
        # What is imported when it is first used, and threads, are there before memory is limited.
        for file, choice in warming:
            self.take(file, choice)
        self.read = 0
        assert self._process.stdin is not None
        self._process.stdin.write(b'{"limit": true}\n')
        self._process.stdin.flush()

    def take(self, file: Path, choice: int) -> Answer:
        """What became of an input."""
        self.read += 1
        job = json.dumps({"file": str(file), "choice": choice})
        assert self._process.stdin is not None
        begin = self._processor_seconds()
        try:
            self._process.stdin.write(job.encode() + b"\n")
            self._process.stdin.flush()
            while True:
                answer = self._answer(1.0)
                if answer is not None:
                    break
                if self._processor_seconds() - begin > MAX_SECONDS:
                    self.end()
                    return {"fault": f"more than {MAX_SECONDS:g} s", "ended": True, "code": None, "signature": "hang"}
        except (BrokenPipeError, EOFError):
            code = self._process.wait()
            return {"fault": f"the process ended with {code}", "ended": True, "code": code, "signature": "end"}
        if answer["fault"] is None and answer["peak"] > MAX_BYTES:
            answer["fault"] = f"{answer['peak'] >> 20} MiB of memory"
        return answer

    def _answer(self, seconds: float) -> Answer | None:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            return None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError
        answer: Answer = json.loads(line)
        return answer

    def _processor_seconds(self) -> float:
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def seeds(format: Format) -> list[tuple[bytes, str]]:
    """The corpus of a format, files of the repository, and what is made, each with its suffix."""
    folder = CORPUS / format.name
    files = sorted(folder.glob("*")) if folder.is_dir() else []
    files += [ROOT / name for name in format.seeds if (ROOT / name).is_file()]
    inputs = [(file.read_bytes(), file.suffix) for file in files]
    return inputs + [(text, format.suffixes[0]) for text in generated(format.name)]


def fuzz(format: Format, inputs: int | None, seconds: float, seed: int, keep: Path | None) -> Answer:
    """Read inputs of one format, the seeds first, until there were so many or the time is over; what was found."""
    rng = random.Random(f"{seed}:{format.name}")
    known = seeds(format)
    queue = list(known)
    seen: set[str] = set()
    faults: dict[str, Answer] = {}
    count: Counter[str] = Counter()
    longest, peak = 0.0, 0
    begin = time.monotonic()
    readers = len(format.commands) + len(format.calls)
    # Every seed by every reader, then mutations.
    first = [(text, suffix, choice) for text, suffix in known for choice in range(readers)]
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as name:
        folder = Path(name)
        warming = []
        for number, (text, suffix) in enumerate(known[:3]):
            warm = folder / f"warm{number}{suffix}"
            warm.write_bytes(text)
            warming += [(warm, choice) for choice in range(readers)]
        worker = Worker(format.name, folder, warming)
        while True:
            if first:
                text, suffix, choice = first.pop()
            else:
                if (inputs is not None and count["inputs"] >= inputs) or time.monotonic() - begin >= seconds:
                    break
                text, suffix = rng.choice(queue)
                text = mutation.mutated(text, rng, format.words, [other for other, _ in queue[-50:]])
                suffix = rng.choice(format.suffixes) if rng.random() < 0.05 else suffix
                choice = _chosen(format, rng)
            file = folder / f"input{suffix}"
            file.write_bytes(text)
            answer = worker.take(file, choice)
            file.unlink(missing_ok=True)
            count["inputs"] += 1
            count[f"code {answer['code']}"] += 1
            longest = max(longest, answer.get("seconds", 0.0))
            peak = max(peak, answer.get("peak", 0))
            if answer["signature"] not in seen and len(text) < 50_000:
                seen.add(answer["signature"])
                queue.append((text, suffix))
            if answer["fault"]:
                count["faults"] += 1
                _note(faults, answer, text, choice, file.suffix, format.name, keep)
            if answer.get("ended") or worker.read >= WORKER_INPUTS:
                worker.end()
                worker = Worker(format.name, folder, warming)
        worker.end()
    return {
        "inputs": count["inputs"],
        "codes": {key.removeprefix("code "): value for key, value in sorted(count.items()) if key.startswith("code ")},
        "messages": len(seen),
        "faults": count["faults"],
        "classes": faults,
        "longest_s": round(longest, 3),
        "peak_MiB": peak >> 20,
        "wall_s": round(time.monotonic() - begin, 1),
    }


def _chosen(format: Format, rng: random.Random) -> int:
    """A reader: a command as a whole takes thirty times what the function takes that it reads with."""
    commands, calls = len(format.commands), len(format.calls)
    if commands and (not calls or rng.random() < COMMANDS_SHARE):
        return rng.randrange(commands)
    return commands + rng.randrange(calls)


def _note(
    faults: dict[str, Answer], answer: Answer, text: bytes, choice: int, suffix: str, name: str, keep: Path | None
) -> None:
    """Keep the first inputs of each class of faults."""
    kind = re.sub(r"[\d./]+|'[^']*'|\"[^\"]*\"", "#", answer["fault"])[:90]
    group = faults.setdefault(kind, {"count": 0, "example": answer["fault"][:300], "choice": choice})
    group["count"] += 1
    if keep is not None and group["count"] <= 3:
        folder = keep / name
        folder.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"\W+", "-", kind)[:50]
        (folder / f"{stem}-{group['count']}-c{choice}{suffix}").write_bytes(text)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--formats", help="names, with commas; default: all")
    parser.add_argument("--inputs", type=int, help="inputs of each format")
    parser.add_argument("--seconds", type=float, help="of each format; default: 60, or no limit with --inputs")
    parser.add_argument("--jobs", type=positive, default=1, help="formats at once (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations (default 0)")
    parser.add_argument("--keep", type=Path, help="where inputs with faults are kept")
    parser.add_argument("--corpus-only", action="store_true", help="only the seeds, each by every reader")


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    chosen.formats = chosen.formats.split(",") if chosen.formats else list(FORMATS)
    if unknown := [name for name in chosen.formats if name not in FORMATS]:
        parser.error(f"there is no format {unknown[0]!r}; there are {', '.join(FORMATS)}")


def run(chosen: argparse.Namespace, report: Report) -> None:
    limit = 0 if chosen.corpus_only else chosen.inputs
    seconds = chosen.seconds or (60.0 if limit is None else float("inf"))
    report.protocol = {
        "seed": chosen.seed,
        "limits": {"processor seconds": MAX_SECONDS, "bytes": MAX_BYTES},
        "share of whole commands": COMMANDS_SHARE,
    }
    answers: dict[str, Answer] = {}
    with concurrent.futures.ProcessPoolExecutor(chosen.jobs) as pool:
        running = {
            pool.submit(fuzz, FORMATS[name], limit, seconds, chosen.seed, chosen.keep): name for name in chosen.formats
        }
        for done in concurrent.futures.as_completed(running):
            name = running[done]
            answers[name] = done.result()
            summarise(name, answers[name], report)
    report.figure("inputs of all formats", sum(result["inputs"] for result in answers.values()))
    faults = sum(result["faults"] for result in answers.values())
    report.figure("faults of all formats", faults, target=0, sense="at most")


def summarise(name: str, answer: Answer, report: Report) -> None:
    """Figures of a format, and its classes of faults."""
    units = {"inputs": "", "messages": "", "faults": "", "longest_s": "s", "peak_MiB": "MiB", "wall_s": "s"}
    for key, unit in units.items():
        report.figure(
            f"{name}: {key.removesuffix('_s').removesuffix('_MiB')}", answer[key], unit, quiet=key != "inputs"
        )
    for code, count in answer["codes"].items():
        report.figure(f"{name}: exit code {code}", count, quiet=True)
    for kind, fault in answer["classes"].items():
        print(f"  {fault['count']} × {kind}\n    {fault['example']!r}", flush=True)
    if answer["classes"]:
        report.notes[f"{name}: faults"] = answer["classes"]


BENCHMARK = Benchmark(
    "fuzz", "mutations of every format that weft reads: no input is a defect", "a minute a format", run, options, check
)
