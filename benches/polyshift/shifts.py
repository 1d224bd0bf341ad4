"""Shifts in both directions along every axis, weft beside its baselines, as shares of STREAM's copy.

All contenders run in every round, in an order that rotates. A share counts each input read once and each output
written once, and divides by what STREAM's copy moves in the same round: once with the copy that is memcpy, once with
a loop of streaming stores, which on some machines is twice as fast. The row of streaming stores alone shows how fast
memory takes writes, which are most of what shifts do. numpy and JAX make new arrays at each call, having no other
way; the others write into arrays that they get. shifts.md says what to know when reading the numbers. Run it on a
quiet machine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from benches import harness
from benches.benchmark import Benchmark, awkward_option, numbers, positive, rounds_option
from benches.polyshift import shifts_baselines as baselines
from benches.recording import Report

# The least of each.
LARGE = {"share of memcpy": 1.0, "share of streaming": 1.0, "numpy.roll/weft": 4.0, "best baseline/weft": 1.6}
CACHED = {"numpy.roll/weft": 5.0, "best baseline/weft": 1.0}
CACHED_SHAPE = (16,) * 4
BLOCKS = "copies, by blocks"
"""The source into every output without moving anything within it, a few KiB of each in turn."""
STREAMS = ("memcpy", "streaming")

Seconds = dict[str, list[float]]


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 7)
    parser.add_argument("--bytes", type=positive, default=128 << 20, help="bytes of one array (default 128 MiB)")
    parser.add_argument("--ranks", type=numbers, default="1,2,3,4", help="ranks, comma-separated (default 1,2,3,4)")
    awkward_option(parser)


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    if chosen.bytes < 1 << 16 or not set(chosen.ranks) <= {1, 2, 3, 4}:
        parser.error("at least 65536 bytes, ranks of 1 to 4")


def shape_of(rank: int, size: int) -> tuple[int, ...]:
    """About so many bytes of float64, all extents alike and multiples of 8 where there are several."""
    extent = round((size / 8) ** (1 / rank))
    return (extent if rank == 1 else max(8, extent // 8 * 8),) * rank


def measure(shape: tuple[int, ...], folder: Path, rounds: int, calls: int, cached: bool) -> Seconds:
    """Seconds of every contender and copy, round by round."""
    x, out = baselines.arrays(shape)
    contenders = {"weft": baselines.weft_bound(1)(x, out), "weft, 2 threads": baselines.weft_bound(2)(x, out)}
    contenders |= {name: baseline(x, out) for name, baseline in baselines.installed(folder).items()}
    for name, call in contenders.items():
        baselines.check(name, call, x, out)
    make_copies = baselines.copies(folder)
    contenders |= make_copies(out[0], x, 1, out if cached else ())
    contenders |= {f"{name}, 2 threads": call for name, call in make_copies(out[0], x, 2).items()}
    contenders |= baselines.whole(x, out) if cached else {}

    def side(call: harness.Call) -> float:
        call()  # what the one before has left in the caches is not ours
        return harness.median_time(call, calls)

    sides = {name: lambda call=call: side(call) for name, call in contenders.items()}
    return harness.interleaved(harness.with_control(sides, "weft"), rounds, str(shape))


def summarise(shape: tuple[int, ...], seconds: Seconds, cached: bool, judged: bool, report: Report) -> None:
    """The figures of a shape; awkward shapes have no targets."""
    where = "x".join(map(str, shape))
    size = 8
    for extent in shape:
        size *= extent
    report.samples(seconds, shape=where, bytes=size)
    targets = (CACHED if cached else LARGE) if judged else {}
    moved = size * (1 + 2 * len(shape))
    for name, times in seconds.items():
        kind = name.split(",")[0]
        own = {"copy": 2 * size, "fill": size, "copies": 4 * len(shape) * size, "fills": moved - size}.get(kind, moved)
        report.figure(f"{where}: {name}", harness.spread([own / one / 1e9 for one in times]), "GB/s")
        for stream in STREAMS:
            copy = f"copy, {stream}" + ", 2 threads" * name.endswith("2 threads")
            if copy in seconds and copy != name:
                # Each round against the copy of that round.
                share = harness.spread([own / (2 * size) * one for one in harness.ratios(seconds[copy], times)])
                target = targets.get(f"share of {stream}") if name == "weft" else None
                report.figure(f"{where}: {name}: share of {stream}", share, "ratio", target, "at least")
    over_baselines(where, seconds, targets, report)
    over_bounds(where, bounds(shape, seconds, cached), seconds, report)


def over_baselines(where: str, seconds: Seconds, targets: dict[str, float], report: Report) -> None:
    """How many times as fast as each baseline weft is, and as the best of them; and as itself."""
    rivals = [name for name in seconds if not name.startswith(("weft", "cop", "fill"))]
    best = min(rivals, key=lambda name: statistics.median(seconds[name]))
    report.notes[f"{where}: best baseline"] = best
    for name, rival in [*((name, name) for name in rivals), ("best baseline", best)]:
        ratio = harness.spread(harness.ratios(seconds[rival], seconds["weft"]))
        report.figure(f"{where}: {name}/weft", ratio, "ratio", targets.get(f"{name}/weft"), "at least")
    control = harness.ratios(seconds[f"weft, {harness.CONTROL}"], seconds["weft"])
    report.figure(f"{where}: weft, {harness.CONTROL}/weft", harness.spread(control), "ratio")


def over_bounds(where: str, least: list[float], seconds: Seconds, report: Report) -> None:
    """What the machine needs over what weft takes, and numpy.roll over that: a target above it cannot be met here."""
    if all(least):
        report.figure(f"{where}: share of the bound", harness.spread(harness.ratios(least, seconds["weft"])), "ratio")
        reachable = harness.spread(harness.ratios(seconds["numpy.roll"], least))
        report.figure(f"{where}: numpy.roll/the bound", reachable, "ratio")
    if BLOCKS in seconds:
        share = harness.spread(harness.ratios(seconds[BLOCKS], seconds["weft"]))
        report.figure(f"{where}: share of copies by blocks", share, "ratio")


def bounds(shape: tuple[int, ...], seconds: Seconds, cached: bool) -> list[float]:
    """What the machine needs, round by round: in memory one copy and a fill for each further output, by streaming
    stores; in cache a store into every output, without reading anything."""
    if cached:
        return seconds["fills, memset"]
    if "fill, streaming" not in seconds:
        return [0.0] * len(seconds["weft"])
    further = 2 * len(shape) - 1
    return [c + further * f for c, f in zip(seconds["copy, streaming"], seconds["fill, streaming"], strict=True)]


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {
        "rounds": chosen.rounds,
        "shares": "bytes of each input once and each output once a second, over those of a copy in the same round: "
        "by memcpy (what STREAM means in the targets), and by a loop of streaming stores",
        "weft": "a plan bound to its outputs, one thread",
        "share of the bound": "what the machine needs over what weft takes: in memory one copy and a fill for each "
        "further output, by streaming stores; in cache a store into every output, without reading anything. A target "
        "of numpy.roll/weft above numpy.roll/the bound cannot be met on this machine",
    }
    sizes = [(shape_of(rank, chosen.bytes), False) for rank in chosen.ranks] + [(CACHED_SHAPE, True)]
    with tempfile.TemporaryDirectory() as folder:
        for regular, cached in sizes:
            for shape in [regular, *(harness.awkward_shapes(regular) if chosen.awkward else [])]:
                seconds = measure(shape, Path(folder), chosen.rounds, 50 if cached else 1, cached)
                summarise(shape, seconds, cached, shape == regular, report)


BENCHMARK = Benchmark(
    "shifts",
    "shifts along every axis beside numpy, numba, JAX and Fortran, as shares of a copy",
    "a minute",
    run,
    options,
    check,
    baselines.NEEDS,
)
