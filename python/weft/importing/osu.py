"""Output of the OSU micro-benchmarks.

A table begins with `# OSU MPI NAME Test vVERSION`, has a line of columns, `# Size  Avg Latency(us) …`, and then a line
for each length. With `-c` a last column says whether the data were right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft._core import UsageError
from weft.importing.figures import MEGABYTE, Counted, Dropped, Figure, Unread, Wrong, begins, numbers

_TITLE = re.compile(
    r"#\s*OSU (?:One Sided )?(?:MPI|NCCL|RCCL)(?:-\w+)?\s*(.+?)\s+Test(?:\s+(?:v|\(Version )?([\w.\-]+)\)?)?\s*$",
    re.IGNORECASE,
)
_ANY = re.compile(r"#\s*(?:\w+ Modified )?OSU\b", re.IGNORECASE)
_PAIRS = re.compile(r"\[\s*pairs:\s*(\d+)\s*\](?:\s*\[\s*window size:\s*(\d+)\s*\])?")

_NAMES = {
    "latency": "osu-latency",
    "bandwidth": "osu-bw",
    "bi-directional bandwidth": "osu-bibw",
    "multiple bandwidth / message rate": "osu-mbw-mr",
    "multi latency": "osu-multi-lat",
    "multi-threaded latency": "osu-latency-mt",
    "multi-process latency": "osu-latency-mp",
    "broadcast latency": "osu-bcast",
    "broadcast persistent latency": "osu-bcast-persistent",
    "non-blocking broadcast latency": "osu-ibcast",
    "_put latency": "osu-put-latency",
    "_get latency": "osu-get-latency",
    "_put bandwidth": "osu-put-bw",
    "_put bi-directional bandwidth": "osu-put-bibw",
    "_get bandwidth": "osu-get-bw",
    "_accumulate latency": "osu-acc-latency",
    "_get_accumulate latency": "osu-get-acc-latency",
    "_fetch_and_op latency": "osu-fop-latency",
    "_compare_and_swap latency": "osu-cas-latency",
}
"""Titles that are not the program's name; the others are, as `Allreduce Latency` of osu_allreduce."""

_ONE_SIDED = tuple(f"osu-{name}-latency" for name in ("put", "get", "acc", "get-acc", "fop", "cas"))
_TWO_RANKS = (
    *("osu-latency", "osu-bw", "osu-bibw", "osu-latency-mt", "osu-latency-mp"),
    *(*_ONE_SIDED, "osu-put-bw", "osu-get-bw", "osu-put-bibw"),
)
_BIDIRECTIONAL = ("osu-bibw", "osu-put-bibw")
"""Whose rates are of both directions together."""

_SYNCHRONIZATION = re.compile(r"#\s*Synchronization:\s*(\S+)")
_SYNCHRONIZATIONS = {
    "MPI_Win_flush": "flush",
    "MPI_Win_lock/unlock": "lock",
    "MPI_Win_fence": "fence",
    "MPI_Win_post/start/complete/wait": "pscw",
}
_TIMES = (
    (re.compile(r"P50", re.IGNORECASE), "median over iterations"),
    (re.compile(r"^(avg )?lat(ency)? ?\(us\)$", re.IGNORECASE), "mean over iterations"),
    (re.compile(r"^overall ?\(us\)$", re.IGNORECASE), "mean over iterations, computation included"),
)
"""Columns of times, the best first, and what they are."""

_COLUMN = re.compile(
    r"Size|Iterations|Validation|Messages/s|MB/s|(?:[\w.]+ ){0,2}?[\w.]+ ?\((?:us|%|MB/s)\)", re.IGNORECASE
)
_RATE = re.compile(r"^(bandwidth \()?MB/s\)?$", re.IGNORECASE)
_MESSAGES = re.compile(r"^Messages/s$", re.IGNORECASE)
_VALIDATION = re.compile(r"^validation$", re.IGNORECASE)

_WINDOW = 64
"""Messages in flight where nobody says otherwise."""


@dataclass
class _Table:
    name: str
    version: str
    columns: list[str]
    counted: Counted
    pairs: int | None = None
    window: int | None = None
    synchronization: str | None = None


def figures(
    lines: Sequence[str], where: str, ranks: int | None, benchmark: str | None
) -> Iterator[Figure | Unread | Dropped | Wrong]:
    """The figures of every table of the file; `benchmark` is not needed, since tables have titles."""
    table: _Table | None = None
    for line in lines:
        if begins(line):
            if table is not None:
                yield from table.counted.unread()
            table = _begun(line)
        elif table is None:
            continue
        elif (pairs := _PAIRS.search(line)) is not None:
            table.pairs, table.window = int(pairs.group(1)), int(pairs.group(2)) if pairs.group(2) else None
        elif (synchronization := _SYNCHRONIZATION.match(line)) is not None:
            table.synchronization = _SYNCHRONIZATIONS.get(synchronization.group(1))
        elif line.startswith(("#", "Overall")):  # osu_ibarrier has no sign before its columns
            table.columns = _columns(line) or table.columns
        else:
            values = _values(table, line) if table.columns and table.name else None
            figure = None if values is None else _figure(table, values, where, ranks)
            is_wrong = bool(table.columns and table.name) and _is_wrong(table, line)
            if is_wrong:
                first = line.split()[0]
                yield Wrong(table.name, int(first) if first.isdigit() else 0)
            table.counted.count(line, figure is not None or is_wrong)
            if figure is not None:
                yield figure
    if table is not None:
        yield from table.counted.unread()


