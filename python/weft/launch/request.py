"""What shall be run: a benchmark with its parameters, as people say it and as the native half reads it."""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from weft import _core
from weft._core import UsageError
from weft.launch import data_parallel
from weft.launch.benchmark import NODE, Benchmark

BLAS = "n1000_blas"
"""Rows of `linpack` that the BLAS of numpy gives begin so; the rest names the library."""


@functools.cache
def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark of messages by name, in the order of lists."""
    return {entry["name"]: _benchmark(entry) for entry in json.loads(_core.benchmarks())}


@functools.cache
def node_benchmarks() -> dict[str, Benchmark]:
    """Every benchmark of the node suite by name, in the order of lists."""
    return {
        entry["name"]: Benchmark(
            name=entry["name"],
            summary=entry["summary"],
            group=NODE,
            default_ranks=1,
            words=entry["lengths"],
            variants=tuple(entry["variants"]),
            fields=("threads",) if entry["name"] == "stream" else (),
        )
        for entry in json.loads(_core.node_benchmarks())
    }


def every() -> dict[str, Benchmark]:
    """All benchmarks by name: those of one node, those of messages, then those of data-parallel machines."""
    return node_benchmarks() | benchmarks() | data_parallel.BENCHMARKS


def _benchmark(entry: dict[str, Any]) -> Benchmark:
    parameters = entry["parameters"]
    lengths = parameters["bytes"] or {"default": (), "multiple_of": 1}
    several = [parameters.get(name) or () for name in ("neighbours", "background_bytes", "n", "shapes")]
    return Benchmark(
        name=str(entry["name"]),
        summary=str(entry["summary"]),
        group=str(entry["group"]),
        default_ranks=int(parameters["default_ranks"]),
        lengths=tuple(lengths["default"]),
        multiple_of=int(lengths["multiple_of"]),
        hops=bool(parameters["hops"]),
        host=bool(parameters["host"]),
        algorithms=tuple(parameters["algorithms"]),
        min_ranks=int(parameters["min_ranks"]),
        fields=tuple(_fields(entry["name"], parameters)),
        loads=max(1, *map(len, several)),
    )


def _fields(name: str, parameters: dict[str, Any]) -> Iterator[str]:
    """The fields of a request that only some benchmarks take, by what the catalogue says of this one."""
    if parameters.get("window") is not None:
        yield "window"
    if parameters.get("neighbours"):
        yield "neighbours"
    if parameters.get("background_bytes"):
        yield from ("background", "background_bytes", "probe")
    if parameters.get("shapes"):
        yield "shapes"
    if parameters.get("n"):
        yield "n"
    if parameters.get("precision"):
        yield "precision"
    if parameters.get("file_systems"):
        yield from ("file_system", "io_nodes")
        if parameters["bytes"]:
            yield "file_bytes"
    if name == "file-write":
        yield "preallocate"


def find(name: str) -> Benchmark:
    """The benchmark of this name.

    Raises
    ------
    UsageError
        If there is none, with the nearest name.
    """
    known = every()
    if name in known:
        return known[name]
    raise UsageError(unknown("benchmark", name, known, "weft measure --help"))


def unknown(kind: str, name: str, known: Iterable[str], listing: str) -> str:
    """What to say when there is no such name."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    suggestion = f"did you mean '{nearest[0]}'?" if nearest else f"`{listing}` lists them"
    return f"there is no {kind} '{name}'; {suggestion}"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What applies to every request of a measurement that takes it; `None` and empty leave it to the native half."""

    algorithm: str | None = None
    iterations: int | None = None
    warmup: int | None = None
    window: int | None = None
    payload: str | None = None
    seconds_per_point: float | None = None
    neighbours: tuple[int, ...] = ()
    background: str | None = None
    background_bytes: tuple[int, ...] = ()
    probe: tuple[int, int] | None = None
    shapes: tuple[tuple[int, ...], ...] = ()
    n: tuple[int, ...] = ()
    precision: str | None = None
    file_system: str | None = None
    file_bytes: int | None = None
    preallocate: bool = False
    io_nodes: int | None = None
    words: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    variants: tuple[str, ...] = ()
    vp_ratios: tuple[int, ...] = ()


_SOME = (
    *("window", "neighbours", "background", "background_bytes", "probe", "shapes", "n", "precision"),
    *("file_system", "file_bytes", "preallocate", "io_nodes"),
)
"""Fields that only some benchmarks of messages take."""

_NODE_ONLY = ("words", "threads", "variants", "vp_ratios")


@dataclass(frozen=True)
class Request(Settings):
    """One benchmark at some lengths and distances on a number of ranks: what one launch is asked.

    Fields that are `None` or empty are left to the native half's defaults.
    """

    benchmark: str
    ranks: int = 1
    bytes: tuple[int, ...] = ()
    hops: tuple[int, ...] = ()
    seed: int = 1
    node: bool = False
    """Whether the benchmark is one of the node suite."""
    passes: int = 1
    """How often a launch goes through the points, each time for a share of `seconds_per_point`: the protocol's own."""

    def to_json(self) -> str:
        """As `_core` reads it."""
        if self.node:
            fields = {
                "lengths": self.words,
                "threads": self.threads,
                "variants": [variant for variant in self.variants if not variant.startswith(BLAS)],
                "seconds_per_row": self.seconds_per_point,
                "seed": self.seed,
            }
            if self.vp_ratios:
                fields["vp_ratios"] = self.vp_ratios
            return json.dumps({name: value for name, value in fields.items() if value is not None})
        always = {"benchmark", "ranks", "bytes", "hops", "seed"}
        others = (*_NODE_ONLY, "node", "passes")
        fields = {
            name: value
            for name, value in asdict(self).items()
            if name in always or (name not in others and value is not None and value is not False and value != ())
        }
        return json.dumps(fields)

    @property
    def points(self) -> int:
        """About how many rows a launch returns."""
        known = every().get(self.benchmark)
        if self.node:
            return (
                max(1, len(self.words))
                * max(1, len(self.vp_ratios))
                * max(1, len(self.variants or (known.variants if known else ())))
            )
        given = max(len(self.neighbours), len(self.background_bytes), len(self.n), len(self.shapes))
        loads = given or (known.loads if known else 1)
        return max(1, len(self.bytes)) * max(1, len(self.hops)) * loads

    def only(self, lengths: Iterable[int]) -> Request:
        """The same for some of its lengths."""
        return replace(self, bytes=tuple(lengths))

    def wants(self, variant: str | None) -> bool:
        """Whether a row of the node suite is asked for."""
        return not self.variants or variant in self.variants


