"""What shall be run: a benchmark with its parameters, as people say it and as the Rust core reads it."""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weft import _core, inputs
from weft._core import UsageError
from weft.launch import data_parallel, ranges
from weft.parameters import Benchmark, Takes, common, is_said, table, taking

BLAS = "n1000_blas"
"""Rows of `linpack` that the BLAS of numpy gives begin so; the rest names the library."""

NODE = "node"
"""The group of the benchmarks of one node."""


@functools.cache
def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark of messages by name, in the order of lists."""
    return {entry["name"]: _benchmark(entry) for entry in json.loads(_core.benchmarks())}


def _benchmark(entry: Mapping[str, Any]) -> Benchmark:
    own = [Takes.read(row) for row in entry["takes"]]
    named = ("name", "summary", "group", "default_ranks", "min_ranks", "host", "example")
    return Benchmark(
        **{name: entry[name] for name in named},
        aliases=tuple(entry["aliases"]),
        nearest_of=tuple(entry["nearest_of"]),
        takes={takes.name: takes for takes in own} | taking(*common()),
    )


@functools.cache
def node_benchmarks() -> dict[str, Benchmark]:
    """Every benchmark of the node suite by name, in the order of lists."""
    return {entry["name"]: _node_benchmark(entry) for entry in json.loads(_core.node_benchmarks())}


def _node_benchmark(entry: Mapping[str, Any]) -> Benchmark:
    own = [Takes.read(row) for row in entry["takes"]]
    return Benchmark(
        name=entry["name"],
        summary=entry["summary"],
        group=NODE,
        takes={takes.name: takes for takes in own} | taking("ranks", "variant", "seconds_per_point"),
        aliases=tuple(entry["aliases"]),
        example=f"weft measure {entry['name']} -o here.csv",
        variants=tuple(entry["variants"]),
        alone=True,
    )


def every() -> dict[str, Benchmark]:
    """All benchmarks by name: those of one node, those of messages, then those of data-parallel machines."""
    return node_benchmarks() | benchmarks() | data_parallel.BENCHMARKS


def normal(name: str) -> str:
    """A name as aliases are written: `osu_latency` and `OSU latency` are `osu-latency`."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def find(name: str, known: Mapping[str, Benchmark] | None = None) -> Benchmark:
    """The benchmark of this name, or of this alias.

    Raises
    ------
    UsageError
        If there is none, with the nearest name.
    """
    known = every() if known is None else known
    if name in known:
        return known[name]
    for benchmark in known.values():
        if normal(name) in benchmark.aliases:
            return benchmark
    for benchmark in known.values():
        if normal(name) in benchmark.nearest_of:
            raise UsageError(f"weft has no {name}; nearest to it is {benchmark.name}: {benchmark.summary}")
    raise UsageError(unknown("benchmark", name, known, "weft measure --help"))


def unknown(kind: str, name: str, known: Iterable[str], listing: str) -> str:
    """What to say when there is no such name."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    suggestion = f"did you mean '{nearest[0]}'?" if nearest else f"`{listing}` lists them"
    return f"there is no {kind} '{name}'; {suggestion}"


@dataclass(frozen=True)
class Request:
    """One benchmark with its parameters on a number of ranks: what one launch is asked.

    Attributes
    ----------
    benchmark, ranks
        Its name, and how many ranks take part.
    parameters
        What is asked for, by the names of parameters; what is not in it is left to the Rust core's defaults.
    seed
        Of the order of points and of random lengths.
    passes
        How often a launch goes through the points, each time for a share of `seconds_per_point`: the protocol's own.
    """

    benchmark: str
    ranks: int = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 1
    passes: int = 1

    @property
    def node(self) -> bool:
        """Whether one process measures it and sends no messages: the node suite, and primitives of pvars."""
        known = every().get(self.benchmark)
        return known is not None and known.alone

    def several(self, name: str) -> tuple[Any, ...]:
        """The values of a parameter that may have several; none where it is not asked for."""
        return tuple(self.parameters.get(name) or ())

    def with_parameters(self, **parameters: Any) -> Request:
        """The same with other values of some parameters."""
        return replace(self, parameters={**self.parameters, **parameters})

    def to_json(self) -> str:
        """As `_core` reads it. Raises UsageError where it cannot have the seed."""
        inputs.unsigned(self.seed, "seed")
        parameters = {name: value for name, value in self.parameters.items() if is_said(value)}
        if not self.node:
            return json.dumps({"benchmark": self.benchmark, "ranks": self.ranks, "seed": self.seed, **parameters})
        if "variant" in parameters:
            parameters["variant"] = [variant for variant in parameters["variant"] if not variant.startswith(BLAS)]
        return json.dumps({"seed": self.seed, **parameters})

    @property
    def points(self) -> int:
        """About how many rows a launch returns."""
        known = every().get(self.benchmark)
        if self.node:
            variants = self.several("variant") or (known.variants if known else ())
            sizes = max(len(self.several("extent")), len(self.several("bytes")), 1)
            return sizes * max(1, len(self.several("vp_ratio"))) * max(1, len(variants))
        loads = max(len(self.several(name)) for name in ("neighbours", "background_bytes", "extent", "shape"))
        loads = loads or (known.points if known else 1)
        return max(1, len(self.several("bytes"))) * max(1, len(self.several("hops"))) * loads

    def only(self, lengths: Iterable[int]) -> Request:
        """The same for some of its lengths."""
        return self.with_parameters(bytes=tuple(lengths))

    def wants(self, variant: str | None) -> bool:
        """Whether a row of the node suite is asked for."""
        return not self.several("variant") or variant in self.several("variant")


def parsed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as requests have them, of what a person or a program says; what is not said is not in it.

    Raises
    ------
    UsageError
        For a name that is no parameter, and for values that a parameter does not have.
    """
    rows = table()
    for name in parameters:
        if name not in rows:
            raise UsageError(unknown("parameter", name, rows, "weft measure BENCHMARK --help"))
    return {name: ranges.values(rows[name], value) for name, value in parameters.items() if is_said(value)}


