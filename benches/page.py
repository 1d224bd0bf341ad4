"""Writes what is made of the records: the page of benchmarks, docs/benchmarks.md, the README's table and pictures.

With `--check` nothing is written: it says whether all of them are what the records say.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benches import comparison, pictures, recording
from benches.catalogue import benchmarks

DOCS = recording.ROOT / "docs"
PAGE = DOCS / "benchmarks.md"
README = recording.ROOT / "README.md"
HOW = "python -m benches.page"

INTRODUCTION = f"""# Benchmarks

`python -m benches` lists the benchmarks, `python -m benches NAME` runs one and records it in `benches/records`. This
page is made of the newest record of each by `{HOW}`: figures that have a target, and where a record has
none, its ratios. A figure is a median where it has several values; low and high are its interval as the record says:
95% of the median, the range, or deciles. Records of one day may be of different machines: each names its own.
"""


def newest() -> dict[str, dict[str, Any]]:
    """The newest record of every benchmark that has one."""
    records = [recording.read(path) for path in sorted(recording.RECORDS.glob("*.json"))]
    by_date = sorted(records, key=lambda record: record["date"])
    return {record["benchmark"]: record for record in by_date}


def rows(record: dict[str, Any]) -> Iterator[str]:
    """The table of a record, a line each."""
    figures = recording.figures(record)
    judged = [figure for figure in figures if figure.target is not None]
    chosen = judged or [figure for figure in figures if figure.unit == "ratio"] or figures
    yield "| figure | value | low to high | target | |"
    yield "|---|---|---|---|---|"
    for figure in chosen:
        unit = "" if figure.unit in ("", "ratio") else f" {figure.unit}"
        between = "" if figure.low is None else f"{recording.shown(figure.low)} to {recording.shown(figure.high)}"
        target = "" if figure.target is None else f"{figure.sense} {recording.shown(figure.target)}"
        verdict = {True: "met", False: "**missed**", None: ""}[figure.met]
        name = figure.name.replace("|", "\\|")
        yield f"| {name} | {recording.shown(figure.value, figure.target)}{unit} | {between} | {target} | {verdict} |"


def page() -> str:
    """The page as it should be."""
    records, parts = newest(), [INTRODUCTION]
    for name, benchmark in benchmarks().items():
        end = "" if benchmark.summary.endswith("?") else "."
        parts.append(f"## {name}\n\n{benchmark.summary[0].upper()}{benchmark.summary[1:]}{end}")
        if name not in records:
            parts[-1] += " No record yet.\n"
            continue
        record = records[name]
        machine = record["machine"]
        where = f"{machine.get('processor', 'unknown processor')}, {machine.get('processors', '?')} processors"
        parts[-1] += f" {record['date'][:10]}, {where}.\n"
        parts.append("\n".join(rows(record)) + "\n")
    return "\n".join(parts)


def generated() -> dict[Path, str]:
    """All files that are made of the records, as they should be."""
    records = newest()
    return {
        PAGE: page(),
        README: comparison.inserted(README.read_text(), comparison.table(records)),
        DOCS / "stencils.svg": pictures.stencils(records["stencil-cases"]),
        DOCS / "hypercubes.svg": pictures.hypercubes(),
    }


def main() -> int:
    """Write the files, or with `--check` compare them; 1 where one is another."""
    if "--check" not in sys.argv[1:]:
        for path, text in generated().items():
            path.write_text(text)
        return 0
    others = [path for path, text in generated().items() if not path.exists() or path.read_text() != text]
    for path in others:
        print(f"{path.relative_to(recording.ROOT)} is not what the records say: run {HOW}", file=sys.stderr)
    return int(bool(others))


if __name__ == "__main__":
    sys.exit(main())
