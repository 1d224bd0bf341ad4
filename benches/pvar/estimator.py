"""The estimator compared with programs: predicted and measured time of each, on this machine.

    weft calibrate
    python -m benches estimator

The method of the calibration was developed with programs of programs/ (at first gauss, life, radix_sort and spmv)
and then frozen; the `blind` ones were written after that and estimated once. `earlier` are those that earlier
methods were blind to; this one was developed with them too. A record says which were run and whether it was their
first time (--first). Measured is `solve` of each program, which has all of its operations on parallel variables and
little else: the median of the runs of a visit, of programs that go on, and of several visits spread over the benchmark
what the least of as many as a calibration makes is on average; the least of all is another thing on a machine that
others use too, where single visits are half as long as most. The pace of the processor beside each visit is recorded
(weft.estimation.pace). There is no baseline: no other tool predicts programs of array operations from their counts.

Between the visits, some of the calibration's own random programs are timed again (weft.estimation.drift), as `weft
estimate --now` does: how much longer they take than they did is how far the machine's pace has drifted since, whatever
the estimator makes of it. Estimates are for the pace of these minutes; what they were without is recorded too.

The same programs are then measured once more in another process, in the same minutes: no estimate can be expected to
come below what the two measurements differ by. The factor that all programs of a group are off by together, their
median, is reported, and the errors that are left without it.

Target: median error at most 8%, none above 25%, and intervals that hold 90 to 98% of the measured times.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import importlib.util
import math
import multiprocessing
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benches.benchmark import Benchmark, positive, rounds_option
from benches.recording import ROOT, Report
from weft.estimation import costs_file, drift, estimate
from weft.estimation.calibrating import VISITS
from weft.estimation.pace import Pace, Probe

Sizes = dict[str, tuple[int, ...]]
"""Sizes of programs by name."""

DEVELOPMENT: Sizes = {"gauss": (63, 127, 255), "life": (64, 300), "radix_sort": (8192, 100_000), "spmv": (2000, 20_000)}
EARLIER: Sizes = {
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
    "lattice_boltzmann": (64, 200),
    "nbody": (200, 1000),
    "knapsack": (5_000, 100_000),
    "edit_distance": (500, 2_000),
    "ising": (64, 256),
    "graph_components": (3_000, 60_000),
    "collatz": (5_000, 100_000),
    "decode_runs": (5_000, 50_000),
    "hash_table": (10_000, 100_000),
    "median_filter": (100, 400),
    "number_transform": (4_096, 65_536),
    "particle_in_cell": (10_000, 200_000),
    "rotation": (100, 400),
    "sieve": (10_000, 200_000),
    "spanning_tree": (2_000, 40_000),
    "tridiagonal": (4_096, 100_000),
    "voronoi": (64, 200),
    "wavelet": (4_096, 131_072),
    "advection": (16, 64),
    "brackets": (5_000, 100_000),
    "forest_fire": (100, 300),
    "maze": (64, 200),
    "newton_fractal": (100, 300),
    "odd_even_sort": (500, 4_000),
    "quantiles": (20_000, 500_000),
    "sparse_transpose": (2_000, 20_000),
    "convex_hull": (5_000, 200_000),
    "gradient_noise": (200, 700),
    "independent_set": (30_000, 200_000),
    "line_of_sight": (100, 400),
    "long_multiplication": (1_000, 5_000),
    "schroedinger": (80, 250),
    "stable_marriage": (100, 1_000),
    "suffix_array": (10_000, 100_000),
    "american_option": (400, 4_000),
    "binary_search": (5_000, 100_000),
    "equalization": (150, 500),
    "genetic_algorithm": (50, 1_000),
    "gram_schmidt": (48, 160),
    "logistic_regression": (500, 20_000),
    "n_queens": (8, 11),
    "random_walks": (2_000, 50_000),
    "block_matching": (64, 320),
    "bloom_filter": (10_000, 200_000),
    "checksums": (1_000, 50_000),
    "pendulums": (500, 50_000),
    "power_iteration": (64, 300),
    "topological_order": (1_000, 50_000),
    "triangles": (100, 300),
    "viterbi": (500, 20_000),
    "autocorrelation": (2_000, 50_000),
    "bond_yields": (1_000, 50_000),
    "bootstrap": (2_000, 100_000),
    "comb_sort": (1_000, 30_000),
    "connect_four": (500, 20_000),
    "hough": (2_000, 50_000),
    "k_core": (1_000, 30_000),
    "kepler": (2_000, 100_000),
    "point_in_polygon": (2_000, 100_000),
    "tea_cipher": (1_000, 50_000),
    "traffic": (5_000, 100_000),
    "word_lengths": (10_000, 300_000),
    "base64_text": (2_000, 50_000),
    "bilateral_filter": (40, 250),
    "great_circles": (1_000, 50_000),
    "group_means": (3_000, 100_000),
    "hue": (50, 300),
    "interpolation": (3_000, 100_000),
    "label_propagation": (1_000, 20_000),
    "lorenz": (1_000, 50_000),
    "minesweeper": (60, 300),
    "moving_means": (5_000, 100_000),
    "nearest_codeword": (1_000, 50_000),
    "rank_correlation": (2_000, 50_000),
    "call_auction": (8_000, 200_000),
    "coloring": (500, 25_000),
    "drainage": (40, 250),
    "irrigation": (1_500, 60_000),
    "k_mers": (150, 3_200),
    "localization": (1_500, 50_000),
    "music_box": (100, 2_500),
    "poker": (500, 25_000),
    "prime_test": (1_000, 30_000),
    "survival": (5_000, 200_000),
    "volume_rendering": (18, 58),
    "waiting_times": (50, 1_500),
    "burrows_wheeler": (10_000, 200_000),
    "calendars": (8_000, 200_000),
    "epidemic": (2_000, 60_000),
    "galaxy_pairs": (1_000, 25_000),
    "granulometry": (40, 250),
    "map_projection": (30, 200),
    "parsimony": (4_000, 150_000),
    "powder_pattern": (8, 25),
    "product_code": (30, 850),
    "reinsurance": (8_000, 200_000),
    "runoff_voting": (200, 8_000),
    "velocity_analysis": (80, 2_500),
    "credit_risk": (250, 40_000),
    "elliptic_curve": (50, 10_000),
    "enzyme_kinetics": (50, 6_000),
    "evacuation": (12, 256),
    "gravity_anomaly": (8, 200),
    "l_system": (7, 10_000),
    "prisoners_dilemma": (12, 160),
    "radar_detection": (200, 40_000),
    "reed_muller": (80, 25_000),
    "rna_folding": (20, 128),
    "tides": (1_000, 250_000),
    "tomography": (16, 400),
    "dendrogram": (16, 150),
    "dithering": (24, 400),
    "first_arrivals": (6, 36),
    "gauge_field": (6, 64),
    "huffman_code": (500, 200_000),
    "picture_blocks": (4, 4_000),
    "read_alignment": (20, 20_000),
    "robust_line": (8, 10_000),
    "seam_carving": (20, 300),
    "shock_tube": (300, 500_000),
    "sudoku": (4, 4_000),
    "web_sessions": (400, 200_000),
    "assignment": (8, 200),
    "bookings": (10_000, 400_000),
    "endgame": (3, 8),
    "gap_filling": (60, 3_000),
    "income_tax": (30_000, 1_500_000),
    "largest_rectangle": (8_000, 400_000),
    "lattice_gas": (40, 700),
    "mastermind": (16, 1_200),
    "octree": (4_000, 300_000),
    "planet_transits": (60, 3_000),
    "small_systems": (20, 100_000),
    "triangular_solve": (300, 60_000),
    "asian_option": (200, 150_000),
    "cloth": (12, 500),
    "decision_tree": (100, 200_000),
    "distance_transform": (24, 900),
    "echo_cancelling": (50, 60_000),
    "garbage_collection": (1_000, 1_000_000),
    "genome_association": (4, 4_000),
    "lexer": (500, 1_000_000),
    "polynomial_roots": (20, 25_000),
    "singular_values": (16, 128),
    "table_join": (300, 1_000_000),
    "tour": (20, 500),
}
BLIND: Sizes = {
    "corner_detection": (40, 700),
    "drawdown": (8, 1_000),
    "flow_shop": (50, 30_000),
    "kernel_density": (300, 300_000),
    "logic_simulation": (40, 30_000),
    "motif_search": (500, 200_000),
    "pig_game": (10, 32),
    "prefix_routes": (300, 300_000),
    "quantum_circuit": (6, 16),
    "ray_tracing": (30, 300),
    "soundex": (50, 60_000),
    "sunrise": (6, 1_000),
}
GROUPS = {"development": DEVELOPMENT, "earlier": EARLIER, "blind": BLIND}
TARGET = {"median": 0.08, "worst": 0.25}

COVERED = 0.9
"""The share of measured times that intervals hold at least."""

SECONDS = ("real_s", "low_s", "high_s")
"""What of an estimate grows with the drift."""

Case = tuple[str, int]
Run = tuple[Probe, float]


def module(name: str) -> Any:
    """A program of programs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "programs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    sys.modules[name] = program
    spec.loader.exec_module(program)
    return program