def _begun(line: str) -> _Table | None:
    """The table that a line begins, without a name where the title is not known; None where it is another tool's."""
    title = _TITLE.match(line)
    if title is not None:
        return _Table(_name(title.group(1)), title.group(2) or "", [], Counted(line))
    return _Table("", "", [], Counted(line)) if _ANY.match(line) else None


def _values(table: _Table, line: str) -> dict[str, float] | None:
    """The numbers of a line by column, if it is one of the table; data that were wrong are no measurement."""
    line, columns, verdict = _judged(table, line)
    values = numbers(line, len(columns)) if verdict == "pass" else None
    return None if values is None else dict(zip(columns, values, strict=True))


def _is_wrong(table: _Table, line: str) -> bool:
    """Whether the benchmark says that the data of a line were wrong."""
    line, columns, verdict = _judged(table, line)
    return verdict == "fail" and numbers(line, len(columns)) is not None


def _judged(table: _Table, line: str) -> tuple[str, list[str], str]:
    """A line and the columns without its verdict, and that; where data were not checked they pass."""
    if not _VALIDATION.match(table.columns[-1]):
        return line, table.columns, "pass"
    values, _, verdict = line.rpartition(" ")
    return values, table.columns[:-1], verdict.lower()


def _name(title: str) -> str:
    title = " ".join(title.lower().split()).removeprefix("one sided mpi")
    title = re.sub(r"-(?:cuda|rocm|openacc|sycl)\b", "", title)
    title = re.sub(r"all-to-all([vw]?)(?: personalized exchange)?", r"alltoall\1", title)
    if title in _NAMES:
        return _NAMES[title]
    words = title.removesuffix(" latency").replace("non-blocking ", "i").replace("persistent ", "persistent-")
    return "osu-" + re.sub(r"[^a-z0-9]+", "-", words).strip("-")


def _columns(line: str) -> list[str]:
    """The columns of a line of headings; none for other comments."""
    headings = line.lstrip("# \t")
    if not re.match(r"(Size\b|(Avg )?Lat(ency)? ?\(us\)|Overall ?\(us\))", headings, re.IGNORECASE):
        return []
    separate = [column.strip() for column in re.split(r"\s{2,}|\t", headings) if column.strip()]
    # Where a text was copied, one space may be all that is left between columns.
    return separate if len(separate) > 1 else _COLUMN.findall(headings)


def _ranks(table: _Table, where: str, ranks: int | None) -> int:
    known = 2 * table.pairs if table.pairs is not None else 2 if table.name in _TWO_RANKS else None
    if known is None and ranks is None:
        raise UsageError(
            f"{where}: the output of {table.name.replace('-', '_')} does not say how many ranks ran; say it: --ranks N"
        )
    return known if known is not None else ranks or 0


def _figure(table: _Table, values: dict[str, float], where: str, ranks: int | None) -> Figure | None:
    """One line; None where its time was too short to be printed."""
    count = _ranks(table, where, ranks)
    size = values.get("Size")
    length = None if size is None else int(size)
    tool = f"OSU {table.version}".strip()
    iterations = values.get("Iterations")
    counted = None if iterations is None else int(iterations)
    for pattern, statistic in _TIMES:
        column = next((column for column in values if pattern.search(column)), None)
        if column is not None:
            seconds = values[column] / 1e6
            if seconds <= 0:
                return None
            return Figure(
                table.name, count, length, seconds, f"{statistic}, of {tool}", counted,
                synchronization=table.synchronization,
            )  # fmt: skip
    rate = next((value for column, value in values.items() if _RATE.match(column)), None)
    if rate is None or rate <= 0 or not length:
        return None
    both = 2 if table.name in _BIDIRECTIONAL else 1
    per_pair = rate * MEGABYTE / (table.pairs or 1) / both
    messages = next((value for column, value in values.items() if _MESSAGES.match(column)), None)
    seconds = (table.pairs or 1) / messages if messages else length / per_pair
    window = f", windows of {table.window}" if table.window else ""
    return Figure(
        table.name, count, length, seconds, f"of a mean rate, of {tool}{window}", counted, rate * MEGABYTE,
        synchronization=table.synchronization, window=None if table.window == _WINDOW else table.window,
    )  # fmt: skip
