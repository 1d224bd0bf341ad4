"""The reference of schedule files: keys and meanings from the types that are written, an example from a schedule."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.manual.machine_file import sentence
from scripts.manual.markdown import code, table

SOURCES = [Path(__file__).resolve().parents[2] / "crates" / "conset" / "src" / name for name in
           ("schedule.rs", "resources.rs", "pattern.rs")]  # fmt: skip
PARTS = (
    ("The schedule", "Schedule"),
    ("resources", "Resources"),
    ("A phase", "Phase"),
    ("A connection in a phase", "Transfer"),
    ("A piece", "Piece"),
    ("A lower bound", "LowerBound"),
)
"""Headings, and the Rust types of what they describe."""

MEANINGS = {
    "Schedule.resources": "What connections take of nodes and links: the part below.",
    "Resources.topology": "The topology, with the keys of a machine file.",
    "Resources.node_channels": "Logical channels of a node; null where there is no limit.",
    "Resources.link_channels": "Channels of one direction of a link; null where there is no limit.",
    "Resources.ports": "Circuits that a node may start, and as many that it may end; null where there is no limit.",
    "Resources.access": "`separate` where a node sends while it receives, else `shared`.",
    "Resources.access_seconds": "Time of a word between a node and the network, s.",
    "Resources.link_seconds": "Time of a word on a link, s.",
    "Resources.synchronisation_seconds": "Until all know that all have finished a phase, s.",
    "Resources.phase_seconds": "Until the connections of the next phase are open, s.",
    "Schedule.phases": "The phases, one after the other.",
    "Schedule.lower_bounds": "What no schedule of this set can be below.",
    "Phase.connections": "The connections that are open.",
    "Transfer.source": "The node that sends.",
    "Transfer.destination": "The node that receives.",
    "Transfer.start": "When its first word flows, s.",
    "Piece.start": "When it begins, s.",
    "Piece.duration": "How long it takes, s.",
    "Piece.words": "Words transferred in it.",
    "LowerBound.value": "The bound.",
}
"""Meanings of fields that have no comment."""

INTRODUCTION = """# Schedule files

A schedule says in which phases, on which routes and when the connections of a set transfer their words. It also gives
lower bounds that no schedule can beat. `weft compile -o FILE` writes one; `weft verify`, `weft show`, `weft export` and
`weft measure conset` read it. It is one JSON file. This page lists its keys, so that you can read one with other tools.

Nodes are numbered from 0; in routes, switch *s* of a machine with *n* nodes is *n + s*. Times are in seconds and,
within a phase, count from the beginning of its transfers. A file that was changed by hand no longer matches its
`digest`, and is refused. [Connection sets](../connection-sets.md) explains the model.
"""


@functools.cache
def fields(struct: str) -> dict[str, tuple[str, str]]:
    """The fields of a Rust type: its type, and what its comment says."""
    text = "\n".join(path.read_text() for path in SOURCES)
    body = re.search(rf"pub struct {struct} \{{\n(.*?)^\}}", text, re.MULTILINE | re.DOTALL)
    found = re.findall(r"((?:^ *///[^\n]*\n)*)(?:^ *#\[[^\n]*\n)*^ *pub (\w+): ([^\n]+),$", body[1] if body else "",
                       re.MULTILINE)  # fmt: skip
    return {name: (kind, sentence(comment)) for comment, name, kind in found}


def page() -> str:
    """The page."""
    parts = [INTRODUCTION]
    for heading, struct in PARTS:
        title = code(heading) if heading == "resources" else heading
        parts.append(f"## {title}\n\n{table(['key', 'type', 'meaning'], _rows(struct))}")
    parts.append(f"## An example\n\nFour connections on the iWarp:\n\n```json\n{_example()}\n```\n")
    return "\n".join(parts)


def _rows(struct: str) -> Iterator[tuple[str, str, str]]:
    for name, (kind, meaning) in fields(struct).items():
        yield code(name), json_type(kind), MEANINGS.get(f"{struct}.{name}", meaning)


def json_type(kind: str) -> str:
    """What a Rust type is in JSON."""
    optional = re.fullmatch(r"Option<(.*)>", kind)
    if optional:
        return f"{json_type(optional[1])}, or null"
    many = re.fullmatch(r"Vec<(.*)>", kind)
    if many:
        return f"list of {json_type(many[1])}s"
    if re.fullmatch(r"[ui](?:8|16|32|64|size)", kind):
        return "whole number"
    return {"f64": "number", "String": "text", "bool": "true or false", "Access": "text"}.get(kind, "object")


def schedule() -> dict[str, Any]:
    """A small schedule, compiled."""
    import weft

    exchange = weft.conset.ConnectionSet(64, [(0, 1, 32), (1, 0, 32), (0, 9, 32), (9, 0, 32)], name="four")
    parsed: dict[str, Any] = json.loads(weft.conset.compile(exchange, "iwarp64").to_json())
    return parsed


def _example() -> str:
    text = json.dumps(schedule(), indent=2)
    # Lists of numbers in one line each.
    return re.sub(r"\[\s+([\d.,\s]+?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)
