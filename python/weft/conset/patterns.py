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

from weft import _core, inputs
from weft._core import ConnectionSet, Machine, UsageError
from weft.inputs import quoted

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
    placed: bool = True,
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
    placed
        Whether parts are placed on nodes so that words cross few links; otherwise part i is on node i.

    Raises
    ------
    UsageError
        If there is no such pattern, or the file is none, with the line and what was expected.

    Examples
    --------
    >>> import weft
    >>> pattern("transpose", weft.machine("iwarp64"), words=8)
    <weft connection set transpose: 56 connections between 64 nodes>
    """
    for value, what in ((words, "words"), (seed, "seed"), (parts, "parts")):
        if value is not None:
            inputs.unsigned(value, what)
    text = os.fspath(name)
    path = Path(text)
    if not _is_path(text):
        _refuse_unknown(text.partition(":")[0])
        return ConnectionSet.named(text, machine, 1 if words is None else words, seed)
    if not path.exists():
        raise UsageError(f"{quoted(str(path))}: there is no such file; named patterns are {', '.join(names())}")
    suffix = path.suffix.lower()
    if suffix in TEXT:
        connections = from_text(path, machine.nodes)
    elif suffix == ".json":
        connections = from_json(path, machine)
    else:
        from weft.conset import graphs

        connections = graphs.read(path, parts or machine.nodes, partition, exchange, seed)
        if placed:
            connections, _ = connections.placed(machine, seed)
    return connections if words is None else connections.with_words(words)


def _refuse_unknown(name: str) -> None:
    known = names()
    if name in known:
        return
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    guess = f"did you mean {nearest[0]}? " if nearest else ""
    raise UsageError(f"no pattern is called {quoted(name)}; {guess}there are {', '.join(known)}, and files")


def names() -> list[str]:
    """Names of the named patterns."""
    return [str(entry["name"]) for entry in summaries()]


def summaries() -> list[dict[str, Any]]:
    """Name and summary of each named pattern."""
    listed: list[dict[str, Any]] = json.loads(_core.patterns())
    return listed


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
    # Each line becomes a string and a tuple of three numbers.
    lines = inputs.read_text(path, "lines of source, destination and words", factor=24).splitlines()
    for number, line in enumerate(lines, start=1):
        content = line.split("#", 1)[0].strip()
        if not content:
            continue
        fields = _fields(path, number, content)
        if not connections and [field.lower() for field in fields[:2]] == ["source", "destination"]:
            continue
        connections.append(_connection(path, number, fields))
    return _checked(path, nodes, connections)


def _fields(path: Path, number: int, content: str) -> list[str]:
    """The fields of a line."""
    if "," not in content:
        return content.split()
    try:
        return [field.strip() for field in next(csv.reader([content]))]
    except csv.Error as error:
        raise UsageError(f"{path}:{number}: expected source, destination and words: {error}") from None


def _connection(path: Path, number: int, fields: list[str]) -> tuple[int, int, int]:
    expected = f"{path}:{number}: expected source, destination and words as whole numbers"
    if not 2 <= len(fields) <= 3:
        raise UsageError(f"{expected}, found {len(fields)} fields")
    try:
        source, destination, words = (int(field) for field in [*fields, "1"][:3])
    except ValueError:
        raise UsageError(f"{expected}, found {quoted(' '.join(fields))}") from None
    for value, what in ((source, "source"), (destination, "destination")):
        if not 0 <= value < 2**32:
            raise UsageError(f"{path}:{number}: node {quoted(value)} ({what}) does not exist")
    if words >= 2**52:
        raise UsageError(f"{path}:{number}: expected fewer than {2**52} words, found {quoted(words)}")
    if words < 1:
        raise UsageError(f"{path}:{number}: expected at least one word, found {quoted(words)}")
    return source, destination, words


def _checked(path: Path, nodes: int, connections: list[tuple[int, int, int]]) -> ConnectionSet:
    try:
        return ConnectionSet(nodes, connections, quoted(path.name))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def from_json(path: Path, machine: Machine) -> ConnectionSet:
    """A connection set from JSON, or what a recorded program sent.

    Raises
    ------
    UsageError
        If it is neither.
    """
    content = inputs.read_json(path, "JSON")
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


def from_trace(path: Path, events: Any, machine: Machine) -> ConnectionSet:
    """What each rank sent to each other rank, added up, rank r on node r; bytes are rounded up to words.

    Raises
    ------
    UsageError
        For events that are none, with the number of the first that is wrong; for a timeline without messages.
    """
    if not isinstance(events, list):
        raise UsageError(f"{path}: traceEvents: expected a list of events, found {quoted(events)}")
    sent: dict[tuple[int, int], int] = defaultdict(int)
    for number, event in enumerate(events):
        if not isinstance(event, dict):
            raise UsageError(f"{path}: event {number}: expected an object, found {quoted(event)}")
        if event.get("name") == "send" and event.get("ph") == "X":
            arguments = event.get("args")
            if not isinstance(arguments, dict):
                raise UsageError(f"{path}: event {number}, a send: expected args with to and bytes")
            ends = _count(path, number, "tid", event), _count(path, number, "to", arguments)
            sent[ends] += _count(path, number, "bytes", arguments)
    between = {ends: count for ends, count in sent.items() if ends[0] != ends[1] and count > 0}
    if not between:
        raise UsageError(f"{path}: the timeline has no messages with data between different ranks")
    described = json.loads(machine.to_json()).get("connections", {}).get("word_bytes", {"value": 4})
    word = int(described["value"])
    connections = [(*ends, math.ceil(count / word)) for ends, count in sorted(between.items())]
    return _checked(path, machine.nodes, connections)


def _count(path: Path, number: int, key: str, event: dict[str, Any]) -> int:
    """A whole number of an event of a timeline."""
    value = event.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < (2**52 if key == "bytes" else 2**32):
        return value
    shown = "nothing" if value is None else quoted(value)
    raise UsageError(f"{path}: event {number}, a send: expected {key} as a whole number, found {shown}")