def requests(
    names: Sequence[str], parameters: Mapping[str, Any], known: Mapping[str, Benchmark] | None = None
) -> list[Request]:
    """The requests for some benchmarks, each on every number of ranks.

    Every parameter goes to the benchmarks that take it. Lengths that a benchmark cannot use because it combines whole
    elements are rounded up to the next that it can.

    Parameters
    ----------
    names
        Names or aliases.
    parameters
        Parameters as :func:`parsed` gives them.
    known
        The benchmarks there are.

    Raises
    ------
    UsageError
        For unknown names, no names, or a parameter that no benchmark of the request takes.
    """
    known = every() if known is None else known
    chosen = list({benchmark.name: benchmark for benchmark in (find(name, known) for name in names)}.values())
    if not chosen:
        raise UsageError("which benchmark? Name one or more; `weft measure --help` lists them")
    check_taken(chosen, parameters, known)
    alone = len(chosen) == 1
    return [
        _request(benchmark, ranks, parameters, alone)
        for benchmark in chosen
        for ranks in ((1,) if benchmark.alone else parameters.get("ranks") or (benchmark.default_ranks,))
    ]


def check_taken(chosen: Sequence[Benchmark], parameters: Mapping[str, Any], known: Mapping[str, Benchmark]) -> None:
    """Refuse what no benchmark of the request takes, and say which take it.

    Raises
    ------
    UsageError
        For such a parameter, or a row that no benchmark has.
    """
    for name in parameters:
        if not any(name in benchmark.takes for benchmark in chosen):
            raise UsageError(_not_taken(chosen, name, known))
    if all(benchmark.alone for benchmark in chosen) and parameters.get("ranks", (1,)) != (1,):
        raise UsageError(f"{_names(chosen)} runs on one rank: it is of one node and sends no messages")
    _check_variants(chosen, parameters.get("variant", ()))


def _not_taken(chosen: Sequence[Benchmark], name: str, known: Mapping[str, Benchmark]) -> str:
    takers = [benchmark for benchmark in known.values() if name in benchmark.takes]
    names = _names(chosen)
    if name == "bytes" and all(benchmark.alone for benchmark in chosen):
        return f"{names} sends no messages, so it takes no bytes"
    if name == "bytes" and not any("extent" in benchmark.takes or "shape" in benchmark.takes for benchmark in chosen):
        return f"{names} sends no data, so it takes no bytes"
    if len(takers) > 6:
        return f"{names} takes no {name}; {', '.join(t.name for t in takers[:3])} and {len(takers) - 3} others do"
    return f"{names} takes no {name}; {_names(takers)} {'does' if len(takers) == 1 else 'do'}"


def _check_variants(chosen: Sequence[Benchmark], variants: Sequence[str]) -> None:
    known = [name for benchmark in chosen for name in benchmark.variants]
    for variant in variants:
        blas = variant.startswith(BLAS) and any(benchmark.name == "linpack" for benchmark in chosen)
        if variant not in known and not blas:
            raise UsageError(f"{_names(chosen)} has no row '{variant}'; there are {', '.join(known)}")


def _request(benchmark: Benchmark, ranks: int, parameters: Mapping[str, Any], alone: bool) -> Request:
    own = {name: value for name, value in parameters.items() if name in benchmark.takes and name != "ranks"}
    if "variant" in own:
        blas = benchmark.name == "linpack"
        own["variant"] = tuple(v for v in own["variant"] if v in benchmark.variants or (blas and v.startswith(BLAS)))
        if not own["variant"]:
            wanted = " or ".join(parameters["variant"])
            raise UsageError(f"{benchmark.name} has no row {wanted}; leave it out, or name its rows")
    if benchmark.alone:
        return Request(benchmark.name, 1, own)
    choices = benchmark.takes.get("algorithm", Takes("")).choices
    if not alone and own.get("algorithm") not in choices:
        own.pop("algorithm", None)
    if benchmark.lengths:
        multiple = benchmark.takes["bytes"].multiple_of
        lengths = own.get("bytes") or benchmark.lengths
        own["bytes"] = lengths if alone else tuple(dict.fromkeys(-(-n // multiple) * multiple for n in lengths))
    return Request(benchmark.name, ranks, own)


def _names(chosen: Iterable[Benchmark]) -> str:
    return " and ".join(benchmark.name for benchmark in chosen)


def by_ranks(wanted: Iterable[Request]) -> Iterator[tuple[int, list[int]]]:
    """Numbers of ranks, each with the indices of the requests that want it: each group is one job of a launch."""
    groups: dict[int, list[int]] = {}
    for index, request in enumerate(wanted):
        groups.setdefault(request.ranks, []).append(index)
    yield from groups.items()