def requests(
    names: Sequence[str],
    ranks: Sequence[int],
    lengths: Sequence[int],
    hops: Sequence[int],
    settings: Settings,
) -> list[Request]:
    """The requests for some benchmarks, each on every number of ranks.

    Every parameter goes to the benchmarks that take it. Lengths that a benchmark cannot use because it combines whole
    elements are rounded up to the next that it can.

    Raises
    ------
    UsageError
        For unknown names, no names, or a parameter that no benchmark of the request takes.
    """
    data_parallel.refuse_here(names)
    found = [find(name) for name in dict.fromkeys(names)]
    if not found:
        raise UsageError("which benchmark? Name one or more; `weft measure --help` lists them")
    _check(found, ranks, lengths, hops, settings)
    alone = len(found) == 1
    return [
        _node_request(benchmark, settings)
        if benchmark.node
        else _request(benchmark, count, lengths, hops, settings, alone)
        for benchmark in found
        for count in ((1,) if benchmark.node else ranks or (benchmark.default_ranks,))
    ]


def _check(
    found: Sequence[Benchmark], ranks: Sequence[int], lengths: Sequence[int], hops: Sequence[int], settings: Settings
) -> None:
    """Refuse what no benchmark of the request takes."""
    names = _names(found)
    if all(benchmark.node for benchmark in found):
        if ranks and tuple(ranks) != (1,):
            raise UsageError(f"{names} runs on one rank: it is of one node and sends no messages")
        if lengths:
            raise UsageError(f"{names} sends no messages, so it takes no bytes; lengths of vectors are --lengths")
    if hops and not any(benchmark.hops for benchmark in found):
        raise UsageError(f"{names} takes no hops; echo does")
    if lengths and not any(benchmark.lengths for benchmark in found):
        raise UsageError(f"{names} sends no data, so it takes no bytes")
    for field in (*_SOME, "threads", "vp_ratios"):
        takers = [benchmark for benchmark in every().values() if field in benchmark.fields]
        if getattr(settings, field) and takers and not any(benchmark in takers for benchmark in found):
            raise UsageError(f"{names} takes no {field}; {_names(takers)} {'does' if len(takers) == 1 else 'do'}")
        if getattr(settings, field) and not takers:
            raise UsageError(f"{names} takes no {field}, nor does any other benchmark")
    if settings.words and not any(benchmark.words for benchmark in found):
        takers = [benchmark for benchmark in every().values() if benchmark.words]
        raise UsageError(f"{names} takes no --lengths; {_names(takers)} do (messages have --bytes)")
    _check_variants(found, settings.variants)


