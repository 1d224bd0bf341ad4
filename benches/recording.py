"""The form of a record: a head, the samples that were measured, and figures that are no samples.

A record is a JSON file in benches/records, DATE-BENCHMARK.json, with

- `benchmark`, `date` (UTC), `commit` and `command`, the last two empty where they are not known;
- `machine`: processor, processors, system, load before and after, and whatever else must be known of it;
- `protocol`: how it was measured, words and numbers by name;
- `samples`: rows with columns of the samples table, `weft.samples.COLUMNS`, as lists of `columns` and `rows`; the
  rounds of a benchmark are its repetitions, its contenders the variants;
- `figures`: what was computed of samples or is none (ratios, shares, counts), see `Figure`;
- `notes`: texts by name: what was left out, plans in words, lists of what failed.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import pathlib
import platform
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from benches.harness import Spread

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benches" / "records"

HEAD = ("benchmark", "date", "commit", "command", "machine", "protocol")
PARTS = (*HEAD, "samples", "figures", "notes")

Sense = Literal["at least", "at most"]


class RecordError(ValueError):
    """A record that does not keep to the form; the message names the file, the part and what is wrong."""


@dataclasses.dataclass(frozen=True)
class Figure:
    """One number that a benchmark found.

    Attributes
    ----------
    name
        Of what, and of which case.
    value
        The figure: a median where there are several values.
    unit
        `s`, `GB/s`, `ratio`; empty for a count.
    low, high
        Between what it lies, where that is known.
    interval
        What `low` and `high` are: `95%` of the median, `range`, `p10 to p90`, `quartiles`;
        `predicted` for the interval of a prediction.
    count
        Values that it is the median of.
    target
        What it has to reach, where there is something.
    sense
        Whether that is `at least` or `at most` the target.
    """

    name: str
    value: float
    unit: str = ""
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    count: int | None = None
    target: float | None = None
    sense: Sense | None = None

    @property
    def met(self) -> bool | None:
        """Whether it reaches its target; nothing where it has none."""
        if self.target is None:
            return None
        return self.value >= self.target if self.sense == "at least" else self.value <= self.target

    def __str__(self) -> str:
        between = "" if self.low is None else f" ({shown(self.low)} to {shown(self.high)})"
        judged = (
            "" if self.target is None else f", {self.sense} {shown(self.target)}: {'met' if self.met else 'MISSED'}"
        )
        return f"{self.name}: {shown(self.value)}{' ' * bool(self.unit)}{self.unit}{between}{judged}"


def shown(number: float | None, beside: float | None = None) -> str:
    """A number in four digits, or as an integer; with more digits where it would look like the one beside it.

    >>> shown(0.99998), shown(0.99998, beside=1.0), shown(1.0, beside=1.0)
    ('1', '0.99998', '1')
    """
    if number is None:
        return ""
    whole = float(number).is_integer() and abs(number) < 1e9
    text = f"{number:,.0f}" if whole else f"{number:.4g}"
    digits = 4
    while beside is not None and number != beside and text == shown(beside) and digits < 17:
        digits += 1
        text = f"{number:.{digits}g}"
    return text


class Report:
    """What a run of a benchmark has found so far; figures are printed as they come."""

    def __init__(self, benchmark: str, command: Sequence[str]) -> None:
        self.benchmark = benchmark
        self.protocol: dict[str, Any] = {}
        self.notes: dict[str, Any] = {}
        self.machine: dict[str, Any] = machine()
        self.failed = False
        self._command = shlex.join(command)
        self._date = datetime.datetime.now(datetime.UTC)
        self._samples: list[dict[str, Any]] = []
        self._figures: list[Figure] = []
        self._before: dict[str, Any] | None = None

    def figure(
        self,
        name: str,
        measured: float | Spread,
        unit: str = "",
        target: float | None = None,
        sense: Sense | None = None,
        quiet: bool = False,
    ) -> Figure:
        """Add a figure; one that misses its target makes the run a failed one."""
        spread = {} if isinstance(measured, (int, float)) else dataclasses.asdict(measured)
        value = spread.pop("value", measured)
        figure = Figure(name, value, unit, **spread, target=target, sense=sense if target is not None else None)
        self._figures.append(figure)
        self.failed |= figure.met is False
        if not quiet:
            print(figure, flush=True)
        return figure

    def predicted(self, name: str, value: float, low: float, high: float, unit: str) -> None:
        """Add a prediction with its interval."""
        self._figures.append(Figure(name, value, unit, low, high, "predicted"))
        print(self._figures[-1], flush=True)

    def continue_from(self, path: pathlib.Path) -> None:
        """Keep what a record has, if it is there: a run in pieces makes one record, and measures some of it again."""
        if path.exists():
            self._before = read(path)

    def samples(self, seconds: Mapping[str, Iterable[float]], **columns: Any) -> None:
        """Add the seconds of every variant, round by round; `columns` says what they are of.

        Raises
        ------
        RecordError
            If the samples table has no such column: at once, and not when all is measured.
        """
        _check_columns(columns, f"{self.benchmark}, samples")
        for variant, times in seconds.items():
            for repetition, value in enumerate(times):
                row = {"source": "measured", "machine": "here", "benchmark": self.benchmark, "ranks": 1, "hops": None,
                       "bytes": None, "variant": variant, "repetition": repetition, "seconds": value}  # fmt: skip
                self._samples.append(row | columns)

    def fail(self, why: str) -> None:
        """Call the run failed."""
        print(f"FAILED: {why}", flush=True)
        self.notes.setdefault("failed", []).append(why)
        self.failed = True

    def record(self) -> dict[str, Any]:
        """The record, checked."""
        samples, kept, notes = self._samples, [], {}
        if self._before is not None:
            again = {figure.name for figure in self._figures}
            kept = [figure for figure in figures(self._before) if figure.name not in again]
            measured = {_what(row) for row in samples}
            samples = [row for row in as_rows(self._before["samples"]) if _what(row) not in measured] + samples
            notes = self._before["notes"] | {f"piece of {self._before['date']}": self._before["protocol"]}
        return validated(
            {
                "benchmark": self.benchmark,
                "date": self._date.isoformat(timespec="seconds"),
                "commit": commit(),
                "command": self._command,
                "machine": {**self.machine, "load_after": load()},
                "protocol": self.protocol,
                "samples": as_columns(samples),
                "figures": [without_nothing(figure) for figure in [*kept, *self._figures]],
                "notes": notes | self.notes,
            },
            "the record",
        )

    def write(self, path: str | pathlib.Path | None = None) -> pathlib.Path:
        """Write the record, to a dated file unless `path` says where; a second one on the same day gets a number."""
        file = pathlib.Path(path) if path is not None else dated(self.benchmark, self._date)
        write(file, self.record())
        return file


def _what(row: Mapping[str, Any]) -> frozenset[tuple[str, Any]]:
    """What a sample is of: all but which of its repetitions it is, and what came out."""
    outcome = ("repetition", "seconds")
    return frozenset((name, value) for name, value in row.items() if value is not None and name not in outcome)


def dated(benchmark: str, date: datetime.datetime) -> pathlib.Path:
    """A file in benches/records that is not there yet."""
    stem, number = f"{date:%Y-%m-%d}-{benchmark}", 2
    path = RECORDS / f"{stem}.json"
    while path.exists():
        path, number = RECORDS / f"{stem}-{number}.json", number + 1
    return path


def write(path: pathlib.Path, record: Mapping[str, Any]) -> None:
    """A record with one row and one figure a line, written whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    partial.write_text(text(record))
    partial.replace(path)