def solved(solve: Any, problem: Any, pace: Pace, rounds: int) -> list[Run]:
    """Runs one after the other, each with its seconds and the slower of the probes around all.

    One is made before them, that brings code and memory in: the probe has taken the caches.
    """
    before, seconds = pace.probe(), []
    for _ in range(1 + rounds):
        start = time.perf_counter()
        solve(problem)
        seconds.append(time.perf_counter() - start)
    probe = before.most(pace.probe())
    return [(probe, taken) for taken in seconds[1:]]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--programs", choices=(*GROUPS, "all"), default="all", help="which (default all)")
    parser.add_argument("--costs", type=Path, help="costs of here (default: those of weft calibrate)")
    parser.add_argument("--visits", type=positive, default=8, help="times that each program comes (default 8)")
    rounds_option(parser, 3)
    parser.add_argument("--first", action="store_true", help="record that blind programs are tried first now")


def visit_all(
    programs: dict[str, Any],
    cases: dict[Case, Any],
    chosen: argparse.Namespace,
    pace: Pace,
    before_visit: Callable[[], None] = lambda: None,
) -> dict[Case, list[list[Run]]]:
    """The runs of every visit of every case, in an order that changes."""
    visits: dict[Case, list[list[Run]]] = {case: [] for case in cases}
    for visit in range(chosen.visits):
        before_visit()
        order = list(cases)
        random.Random(visit).shuffle(order)
        for case in order:
            solve, problem = programs[case[0]].solve, cases[case]
            visits[case].append(solved(solve, problem, pace, chosen.rounds))
    return visits


