"""Two ranks of one benchmark beside its baselines: the options, each launch, and what its rounds come to."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benches import harness
from benches.benchmark import Need, SkippedError, awkward_option, positive
from benches.recording import ROOT, Report

NEEDS = (Need("mpi4py", "package", hint="or name a Python that has it by --python"),)

Variant = tuple[Any, ...]
"""What takes part: its name, what runs it, and what else the benchmark keeps of it."""


def options(parser: argparse.ArgumentParser, baseline: str, launches: int, rounds: int, cases: Sequence[str]) -> None:
    """The options of a benchmark on two ranks; `baseline` is what the Python may have besides."""
    parser.add_argument("--python", type=Path, default=Path(sys.executable),
                        help=f"the Python with mpi4py, mpich and perhaps {baseline} (default: this one)")  # fmt: skip
    parser.add_argument("--launches", type=positive, default=launches, help=f"separate launches (default {launches})")
    parser.add_argument("--rounds", type=positive, default=rounds, help=f"rounds of each launch (default {rounds})")
    parser.add_argument("--case", action="append", default=[], choices=cases, help="only this case; may be repeated")
    awkward_option(parser)


def require(python: Path) -> None:
    """Skips where a Python has not what ranks import, those of exchanges by hand too, or no launcher beside it."""
    command = [str(python), "-c", "import mpi4py, weft.distributed"]
    done = subprocess.run(command, env=_variables(), capture_output=True, text=True, check=False)
    why = done.stderr.strip().splitlines()[-1] if done.returncode else ""
    if not why and not (python.parent / "mpiexec").exists():
        why = "no mpiexec beside it"
    if why:
        raise SkippedError(f"{python}: {why}; name a Python with mpi4py, mpich and what weft depends on by --python")


def _variables() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{ROOT}"}


def launch(python: Path, module: str, job: Mapping[str, Any], ranks: int, limit: float, **environment: str) -> Any:
    """One launch of ranks of a module, whose `main` gets the job: what its first rank prints behind RESULT."""
    variables = {**_variables(), "HYDRA_BINDING": "core", **environment}
    variables.pop("WEFT_MPI_LIBRARY", None)
    words = [python.parent / "mpiexec", "-n", str(ranks), python, "-P", "-m", module, json.dumps(job)]
    done = subprocess.run(
        list(map(str, words)), env=variables, capture_output=True, text=True, timeout=limit, check=False
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
    if line is None:
        sys.exit(f"a launch failed with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(line.removeprefix("RESULT "))


def launches(chosen: argparse.Namespace, module: str, limit: float, **environment: str) -> list[dict[str, Any]]:
    """What every launch of two ranks found, by case."""
    require(chosen.python)
    job = {"rounds": chosen.rounds, "only": chosen.case, "awkward": chosen.awkward}
    return [launch(chosen.python, module, job, 2, limit, **environment) for _ in range(chosen.launches)]


def interleaved(
    comm: Any,
    variants: Sequence[Variant],
    rounds: int,
    run: Callable[[Variant, int], None],
    count: int,
    warm_up: int = 0,
) -> dict[str, list[float]]:
    """On a rank: seconds of one operation of every variant by rounds, on the slower rank.

    `run` does so many operations of a variant: `warm_up` of them untimed, then `count`. The first variant runs a second
    time in every round, as a control.
    """
    from mpi4py import MPI

    def side(variant: Variant) -> Callable[[], float]:
        def seconds() -> float:
            if warm_up:
                run(variant, warm_up)
            comm.Barrier()
            return float(comm.allreduce(harness.timed(lambda: run(variant, count)) / count, MPI.MAX))

        return seconds

    sides = {variant[0]: side(variant) for variant in variants}
    return harness.interleaved(harness.with_control(sides, variants[0][0]), rounds)


def rounds_of(case: str, outcomes: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """The rounds of every variant of a case, of all launches."""
    rounds: dict[str, list[float]] = {}
    for outcome in outcomes:
        for variant, times in outcome[case]["rounds"].items():
            rounds.setdefault(variant, []).extend(times)
    return rounds


def summarise(
    case: str, outcomes: Sequence[Mapping[str, Any]], report: Report, shape: Sequence[int]
) -> dict[str, list[float]]:
    """Figures, samples and notes of what every variant of a case took; the rounds, by variant."""
    rounds = rounds_of(case, outcomes)
    for variant, times in sorted(rounds.items(), key=lambda item: statistics.median(item[1])):
        report.figure(f"{case}: {variant}", harness.spread(times), "s")
    report.samples(rounds, ranks=2, shape="x".join(map(str, shape)), unit=case)
    for variant, why in outcomes[0][case]["absent"].items():
        print(f"left out: {variant}: {why}")
        report.notes[f"{case}: {variant} left out"] = why
    report.notes[f"{case}: plan"] = outcomes[0][case]["explain"]
    control = [name for name in rounds if name.endswith(harness.CONTROL)]
    for name in control:
        first = name.removesuffix(f", {harness.CONTROL}")
        report.figure(f"{case}: {name}/{first}", harness.spread(harness.ratios(rounds[name], rounds[first])), "ratio")
    return rounds


def protocol(chosen: argparse.Namespace, operation: str) -> dict[str, Any]:
    """How it was measured; `operation` is what a mean time is of."""
    return {
        "ranks": 2,
        "launches": chosen.launches,
        "rounds": chosen.rounds,
        "variants": "interleaved",
        "statistic": f"median over rounds of the mean time of {operation} on the slower rank",
    }
