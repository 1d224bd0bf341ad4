"""A diagnosis for other tools and for people: rows, JSON, the text format of Prometheus, heat maps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape

import numpy as np
import polars as pl
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from weft import units
from weft.health import node_maps
from weft.health.diagnosis import Diagnosis, summary
from weft.health.pairs import Matrix, over
from weft.health.within import Within

MAX_DRAWN = 512
"""Nodes of a heat map at most: beyond it cells are smaller than a pixel."""

MAX_SHOWN = 64
"""Nodes of a heat map in a terminal."""

_SHADES = " ·░▒▓█"
_SCALE = 2.0
"""The factor that has the darkest shade."""


def rows(diagnosis: Diagnosis) -> pl.DataFrame:
    """One row for each finding and length.

    Columns: `kind` (node, sender, receiver, link, cable, detour, groups, pair, misplaced, lost, all or collective;
    within nodes rank, part, joint, inside, distance, pair, all, and shared, siblings, unbound or otherwise for
    bindings), `name`, `bytes`, `slowdown` (the factor of the time), `low` and `high` (its 95% interval), `confidence`,
    `pairs`.
    """
    entries: list[tuple[object, ...]] = []
    for finding in diagnosis.all_findings():
        of_lengths = zip(diagnosis.times.lengths, finding.effect, finding.error, strict=True)
        for length, effect, error in of_lengths:
            if effect > 0.0:
                slowdown, low, high = (float(np.exp(effect + step * error)) for step in (0.0, -1.96, 1.96))
                entries.append(
                    (finding.suspect.kind, finding.suspect.name, length, slowdown, low, high, finding.confidence,
                     finding.pairs)
                )  # fmt: skip
    empty = (None, None, None, None, None, None)
    entries += [("misplaced", f"nodes {first} and {second}", *empty) for first, second in diagnosis.misplaced]
    entries += [("lost", f"node {name}", *empty) for name, _ in diagnosis.lost]
    shifts = diagnosis.slow_lengths().items()
    entries += [("all", "all pairs", length, factor, None, None, None, None) for length, factor in shifts]
    entries += [
        ("collective", each.name, each.bytes, each.slowdown, each.low, each.high, None, None)
        for each in diagnosis.slow_collectives()
    ]
    if diagnosis.within is not None:
        within = diagnosis.within
        entries += [(each.kind, each.text, *empty) for each in within.wrong]
        shifts = within.slow_lengths(diagnosis.threshold).items()
        entries += [("all", "all pairs within nodes", length, factor, *empty[2:]) for length, factor in shifts]
    return pl.DataFrame(entries, _SCHEMA, orient="row")


_SCHEMA = {
    "kind": pl.String,
    "name": pl.String,
    "bytes": pl.Int64,
    "slowdown": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "confidence": pl.Float64,
    "pairs": pl.Int64,
}


def to_json(diagnosis: Diagnosis, machine: str) -> str:
    """All of it as one JSON object."""
    content = {
        "machine": machine,
        "verdict": diagnosis.verdict.name.lower(),
        "exit_code": int(diagnosis.verdict),
        "nodes": list(diagnosis.times.names),
        "bytes": list(diagnosis.times.lengths),
        "launches": len(diagnosis.times.launches),
        "findings": rows(diagnosis).to_dicts(),
        "groups": diagnosis.residuals.groups.tolist(),
        "node_slowdown": {str(length): factors for length, factors in diagnosis.node_factors().items()},
        "collectives": [asdict(each) for each in diagnosis.collectives],
        "within_nodes": None if diagnosis.within is None else _json_of_ranks(diagnosis.within),
        "summary": summary(diagnosis),
        "notes": diagnosis.notes,
    }
    return json.dumps(content, indent=1)


def _json_of_ranks(within: Within) -> dict[str, object]:
    """Times by class, and bindings that are wrong."""
    wrong = [
        {"kind": each.kind, "node": each.node, "ranks": list(each.ranks), "text": each.text} for each in within.wrong
    ]
    return {"classes": [asdict(each) for each in within.classes], "wrong_bindings": wrong}


def to_prometheus(diagnosis: Diagnosis, machine: str) -> str:
    """The text format of Prometheus (version 0.0.4), as its node exporter reads it from a file.

    Examples
    --------
    >>> import weft
    >>> from weft.health import diagnose, pair_times
    >>> times = pair_times(weft.simulate("ipsc860", "pairs", ranks=4, bytes=8))
    >>> print(to_prometheus(diagnose(times), "ipsc860").splitlines()[2])
    weft_health_status{machine="ipsc860"} 0
    """
    lines = [
        "# HELP weft_health_status 0 healthy, 3 slow, 4 broken",
        "# TYPE weft_health_status gauge",
        f"weft_health_status{_labels(machine=machine)} {int(diagnosis.verdict)}",
        "# HELP weft_health_finding_slowdown_ratio time over expected time of what is slow",
        "# TYPE weft_health_finding_slowdown_ratio gauge",
    ]
    for row in rows(diagnosis).iter_rows(named=True):
        if row["slowdown"] is not None:
            labels = _labels(machine=machine, kind=row["kind"], name=row["name"], bytes=str(row["bytes"]))
            lines.append(f"weft_health_finding_slowdown_ratio{labels} {row['slowdown']:.6g}")
    lines += [
        "# HELP weft_health_node_slowdown_ratio median time over expected time of the pairs of a node",
        "# TYPE weft_health_node_slowdown_ratio gauge",
    ]
    for length, factors in diagnosis.node_factors().items():
        for name, factor in zip(diagnosis.times.names, factors, strict=True):
            labels = _labels(machine=machine, node=name, bytes=str(length))
            lines.append(f"weft_health_node_slowdown_ratio{labels} {factor:.6g}")
    if diagnosis.within is not None:
        lines += _prometheus_of_ranks(diagnosis.within, machine)
    return "\n".join(lines) + "\n"


def _prometheus_of_ranks(within: Within, machine: str) -> list[str]:
    lines = [
        "# HELP weft_health_wrong_bindings ranks or nodes whose binding to processors is wrong",
        "# TYPE weft_health_wrong_bindings gauge",
        f"weft_health_wrong_bindings{_labels(machine=machine)} {len(within.wrong)}",
        "# HELP weft_health_within_node_seconds median time of a message between ranks of one node",
        "# TYPE weft_health_within_node_seconds gauge",
    ]
    for each in within.classes:
        labels = _labels(machine=machine, distance=each.name, bytes=str(each.bytes))
        lines.append(f"weft_health_within_node_seconds{labels} {each.seconds:.6g}")
    return lines


def _labels(**labels: str) -> str:
    quoted = (value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for value in labels.values())
    return "{" + ",".join(f'{name}="{value}"' for name, value in zip(labels, quoted, strict=True)) + "}"


def order(diagnosis: Diagnosis) -> list[int]:
    """Nodes so that those near to each other stand side by side: the leaves of a clustering of the distances.

    By group first, then by short messages (average linkage; optimal order of leaves, Bar-Joseph and others 2001).
    """
    logs = over(np.nanmedian, diagnosis.times.logs[:, 0], 0)
    distances = (logs + logs.T) / 2.0
    known = distances[~np.eye(len(distances), dtype=bool)]
    if len(distances) < 3 or not np.isfinite(known).all():
        return list(range(len(distances)))
    lengths = distances - known.min()
    np.fill_diagonal(lengths, 0.0)
    condensed = squareform(lengths, checks=False)
    tree = hierarchy.linkage(condensed, "average", optimal_ordering=len(distances) <= MAX_SHOWN)
    return [int(leaf) for leaf in hierarchy.leaves_list(tree)]


def heat_map(diagnosis: Diagnosis, columns: int | None = None) -> str:
    """The slowdown of every pair by shades of text; nothing where there are too many nodes for a terminal's columns."""
    if diagnosis.times.nodes > MAX_SHOWN:
        return ""
    at = order(diagnosis)
    width = max(len(diagnosis.times.names[node]) for node in at)
    # A cell of two characters is nearly square.
    repeated = 2 if columns is None else min(2, (columns - width - 1) // len(at))
    if repeated < 1:
        return ""
    values = np.exp(diagnosis.residuals.values[-1])[at][:, at]
    length = units.length(diagnosis.times.lengths[-1])
    lines = [f"rows send, columns receive, {length}; dark is slow: █ takes {_SCALE:g} times as long or longer"]
    for row, node in enumerate(at):
        cells = "".join(_shade(value) * repeated for value in values[row])
        lines.append(f"{diagnosis.times.names[node]:>{width}} {cells}")
    return "\n".join(lines)


def heat_maps_of_ranks(diagnosis: Diagnosis) -> str:
    """The same of the ranks within nodes, with how far apart they are; nothing where nobody knows."""
    return "" if diagnosis.within is None else node_maps.text_maps(diagnosis.within, _shade)


def _shade(factor: float) -> str:
    if not np.isfinite(factor):
        return " "
    share = np.clip(np.log(max(factor, 1.0)) / np.log(_SCALE), 0.0, 1.0)
    return _SHADES[round(float(share) * (len(_SHADES) - 1))]


def to_html(diagnosis: Diagnosis, machine: str) -> str:
    """A page with the summary and a heat map for each length, which needs nothing else and runs nothing."""
    lines = "".join(f"<li>{escape(line)}</li>" for line in summary(diagnosis)[1:] + diagnosis.notes)
    head = escape(summary(diagnosis)[0])
    at = order(diagnosis)[:MAX_DRAWN]
    maps = []
    for index, length in enumerate(diagnosis.times.lengths):
        factors = np.exp(diagnosis.residuals.values[index])[at][:, at]
        title = escape(f"Time over expected time, messages of {units.length(length)}")
        maps.append(f"<h2>{title}</h2>{_svg(factors, [diagnosis.times.names[node] for node in at])}")
    if diagnosis.within is not None:
        maps.append(node_maps.html_maps(diagnosis.within, _color))
    return _PAGE.format(title=escape(f"Health of {machine}"), head=head, lines=lines, maps="".join(maps))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}