class Again:
    """Times programs of the calibration again, between the visits."""

    def __init__(self, costs: costs_file.MeasuredCosts) -> None:
        self._reference, self._seed = costs.reference, int(costs.about["seed"])
        self._pace = Pace()
        self._visits: list[list[float]] = []

    def visit(self) -> None:
        """Time each of them once more."""
        self._visits.append(drift.time_again(self._reference, self._seed, self._pace))

    def drift(self) -> drift.Drift:
        """How much longer they take than when they were calibrated; of visits the same counts as of programs."""
        return drift.drift(
            self._reference, [least_of(VISITS, list(visits)) for visits in zip(*self._visits, strict=True)]
        )


def measured_times(sizes: Sizes, visits: int, rounds: int) -> dict[Case, float]:
    """The measured time of every case, in this process: seconds."""
    module("arguments")
    programs = {name: module(name) for name in sizes}
    cases = {(name, size): programs[name].problem(size) for name, of in sizes.items() for size in of}
    chosen = argparse.Namespace(visits=visits, rounds=rounds)
    return {case: measured_of(runs) for case, runs in visit_all(programs, cases, chosen, Pace()).items()}


def measured_of(runs: list[list[Run]]) -> float:
    """What is compared with the estimate: of the visits' medians, as the least of a calibration's."""
    return least_of(VISITS, [statistics.median(taken for _, taken in visit) for visit in runs])


def compare_processes(
    group: str, sizes: Sizes, here: dict[Case, float], chosen: argparse.Namespace, report: Report
) -> None:
    """Measure the programs of a group in another process, and report by how much it differs."""
    spawned = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawned) as other:
        there = other.submit(measured_times, sizes, chosen.visits, chosen.rounds).result()
    apart = [abs(there[case] / here[case] - 1) for case in there]
    for (name, size), seconds in there.items():
        report.figure(f"{name}, {size}: measured in another process", seconds, "s", quiet=True)
    report.figure(f"{group}: two processes apart, median", statistics.median(apart), "ratio")
    report.figure(f"{group}: two processes apart, worst", max(apart), "ratio")