def _check_variants(found: Sequence[Benchmark], variants: Sequence[str]) -> None:
    known = [name for benchmark in found if benchmark.node for name in benchmark.variants]
    for variant in variants:
        blas = variant.startswith(BLAS) and any(benchmark.name == "linpack" for benchmark in found)
        if variant not in known and not blas:
            there = f"there are {', '.join(known)}" if known else "benchmarks of messages have none"
            raise UsageError(f"{_names(found)} has no row '{variant}'; {there}")


def _node_request(benchmark: Benchmark, settings: Settings) -> Request:
    known = (*benchmark.variants, *(v for v in settings.variants if v.startswith(BLAS) and benchmark.name == "linpack"))
    wanted = tuple(variant for variant in settings.variants if variant in known)
    if settings.variants and not wanted:
        raise UsageError(
            f"{benchmark.name} has no row {' or '.join(settings.variants)}; leave it out, or name its rows"
        )
    return Request(
        benchmark=benchmark.name,
        node=True,
        words=settings.words if benchmark.words else (),
        threads=settings.threads if "threads" in benchmark.fields else (),
        vp_ratios=settings.vp_ratios if "vp_ratios" in benchmark.fields else (),
        variants=wanted,
        seconds_per_point=settings.seconds_per_point,
    )


def _request(
    benchmark: Benchmark, ranks: int, lengths: Sequence[int], hops: Sequence[int], settings: Settings, alone: bool
) -> Request:
    multiple = benchmark.multiple_of
    fitting = lengths if alone else dict.fromkeys(-(-length // multiple) * multiple for length in lengths)
    fields = asdict(settings) | dict.fromkeys(_NODE_ONLY, ())
    if not alone and settings.algorithm not in (*benchmark.algorithms, "auto", "native"):
        fields["algorithm"] = None
    for name in _SOME:
        if name not in benchmark.fields:
            fields[name] = getattr(Settings, name)
    return Request(
        benchmark=benchmark.name,
        ranks=ranks,
        bytes=tuple(fitting or benchmark.lengths) if benchmark.lengths else (),
        hops=tuple(hops) if benchmark.hops else (),
        **fields,
    )


def _names(found: Iterable[Benchmark]) -> str:
    return " and ".join(benchmark.name for benchmark in found)


def by_ranks(wanted: Iterable[Request]) -> Iterator[tuple[int, list[int]]]:
    """Numbers of ranks, each with the indices of the requests that want it: each group is one job of a launch."""
    groups: dict[int, list[int]] = {}
    for index, request in enumerate(wanted):
        groups.setdefault(request.ranks, []).append(index)
    yield from groups.items()
