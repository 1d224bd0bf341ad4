"""Latency, saturation and speed of weft's routers, beside BookSim2 on the same networks.

An 8x8 torus with dimension order and dateline classes, uniform traffic of packets of 8 flits, islip allocators: four
routers, each at loads up to near its saturation and once beyond. BookSim2 is taken from PATH (`booksim`, of
github.com/booksim/booksim2) and left out, with a message, where it is missing. Latencies are compared below saturation,
and what is accepted is beyond it. Speed is links crossed a second of processor time.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benches import building
from benches.benchmark import Benchmark, Need, positive
from benches.recording import Report

Router = tuple[int, int, bool, tuple[float, ...], float]
# Virtual channels, flits of a buffer, whether the tail's credit is waited for; loads below saturation, one beyond.
ROUTERS: list[Router] = [
    (2, 4, False, (0.01, 0.05, 0.1, 0.15, 0.2), 0.4),
    (2, 4, True, (0.01, 0.05, 0.1, 0.14, 0.16), 0.4),
    (4, 8, False, (0.01, 0.1, 0.2, 0.3, 0.4, 0.45), 0.8),
    (4, 8, True, (0.01, 0.1, 0.2, 0.3, 0.35, 0.38), 0.8),
]
LATENCY_WITHIN, SATURATION_WITHIN, LINKS_A_SECOND = 0.03, 0.02, 15e6

CONFIGURATION = """
topology = torus; k = 8; n = 2; routing_function = dim_order; use_noc_latency = 0;
num_vcs = {vcs}; vc_buf_size = {buffer}; wait_for_tail_credit = {tail_credit}; credit_delay = {credit_delay};
routing_delay = 1; vc_alloc_delay = 1; sw_alloc_delay = 1; st_final_delay = 1; speculative = 0;
vc_allocator = islip; sw_allocator = islip; alloc_iters = 1; input_speedup = 1; output_speedup = 1;
traffic = uniform; packet_size = 8; injection_rate_uses_flits = 1; injection_rate = {load}; sim_type = latency;
latency_thres = 1e9; warmup_periods = 3; sample_period = {period}; max_samples = 10; seed = {seed};
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cycles", type=positive, default=200_000, help="cycles measured by weft (default 200000)")
    parser.add_argument("--period", type=positive, default=8000, help="cycles of BookSim2's sample (default 8000)")
    parser.add_argument("--seeds", type=positive, default=4, help="runs of a point of either (default 4)")
    parser.add_argument("--credit-cycles", type=positive, default=2, help="cycles of a credit in both (default 2)")


def curves(chosen: argparse.Namespace, program: str, router: Router) -> dict[float, dict[str, float]]:
    """Weft's points of a router by load: latencies are means over the seeds."""
    vcs, buffer, tail_credit, loads, beyond = router
    asked = {"vcs": vcs, "buffer": buffer, "tail_credit": tail_credit, "cycles": chosen.cycles,
             "credit_cycles": chosen.credit_cycles}  # fmt: skip
    runs = [(load, seed) for load in (*loads, beyond) for seed in range(1, chosen.seeds + 1)]
    lines = "".join(json.dumps(asked | {"load": load, "seed": seed}) + "\n" for load, seed in runs)
    done = subprocess.run([program], input=lines, text=True, capture_output=True, check=True)
    points: dict[float, list[dict[str, float]]] = {}
    for (load, _), line in zip(runs, done.stdout.splitlines(), strict=True):
        points.setdefault(load, []).append(json.loads(line))
    return {load: mean(of_seeds) for load, of_seeds in points.items()}


def mean(points: list[dict[str, float]]) -> dict[str, float]:
    """Of the points of several seeds: near saturation the latency of one run is as uncertain as a twentieth."""
    return {key: statistics.fmean(point[key] for point in points) for key in points[0]}


def booksim(
    chosen: argparse.Namespace, vcs: int, buffer: int, tail_credit: bool, load: float, seed: int
) -> dict[str, float]:
    """Mean latency, accepted traffic and links a second of BookSim2."""
    text = CONFIGURATION.format(
        vcs=vcs, buffer=buffer, tail_credit=int(tail_credit), credit_delay=chosen.credit_cycles - 1, load=load,
        period=chosen.period, seed=seed,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "router"
        file.write_text(text.replace(";", ";\n"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        # Its exit code says whether the simulation converged, and not by 0.
        printed = subprocess.run(["booksim", file], text=True, capture_output=True, check=False).stdout
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    overall = printed[max(printed.rfind("Overall Traffic"), 0) :]
    point = {
        key: float(re.findall(rf"{words} average ?= ([\d.]+)", overall)[-1])
        for key, words in (("latency", "Packet latency"), ("accepted", "Accepted flit rate"))
    }
    cycles = max(map(int, re.findall(r"Time taken is (\d+) cycles", printed)), default=0)
    return {**point, "links": point["accepted"] * 64 * 4 * cycles / seconds}


def compare(chosen: argparse.Namespace, report: Report, program: str, router: Router, with_booksim: bool) -> None:
    """One router at its loads."""
    vcs, buffer, tail_credit, loads, beyond = router
    name = f"{vcs} channels of {buffer} flits{', tail credit' * tail_credit}"
    points = curves(chosen, program, router)
    for load in loads:
        report.figure(f"{name}, load {load}: latency", points[load]["latency"], "cycles")
    report.figure(f"{name}, load {beyond}: accepted", points[beyond]["accepted"], "flits/node/cycle")
    speeds = [point["link_hops"] / point["seconds"] for point in points.values()]
    report.figure(f"{name}: links a second", statistics.median(speeds), "1/s", LINKS_A_SECOND, "at least")
    report.samples({name: [1 / speed for speed in speeds]})
    if not with_booksim:
        return
    seeds = range(1, chosen.seeds + 1)
    others = {load: mean([booksim(chosen, vcs, buffer, tail_credit, load, seed) for seed in seeds]) for load in points}
    for load in loads:
        report.figure(f"{name}, load {load}: latency of BookSim2", others[load]["latency"], "cycles")
    worst = max(abs(points[load]["latency"] / others[load]["latency"] - 1) for load in loads)
    report.figure(f"{name}: worst latency beside BookSim2", worst, "", LATENCY_WITHIN, "at most")
    apart = abs(points[beyond]["accepted"] / others[beyond]["accepted"] - 1)
    report.figure(f"{name}: saturation beside BookSim2", apart, "", SATURATION_WITHIN, "at most")
    theirs = [other["links"] for other in others.values() if other["links"] > 0]
    report.figure(f"{name}: links a second of BookSim2", statistics.median(theirs), "1/s")


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"cycles": chosen.cycles, "credit cycles": chosen.credit_cycles, "time": "processor time",
                       "BookSim2's period": chosen.period, "seeds": chosen.seeds}  # fmt: skip
    with_booksim = BOOKSIM.is_there
    if not with_booksim:
        print(f"left out: BookSim2: {BOOKSIM.missing}", file=sys.stderr)
    program = building.example("weft-flit", "curve")
    for router in ROUTERS:
        compare(chosen, report, program, router, with_booksim)


BOOKSIM = Need("booksim", "program", hint="built from github.com/booksim/booksim2, in PATH")

BENCHMARK = Benchmark(
    "router",
    "latency, saturation and links a second of routers flit by flit, beside BookSim2",
    "one minute; a quarter of an hour with BookSim2",
    run,
    options,
    needs=(Need("cargo", "program", required=True), BOOKSIM),
)
