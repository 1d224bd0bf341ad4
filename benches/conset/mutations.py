"""Changed schedules: does the verifier refuse every one that is wrong?

A change alters a number, or removes, repeats, swaps or moves an entry of the JSON of a schedule, anywhere but in the
description of the machine or graph; the digest is repaired. Kinds are schedules in phases with limits of channels of
nodes, of links and of ports, schedules of orbits, and collectives as trees, merged trees and exchanges.

Who judges shares nothing with the verifier. A schedule in phases is checked by rules written again here, with its
connection set; a lower bound must not exceed what the unchanged schedule takes. A collective is executed with numbers
by threads, and its rates are counted from its trees. What is accepted and wrong is a hole, and fails the campaign.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benches.benchmark import Benchmark, positive
from benches.conset import networks, oracles, topologies
from benches.recording import Report

KEPT = ("digest", "machine", "pattern", "compiler", "resources", "fabric", "kind", "name", "form")
"""What a change leaves alone: names, and what the schedule is for."""

NEAR = 1e-6
"""Figures that differ by less than this part are the same."""

Judge = Callable[[dict[str, Any]], str | None]
"""Says what is wrong with a schedule."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--changes", type=positive, default=100, help="of each schedule (default: 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="only kinds whose name has this in it")


Slot = tuple[Any, Any]
"""A container and the key of something in it."""