svg{{width:100%;height:auto;background:#eee}}text{{font-size:.7px}}</style></head>
<body><h1>{title}</h1><p><strong>{head}</strong></p><ul>{lines}</ul>{maps}
<p>Rows send, columns receive; nodes stand in the order of their distances. White is as expected, dark red takes twice
as long or longer, blue is quicker. A cell under the pointer says which pair it is.</p></body></html>
"""


def _svg(factors: Matrix, names: Sequence[str]) -> str:
    """A square for each pair; its title names it."""
    count = len(names)
    cells = [
        f'<rect x="{column}" y="{row}" width="1" height="1" fill="{_color(factors[row, column])}"><title>'
        f"{escape(names[row])} to {escape(names[column])}: {factors[row, column]:.2f}</title></rect>"
        for row in range(count)
        for column in range(count)
        if np.isfinite(factors[row, column])
    ]
    label = f"Slowdown of {count} by {count} pairs of nodes"
    return f'<svg viewBox="0 0 {count} {count}" role="img" aria-label="{label}">{"".join(cells)}</svg>'


def _color(factor: float) -> str:
    share = float(np.clip(np.log(factor) / np.log(_SCALE), -1.0, 1.0))
    fade = round(255 * (1.0 - abs(share)))
    return f"#ff{fade:02x}{fade:02x}" if share >= 0 else f"#{fade:02x}{fade:02x}ff"
