"""Every format that weft reads from files and from programs: how an input is handed in, and the words of the format."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benches.recording import ROOT


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes
    ----------
    name
        And that of its folder in the corpus.
    suffixes
        Of its files; where there are several, an input is read as one or another.
    commands
        Command lines that read it; `{file}` is the input, `{out}` the stem of files to be written.
    calls
        Names of functions of `calls.py` that read it as those commands do, or as programs hand it over.
    words
        Words of the format.
    seeds
        Files of the repository to begin with, besides the corpus.
    """

    name: str
    suffixes: tuple[str, ...]
    commands: tuple[Sequence[str], ...] = ()
    calls: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    seeds: tuple[str, ...] = field(default=())


_COMPILE = ("compile", "{file}", "--on", "{torus}", "--effort", "0", "--quiet")

FORMATS = {
    form.name: form
    for form in (
        Format(
            "machine", (".toml",),
            (
                ("machines", "show", "{file}"),
                ("machines", "show", "{file}", "--format", "json"),
                ("measure", "echo", "--on", "{file}", "--bytes", "0,1K", "--quiet"),
                ("measure", "allreduce", "--on", "{file}", "--ranks", "4", "--bytes", "8", "--quiet"),
                ("compile", "shift", "--on", "{file}", "--effort", "0", "--quiet"),
                ("machines", "grain", "{file}"),
            ),
            calls=("read_machine",),
            words=("hypercube", "torus", "mesh", "fat-tree", "dragonfly", "crossbar", "dimension", "extents", "nodes",
                   "source", "value", "unit", "[topology]", "[[protocols]]", "up_to", "wormhole", "circuit",
                   "store-and-forward", "[packets]", "[cache]", "all_missed_bytes", "memory_channels", "rendezvous",
                   "buffered"),
            seeds=(*(f"crates/machine/machines/{name}.toml" for name in (
                "ipsc860", "iwarp64", "frontera", "cm2-8k", "hgx-h100", "multi-psi-v1", "tpu-v4")),),
        ),
        Format(
            "samples", (".csv",),
            (
                ("fit", "{file}", "-o", "{out}.toml"),
                ("report", "{file}", "-o", "{out}.html"),
                ("compare", "{file}", "ipsc860", "--bytes", "8,1K"),
                ("compare", "{file}", "{file}"),
                ("machines", "grain", "{file}"),
            ),
            calls=("read_samples",),
            words=("source", "machine", "benchmark", "seconds", "repetition", "bytes", "hops", "ranks", "measured",
                   "published", "echo", "simulated", "launch", "iterations", "variant", "rate", "nan", "inf"),
        ),
        Format(
            "parquet", (".parquet",),
            (
                ("report", "{file}", "-o", "{out}.html"),
                ("compare", "{file}", "{file}"),
            ),
            calls=("read_samples",),
            words=("PAR1",),
        ),
        Format("connections", (".csv", ".txt"), (_COMPILE,), calls=("read_pattern",),
            words=("source", "destination", "words", "#", ",")),
        Format(
            "pattern", (".json",), (_COMPILE,),
            calls=("read_pattern",),
            words=("name", "nodes", "connections", "source", "destination", "words", "orders", "before", "after"),
        ),
        Format(
            "trace", (".json",), (_COMPILE,),
            calls=("read_pattern",),
            words=("traceEvents", "name", "send", "ph", "X", "tid", "args", "to", "bytes", "ts", "dur"),
        ),
        Format(
            "schedule", (".json",),
            (
                ("show", "{file}", "-o", "{out}.html"),
                ("show", "{file}", "-o", "{out}.html", "--unverified"),
                ("show", "{file}", "--format", "svg", "-o", "{out}.svg", "--unverified"),
                ("show", "{file}", "--format", "text"),
                ("export", "{file}"),
                ("export", "{file}", "--as", "plain"),
            ),
            calls=("read_schedule", "read_unverified"),
            words=("hypercube", "torus", "mesh", "fat-tree", "dragonfly", "crossbar", "dimension", "extents", "kind",
                   "route", "pieces", "node-channels", "phases-and-load", "open-at-once", "sum", "cut", "chain"),
        ),
        Format(
            "costs", (".toml",), (("estimate", "{program}", "--on", "here", "--costs", "{file}"),),
            calls=("read_costs",),
            words=("format", "about", "held_out", "errors", "operations", "knots", "element", "call", "error",
                   "observations", "inf", "nan", "[about]", "[held_out]"),
        ),
        Format(
            "fghc", (".fghc",), (("fghc", "check", "{file}"), ("fghc", "explain", "{file}")),
            calls=("read_program",),
            words=(":-", "|", ".", ",", "true", "wait", ":=", "[", "]", "{", "}", "(", ")", "@node", "0'", "/*", "*/",
                   "%", "_", "X", "\\", "=:=", "otherwise", "module"),
            seeds=("programs/fghc/queens.fghc", "programs/fghc/primes.fghc"),
        ),
        Format(
            "matrix", (".mtx",), ((*_COMPILE, "--parts", "4"),),
            calls=("read_pattern",),
            words=("%%MatrixMarket", "matrix", "coordinate", "array", "real", "complex", "pattern", "integer",
                   "general", "symmetric", "skew-symmetric", "hermitian", "vector", "%"),
        ),
        Format("metis", (".graph",), ((*_COMPILE, "--parts", "4"),), calls=("read_pattern",),
            words=("%", "011", "1", "100", "2")),
        Format(
            "mesh", (".msh", ".vtk", ".off", ".obj", ".stl", ".inp", ".mesh", ".xml", ".vtu", ".su2", ".ply", ".node"),
            ((*_COMPILE, "--parts", "2"), (*_COMPILE, "--parts", "2", "--exchange", "row")),
            calls=("read_pattern",),
            words=("$MeshFormat", "$Nodes", "$Elements", "CELLS", "POINTS", "CELL_TYPES", "OFF", "f ", "v ", "solid",
                   "*NODE", "*ELEMENT", "Vertices", "Triangles", "4.1 0 8", "binary", "ASCII", "ply", "NELEM= 1"),
        ),
        Format(
            "partition", (".txt",), (("compile", "{matrix}", "--on", "{torus}", "--effort", "0", "--quiet", "--parts",
                                      "4", "--partition", "{file}"),),
            calls=("read_partition",),
            words=("0", "1", "2", "3", "4", "#"),
        ),
        Format(
            "request", (".json",),
            calls=("check_request", "simulate", "run_node"),
            words=("benchmark", "bytes", "hops", "ranks", "seed", "iterations", "warmup", "echo", "allreduce", "ring",
                   "cholesky", "jacobi", "stencil", "halo", "file-read", "contention", "order", "neighbours",
                   "fan-in", "throughput", "window", "shape", "routing-echo", "io_nodes", "repetitions", "budget"),
        ),
        Format(
            "exchange", (".json",),
            calls=("simulate_exchange", "exchange_threads"),
            words=("set", "schedule", "random", "word_bytes", "elements", "iterations", "warmup", "phantom", "nodes",
                   "connections", "name", "source", "destination", "words"),
        ),
        Format("sources", (".json",), calls=("fghc_check", "fghc_explain"), words=("name", "text", "path")),
    )
}  # fmt: skip


