"""The benchmarks that there are: modules of this package that have a `BENCHMARK`."""

from __future__ import annotations

import functools
import importlib
import pathlib
import pkgutil

from benches.benchmark import Benchmark

HERE = pathlib.Path(__file__).resolve().parent


def modules() -> list[str]:
    """The names of all modules of the package, this one among them."""
    return [info.name for info in pkgutil.walk_packages([str(HERE)], "benches.") if not info.name.endswith("__main__")]


@functools.cache
def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name.

    Raises
    ------
    ValueError
        If two modules have one of the same name.
    """
    known: dict[str, Benchmark] = {}
    for name in modules():
        benchmark = getattr(importlib.import_module(name), "BENCHMARK", None)
        if benchmark is None:
            continue
        if benchmark.name in known:
            raise ValueError(f"{name} and {known[benchmark.name].module} both have a benchmark {benchmark.name!r}")
        known[benchmark.name] = benchmark
    return dict(sorted(known.items()))


def listing() -> str:
    """All benchmarks, a paragraph each."""
    lines = []
    for name, benchmark in benchmarks().items():
        required = [need.name for need in benchmark.needs if need.required]
        baselines = [need.name for need in benchmark.needs if not need.required]
        needs = [f"needs {', '.join(required)}"] * bool(required) + [f"uses {', '.join(baselines)}"] * bool(baselines)
        lines += [f"{name:22} {benchmark.summary}", " " * 23 + "; ".join([benchmark.duration, *needs])]
    return "\n".join(lines)