def run(chosen: argparse.Namespace, report: Report) -> None:
    groups = {name: sizes for name, sizes in GROUPS.items() if chosen.programs in (name, "all")}
    costs = costs_file.read(chosen.costs)
    # Programs import it, and each other, by these names.
    module("arguments")
    programs = {name: module(name) for sizes in groups.values() for name in sizes}
    wanted = {(name, size): group for group, of in groups.items() for name, sizes in of.items() for size in sizes}
    cases = {(name, size): programs[name].problem(size) for name, size in wanted}
    pace, again = Pace(), Again(costs)
    visits = visit_all(programs, cases, chosen, pace, again.visit)
    again.visit()
    drifted = again.drift()
    report.figure("drift since the calibration", drifted.ratio, "ratio")
    report.figure("drift since the calibration: 95% from", drifted.low, "ratio")
    report.figure("drift since the calibration: 95% to", drifted.high, "ratio")
    report.protocol = {
        "visits": chosen.visits,
        "rounds": chosen.rounds,
        "calibration": dict(costs.about),
        "first try of blind programs": chosen.first,
    }
    report.figure("held out of the calibration: median error", statistics.median(map(abs, costs.held_out)), "ratio")
    report.figure("held out of the calibration: programs", len(costs.held_out))
    errors: dict[str, list[float]] = {group: [] for group in groups}
    undrifted: dict[str, list[float]] = {group: [] for group in groups}
    held: dict[str, list[bool]] = {group: [] for group in groups}
    for (name, size), runs in visits.items():
        solve = functools.partial(programs[name].solve, cases[name, size])
        calibrated = estimate(solve, "here", costs=chosen.costs).total
        predicted = replace(calibrated, **{key: drifted.ratio * getattr(calibrated, key) for key in SECONDS})
        error, is_held = judge(name, size, runs, predicted, pace, report)
        undrifted[wanted[name, size]].append(calibrated.real_s / measured_of(runs) - 1)
        errors[wanted[name, size]].append(error)
        held[wanted[name, size]].append(is_held)
    here = {case: measured_of(runs) for case, runs in visits.items()}
    for group, sizes in groups.items():
        compare_processes(group, sizes, here, chosen, report)
    for group, of_group in errors.items():
        off = [abs(error) for error in of_group]
        report.figure(f"{group}: median error", statistics.median(off), "ratio", TARGET["median"], "at most")
        report.figure(f"{group}: worst error", max(off), "ratio", TARGET["worst"], "at most")
        report.figure(f"{group}: median error as calibrated", statistics.median(map(abs, undrifted[group])), "ratio")
        report.figure(f"{group}: worst error as calibrated", max(map(abs, undrifted[group])), "ratio")
        together = 1 + statistics.median(of_group)
        alone = [abs((1 + error) / together - 1) for error in of_group]
        report.figure(f"{group}: too long together", together, "ratio")
        report.figure(f"{group}: median error but for that", statistics.median(alone), "ratio")
        report.figure(f"{group}: worst error but for that", max(alone), "ratio")
        report.figure(f"{group}: within the interval", statistics.mean(held[group]), "ratio", COVERED, "at least")


def least_of(count: int, values: list[float]) -> float:
    """What the least of so many of the values is on average, over all choices of them."""
    count = min(count, len(values))
    after = [math.comb(len(values) - 1 - rank, count - 1) for rank in range(len(values))]
    total = math.fsum(one * times for one, times in zip(sorted(values), after, strict=True))
    return total / math.comb(len(values), count)


def judge(
    name: str, size: int, runs: list[list[Run]], predicted: Any, pace: Pace, report: Report
) -> tuple[float, bool]:
    """Figures and samples of one case; the relative error of its prediction, and whether the interval holds it."""
    medians = [statistics.median(taken for _, taken in visit) for visit in runs]
    measured = measured_of(runs)
    slowdowns = [statistics.median(probe.over(pace.usual) for probe, _ in visit) for visit in runs]
    error = float(predicted.real_s / measured - 1)
    where = f"{name}, {size}"
    report.samples({"measured": medians}, program=name, extent=size)
    report.figure(f"{where}: measured", measured, "s", quiet=True)
    report.predicted(f"{where}: predicted", predicted.real_s, predicted.low_s, predicted.high_s, "s")
    report.figure(f"{where}: error", error, "ratio")
    report.figure(f"{where}: operations", predicted.count, quiet=True)
    report.figure(f"{where}: probe over the usual", statistics.median(slowdowns), "ratio", quiet=True)
    return error, bool(predicted.low_s <= measured <= predicted.high_s)


BENCHMARK = Benchmark(
    "estimator",
    "predicted and measured times of programs of array operations",
    "twenty minutes, after weft calibrate",
    run,
    options,
)
