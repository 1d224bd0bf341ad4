"""The reference of machine files: keys, types and units from the reader itself, meanings from its sources.

What the reader takes is found by asking it: a key that it does not know makes it list those that it knows, a date where
it expects something else makes it say what, a unit that there is not makes it name the right one, and a key that is
left out is either missed or has a default.
"""

from __future__ import annotations

import copy
import functools
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scripts.manual.markdown import code, table

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "crates" / "machine" / "src"

STRUCTS = {
    "": "Machine",
    "protocols": "Protocol",
    "packets": "Packets",
    "cache": "Cache",
    "node": "Node",
    "self_message": "MemoryCopy",
    "host": "HostLink",
    "files": "ConcurrentFiles",
    "host_files": "HostFiles",
    "shifts": "Shifts",
    "connections": "Connections",
    "fghc": "FghcCosts",
    "primitives": "Primitives",
    "parallel": "Parallel",
    "routers": "Routers",
    "processors": "Processors",
}
"""The Rust type that holds what a table says; of the others the page has the words."""

TOPOLOGIES: dict[str, dict[str, Any]] = {
    "hypercube": {"dimension": 7},
    "torus": {"extents": [8, 8]},
    "mesh": {"extents": [4, 4, 4]},
    "fat-tree": {"children": [44, 182], "parents": [1, 36]},
    "dragonfly": {"groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "global_links_per_router": 2},
    "crossbar": {"nodes": 16},
}
"""A sound topology of each kind, for probing and as an example."""

MEANINGS = {
    "dimension": "The hypercube has 2^dimension nodes.",
    "extents": "Nodes on each axis.",
    "children": "Children of a switch, level by level from the nodes.",
    "parents": "Parents of what is below, level by level from the nodes.",
    "groups": "Groups of routers.",
    "routers_per_group": "Routers of a group, each linked to every other.",
    "nodes_per_router": "Nodes at each router.",
    "global_links_per_router": "Links of a router to other groups.",
    "nodes": "The number of nodes.",
    "kind": "One of the kinds above.",
    "switching.technique": "One of the words above.",
    "switching.multicast": "Whether switches copy what comes in to several links at once, in compiled collectives.",
    "switching.reduction": "Whether switches add what comes in over several links, in compiled collectives.",
    "self_message.startup": "Time of a message without content.",
    "self_message.byte_time": "Time of one byte.",
    "self_message.short_up_to": "The longest with `short_startup`; both keys may be left out together.",
    "self_message.short_startup": "Time of a message without content, of those of up to `short_up_to` bytes.",
    "host.startup": "Time of a message without content.",
    "host.byte_time": "Time of one byte.",
    "host.short_up_to": "The longest with `short_startup`; both keys may be left out together.",
    "host.short_startup": "Time of a message without content, of those of up to `short_up_to` bytes.",
    "files.disks_per_io_node": "Disks of each I/O node.",
    "files.disk_byte_time": "Time of the disk for one byte.",
    "files.cache_bytes": "Blocks that an I/O node keeps, in bytes: at least one block.",
    "host_files.byte_time": "Time of one byte.",
}
"""Meanings of keys whose fields have no comment that stands by itself."""

_WIDTH = 48
_NOWHERE = "furlong"
_UNKNOWN = "no_such_key"


@dataclass(frozen=True)
class Key:
    """One key of a machine file.

    Attributes
    ----------
    name
        As it is written.
    expected
        What the reader says of a wrong value: `a number of at least 0`.
    unit
        Of a figure; empty for what has none.
    default
        What holds without it; None where it is required.
    meaning
        A sentence.
    example
        A line of a machine of the catalogue, and that machine.
    """

    name: str
    expected: str
    unit: str
    default: str | None
    meaning: str
    example: tuple[str, str] | None


class _Date:
    """A value that no key takes."""


def dumped(machine: dict[str, Any]) -> str:
    """A machine file of nested dictionaries, as `tomllib` reads them."""
    own = {key: value for key, value in machine.items() if not _is_table(value)}
    lines = [f"{key} = {_value(value)}" for key, value in own.items()]
    for name, value in machine.items():
        if name in own:
            continue
        for one in value if isinstance(value, list) else [value]:
            lines.append(f"[[{name}]]" if isinstance(value, list) else f"[{name}]")
            lines += [f"{key} = {_value(entry)}" for key, entry in one.items()]
    return "\n".join(lines) + "\n"


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _value(value: Any) -> str:
    if isinstance(value, _Date):
        return "2020-01-01"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


@functools.cache
def catalogue() -> dict[str, dict[str, Any]]:
    """Every machine of the catalogue, as its file says it."""
    import weft

    files = {machine.name: tomllib.loads(machine.to_toml()) for machine in weft.machines()}
    # Examples come from the first that has a key: the best known machines first.
    return {name: files[name] for name in sorted(files, key=lambda name: name not in ("ipsc860", "frontera"))}


def faults(machine: dict[str, Any]) -> dict[str, str]:
    """What the reader says of each key of a machine at fault."""
    import weft

    try:
        weft.Machine.parse(dumped(machine), "probe.toml")
    except weft.MachineError as error:
        found = re.findall(r"^probe\.toml:\d+: ([^:]+): (.*)$", str(error), re.MULTILINE)
        return {re.sub(r"\[\d+\]", "", key): message for key, message in reversed(found)}
    return {}


def _probe(base: dict[str, Any], table_name: str, key: str, value: Any) -> str:
    """What the reader says of a key with this value; of None: without it."""
    changed = copy.deepcopy(base)
    target = _target(changed, table_name)
    target.pop(key, None)
    if value is not None:
        target[key] = value
    return faults(changed).get(f"{table_name}.{key}" if table_name else key, "")


def _target(machine: dict[str, Any], table_name: str) -> dict[str, Any]:
    """A table of a machine; of several the last, which is whole by itself."""
    if not table_name:
        return machine
    value = machine.setdefault(table_name, {})
    chosen: dict[str, Any] = value[-1] if isinstance(value, list) else value
    chosen.setdefault("source", "probe")
    return chosen


def key_names(base: dict[str, Any], table_name: str) -> list[str]:
    """The keys that the reader knows in a table."""
    said = _probe(base, table_name, _UNKNOWN, 1)
    listed = re.fullmatch(r"expected one of the keys (.*)", said)
    names = listed[1].split(", ") if listed else []
    if names and names[-1].endswith("…"):
        # The message is cut; the type that the table fills has the rest, in the same order.
        names = [*names[:-1], *(name for name in fields(STRUCTS[table_name]) if name not in names)]
    return [name for name in names if name not in ("source", "sources")]


def tables() -> list[str]:
    """The tables of a machine file, in the order in which the reader lists them."""
    base = complete("")
    return [name for name in key_names(base, "") if "table [" in _probe(base, "", name, _Date())]


def keys(base: dict[str, Any], table_name: str) -> Iterator[Key]:
    """The keys of a table; of the file itself those that are no tables."""
    meanings = fields(STRUCTS[table_name]) if table_name in STRUCTS else {}
    for name in key_names(base, table_name):
        wrong = _probe(base, table_name, name, _Date())
        expected = re.sub(r", found a date.*$", "", wrong).removeprefix("expected ")
        if not table_name and name in tables():
            continue
        unit = _unit(base, table_name, name, expected)
        yield Key(
            name,
            re.sub(r", in ?\S*$", "", expected),
            unit,
            _default(base, table_name, name),
            MEANINGS.get(name if table_name == "topology" else f"{table_name}.{name}", meanings.get(name, "")),
            _example(table_name, name),
        )


def _unit(base: dict[str, Any], table_name: str, name: str, expected: str) -> str:
    said = _probe(base, table_name, name, {"value": 1, "unit": _NOWHERE, "source": "probe"})
    unit = re.match(r"expected the unit ([^,]+), found", said)
    return unit[1] if unit and unit[1] != "none" else ""


def _default(base: dict[str, Any], table_name: str, name: str) -> str | None:
    """What holds without the key; None where the reader misses it."""
    import weft

    if "missing" in (said := _probe(base, table_name, name, None)) or said.startswith("expected"):
        return None
    without = copy.deepcopy(base)
    _target(without, table_name).pop(name, None)
    value = weft.Machine.parse(dumped(without), "probe.toml").to_json()
    shown: Any = value if isinstance(value, dict) else json.loads(value)
    inner = shown.get(table_name, {}) if table_name else {}
    figure = (inner[-1] if isinstance(inner, list) else inner).get(name)
    return "none" if figure is None else _value(figure["value"])


def _example(table_name: str, name: str) -> tuple[str, str] | None:
    for machine, described in catalogue().items():
        tables = described.get(table_name, {}) if table_name else described
        for one in tables if isinstance(tables, list) else [tables]:
            if name in one and not _is_table(one[name] if not table_name else None):
                value = one[name]
                bare = value["value"] if isinstance(value, dict) and "unit" not in value else value
                line = f"{name} = {_value(bare)}"
                return line if len(line) <= _WIDTH else f'{line[:_WIDTH]}…"', machine
    return None


@functools.cache
def fields(struct: str) -> dict[str, str]:
    """What the doc comments of a Rust type say of its fields."""
    body = _body(struct)
    found = re.findall(r"((?:^ *///[^\n]*\n)+) *(?:pub )?(\w+): ", body, re.MULTILINE)
    return {name: sentence(comment) for comment, name in found}


@functools.cache
def about(struct: str) -> str:
    """What the doc comment of a Rust type says, without its examples."""
    comment = re.search(rf"((?:^ *///[^\n]*\n)+)(?: *#\[[^\n]*\n)*(?: *pub (?:struct|enum) {struct}\b| *{struct} = )",
                        _sources(), re.MULTILINE)  # fmt: skip
    return sentence(comment[1]) if comment else ""


def _body(struct: str) -> str:
    match = re.search(rf"(?:pub (?:struct|enum) {struct}|^ *{struct} = \"\w+\") \{{\n(.*?)^\}}", _sources(),
                      re.MULTILINE | re.DOTALL)  # fmt: skip
    return match[1] if match else ""


@functools.cache
def _sources() -> str:
    tables = ("description.rs", "data_parallel.rs", "routers.rs", "processors.rs")
    names = (*tables, "topology/mod.rs", "topology/embedding.rs")
    return "\n".join((SOURCES / name).read_text() for name in names)


def sentence(comment: str) -> str:
    """A doc comment as Markdown: without slashes, links and what follows its first heading."""
    text = "\n".join(re.sub(r"^ */// ?", "", line) for line in comment.strip("\n").splitlines())
    text = re.split(r"\n# ", text)[0]
    text = text.replace("`None`", "none")
    text = re.sub(r"\[`([\w:]+)`\](?:\([^)]*\))?", lambda link: f"`{link[1].rpartition('::')[2]}`", text)
    return text.strip()


def complete(table_name: str) -> dict[str, Any]:
    """A machine of the catalogue that has a table, else any with the table added by whoever probes it."""
    for machine in catalogue().values():
        if table_name in machine:
            return machine
    return catalogue()["ipsc860"]


def topologies() -> dict[str, list[str]]:
    """The kinds of topology, and the keys that each takes besides those of all."""
    base = complete("")
    words = re.findall(r'"([\w-]+)"', _probe(base, "topology", "kind", _Date()))
    common = {"kind", "embedding"}
    kinds = {}
    for kind in words:
        named = {**base, "topology": {"kind": kind, "source": "probe"}}
        kinds[kind] = [key for key in key_names(named, "topology") if key not in common]
    return kinds


INTRODUCTION = """# Machine files

A machine file describes a parallel machine in one TOML file: how its nodes are connected, what messages cost, what a
node can do, and where every figure comes from. Every command takes the path of such a file wherever it takes a name
from the catalogue, such as `ipsc860`. [How to write one](../how-to/machine-file.md) goes through a small example; this
page lists every key.

The keys, types, units, defaults and limits below come from the code that reads your file, the meanings from the types
that it fills, and the examples from machines in the catalogue.

**Figures and sources.** Times are in seconds, lengths in bytes. A figure can be written as a bare number, which has the
`source` of its table, or with a source of its own:

```toml
hop_time = 11e-6
hop_time = { value = 11e-6, source = "Dunigan 1991, section 4.1" }
```

A unit may be written beside the value (`unit = "s"`), but only the one listed here is accepted. A figure without either
source is refused too. `weft machines show FILE` reads a file and shows its contents; it reports all faults at once,
with their lines.
"""


def page() -> str:
    """The page."""
    parts = [INTRODUCTION, _root_section(), _topology_section()]
    return "\n".join([*parts, *(_section(name) for name in tables() if name != "topology")])


def _rows(found: list[Key]) -> str:
    heads = ["key", "value", "unit", "default", "meaning", "example"]
    rows = []
    for key in found:
        default = "required" if key.default is None else key.default if key.default == "none" else code(key.default)
        example = f"{code(key.example[0])} ({key.example[1]})" if key.example else ""
        rows.append((code(key.name), key.expected, key.unit, default, key.meaning, example))
    return table(heads, rows)


def _root_section() -> str:
    base = complete("")
    return f"## The machine itself\n\n{_rows(list(keys(base, '')))}"


def _topology_section() -> str:
    kinds = topologies()
    variants = fields_of_variants()
    rows = [(code(kind), ", ".join(map(code, names)), variants.get(kind, "")) for kind, names in kinds.items()]
    found: dict[str, Key] = {}
    whole = {name: value for name, value in complete("").items() if name not in ("files", "host_files")}
    for kind in kinds:
        base = {**whole, "topology": {"kind": kind, **TOPOLOGIES[kind], "source": "probe"}}
        for key in keys(base, "topology"):
            if key.name not in found and not (key.name == "nodes" and kind != "crossbar"):
                example = TOPOLOGIES[kind].get(key.name)
                found[key.name] = key if example is None else replace(key, example=(f"{key.name} = {example}", kind))
    found["embedding"] = replace(found["embedding"], meaning=about("Embedding"))
    own = _rows(list(found.values()))
    kinds_table = table(["kind", "its keys", "what it is"], rows)
    return (
        "## [topology]\n\nHow nodes, switches and links are connected. The kinds, and the keys that each takes:\n\n"
        f"{kinds_table}\nAll keys; `nodes` is allowed for any kind, and must then be the number of nodes:\n\n"
        f"{own}\n`embedding` is {_listed('Embedding')}\n"
    )


def fields_of_variants() -> dict[str, str]:
    """What the doc comments of the kinds of topology say, by the word of a machine file."""
    found = re.findall(r"((?:^    ///[^\n]*\n)+)    (\w+) \{", _body("Topology"), re.MULTILINE)
    return {re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower(): sentence(comment) for comment, name in found}


_ALTERNATIVE = """The costs of messages once more, as estimates of other times: `estimand` says of which (`undisturbed`
or `typical`), and `[[alternative.protocols]]`, `[alternative.self_message]` and `[alternative.host]` have the keys of
the tables without `alternative`. The file's own `estimand` then says of which times its own tables are. `weft study`
writes such a file; `--estimand` and `weft.machine(file, estimand=...)` choose, and without them the file's own tables
hold.
"""


def _section(name: str) -> str:
    base = complete(name)
    repeated = isinstance(base.get(name), list)
    head = f"## [[{name}]]" if repeated else f"## [{name}]"
    words = {
        "switching": f"How a message crosses several links. `technique` is {_listed('Switching')}",
        "operations": "Seconds of one operation of a node's processor. Any of these keys: "
        + ", ".join(map(code, operations())) + ".",
        "facts": "Published facts for human readers, which no model uses: any key, each a number with its unit, as "
        '`clock_rate = { value = 40e6, unit = "Hz" }`.',
    }  # fmt: skip
    if name == "alternative":
        return f"{head}\n\n{_ALTERNATIVE}"
    text = words.get(name) or about(STRUCTS.get(name, ""))
    if name == "protocols":
        text += " Several tables by ascending `up_to`; the last has none and applies to all longer messages."
        text += f"\n\n`completion` is {_listed('Completion')}"
    if name == "connections":
        text += f"\n\n`access` is {_listed('Access')}"
    return f"{head}\n\n{text}\n\n" + ("" if name in ("operations", "facts") else _rows(list(keys(base, name))))


def _listed(enum: str) -> str:
    return "one of\n\n" + "".join(f"- `{word}`: {' '.join(text.split())}\n" for word, text in _words(enum).items())


def _words(enum: str) -> dict[str, str]:
    """The words of a Rust enumeration and what its doc comments say of each."""
    found = re.findall(r"((?:^    ///[^\n]*\n)+)(?:    #\[\w+\]\n)?    (\w+),", _body(enum), re.MULTILINE)
    return {re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower(): sentence(comment) for comment, name in found}


def operations() -> list[str]:
    """The operations that a machine file may price."""
    said = _probe(complete("operations"), "operations", _UNKNOWN, 1.0)
    listed = re.match(r"expected one of the operations ([\w, ]+)", said)
    return listed[1].split("; ")[0].split(", ") if listed else []
