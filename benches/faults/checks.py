"""What must hold after a fault: files whole, rows kept, and messages that say what, where, and what to do."""

from __future__ import annotations

import json
import pathlib
import re
import tomllib
import zlib
from typing import Any

import numpy as np
import polars as pl

CLEAR = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(rank \d+: the process|the process of a rank) .*"
        r"(killed by signal|ended with exit code|is stopped|was interrupted|ended before).*"
        r"(find out|start it again|return from the program)",
        r"the launcher(, mpiexec,|'s process) ?.*(killed by signal|is gone|ended).*(find out|start it again)",
        r"(hydra_pmi_proxy|mpiexec\S*): the process \d+ is stopped.*find out",
        r"the process that measures.*(killed by signal|ended with exit code|interrupted|is stopped).*find out",
        r"python\S*: the process \d+ is stopped.*find out",
        r"interrupted.*(--resume|run it again|nothing was written)",
        r"interrupted after [\d,]+ reductions",
        r"deadlock: .* cannot go on.*same collective calls",
        r"(could not be written|cannot be used|cannot be opened|may not be written|cannot write|cannot make"
        r"|could not be read)\b.*"
        r"(Make space|make space|move that|set TMPDIR|name another|-o|TMPDIR)",
        r"the journal .* could not be written: .*",
        r": there is no folder ",
        r"bytes are free in .*, and it needs some",
        r"rank \d+ ended the run with exit code \d+: \w+ at .*traceback is above",
    )
)
"""Messages that say what went wrong, where, and what to do."""

SPEAKS = re.compile(r"^(error: |weft: |interrupted)", re.MULTILINE)
DEFECT = re.compile(r"internal error|Traceback \(most recent call last\)|panicked at|Segmentation fault")

Points = set[tuple[Any, ...]]


def unclear(said: str, by_hydra: bool, is_program: bool, had_begun: bool) -> str | None:
    """What is wrong with what a command said that failed, if anything is."""
    if not had_begun:
        # Python had not come as far as weft: what ends it says so in its own words, or the shell does.
        return None
    if DEFECT.search(said) and not is_program:
        return "a defect is reported"
    if any(pattern.search(said) for pattern in CLEAR):
        return None
    if by_hydra:
        return None
    return "no clear message" if SPEAKS.search(said) else "no message of weft"


def whole(path: pathlib.Path) -> bool:
    """Whether a file can be read to its end as what it is."""
    try:
        if path.suffix == ".csv":
            table(path)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".toml":
            tomllib.loads(path.read_text())
        elif path.suffix == ".npy":
            np.load(path)
        elif path.suffix == ".html":
            return path.read_text().rstrip().endswith("</html>")
    except Exception:
        return False
    return True


def table(path: pathlib.Path) -> pl.DataFrame:
    """A table of samples, read without weft's own reader."""
    text = path.read_text()
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    return pl.read_csv(path, infer_schema_length=None)


_POINT = (
    "source",
    "machine",
    "benchmark",
    "variant",
    "algorithm",
    "ranks",
    "bytes",
    "hops",
    "words",
    "extent",
    "threads",
)


def points(path: pathlib.Path) -> Points:
    """What an output is about, without times: the points of a table, the keys of a machine's or a schedule's file."""
    if path.is_dir():
        return points(path / "samples.csv") | {(one.name,) for one in path.iterdir() if one.suffix != ".journal"}
    if path.suffix == ".csv":
        samples = table(path)
        return set(samples.select([name for name in _POINT if name in samples.columns]).rows())
    if path.suffix == ".json":
        return {(path.read_text(),)}
    if path.suffix == ".toml":
        return {tuple(tomllib.loads(path.read_text()))}
    return {(np.load(path).tobytes(),)}


def journal(path: pathlib.Path) -> list[dict[str, Any]]:
    """The records of a journal whose checksums are right, without its head; read without weft's own reader."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return []
    records = []
    for line in lines[:-1]:
        checksum, _, text = line.partition(b" ")
        if checksum == b"%08x" % zlib.crc32(text):
            records.append(json.loads(text))
    return records[1:]


def rows(records: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """Rows of samples in the records of a journal: benchmark, launch and time tell them apart."""
    return {
        (row["benchmark"], int(row["repetition"]), float(row["seconds"]))
        for record in records
        for row in record.get("rows", ())
    }


def lost(records: list[dict[str, Any]], output: pathlib.Path) -> int:
    """How many rows of a journal a table lacks."""
    wanted = rows(records)
    if not wanted:
        return 0
    path = output / "samples.csv" if output.is_dir() else output
    samples = table(path).select("benchmark", "repetition", "seconds").rows()
    have = {(name, int(number), float(seconds)) for name, number, seconds in samples if number is not None}
    return len(wanted - have)
