"""One process that reads inputs of a format, one after another, and says what became of each.

Lines of JSON come on standard input (`{"file": …, "choice": …}`), lines of JSON go out. What weft itself prints goes
to a file: the worker looks at it as a person would. The top-level handler is weft's own (`weft.cli.main`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benches.fuzz import calls
from benches.fuzz.formats import FORMATS, Format

MAX_LINE = 1_300
"""Characters of a line of a message: names of files and lists of right words are in it too."""

MAX_MESSAGE = 100_000
"""Characters of a message: a program may have a hundred findings, each with an excerpt."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_DEFECT = re.compile(
    r"internal error|This is a defect|Traceback \(most recent|panicked at|core dumped|a defect of weft"
)


def main() -> None:
    format_name, folder, memory = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    format = FORMATS[format_name]
    # Answers go where standard output was; weft gets one of its own.
    answers = os.fdopen(os.dup(1), "w")
    # Open for the whole life of the process.
    spoken, printed = tempfile.TemporaryFile("w+b"), tempfile.TemporaryFile("w+b")  # noqa: SIM115
    os.dup2(printed.fileno(), 1)
    os.dup2(spoken.fileno(), 2)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    os.environ["COLUMNS"] = "200"
    import weft.cli.main  # noqa: F401

    files = needed_files(folder)
    answers.write('{"ready": true}\n')
    answers.flush()
    for line in sys.stdin:
        job = json.loads(line)
        if job.get("limit"):
            _limit(memory)
            continue
        for file in (spoken, printed):
            file.seek(0)
            file.truncate()
        _reset_peak()
        begin = time.process_time()
        code, raised = _read(format, job, files)
        seconds = time.process_time() - begin
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        spoken.seek(0)
        text = spoken.read(1 << 20).decode("utf-8", "replace")
        printed.seek(0)
        output = printed.read(1 << 20).decode("utf-8", "replace")
        answer = {"code": code, "seconds": seconds, "peak": _peak(), "fault": fault(code, raised, text, output)}
        answers.write(json.dumps({**answer, "signature": _signature(code, text), "text": text[-2000:]}) + "\n")
        answers.flush()


def _limit(memory: int) -> None:
    """From now on so much more address space can be had: what first use imports, and threads, are there."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def needed_files(folder: Path) -> dict[str, str]:
    """Files that commands need besides the input."""
    (folder / "program.py").write_text("import weft\n\nx = weft.pvar.VPSet((64,)).full(1.0)\ny = x + x\n")
    lines = ["%%MatrixMarket matrix coordinate real general", "16 16 30"]
    lines += [f"{i} {i + 1} 1.0\n{i + 1} {i} 1.0" for i in range(1, 16)]
    (folder / "matrix.mtx").write_text("\n".join(lines) + "\n")
    from weft import catalogue

    described = catalogue.machine("iwarp64").to_toml()
    small = described.replace("extents = [8, 8]", "extents = [4, 4]").replace("nodes = 64", "nodes = 16")
    (folder / "torus.toml").write_text(small)
    return {"program": str(folder / "program.py"), "matrix": str(folder / "matrix.mtx"),
            "torus": str(folder / "torus.toml"), "out": str(folder / "out")}  # fmt: skip


def _read(format: Format, job: dict[str, Any], files: dict[str, str]) -> tuple[int, BaseException | None]:
    """The exit code of one reading, and what was raised past weft's own handler."""
    from weft.cli import errors
    from weft.cli.main import main as weft_main

    readers = [*format.commands, *format.calls]
    reader = readers[job["choice"] % len(readers)]
    for leftover in Path(files["out"]).parent.glob("out*"):
        leftover.unlink()
    try:
        if isinstance(reader, str):
            try:
                getattr(calls, reader)(job["file"])
            except Exception as error:
                return errors.report(error, False), None
            return 0, None
        sys.argv = ["weft", *(word.format(file=job["file"], **files) for word in reader)]
        weft_main()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 1, None
    except BaseException as error:
        return 70, error
    return 0, None


def fault(code: int, raised: BaseException | None, text: str, output: str) -> str | None:
    """What is wrong with how an input was received; nothing where it was accepted or refused as it should be."""
    if raised is not None:
        return f"raised {type(raised).__name__}: {str(raised)[:200]}"
    if defect := _DEFECT.search(text):
        return f"{defect.group()}: {_line_of(text, defect.start())}"
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if code and not (text + output).strip():
        return "no message"
    for where, content in (("message", text), ("output", output)):
        if control := _CONTROL.search(content):
            return f"control character {control.group()!r} in the {where}: {_line_of(content, control.start())!r}"
    if len(text) > MAX_MESSAGE or max(map(len, text.splitlines()), default=0) > MAX_LINE:
        return f"a message of {len(text)} characters: {text[:200]}"
    return None


def _line_of(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    return text[begin : begin + 300].split("\n", maxsplit=1)[0]


def _signature(code: int, text: str) -> str:
    """What a message says without what it quotes: another one is news."""
    text = re.sub(r"/\S+", "FILE", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.e+_-]*", "#", text)
    return f"{code}:{text[:160]}"


def _reset_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


if __name__ == "__main__":
    main()
