"""Exchanges of partitioned graphs: the compiler's schedules beside the bounds that the verifier certifies.

Every graph of a folder, with its subfolders, is divided by METIS into as many parts as a torus of iWarp cells has, and
the exchange of its rows is compiled and verified. Graphs are METIS's (`.graph`) and Scotch's (`.grf`, `.grf.gz`): for
those that both projects distribute, `apt-get source metis scotch` and give the folder. Seconds are those of the
processor for one compilation, its lower bounds included.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import tempfile
from pathlib import Path
from typing import Any

from benches import building
from benches.benchmark import Benchmark, Need
from benches.recording import Report

# Extents, effort (nominal seconds, of which three or four take one on 64 nodes), most of the bound, most seconds.
SIZES = {64: ("8x8", 30, 1.05, 10.0), 1024: ("32x32", 70, 1.10, 60.0)}
"""What is wanted of each number of parts."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--graphs", type=Path, metavar="FOLDER", required=True, help="where the graphs are")
    parser.add_argument("--parts", type=int, choices=list(SIZES), help="only so many parts")
    parser.add_argument("--weft", help="weft's side, where it is built already: the release example compile")
    parser.add_argument("--only", help="only graphs whose file name has this in it")
    parser.add_argument("--part-of", type=Path, metavar="FILE", help="add to this record")
    parser.add_argument("--least", type=int, default=2000, help="vertices of the smallest graph (default: 2000)")


def metis_form(path: Path) -> str:
    """A graph of Scotch in METIS's form, without its loads.

    Scotch writes a version, the vertices and arcs, a base and three flags (vertices have labels, arcs loads, vertices
    loads), and then for each vertex its own fields, its degree and its neighbours (Scotch 7.0 User's Guide, 5.1).
    """
    content = path.read_bytes()
    numbers = map(int, (gzip.decompress(content) if path.suffix == ".gz" else content).split())
    _, vertices, arcs, base, flags = (next(numbers) for _ in range(5))
    labels, arc_loads, loads = (flags // 100 % 10, flags // 10 % 10, flags % 10)
    lines = [f"{vertices} {arcs // 2}"]
    for _ in range(vertices):
        for _ in range(labels + loads):
            next(numbers)
        neighbours = []
        for _ in range(next(numbers)):
            if arc_loads:
                next(numbers)
            neighbours.append(str(next(numbers) - base + 1))
        lines.append(" ".join(neighbours))
    return "\n".join(lines) + "\n"


def graphs(folder: Path) -> list[Path]:
    """The files of graphs below a folder."""
    endings = (".graph", ".grf", ".grf.gz")
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(endings))


def exchange(path: Path, parts: int, folder: Path) -> Path:
    """The connections of a graph's exchange, as the example reads them."""
    from weft.conset import graphs as reading

    graph = folder / (path.name.split(".")[0] + ".graph")
    graph.write_text(path.read_text() if path.suffix == ".graph" else metis_form(path))
    set_ = reading.read(graph, parts)
    connections = folder / f"{graph.stem}-{parts}.txt"
    connections.write_text("".join("{} {} {}\n".format(*connection) for connection in set_.connections))
    return connections


def compiled(weft: str, connections: Path, extents: str, effort: float) -> tuple[dict[str, Any], float]:
    """What a compilation came to, and seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [weft, str(connections), extents, "12", "1", "weft", str(effort), "0"]
    output = building.run(command, f"compiling {connections.name}")
    outcome: dict[str, Any] = json.loads(output.splitlines()[-1])
    return outcome, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def vertices(path: Path) -> int:
    """The number of vertices that a graph's file states."""
    text = metis_form(path) if path.suffix != ".graph" else path.read_text()
    return int(next(line for line in text.splitlines() if not line.startswith("%")).split()[0])


def is_whole(path: Path) -> bool:
    """Whether a file is a whole graph: Scotch's own tests have some that are not."""
    try:
        vertices(path)
    except (StopIteration, ValueError):
        print(f"left out: {path} is no whole graph")
        return False
    return True


def run(chosen: argparse.Namespace, report: Report) -> None:
    weft = chosen.weft or building.example("weft-conset", "compile")
    if chosen.part_of is not None:
        report.continue_from(chosen.part_of)
        chosen.record = chosen.part_of
    known: set[bytes] = set()
    for path in graphs(chosen.graphs):
        if (chosen.only is not None and chosen.only not in path.name) or not is_whole(path):
            continue
        if vertices(path) < chosen.least:
            continue
        for parts, (extents, effort, most, most_seconds) in SIZES.items():
            if chosen.parts not in (None, parts):
                continue
            with tempfile.TemporaryDirectory() as folder:
                connections = exchange(path, parts, Path(folder))
                if connections.read_bytes() in known:
                    continue
                known.add(connections.read_bytes())
                outcome, seconds = compiled(weft, connections, extents, effort)
            name = f"{path.name.split('.')[0]}, {parts} parts"
            report.figure(f"{name}: time/bound", outcome["clocks"] / outcome["bound_clocks"], "ratio", most, "at most")
            report.figure(f"{name}: seconds", seconds, "s", most_seconds, "at most")
            for key in ("connections", "phases", "bound", "clocks", "bound_clocks"):
                report.figure(f"{name}: {key}", outcome[key], "clocks" if key.endswith("clocks") else "")


BENCHMARK = Benchmark(
    "conset-graphs",
    "exchanges of partitioned graphs: schedules of the communication compiler beside their certified bounds",
    "twenty minutes",
    run,
    options,
    needs=(Need("cargo", "program", required=True), Need("pymetis", "package", required=True)),
)
