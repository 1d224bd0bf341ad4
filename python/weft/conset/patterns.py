"""Connection sets by name, from files of connections, from recorded programs, and from partitioned graphs.

=============================  =====================================================================================
what                           what is read
=============================  =====================================================================================
a name                         a named pattern between the machine's nodes: `torus`, `all-to-all`, `random:4`…
`.csv`, `.txt`                 a line for each connection: source, destination, words (1 if left out)
`.json`                        a connection set as `ConnectionSet.to_json` writes it, or a timeline that
                               `weft measure --trace` wrote: what each rank sent to each other, added up
`.mtx`, `.graph`, a mesh       a sparse matrix, a METIS graph, or a mesh in any format of meshio, divided into parts
                               (see `weft.conset.graphs`)
=============================  =====================================================================================
"""

from __future__ import annotations

import csv
import difflib
import json
import math
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from weft import _core
from weft._core import ConnectionSet, Machine, UsageError

TEXT = (".csv", ".txt")
MATRIX = (".mtx",)
GRAPH = (".graph", ".metis")


def pattern(
    name: str | os.PathLike[str],
    machine: Machine,
    *,
    words: int | None = None,
    seed: int = 0,
    parts: int | None = None,
    partition: str | os.PathLike[str] | None = None,
    exchange: str | None = None,
    place: bool = True,
) -> ConnectionSet:
    """The connection set of that name or file.

    Parameters
    ----------
    name
        A named pattern, or the path of a file (see the module).
    machine
        Between its nodes a named pattern is; a file's parts are placed on them.
    words
        Words of every connection, in place of the pattern's.
    seed
        For random patterns, partitions and placements.
    parts, partition, exchange
        Of a matrix, graph or mesh: into how many parts it is divided (the machine's nodes), a file with the part of
        each row or node in place of a division by METIS, and which values parts exchange: `vertex` or `row`.
    place
        Whether parts are placed on nodes so that words cross few links; otherwise part i is on node i.

    Raises
    ------
    UsageError
        If there is no such pattern, or the file is none, with the line and what was expected.
    """
    text = os.fspath(name)
    path = Path(text)
    if not _is_path(text):
        _refuse_unknown(text.partition(":")[0])
        return ConnectionSet.named(text, machine, 1 if words is None else words, seed)
    if not path.exists():
        raise UsageError(f"{path}: there is no such file; named patterns are {', '.join(names())}")
    suffix = path.suffix.lower()
    if suffix in TEXT:
        found = from_text(path, machine.nodes)
    elif suffix == ".json":
        found = from_json(path, machine)
    else:
        from weft.conset import graphs

        found = graphs.read(path, parts or machine.nodes, partition, exchange, seed)
        if place:
            found, _ = found.placed(machine, seed)
    return found if words is None else found.with_words(words)


def _refuse_unknown(name: str) -> None:
    known = names()
    if name in known:
        return
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    guess = f"did you mean {nearest[0]}? " if nearest else ""
    raise UsageError(f"no pattern is called {name}; {guess}there are {', '.join(known)}, and files")


def names() -> list[str]:
    """Names of the named patterns."""
    return [str(entry["name"]) for entry in summaries()]


def summaries() -> list[dict[str, Any]]:
    """Name and summary of each named pattern."""
    found: list[dict[str, Any]] = json.loads(_core.patterns())
    return found


def _is_path(text: str) -> bool:
    return os.sep in text or re.search(r"\.[A-Za-z]\w*$", text) is not None or Path(text).is_file()


def from_text(path: Path, nodes: int) -> ConnectionSet:
    """Connections from lines of source, destination and words, separated by commas or spaces; `#` starts a comment.

    Raises
    ------
    UsageError
        With file and line.
    """
    connections: list[tuple[int, int, int]] = []
    with open(path, encoding="utf-8", newline="") as file:
        try:
            lines = file.read().splitlines()
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: expected text, found {error.reason}") from error
    for number, line in enumerate(lines, start=1):
        content = line.split("#", 1)[0].strip()
        if not content:
            continue
        fields = [field.strip() for field in next(csv.reader([content]))] if "," in content else content.split()
        if not connections and [field.lower() for field in fields[:2]] == ["source", "destination"]:
            continue
        connections.append(_connection(path, number, fields))
    return _checked(path, nodes, connections)


def _connection(path: Path, number: int, fields: list[str]) -> tuple[int, int, int]:
    expected = f"{path}:{number}: expected source, destination and words as whole numbers"
    if not 2 <= len(fields) <= 3:
        raise UsageError(f"{expected}, found {len(fields)} fields")
    try:
        source, destination, words = (int(field) for field in [*fields, "1"][:3])
    except ValueError as error:
        raise UsageError(f"{expected}, found {' '.join(fields)}") from error
    for value, what in ((source, "source"), (destination, "destination")):
        if not 0 <= value < 2**32:
            raise UsageError(f"{path}:{number}: node {value} ({what}) does not exist")
    if not 0 < words < 2**52:
        raise UsageError(f"{path}:{number}: expected at least one word, found {words}")
    return source, destination, words


def _checked(path: Path, nodes: int, connections: list[tuple[int, int, int]]) -> ConnectionSet:
    try:
        return ConnectionSet(nodes, connections, path.name)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def from_json(path: Path, machine: Machine) -> ConnectionSet:
    """A connection set from JSON, or what a recorded program sent.

    Raises
    ------
    UsageError
        If it is neither.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"{path}: expected JSON: {error}") from error
    if isinstance(content, dict) and "traceEvents" in content:
        return from_trace(path, content["traceEvents"], machine)
    if isinstance(content, dict) and "phases" in content:
        raise UsageError(f"{path}: is a schedule; weft show {path} draws it. A pattern has nodes and connections")
    try:
        return ConnectionSet.from_json(json.dumps(content))
    except UsageError as error:
        # What has connections is meant as a set: then only what is wrong with it matters.
        meant = isinstance(content, dict) and "connections" in content
        expected = "" if meant else "expected a connection set (name, nodes, connections) or a timeline (traceEvents): "
        raise UsageError(f"{path}: {expected}{error}") from error


def from_trace(path: Path, events: list[dict[str, Any]], machine: Machine) -> ConnectionSet:
    """What each rank sent to each other rank, added up, rank r on node r; bytes are rounded up to words."""
    sent: dict[tuple[int, int], int] = defaultdict(int)
    for event in events:
        if event.get("name") == "send" and event.get("ph") == "X":
            sent[int(event["tid"]), int(event["args"]["to"])] += int(event["args"]["bytes"])
    between = {ends: count for ends, count in sent.items() if ends[0] != ends[1] and count > 0}
    if not between:
        raise UsageError(f"{path}: the timeline has no messages with data between different ranks")
    described = json.loads(machine.to_json()).get("connections", {}).get("word_bytes", {"value": 4})
    word = int(described["value"])
    connections = [(*ends, math.ceil(count / word)) for ends, count in sorted(between.items())]
    return _checked(path, machine.nodes, connections)