def generated(name: str) -> list[bytes]:
    """Seeds of a format that are made, not read."""
    return _GENERATED.get(name, list)()


def _parquet() -> list[bytes]:
    import io

    import polars as pl

    def written(table: pl.DataFrame, **options: object) -> bytes:
        out = io.BytesIO()
        table.write_parquet(out, **options)  # type: ignore[arg-type]
        return out.getvalue()

    lengths = [1, 8, 64, 1024, 65536]
    plain = pl.DataFrame(
        {"source": "measured", "machine": "here", "benchmark": "echo", "bytes": lengths, "hops": 1, "ranks": 2,
         "repetition": list(range(5)), "seconds": [1e-6 + 1e-9 * length for length in lengths]}
    )  # fmt: skip
    many = pl.DataFrame({name: pl.repeat(plain[name][0], 100_000, eager=True) for name in plain.columns})
    nested = plain.with_columns(x=pl.concat_list("bytes", "hops"))
    odd = plain.with_columns(note=pl.lit("\x1b[2J<!--"), unit=pl.lit("é" * 500), seconds=pl.lit(float("inf")))
    return [
        written(plain), written(plain, compression="uncompressed"), written(many), written(nested), written(odd),
        written(plain.cast({"seconds": pl.String})), written(plain.head(0)),
    ]  # fmt: skip


def _requests() -> list[bytes]:
    from weft import _core

    names = [entry["name"] for entry in json.loads(_core.benchmarks())]
    return [json.dumps({"benchmark": name, "bytes": [8], "iterations": 2}).encode() for name in names]


def _sources() -> list[bytes]:
    text = (ROOT / "programs/fghc/queens.fghc").read_text(encoding="utf-8")
    return [
        json.dumps([["queens.fghc", text]]).encode(),
        json.dumps([{"name": "a.fghc", "text": "p(X) :- X = 1."}]).encode(),
    ]


_GENERATED: dict[str, Callable[[], list[bytes]]] = {"parquet": _parquet, "request": _requests, "sources": _sources}
