"""The kernels of parallel variables beside their peers, in one run.

    python benches/pvar/primitives.py [--groups streams,gather,send,small] [--elements 67108864] [--rounds 5]
        [--threads 2] [--ratios 1,3,10,30,100,300,1000] [--part-of FILE] [--no-record]

Groups: `streams` (add, sum, max, scans, spread, shift of float64) as shares of STREAM's copy of the same round: bytes
of each array read once and written once a second, over those of a copy. Shares are given against a copy by memcpy and
one by a loop of streaming stores, each with one thread and with as many as weft uses; the target is held against memcpy
with as many. `gather` and `send` (with add; destinations next to each other, `clustered`, or as far apart as they can
be, `scattered`) in million elements a second. `small`: 4096 elements, calls from Python, with and without a selection,
beside numpy's own form of the same.

The whole takes some minutes. On a machine that is not quiet for so long, do it in pieces: --part-of FILE adds groups,
rows and ratios to a record that there is, and makes it if there is none; each piece has its own time and load there.

All contenders of a row run in every round, in an order that turns. numba, numexpr and JAX are used where present. Run
it on a quiet machine.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import datetime
import functools
import json
import os
import platform
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "polyshift")]

import recording  # noqa: E402
import shifts_peers  # noqa: E402
from pvar_peers import found  # noqa: E402

import weft  # noqa: E402
from weft import _core  # noqa: E402

GROUPS = ("streams", "gather", "send", "small")
SMALL = 4096
# Shares of a copy, million elements a second, and times of numpy's: the least, or for `small` the most.
STREAMS = {"add": 1.1, "sum": 0.9, "max": 0.9, "scan": 0.9, "segmented scan": 0.9, "spread": 0.95, "shift": 1.0}
RATE = 150
EVEN = 0.1
SMALL_MOST = {"plain": 2.0, "selected": 1.0}

Call = Callable[[], Any]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", default=",".join(GROUPS), help="groups, comma-separated (default: all)")
    parser.add_argument("--elements", type=int, default=64 << 20, help="elements, a power of two (default 64 Mi)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of weft (default: all processors)")
    parser.add_argument("--ratios", default="1,3,10,30,100,300,1000", help="senders of one destination, in `send`")
    parser.add_argument("--rows", default="", help="only these rows of `streams`, comma-separated (default: all)")
    parser.add_argument("--part-of", type=Path, metavar="FILE", help="add to this record")
    parser.add_argument("--no-record", action="store_true", help="print only")
    chosen = parser.parse_args()
    chosen.groups = chosen.groups.split(",")
    chosen.ratios = [int(ratio) for ratio in chosen.ratios.split(",")]
    chosen.rows = chosen.rows.split(",") if chosen.rows else list(STREAMS)
    if not set(chosen.groups) <= set(GROUPS) or not set(chosen.rows) <= set(STREAMS):
        parser.error(f"groups are {', '.join(GROUPS)}; rows are {', '.join(STREAMS)}")
    if chosen.rounds < 1 or chosen.threads < 1 or chosen.elements < 1 << 14 or chosen.elements.bit_count() != 1:
        parser.error("at least one round and one thread; elements are a power of two, at least 16384")
    return chosen


def once(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def raced(name: str, contenders: dict[str, Call], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contender in each round."""
    seconds: dict[str, list[float]] = {contender: [] for contender in contenders}
    names = list(contenders)
    for contender in names:
        contenders[contender]()
    for number in range(rounds):
        for contender in names[number % len(names) :] + names[: number % len(names)]:
            seconds[contender].append(once(contenders[contender]))
        print(f"\r{name}: round {number + 1} of {rounds} ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return seconds


def check(name: str, call: Call, out: np.ndarray, expected: np.ndarray | float) -> None:
    """Ends the program where a contender comes to something else."""
    result = call()
    result = out if result is None else np.asarray(result)
    if not np.allclose(result, expected, rtol=1e-9):
        sys.exit(f"{name} computes something else")


def streams(chosen: argparse.Namespace, folder: Path) -> dict[str, Any]:
    n, threads = chosen.elements, chosen.threads
    side = 1 << (n.bit_length() // 2)
    a = np.arange(n, dtype=float) % 1024
    b = a[::-1].copy()
    out = np.zeros(n)
    flags = np.zeros(n, dtype=bool)
    flags[np.random.default_rng(1).integers(0, n, n // 100)] = True
    flags[0] = True
    plane, plane_out = a.reshape(-1, side), out.reshape(-1, side)
    weft_calls = {
        "add": lambda: _core.array_elementwise("add", (a, b), out, threads=threads),
        "sum": lambda: _core.array_reduce(a, "add", threads=threads),
        "max": lambda: _core.array_reduce(a, "max", threads=threads),
        "scan": lambda: _core.array_scan(a, out, "add", threads=threads),
        "segmented scan": lambda: _core.array_scan(a, out, "add", segments=flags, threads=threads),
        "spread": lambda: _core.array_spread(plane, plane_out, 0, 1, threads=threads),
        "shift": shifted(a, out, threads),
    }
    moved = {"add": 24, "sum": 8, "max": 8, "scan": 16, "segmented scan": 17, "spread": 8, "shift": 16}
    copies = shifts_peers.copies(folder)
    by_threads = {count: copies(out, a, count) for count in {1, threads}}
    if threads > 1:
        by_threads[threads]["copy, memcpy"] = memcpy_by_threads(out, a, threads)
    rows = {}
    for row in chosen.rows:
        contenders = {"weft": weft_calls[row]}
        expected = None
        for name, peer in found(row, a, b, out, flags, side).items():
            if expected is None:
                expected = peer.call()
                expected = np.array(out if expected is None else expected)
                check(f"weft's {row}", weft_calls[row], out, expected)
            contenders[name] = peer.call
        for count, made in by_threads.items():
            contenders |= {f"{copy}, {count} threads": call for copy, call in made.items() if copy.startswith("copy")}
        seconds = raced(row, contenders, chosen.rounds)
        rows[row] = shares(row, seconds, moved[row] * n, 16 * n, threads)
        shown(row, rows[row])
    return rows


def memcpy_by_threads(to: np.ndarray, x: np.ndarray, threads: int) -> Call:
    """A share of the array for each thread; memmove lets the others go on."""
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    share = x.nbytes // threads

    def part(number: int) -> None:
        ctypes.memmove(to.ctypes.data + number * share, x.ctypes.data + number * share, share)

    return lambda: list(pool.map(part, range(threads)))


def shifted(a: np.ndarray, out: np.ndarray, threads: int) -> Call:
    return weft.polyshift(a.shape, a.dtype, [(1, 0)], threads=threads).bind(a, out=[out])


def shares(row: str, seconds: dict[str, list[float]], moved: int, copied: int, threads: int) -> dict[str, Any]:
    found = {}
    for name, values in seconds.items():
        found[name] = {"seconds": shifts_peers.spread(values)}
        if name.startswith("copy"):
            found[name]["gb_per_s"] = copied / found[name]["seconds"]["median"] / 1e9
            continue
        found[name]["gb_per_s"] = moved / found[name]["seconds"]["median"] / 1e9
        for copy, copy_seconds in seconds.items():
            if copy.startswith("copy"):
                ratios = [moved / copied * c / s for s, c in zip(values, copy_seconds, strict=True)]
                found[name][f"share of {copy}"] = shifts_peers.spread(ratios)
    share = found["weft"][f"share of copy, memcpy, {threads} threads"]["median"]
    return {"contenders": found, "target": STREAMS[row], "share": share, "met": share >= STREAMS[row]}


def shown(row: str, result: dict[str, Any]) -> None:
    print(f"\n{row}: {result['share']:.2f} of a copy by memcpy, target {result['target']}: {verdict(result['met'])}")
    for name, values in result["contenders"].items():
        text = "  ".join(
            f"{key.removeprefix('share of ')} {value['median']:.2f} ({value['least']:.2f} to {value['largest']:.2f})"
            for key, value in values.items()
            if key.startswith("share")
        )
        print(f"  {name:32} {1e3 * values['seconds']['median']:8.1f} ms {values['gb_per_s']:6.1f} GB/s  {text}")


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def permutation(n: int) -> np.ndarray:
    """0 to n-1 in an order that jumps about, by odd multiplications and folded bits; n is a power of two."""
    places = np.arange(n, dtype=np.uint64)
    half = np.uint64(n.bit_length() // 2)
    for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        places *= np.uint64(factor)
        places &= np.uint64(n - 1)
        places ^= places >> half
    return places.view(np.int64)


def rates(name: str, seconds: dict[str, list[float]], n: int) -> dict[str, Any]:
    found = {who: shifts_peers.spread([n / s / 1e6 for s in values]) for who, values in seconds.items()}
    text = "  ".join(
        f"{who} {rate['median']:.0f} ({rate['least']:.0f} to {rate['largest']:.0f})" for who, rate in found.items()
    )
    print(f"{name}: million elements/s: {text}; target {RATE}: {verdict(found['weft']['median'] >= RATE)}", flush=True)
    return {"million_elements_per_s": found, "target": RATE, "met": found["weft"]["median"] >= RATE}


def gather(chosen: argparse.Namespace) -> dict[str, Any]:
    n = chosen.elements
    a, index, out = np.arange(n, dtype=float), permutation(n), np.zeros(n)
    call = functools.partial(_core.array_gather, a, index, out, threads=chosen.threads)
    check("weft's gather", call, out, index.astype(float))
    contenders = {"weft": call} | {name: peer.call for name, peer in found("gather", a, index, out).items()}
    return rates("random gather", raced("gather", contenders, chosen.rounds), n)


def send(chosen: argparse.Namespace) -> dict[str, Any]:
    n = chosen.elements
    order = permutation(n)
    x, out = np.full(n, 0.5), np.zeros(n)
    # As parallel variables keep one.
    room = _core.SendRoom(_core.array_send_room(x, out, chosen.threads))
    rows = {}
    for ratio in chosen.ratios:
        for pattern, stride in {"clustered": 1, "scattered": ratio}.items():
            index = order // ratio * stride
            out[:] = 0
            call = functools.partial(_core.array_send, x, index, out, "add", threads=chosen.threads, room=room)
            call()
            if out.sum() != n / 2 or out[(n // ratio - 1) * stride] != ratio / 2:
                sys.exit("weft's send computes something else")
            contenders = {"weft": call} | {name: peer.call for name, peer in found("send", x, index, out).items()}
            name = f"send, {ratio} to one, {pattern}"
            rows[name] = rates(name, raced(name, contenders, chosen.rounds), n)
    return {"rows": rows, **evenness(rows)}


def evenness(rows: dict[str, Any]) -> dict[str, Any]:
    """How far the rates of sends from ratio 3 on are apart."""
    weft_rates = {
        name: row["million_elements_per_s"]["weft"]["median"]
        for name, row in rows.items()
        if not name.startswith("send, 1 to")
    }
    if not weft_rates:
        return {}
    spread = max(weft_rates.values()) / min(weft_rates.values()) - 1
    outcome = f"from ratio 3 on, the fastest is {100 * spread:.0f}% above the slowest"
    print(f"{outcome}; target {100 * EVEN:.0f}%: {verdict(spread <= EVEN)}")
    return {"fastest_over_slowest": spread, "target": EVEN, "met": spread <= EVEN}


def microseconds(call: Call, calls: int = 400) -> float:
    return 1e6 * timeit.timeit(call, number=calls) / calls


def small(chosen: argparse.Namespace) -> dict[str, Any]:
    from pvar_small import pairs

    rows = {}
    print(f"\n{SMALL} elements, microseconds a call: weft, numpy, ratio")
    for name, kind, ours, theirs in pairs(SMALL):
        both: dict[str, list[float]] = {"weft": [], "numpy": []}
        for number in range(4 * chosen.rounds):
            sides = [("weft", ours), ("numpy", theirs)]
            for who, call in sides if number % 2 == 0 else reversed(sides):
                both[who].append(microseconds(call))
        ratio = shifts_peers.spread([w / n for w, n in zip(both["weft"], both["numpy"], strict=True)])
        met = ratio["median"] <= SMALL_MOST[kind]
        medians = {who: shifts_peers.spread(values) for who, values in both.items()}
        rows[f"{name}, {kind}"] = {"microseconds": medians, "ratio": ratio, "target": SMALL_MOST[kind], "met": met}
        print(
            f"  {name + ', ' + kind:28} {medians['weft']['median']:8.2f} {medians['numpy']['median']:8.2f} "
            f"{ratio['median']:6.2f}, target {SMALL_MOST[kind]}: {verdict(met)}"
        )
    return rows


def joined(
    path: Path, started: datetime.datetime, load: tuple[float, ...], protocol: dict[str, Any], results: dict[str, Any]
) -> None:
    """Adds what was measured to a record; rows that it has are replaced."""
    piece = {
        "date": started.isoformat(timespec="seconds"),
        "load_before": load,
        "load_after": os.getloadavg(),
        "protocol": protocol,
        "rows": {group: list(one.get("rows", one)) for group, one in results.items()},
    }
    record: dict[str, Any] = {
        "benchmark": "pvar-primitives",
        "processor": recording.processor(),
        "processors": os.cpu_count(),
        "system": platform.platform(),
        "pieces": [],
        "results": {},
    }
    if path.exists():
        record = json.loads(path.read_text(encoding="utf-8"))
    record["pieces"].append(piece)
    for group, measured in results.items():
        there = record["results"].setdefault(group, {})
        if group == "send":
            rows = {**there.get("rows", {}), **measured["rows"]}
            record["results"][group] = {"rows": rows, **evenness(rows)}
        else:
            there.update(measured)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\nrecord:", path)


def main() -> None:
    chosen = options()
    started, load = datetime.datetime.now(datetime.UTC), os.getloadavg()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for group in chosen.groups:
            work = {"streams": lambda: streams(chosen, Path(folder)), "gather": lambda: gather(chosen)}
            work |= {"send": lambda: send(chosen), "small": lambda: small(chosen)}
            results[group] = work[group]()
    if not chosen.no_record:
        protocol = {
            "elements": chosen.elements,
            "rounds": chosen.rounds,
            "threads": chosen.threads,
            "shares": "bytes of each array read once and written once a second over those of a copy in the same round",
        }
        if chosen.part_of is not None:
            joined(chosen.part_of, started, load, protocol, results)
            return
        name = "pvar-" + ("primitives" if set(chosen.groups) == set(GROUPS) else "-".join(chosen.groups))
        print("\nrecord:", shifts_peers.record(name, started, load, {"protocol": protocol, "results": results}))


if __name__ == "__main__":
    main()
