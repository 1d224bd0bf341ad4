#!/usr/bin/env python3
"""The estimator held against programs: predicted and measured time of each, on this machine.

    weft calibrate
    python benches/pvar/estimator.py [--programs blind|development|earlier|all] [--costs FILE] [--visits 8]

The method of the calibration was developed with programs of programs/ (at first gauss, life, radix_sort and spmv) and
then frozen; the `blind` ones were written after that and estimated once. `earlier` are those that earlier methods were
blind to; this one was developed with them too. A record says which were run and whether it was their first time
(--first). Measured is `solve` of each program, which has all of its
operations on parallel variables and little else: the median of the runs of a visit, and the least of several visits
spread over the benchmark, as the calibration takes its times; the pace of the processor beside each run is recorded
(weft.estimation.pace). There is no peer: no other tool predicts programs of array operations from their counts.

Target: median error at most 8%, none above 20%.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import platform
import random
import statistics
import sys
import time
from pathlib import Path

from weft.estimation import costs_file, estimate
from weft.estimation.pace import Pace, Probe

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "programs"))
DEVELOPMENT = {"gauss": (63, 127, 255), "life": (64, 300), "radix_sort": (8192, 100_000), "spmv": (2000, 20_000)}
EARLIER = {
    "jacobi": (64, 200),
    "histogram": (65_536, 200_000),
    "shortest_paths": (500, 5_000),
    "fft": (4096, 65_536),
    "conjugate_gradients": (64, 256),
    "bitonic_sort": (4096, 65_536),
    "lucky_numbers": (20_000, 200_000),
    "cannon": (64, 200),
    "kmeans": (20_000, 200_000),
    "components": (64, 200),
    "mandelbrot": (100, 400),
    "sandpile": (64, 128),
    "edges": (128, 400),
    "list_ranking": (10_000, 100_000),
    "pagerank": (2_000, 20_000),
    "run_lengths": (20_000, 200_000),
    "floyd_warshall": (64, 200),
    "wave": (100, 300),
    "cyclic_automaton": (100, 300),
    "monte_carlo": (20_000, 200_000),
    "string_matching": (20_000, 200_000),
    "quicksort": (10_000, 100_000),
}
BLIND = {
    "lattice_boltzmann": (64, 200),
    "nbody": (200, 1000),
    "knapsack": (5_000, 100_000),
    "edit_distance": (500, 2_000),
    "ising": (64, 256),
    "graph_components": (3_000, 60_000),
}
TARGET = {"median": 0.08, "worst": 0.20}


def module(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "programs" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def run(solve, given, pace: Pace) -> tuple[Probe, float]:
    """The probes beside a run, and its seconds."""
    before, start = pace.probe(), time.perf_counter()
    solve(given)
    taken = time.perf_counter() - start
    return before.most(pace.probe()), taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", choices=("blind", "development", "earlier", "all"), default="all")
    parser.add_argument("--costs", type=Path, help="costs of here (default: those of weft calibrate)")
    parser.add_argument("--visits", type=int, default=8, help="times that each program is come back to (default 8)")
    parser.add_argument("--rounds", type=int, default=3, help="runs in each visit (default 3)")
    parser.add_argument("--first", action="store_true", help="record that blind programs are tried first now")
    parser.add_argument("--record", type=Path, help="where to write (default benches/records/DATE-estimator.json)")
    chosen = parser.parse_args()
    wanted = {
        "blind": BLIND,
        "development": DEVELOPMENT,
        "earlier": EARLIER,
        "all": {**DEVELOPMENT, **EARLIER, **BLIND},
    }[chosen.programs]
    costs = costs_file.read(chosen.costs)
    made = {name: module(name) for name in wanted}
    cases = {(name, size): made[name].problem(size) for name, sizes in wanted.items() for size in sizes}
    load = os.getloadavg()
    visits, pace = {case: [] for case in cases}, Pace()
    for visit in range(chosen.visits):
        order = list(cases)
        random.Random(visit).shuffle(order)
        for case in order:
            solve, given = made[case[0]].solve, cases[case]
            run(solve, given, pace)  # brings code and memory in
            visits[case].append([run(solve, given, pace) for _ in range(chosen.rounds)])
    results = []
    for (name, size), found in visits.items():
        medians = [statistics.median(taken for _, taken in visit) for visit in found]
        slowdowns = [statistics.median(probe.over(pace.least) for probe, _ in visit) for visit in found]
        measured = min(medians)
        group = "development" if name in DEVELOPMENT else "earlier" if name in EARLIER else "blind"
        predicted = estimate(lambda n=name, c=(name, size): made[n].solve(cases[c]), "here", costs=chosen.costs).total
        error = predicted.real_s / measured - 1
        results.append(
            {
                "program": name, "size": size, "group": group, "operations": predicted.count,
                "measured_s": measured, "visits_s": medians, "probe_over_least": slowdowns,
                "predicted_s": predicted.real_s, "low_s": predicted.low_s,
                "high_s": predicted.high_s, "error": error,
            }
        )  # fmt: skip
        inside = "within" if predicted.low_s <= measured <= predicted.high_s else "outside"
        print(
            f"{name:>15} {size:>7}: measured {measured * 1e3:9.3f} ms, predicted {predicted.real_s * 1e3:9.3f} ms "
            f"({error:+.1%}, {inside} its interval), visits {min(medians) * 1e3:.2f} to {max(medians) * 1e3:.2f} ms"
        )
    summary = {}
    for kind in ("development", "earlier", "blind"):
        errors = [abs(one["error"]) for one in results if one["group"] == kind]
        if errors:
            summary[kind] = {"median": statistics.median(errors), "worst": max(errors), "cases": len(errors)}
            met = all(summary[kind][name] <= most for name, most in TARGET.items())
            shown = {name: f"{summary[kind][name]:.1%}" for name in TARGET}
            print(f"{kind}: median {shown['median']}, worst {shown['worst']}:", "met" if met else "MISSED")
    today = datetime.date.today().isoformat()
    record = chosen.record or ROOT / f"benches/records/{today}-estimator.json"
    content = {
        "benchmark": "estimator",
        "date": today,
        "machine": {"processor": platform.machine(), "processors": os.cpu_count(), "load": load},
        "calibration": dict(costs.about),
        "held_out": {"median": statistics.median(map(abs, costs.held_out)), "programs": len(costs.held_out)},
        "first_try_of_blind_programs": chosen.first,
        "target": TARGET,
        "summary": summary,
        "results": results,
    }
    partial = record.with_suffix(".part")
    partial.write_text(json.dumps(content, indent=2) + "\n")
    partial.replace(record)
    print(f"written to {record}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