def text(record: Mapping[str, Any]) -> str:
    """A record as its file has it."""
    samples = record["samples"]
    lines = [f" {json.dumps(key)}: {json.dumps(record[key])}" for key in HEAD]
    rows = _lines(samples["rows"], 3)
    lines.append(f' "samples": {{\n  "columns": {json.dumps(samples["columns"])},\n  "rows": {rows}\n }}')
    lines.append(f' "figures": {_lines(record["figures"], 2)}')
    notes = ",\n".join(f"  {json.dumps(name)}: {json.dumps(note)}" for name, note in record["notes"].items())
    lines.append(f' "notes": {{\n{notes}\n }}' if notes else ' "notes": {}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(items: Sequence[Any], depth: int) -> str:
    if not items:
        return "[]"
    margin = " " * depth
    return "[\n" + ",\n".join(f"{margin}{json.dumps(item)}" for item in items) + f"\n{margin[1:]}]"


def read(path: pathlib.Path) -> dict[str, Any]:
    """A record of a file, checked.

    Raises
    ------
    RecordError
        If it is no JSON or does not keep to the form.
    """
    try:
        record = json.loads(path.read_text())
    except ValueError as error:
        raise RecordError(f"{path.name}: {error}") from None
    return validated(record, path.name)


def figures(record: Mapping[str, Any]) -> list[Figure]:
    """The figures of a record."""
    return [Figure(**figure) for figure in record["figures"]]


def validated(record: dict[str, Any], origin: str) -> dict[str, Any]:
    """The record, if it keeps to the form.

    Raises
    ------
    RecordError
        If a part is missing or is not what it should be, and `SamplesError` if the samples are not.
    """
    if not isinstance(record, dict) or set(record) != set(PARTS):
        parts = ", ".join(record) if isinstance(record, dict) else type(record).__name__
        raise RecordError(f"{origin}: a record has the parts {', '.join(PARTS)}, found {parts}")
    for part, kind in (("benchmark", str), ("date", str), ("machine", dict), ("protocol", dict), ("notes", dict)):
        if not isinstance(record[part], kind):
            raise RecordError(f"{origin}, {part}: expected {kind.__name__}, found {type(record[part]).__name__}")
    for part in ("commit", "command"):
        if not (record[part] is None or isinstance(record[part], str)):
            raise RecordError(f"{origin}, {part}: expected str or nothing, found {type(record[part]).__name__}")
    try:
        datetime.datetime.fromisoformat(record["date"])
    except ValueError:
        raise RecordError(f"{origin}, date: expected a date of ISO 8601, found {record['date']!r}") from None
    for number, figure in enumerate(record["figures"], 1):
        _check_figure(figure, f"{origin}, figure {number}")
    names = [figure["name"] for figure in record["figures"]]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise RecordError(f"{origin}: two figures have the name {repeated[0]!r}")
    _check_samples(record, origin)
    return record


def _check_figure(figure: Any, where: str) -> None:
    known = {field.name for field in dataclasses.fields(Figure)}
    if not isinstance(figure, dict) or not {"name", "value"} <= set(figure) <= known:
        raise RecordError(f"{where}: a figure has name and value, and may have others of {', '.join(sorted(known))}")
    for key in ("value", "low", "high", "target"):
        number = figure.get(key)
        if key in figure and (
            isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number)
        ):
            raise RecordError(f"{where}, {key} of {figure['name']!r}: expected a finite number, found {number!r}")
    if ("target" in figure) != (figure.get("sense") in ("at least", "at most")):
        raise RecordError(f"{where}: a target wants a sense, 'at least' or 'at most', and a sense a target")
    if ("low" in figure) != ("high" in figure) or ("low" in figure) != ("interval" in figure):
        raise RecordError(f"{where}: low, high and interval come together")


