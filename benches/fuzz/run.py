"""Mutation fuzzing of every format that weft reads, guided by what weft says.

    python benches/fuzz/run.py                        # a minute a format
    python benches/fuzz/run.py --inputs 7000 --record # the record: 7,000 inputs of each of the formats
    python benches/fuzz/run.py --formats trace,costs --inputs 300 --seed 1

An input is a seed (the corpus in tests/data/fuzz, files of the repository) with a few mutations, read by a process that
does what the command line does. One that makes weft say something new is kept as a further seed of the run. A fault is an
`internal error`, an exception or a panic past the handler of the command line, the end of the process, more than five
seconds of processor time, more than a GiB of memory, or a message that echoes more than a line of the input or characters
that move a terminal. Inputs with faults are written to --keep; mended, they belong into the corpus.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "python")]

import mutation  # noqa: E402
from formats import FORMATS, Format, generated  # noqa: E402

CORPUS = ROOT / "tests" / "data" / "fuzz"
MAX_SECONDS = 5.0
"""Of processor time an input."""
MAX_BYTES = 1 << 30
"""Of memory, beyond what the process has before it reads anything: address space, and what is in memory at once."""
COMMANDS_SHARE = 0.03
"""Of inputs that whole commands read, where functions read the others."""
WORKER_INPUTS = 4000
"""A worker is ended after so many: what one input leaves behind must not be another's fault for ever."""


class Worker:
    """A process that reads inputs."""

    def __init__(self, name: str, folder: Path, warming: list[tuple[Path, int]]) -> None:
        self.read = 0
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), name, str(folder), str(MAX_BYTES)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(folder)},
        )  # fmt: skip
        self._answer(120.0)
        # What is imported when it is first used, and threads, are there before memory is limited.
        for file, choice in warming:
            self.take(file, choice)
        self.read = 0
        assert self._process.stdin is not None
        self._process.stdin.write(b'{"limit": true}\n')
        self._process.stdin.flush()

    def take(self, file: Path, choice: int) -> dict:
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

    def _answer(self, seconds: float) -> dict | None:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            return None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError
        return json.loads(line)

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
    found = [(file.read_bytes(), file.suffix) for file in files]
    return found + [(text, format.suffixes[0]) for text in generated(format.name)]


def fuzz(format: Format, inputs: int | None, seconds: float, seed: int, keep: Path | None) -> dict:
    """Read inputs of one format, the seeds first, until there were so many or the time is over; what was found."""
    rng = random.Random(f"{seed}:{format.name}")
    known = seeds(format)
    queue = list(known)
    seen: set[str] = set()
    faults: dict[str, dict] = {}
    count = Counter()
    longest = {"seconds": 0.0, "peak": 0}
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
                if inputs is not None and count["inputs"] >= inputs or time.monotonic() - begin >= seconds:
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
            longest["seconds"] = max(longest["seconds"], answer.get("seconds", 0.0))
            longest["peak"] = max(longest["peak"], answer.get("peak", 0))
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
        "longest_s": round(longest["seconds"], 3),
        "peak_MiB": longest["peak"] >> 20,
        "wall_s": round(time.monotonic() - begin, 1),
    }


def _chosen(format: Format, rng: random.Random) -> int:
    """A reader: a command as a whole takes thirty times what the function takes that it reads with."""
    commands, calls = len(format.commands), len(format.calls)
    if commands and (not calls or rng.random() < COMMANDS_SHARE):
        return rng.randrange(commands)
    return commands + rng.randrange(calls)


def _note(
    faults: dict[str, dict], answer: dict, text: bytes, choice: int, suffix: str, name: str, keep: Path | None
) -> None:
    """Keep the first inputs of each class of faults."""
    import re

    kind = re.sub(r"[\d./]+|'[^']*'|\"[^\"]*\"", "#", answer["fault"])[:90]
    found = faults.setdefault(kind, {"count": 0, "example": answer["fault"][:300], "choice": choice})
    found["count"] += 1
    if keep is not None and found["count"] <= 3:
        folder = keep / name
        folder.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"\W+", "-", kind)[:50]
        (folder / f"{stem}-{found['count']}-c{choice}{suffix}").write_bytes(text)


def main() -> int:
    """Fuzz formats; 1 where there were faults."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--formats", help="names, with commas; default: all")
    options.add_argument("--inputs", type=int, help="inputs of each format")
    options.add_argument("--seconds", type=float, help="of each format; default: 60, or no limit with --inputs")
    options.add_argument("--jobs", type=int, default=1, help="formats at once")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=Path, help="where inputs with faults are kept")
    options.add_argument("--corpus-only", action="store_true", help="only the seeds, each by every reader")
    options.add_argument("--record", action="store_true", help="write a record into benches/records")
    chosen = options.parse_args()
    started, load = datetime.datetime.now(datetime.UTC), os.getloadavg()
    names = chosen.formats.split(",") if chosen.formats else list(FORMATS)
    limit = 0 if chosen.corpus_only else chosen.inputs
    seconds = chosen.seconds or (60.0 if limit is None else float("inf"))
    found = {}
    with concurrent.futures.ProcessPoolExecutor(chosen.jobs) as pool:
        running = {pool.submit(fuzz, FORMATS[name], limit, seconds, chosen.seed, chosen.keep): name for name in names}
        for done in concurrent.futures.as_completed(running):
            name = running[done]
            found[name] = done.result()
            line = {key: value for key, value in found[name].items() if key != "classes"}
            print(f"{name}: {json.dumps(line)}", flush=True)
            for kind, fault in found[name]["classes"].items():
                print(f"  {fault['count']} × {kind}\n    {fault['example']!r}", flush=True)
    total = sum(result["inputs"] for result in found.values())
    faults = sum(result["faults"] for result in found.values())
    print(f"{total} inputs of {len(found)} formats, {faults} faults")
    if chosen.record:
        from recording import head

        record = {
            **head("fuzz-formats", started, load),
            "protocol": {
                "seed": chosen.seed,
                "limits": {"processor seconds": MAX_SECONDS, "bytes": MAX_BYTES},
                "share of whole commands": COMMANDS_SHARE,
            },
            "inputs": total,
            "faults": faults,
            "formats": {name: found[name] for name in names},
        }
        path = ROOT / "benches" / "records" / f"{started:%Y-%m-%d}-fuzz-formats.json"
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"recorded in {path.relative_to(ROOT)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
