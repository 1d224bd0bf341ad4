"""Visits of a web site, told from a log in which the requests of all visitors are mixed.

    python programs/web_sessions.py [--size 3000] [--machine here] [--seed 1]

Requests are put into the order of visitors and times; a new visit begins with another visitor, or after half an hour.
Scans number the visits, sends add up what belongs to each, and its pages are a bit each. Checked with Python's
dictionaries. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

PAUSE, PAGES = 1800, 30
SECONDS = 100_000


class Log(NamedTuple):
    """Visitor, second and page of each request, and how many visitors there may be."""

    visitor: np.ndarray
    second: np.ndarray
    page: np.ndarray
    visitors: int


def problem(size: int, seed: int = 1) -> Log:
    """A log in the order of time, of visitors of whom some come often."""
    generator = np.random.default_rng(seed)
    visitors = max(size // 20, 1)
    visitor = (visitors * generator.random(size) ** 2).astype(np.int32)
    second = np.sort(1_700_000_000 + generator.integers(0, SECONDS, size)).astype(np.int64)
    page = np.minimum(generator.geometric(0.15, size) - 1, PAGES - 1).astype(np.uint8)
    return Log(visitor, second, page, visitors)


def solve(log: Log, machine: str = "here") -> tuple[np.ndarray, ...]:
    """Seconds, requests and different pages of each visit, visits of each visitor, and the most common last page."""
    vp = pvar.VPSet(log.visitor.shape, machine=machine)
    visitor, second, page = (vp.array(one) for one in log[:3])
    order = pvar.rank((second, visitor))
    visitor, second, page = (pvar.send(one, order) for one in (visitor, second, page))
    begins = (visitor != pvar.shift(visitor, -1, boundary=-1)) | (second - pvar.shift(second, -1, boundary=0) > PAUSE)
    number = pvar.scan(begins.astype(np.int32), "add") - 1
    visits = pvar.VPSet(int(number[len(log.page) - 1]) + 1, machine=machine)
    requests = pvar.send(1, number, combine="add", vp=visits)
    ends = pvar.shift(begins, 1, boundary=True)
    elapsed = second - pvar.scan(second, "copy", segments=begins)
    with vp.where(ends):
        duration = pvar.send(elapsed, number, vp=visits)
        last = pvar.send(1, page, combine="add", vp=pvar.VPSet(PAGES, machine=machine))
    seen = pvar.send(1 << page.astype(np.int32), number, combine="logior", vp=visits)
    pages = visits.zeros(np.int32)
    while pvar.reduce(seen != 0, "or"):
        with visits.where(seen != 0):
            seen &= seen - 1
            pages += 1
    with vp.where(begins):
        often = pvar.send(1, visitor, combine="add", vp=pvar.VPSet(log.visitors, machine=machine))
    common = (*last.argmax(), last.max())
    return *(one.numpy() for one in (duration, requests, pages, often)), np.array(common)


def expected(log: Log) -> tuple[np.ndarray, ...]:
    """The same, request by request."""
    visits: dict[int, list[list[tuple[int, int]]]] = {}
    for visitor, second, page in zip(*(one.tolist() for one in log[:3]), strict=True):
        own = visits.setdefault(visitor, [])
        if not own or second - own[-1][-1][0] > PAUSE:
            own.append([])
        own[-1].append((second, page))
    each = [visit for visitor in sorted(visits) for visit in visits[visitor]]
    last = np.bincount([visit[-1][1] for visit in each], minlength=PAGES)
    return (
        np.array([visit[-1][0] - visit[0][0] for visit in each]),
        np.array([len(visit) for visit in each]),
        np.array([len({page for _, page in visit}) for visit in each]),
        np.array([len(visits.get(visitor, [])) for visitor in range(log.visitors)]),
        np.array([last.argmax(), last.max()]),
    )


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "requests", "the log")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one request")
    log = problem(chosen.size, chosen.seed)
    answer = solve(log, chosen.machine)
    print(f"{len(answer[0])} visits, of {answer[1].mean():.2f} requests and {answer[0].mean():.0f} seconds in the mean")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(log), strict=True))
    return arguments.verdict(right, "visits must be those of the requests one by one")


if __name__ == "__main__":
    sys.exit(main())