def _check_samples(record: Mapping[str, Any], origin: str) -> None:
    import polars as pl

    from weft import samples

    columns, rows = record["samples"]["columns"], record["samples"]["rows"]
    if not rows:
        return
    _check_columns(columns, f"{origin}, samples")
    table = samples.validate(pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None), origin)
    if others := set(table["benchmark"]) - {record["benchmark"]}:
        raise RecordError(f"{origin}, samples: rows of another benchmark: {', '.join(sorted(others))}")


def _check_columns(names: Iterable[str], where: str) -> None:
    """Refuse columns that the samples table does not have."""
    from weft import samples

    if unknown := [name for name in names if name not in samples.COLUMNS]:
        raise RecordError(f"{where}: no column of the samples table: {', '.join(unknown)}")


def as_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows as a record has them: names of columns once, and lists of values."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return {"columns": columns, "rows": [[row.get(name) for name in columns] for row in rows]}


def as_rows(samples: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a record's samples."""
    return [dict(zip(samples["columns"], row, strict=True)) for row in samples["rows"]]


def without_nothing(figure: Figure) -> dict[str, Any]:
    """A figure as a record has it: what it does not have is not written."""
    return {key: value for key, value in dataclasses.asdict(figure).items() if value is not None}


def processor() -> str:
    """The model of this machine's processor, as the system names it."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def load() -> list[float]:
    """The load averages of the system."""
    return [round(one, 2) for one in os.getloadavg()]


def machine() -> dict[str, Any]:
    """What a reader must know of this machine, before a benchmark begins."""
    return {
        "processor": processor(),
        "processors": os.cpu_count(),
        "simd": os.environ.get("WEFT_SIMD", "widest"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": load(),
    }


def commit() -> str | None:
    """The commit of the working tree, and whether it has changes; nothing outside a clone."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        head, changes = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    except FileNotFoundError:
        return None
    return (head + " with changes" * bool(changes)) or None
