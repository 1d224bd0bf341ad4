"""Shifts in both directions along every axis, weft beside its peers, as shares of STREAM's copy.

    python benches/polyshift/shifts.py [--rounds 7] [--bytes 134217728] [--ranks 1,2,3,4] [--no-record]

All contenders run in every round, in an order that turns. A share counts each input read once and each output written
once, and divides by what STREAM's copy moves in the same round: once with the copy that is memcpy, once with a loop of
streaming stores, which on some machines is twice as fast. The row of streaming stores alone shows how fast memory takes
writes, which are most of what shifts do. numpy and JAX make new arrays at each call, having no other way; the others
write given ones. Needs weft; numba, jax, gfortran and a C compiler are used where present. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import shifts_peers as peers

# The least of each.
LARGE = {"share_of_memcpy": 1.0, "share_of_streaming": 1.0, "over_numpy_roll": 4.0, "over_best_peer": 1.6}
CACHED = {"over_numpy_roll": 5.0, "over_best_peer": 1.0}
CACHED_SHAPE = (16,) * 4
# The source into every output without moving anything within it, a few KiB of each in turn.
BLOCKS = "copies, by blocks"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds (default 7)")
    parser.add_argument("--bytes", type=int, default=128 << 20, help="bytes of one array (default 128 MiB)")
    parser.add_argument("--ranks", default="1,2,3,4", help="ranks, comma-separated (default 1,2,3,4)")
    parser.add_argument("--no-record", action="store_true", help="print only")
    chosen = parser.parse_args()
    chosen.ranks = [int(rank) for rank in chosen.ranks.split(",") if rank]
    if chosen.rounds < 1 or chosen.bytes < 1 << 16 or not set(chosen.ranks) <= {1, 2, 3, 4}:
        parser.error("at least one round, 65536 bytes, ranks of 1 to 4")
    return chosen


def shape_of(rank: int, size: int) -> tuple[int, ...]:
    """About so many bytes of float64, all extents alike and multiples of 8 where there are several."""
    extent = round((size / 8) ** (1 / rank))
    return (extent if rank == 1 else max(8, extent // 8 * 8),) * rank


def arrays(shape: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    x = np.random.default_rng(1).random(shape)
    return x, [np.zeros(shape) for _ in peers.ways(len(shape))]


def timed(call: peers.Call, calls: int) -> float:
    """Median seconds of a call."""
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def compare(shape: tuple[int, ...], folder: Path, rounds: int, calls: int, cached: bool) -> dict[str, object]:
    x, out = arrays(shape)
    contenders = {"weft": peers.weft_bound(1)(x, out), "weft, 2 threads": peers.weft_bound(2)(x, out)}
    contenders |= {name: peer(x, out) for name, peer in peers.found(folder).items()}
    for name, call in contenders.items():
        peers.check(name, call, x, out)
    make_copies = peers.copies(folder)
    contenders |= make_copies(out[0], x, 1, out if cached else ())
    contenders |= {f"{name}, 2 threads": call for name, call in make_copies(out[0], x, 2).items()}
    contenders |= peers.whole(x, out) if cached else {}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            contenders[name]()  # what the one before has left in the caches is not ours
            seconds[name].append(timed(contenders[name], calls))
        print(f"\r{shape}: round {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return summary(shape, x.nbytes, seconds, cached)


def summary(shape: tuple[int, ...], size: int, seconds: dict[str, list[float]], cached: bool) -> dict[str, object]:
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    moved = size * (1 + 2 * len(shape))
    rows = {}
    for name, values in seconds.items():
        kind = name.split(",")[0]
        own = {"copy": 2 * size, "fill": size, "copies": 4 * len(shape) * size, "fills": moved - size}.get(kind, moved)
        rows[name] = {"seconds": peers.spread(values), "gb_per_s": own / medians[name] / 1e9}
        for stream in ("memcpy", "streaming"):
            copy = f"copy, {stream}" + ", 2 threads" * name.endswith("2 threads")
            if copy in seconds:
                # Each round against the copy of that round.
                shares = [own / (2 * size) * c / s for s, c in zip(values, seconds[copy], strict=True)]
                rows[name][f"share_of_{stream}"] = peers.spread(shares)
    rivals = [name for name in seconds if not name.startswith(("weft", "cop", "fill"))]
    ratios = {n: peers.spread([r / w for r, w in zip(seconds[n], seconds["weft"], strict=True)]) for n in rivals}
    best = min(rivals, key=medians.get)
    found = {
        "share_of_memcpy": rows["weft"]["share_of_memcpy"]["median"],
        "share_of_streaming": rows["weft"].get("share_of_streaming", {}).get("median"),
        "over_numpy_roll": ratios["numpy.roll"]["median"],
        "over_best_peer": ratios[best]["median"],
    }
    targets = CACHED if cached else LARGE
    verdicts = {
        what: {"found": found[what], "target": target, "met": found[what] >= target}
        for what, target in targets.items()
        if found[what] is not None
    }
    least = bounds(shape, seconds, cached)
    bound = peers.spread([b / w for b, w in zip(least, seconds["weft"], strict=True)])
    # What nothing can be faster than, in the terms of a target: it may lie beyond.
    reachable = [r / b for r, b in zip(seconds["numpy.roll"], least, strict=True) if b > 0.0]
    if reachable:
        verdicts["over_numpy_roll"]["bound"] = peers.spread(reachable)
    result = {
        "shape": shape,
        "rows": rows,
        "weft_is_faster": ratios,
        "best_peer": best,
        "share_of_bound": bound,
        "targets": verdicts,
    }
    if BLOCKS in seconds:
        result["share_of_copies_by_blocks"] = peers.spread(
            [b / w for b, w in zip(seconds[BLOCKS], seconds["weft"], strict=True)]
        )
    return result


def bounds(shape: tuple[int, ...], seconds: dict[str, list[float]], cached: bool) -> list[float]:
    """What the machine needs, round by round: in memory one copy and a fill for each further output, by streaming
    stores; in cache a store into every output, without reading anything."""
    if cached:
        return seconds["fills, memset"]
    if "fill, streaming" not in seconds:
        return [0.0] * len(seconds["weft"])
    further = 2 * len(shape) - 1
    return [c + further * f for c, f in zip(seconds["copy, streaming"], seconds["fill, streaming"], strict=True)]


def show(result: dict[str, object]) -> None:
    rows, ratios = result["rows"], result["weft_is_faster"]
    print(f"\n{' x '.join(map(str, result['shape']))} float64{'shares of STREAM by memcpy':>46} {'by streaming stores':>22}")
    for name, row in rows.items():
        shares = [row.get(f"share_of_{stream}") for stream in ("memcpy", "streaming")]
        shown = " ".join(
            f"{s['median']:.2f} ({s['least']:.2f} to {s['largest']:.2f})" if s else " " * 19 for s in shares
        )
        faster = f"weft {ratios[name]['median']:.1f} times as fast" if name in ratios else ""
        print(f"  {name:27} {1e3 * row['seconds']['median']:9.3f} ms {row['gb_per_s']:6.1f} GB/s  {shown}  {faster}")
    bound = result["share_of_bound"]
    print(f"  share of the bound: {bound['median']:.2f} ({bound['least']:.2f} to {bound['largest']:.2f})")
    if "share_of_copies_by_blocks" in result:
        copies = result["share_of_copies_by_blocks"]
        print(f"  share of copies by blocks: {copies['median']:.2f} ({copies['least']:.2f} to {copies['largest']:.2f})")
    for what, verdict in result["targets"].items():
        bound = verdict.get("bound")
        words = f"; the bound: {bound['median']:.2f} ({bound['least']:.2f} to {bound['largest']:.2f})" if bound else ""
        met = "met" if verdict["met"] else "MISSED"
        print(f"  {what}: {verdict['found']:.2f}, target {verdict['target']}: {met}{words}")


def main() -> None:
    chosen = options()
    started, load = datetime.datetime.now(datetime.timezone.utc), os.getloadavg()
    results = []
    with tempfile.TemporaryDirectory() as name:
        for rank in chosen.ranks:
            results.append(compare(shape_of(rank, chosen.bytes), Path(name), chosen.rounds, 1, cached=False))
        results.append(compare(CACHED_SHAPE, Path(name), chosen.rounds, 50, cached=True))
    for result in results:
        show(result)
    if not chosen.no_record:
        protocol = {
            "rounds": chosen.rounds,
            "shares": "bytes of each input once and each output once a second, over those of a copy in the same round: "
            "by memcpy (what STREAM means in the targets), and by a loop of streaming stores",
            "weft": "a plan bound to its outputs, one thread",
            "share_of_bound": "what the machine needs over what weft takes: in memory one copy and a fill for each "
            "further output, by streaming stores; in cache a store into every output, without reading anything. The "
            "bound of over_numpy_roll is numpy.roll over that: a target above it cannot be met on this machine",
        }
        print("\nrecord:", peers.record("polyshift-shifts", started, load, {"protocol": protocol, "results": results}))


if __name__ == "__main__":
    main()