def slots(content: Any) -> Iterator[tuple[str, Slot]]:
    """Everything that may be changed, with the key that names it in the form of the file."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in pairs:
        if key in KEPT:
            continue
        yield str(key) if isinstance(key, str) else "entry", (content, key)
        for name, slot in slots(value):
            yield (str(key) if name == "entry" and isinstance(key, str) else name), slot


def changed_number(value: float, others: list[float], draw: random.Random) -> float:
    """Another number: near it, or one that stands elsewhere under the same key."""
    if isinstance(value, bool):
        return not value
    near = [value + 1, value - 1, value * 2] if isinstance(value, int) else [value * 1.001, value * 0.999, value * 2.0]
    choices: list[float] = [*near, 0, *(draw.choice(others) for _ in range(3))]
    return draw.choice(choices)


def change(content: dict[str, Any], draw: random.Random) -> None:
    """One change, at a place that is drawn by its kind first: most numbers are of routes."""
    by_name: dict[str, list[Slot]] = defaultdict(list)
    for name, slot in slots(content):
        by_name[name].append(slot)
    slots_of_kind = by_name[draw.choice(sorted(by_name))]
    container, key = draw.choice(slots_of_kind)
    value = container[key]
    if isinstance(value, int | float):
        others = [of[at] for of, at in slots_of_kind if isinstance(of[at], int | float)]
        container[key] = changed_number(value, others, draw)
    elif isinstance(value, str):
        container[key] = draw.choice(sorted({of[at] for of, at in slots_of_kind if isinstance(of[at], str)} | {"copy"}))
    elif isinstance(container, list) and draw.random() < 0.7:
        other, position = draw.choice([slot for slot in slots_of_kind if isinstance(slot[0], list)])
        match draw.randrange(4):
            case 0:
                del container[key]
            case 1:
                other.insert(position, copy.deepcopy(value))
            case 2:
                container[key], other[position] = other[position], container[key]
            case _:
                other.append(container.pop(key))
    elif isinstance(value, list) and value:
        match draw.randrange(3):
            case 0:
                value.pop()
            case 1:
                value.reverse()
            case _:
                value.append(copy.deepcopy(value[0]))
    elif value is None:
        container[key] = 1


def neighbours(machine: Any) -> tuple[dict[tuple[int, int], int], int]:
    """How many links lead from each vertex to each other, and the number of nodes."""
    from weft import _core

    network = _core.Fabric.of_machine(machine)
    compiled = _core.compile_collective(network, "broadcast", 4, 4, 0, "auto", None, 0.0)[0]
    links: dict[tuple[int, int], int] = defaultdict(int)
    for link in json.loads(compiled.to_json())["fabric"]["links"]:
        links[link["from"], link["to"]] += 1
    return dict(links), network.ranks


def transfers(phase: dict[str, Any], extents: list[int]) -> Iterator[dict[str, Any]]:
    """Every transfer of a phase, those of orbits made from their steps."""
    yield from phase["connections"]
    for orbit in phase.get("orbits", []):
        for source, connection in zip(orbit["sources"], orbit["connections"], strict=True):
            route = [source]
            for step in orbit["steps"]:
                at = list(_coordinates(route[-1], extents))
                at[abs(step) - 1] = (at[abs(step) - 1] + (1 if step > 0 else -1)) % extents[abs(step) - 1]
                route.append(_node(at, extents))
            common = {key: orbit[key] for key in ("words", "start", "duration")}
            yield {"connection": connection, "source": source, "destination": route[-1], "route": route, **common}


def _coordinates(node: int, extents: list[int]) -> tuple[int, ...]:
    return next(itertools.islice(itertools.product(*map(range, extents)), node, None))


def _node(coordinates: list[int], extents: list[int]) -> int:
    number = 0
    for coordinate, extent in zip(coordinates, extents, strict=True):
        number = number * extent + coordinate
    return number


def differs(stated: float, computed: float) -> bool:
    """Whether two figures are not the same."""
    return not abs(stated - computed) <= NEAR * max(abs(stated), abs(computed))


def judge_of_phases(machine: Any, connections: Any, original: dict[str, Any]) -> Judge:
    """The rules of schedules in phases."""
    links, nodes = neighbours(machine)
    wanted = connections.connections
    resources = original["resources"]
    extents = resources["topology"].get("extents", [])
    most = {"s": original["predicted_seconds"], "phases": len(original["phases"])}

    def judge(content: dict[str, Any]) -> str | None:
        words: dict[int, int] = defaultdict(int)
        total = resources["leaving_seconds"]
        for phase in content["phases"]:
            seen = list(transfers(phase, extents))
            wrong = _phase(phase, seen, links, nodes, resources)
            if wrong is not None:
                return wrong
            for transfer in seen:
                index = transfer["connection"]
                if not 0 <= index < len(wanted) or wanted[index][:2] != (transfer["source"], transfer["destination"]):
                    return f"connection {index} is another"
                words[index] += transfer["words"]
            total += phase["predicted_seconds"]
        if any(words[index] != connection[2] for index, connection in enumerate(wanted)):
            return "words are missing or too many"
        if differs(content["predicted_seconds"], total) or content["connections"] != len(wanted):
            return "its figures are not those of its phases"
        for bound in content["lower_bounds"]:
            if bound["value"] > most[bound["unit"]] * (1 + NEAR):
                return f"the bound {bound['name']} is above what there is"
        return None

    return judge


def _phase(
    phase: dict[str, Any],
    seen: list[dict[str, Any]],
    links: dict[tuple[int, int], int],
    nodes: int,
    resources: dict[str, Any],
) -> str | None:
    used: dict[Any, int] = defaultdict(int)
    rates: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    end = 0.0
    if len({transfer["connection"] for transfer in seen}) != len(seen):
        return "a connection is in a phase twice"
    for transfer in seen:
        route, hops = transfer["route"], list(itertools.pairwise(transfer["route"]))
        if any(hop not in links for hop in hops) or len(set(route)) != len(route) or len(route) < 2:
            return "a route is none"
        if (route[0], route[-1]) != (transfer["source"], transfer["destination"]):
            return "a route has other ends"
        if any(vertex < nodes for vertex in route[1:-1]) and resources["topology"]["kind"] in ("crossbar", "fat-tree"):
            return "a route passes through a node"
        for vertex in route:
            used["node", vertex] += vertex < nodes
        used["out", route[0]] += 1
        used["in", route[-1]] += 1
        for hop in hops:
            used["link", hop] += 1
        parts = transfer.get("pieces") or [transfer]
        if sum(part["words"] for part in parts) != transfer["words"] or transfer["words"] < 1:
            return "pieces have other words"
        for part in parts:
            if part["duration"] < 0 or part["start"] < 0:
                return "a time below 0"
            rate = part["words"] / part["duration"] if part["duration"] else float("inf")
            into = "in" if resources["access"] == "separate" else "out"
            asked = {("out", route[0]): resources["access_seconds"]}
            asked[into, route[-1]] = asked.get((into, route[-1]), 0.0) + resources["access_seconds"]
            asked.update({("link", hop): resources["link_seconds"] / links[hop] for hop in hops})
            for server, seconds in asked.items():
                share = rate * seconds
                rates[server] += [(part["start"], share), (part["start"] + part["duration"], -share)]
            end = max(end, part["start"] + part["duration"] + len(hops) * resources["hop_seconds"])
    for (kind, what), count in used.items():
        limit = {"node": resources["node_channels"], "link": resources["link_channels"]}.get(kind, resources["ports"])
        if limit is not None and count > limit * (links[what] if kind == "link" else 1):
            return f"{kind} {what} holds {count}"
    for server, changes in rates.items():
        share = 0.0
        # What ends at a time makes way for what starts there.
        for _, change_ in sorted(changes):
            share += change_
            if share > 1 + 1e-4 and not _ends_there(changes):
                return f"{server} is asked for more than it can do"
    loads = [-(-count // links[hop]) for (kind, hop), count in used.items() if kind == "link"]
    if phase["largest_link_load"] != max(loads, default=0):
        return "the largest link load is another"
    seconds = resources["synchronisation_seconds"] + resources["phase_seconds"] + end
    return "the time of a phase is another" if differs(phase["predicted_seconds"], seconds) else None


def _ends_there(changes: list[tuple[float, float]]) -> bool:
    """Whether rounding alone makes parts overlap that follow each other."""
    times = sorted(changes)
    share, since = 0.0, 0.0
    for (time, change_), (following, _) in itertools.pairwise(times):
        share += change_
        if share > 1 + 1e-4 and following - time > NEAR * max(following, time):
            since += following - time
    return since == 0.0


def judge_of_collective(original: dict[str, Any]) -> Judge:
    """Whether it gives what the collective should, by numbers, and its figures are those of its trees."""
    from weft import _core

    def optimum(stage: dict[str, Any]) -> float:
        if original["collective"] == "all-to-all":
            fabric, blocks = original["fabric"], oracles.blocks(original)
            return float(original["bytes"]) / topologies.least_seconds_of_blocks(fabric, blocks)
        if stage["operation"] == "reduce-broadcast":
            return float(original["bytes"]) / topologies.optimum_allreduce(original["fabric"])
        return topologies.optimum(original["fabric"], stage["operation"] == "reduce")

    best = [optimum(stage) for stage in original["stages"]]

    def judge(content: dict[str, Any]) -> str | None:
        try:
            _core.CollectiveSchedule.parse(json.dumps(content), "changed.json").run_threads()
        except (_core.RunError, _core.UsageError) as error:
            return f"executed: {error}"
        for stage, rate in zip(content["stages"], best, strict=True):
            if differs(stage["rate"], topologies.reached(stage, content["fabric"])):
                return "the rate is another"
            if stage["operation"] == "reduce-broadcast":
                if stage["bound"]["seconds"] > rate * (1 + NEAR):
                    return "the bound is above what can be reached"
            elif stage["bound"]["rate"] < rate * (1 - NEAR):
                return "the bound is below what can be reached"
        exchange = content.get("exchange")
        if exchange is not None and exchange["bound"]["seconds"] > exchange["seconds"] * (1 + NEAR):
            return "the bound is above what there is"
        return None

    return judge


def orbits_of(content: dict[str, Any]) -> dict[str, Any]:
    """The same schedule with its transfers as orbits, each of one transfer or of more."""
    extents = content["resources"]["topology"]["extents"]
    for phase in content["phases"]:
        groups: dict[tuple[Any, ...], dict[str, Any]] = {}
        for transfer in phase["connections"]:
            steps = []
            for a, b in itertools.pairwise(transfer["route"]):
                ends = zip(_coordinates(a, extents), _coordinates(b, extents), extents, strict=True)
                moves = [(axis, (y - x) % extent) for axis, (x, y, extent) in enumerate(ends) if x != y]
                [(axis, move)] = moves
                steps.append(axis + 1 if move == 1 else -(axis + 1))
            common = {key: transfer[key] for key in ("words", "start", "duration")}
            group = groups.setdefault(
                (*steps, *common.values()), {"steps": steps, **common, "sources": [], "connections": []}
            )
            group["sources"].append(transfer["source"])
            group["connections"].append(transfer["connection"])
        phase["connections"], phase["orbits"] = [], list(groups.values())
    return content


def small(name: str, old: str, new: str, folder: Path) -> Any:
    """A machine of the catalogue with another topology."""
    import weft

    text = (Path(__file__).parents[2] / "crates" / "machine" / "machines" / f"{name}.toml").read_text()
    path = folder / f"{name}.toml"
    path.write_text(text.replace(old, new))
    return weft.machine(path)


def kinds() -> Iterator[tuple[str, dict[str, Any], Any, Judge]]:
    """Each kind of schedule: its name, its content, its connection set if it has one, and who judges."""
    import weft
    from weft import _core

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        iwarp = small("iwarp64", "extents = [8, 8]", "extents = [4, 4]", folder)
        palomar = small("palomar", "nodes = 128", "nodes = 8", folder)
        torus = small("tpu-v4", "extents = [16, 16, 16]", "extents = [3, 5]", folder)
        rails = small(
            "rail-h100", "children = [32, 8]\nparents = [1, 32]", "children = [4, 3]\nparents = [1, 2]", folder
        )
    phased = (
        ("phases, channels of nodes", iwarp, "all-to-all", 8),
        ("phases, split words", iwarp, "random:5", 37),
        ("phases, ports", palomar, "all-to-all", 4),
        ("phases, channels of links", rails, "all-to-all", 4),
        ("orbits", torus, "all-to-all", 3),
    )
    for title, machine, pattern, words in phased:
        connections = weft.conset.pattern(pattern, machine, words=words)
        schedule = weft.conset.compile(connections, machine, effort=0.1, messages=False)
        content = json.loads(schedule.to_json())
        if title == "orbits":
            content = orbits_of(content)
        yield title, content, connections, judge_of_phases(machine, connections, content)
    graphs = (networks.rails(2, 4), networks.random_graph(3, vertices=9), networks.torus((3, 4)))
    for graph, collective in itertools.product(graphs, _core.collectives()):
        network = _core.Fabric.parse(json.dumps(graph), graph["name"])
        for method in ("throughput", "latency"):
            try:
                chosen = _core.compile_collective(network, collective, 4 * 211, 4, 0, method)[0]
            except _core.UsageError:
                # Merged messages around a ring would wait for each other.
                continue
            content = json.loads(chosen.to_json())
            title = "exchange" if content.get("exchange") else chosen.form
            yield f"{title}, {collective} on {graph['name']}", content, None, judge_of_collective(content)


def verdict(content: dict[str, Any], connections: Any) -> str | None:
    """What the verifier says of a changed schedule, whose digest is repaired; None where it accepts it."""
    from weft import _core

    text = json.dumps(content)
    try:
        if connections is None:
            _core.CollectiveSchedule.parse(text, "changed.json").verify()
        else:
            _core.Schedule.parse(text, "changed.json").beside_messages(1.0).verify(connections)
    except _core.UsageError as error:
        return str(error)
    return None


def campaign(title: str, content: dict[str, Any], connections: Any, judge: Judge, count: int, seed: int) -> list[str]:
    """What became of each change: refused, accepted and right, or a hole."""
    draw = random.Random(f"{seed} {title}")
    wrong = judge(content) or verdict(content, connections)
    if wrong is not None:
        raise ValueError(f"{title}: the schedule itself is refused: {wrong}")
    outcomes = []
    for _ in range(count):
        changed = content
        while changed == content:
            changed = copy.deepcopy(content)
            change(changed, draw)
        if verdict(changed, connections) is not None:
            outcomes.append("refused")
        else:
            hole = judge(changed)
            outcomes.append("right" if hole is None else f"hole: {hole}")
    return outcomes


def run(chosen: argparse.Namespace, report: Report) -> None:
    totals: dict[str, int] = defaultdict(int)
    for title, content, connections, judge in kinds():
        if chosen.only is not None and chosen.only not in title:
            continue
        outcomes = campaign(title, content, connections, judge, chosen.changes, chosen.seed)
        holes = [outcome for outcome in outcomes if outcome.startswith("hole")]
        report.figure(f"{title}: refused", outcomes.count("refused"), "changes")
        report.figure(f"{title}: accepted and right", outcomes.count("right"), "changes")
        report.figure(f"{title}: accepted and wrong", len(holes), "changes", 0, "at most")
        if holes:
            report.notes[title] = "; ".join(sorted(set(holes))[:5])
        for outcome in ("refused", "right"):
            totals[outcome] += outcomes.count(outcome)
        totals["wrong"] += len(holes)
    report.figure("all kinds: changes", sum(totals.values()), "changes")
    report.figure("all kinds: accepted and wrong", totals["wrong"], "changes", 0, "at most")


BENCHMARK = Benchmark(
    "mutations",
    "changed schedules of every kind, beside judges that share nothing with the verifier",
    "five minutes",
    run,
    options,
)
