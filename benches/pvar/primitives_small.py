"""Small arrays: each operation called from Python, beside numpy's own form of it, with and without a selection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from weft import _core

Pair = tuple[str, str, Callable[[], Any], Callable[[], Any]]


def pairs(n: int) -> Iterator[Pair]:
    """Name, plain or selected, weft's call, numpy's call; a spread is of as many whole rows of 64 as there are."""
    rng = np.random.default_rng(1)
    a, b, out = rng.random(n), rng.random(n), np.zeros(n)
    plane, plane_out = a[: n // 64 * 64].reshape(64, -1), out[: n // 64 * 64].reshape(64, -1)
    index, k = rng.permutation(n), rng.random(n) < 0.5
    several = index // 4
    plane_k = k[: plane.size].reshape(plane.shape)

    def scanned(where: bool) -> None:
        if where:
            np.copyto(out, np.cumsum(np.where(k, a, 0.0)), where=k)
        else:
            np.cumsum(a, out=out)

    yield "add", "plain", lambda: _core.array_elementwise("add", (a, b), out), lambda: np.add(a, b, out=out)
    yield (
        "add",
        "selected",
        lambda: _core.array_elementwise("add", (a, b), out, k),
        lambda: np.add(a, b, out=out, where=k),
    )
    yield "sum", "plain", lambda: _core.array_reduce(a, "add"), lambda: np.sum(a)
    yield "sum", "selected", lambda: _core.array_reduce(a, "add", k), lambda: np.sum(a, where=k)
    yield "max", "plain", lambda: _core.array_reduce(a, "max"), lambda: np.max(a)
    yield "max", "selected", lambda: _core.array_reduce(a, "max", k), lambda: np.max(a, where=k, initial=-np.inf)
    yield "scan", "plain", lambda: _core.array_scan(a, out, "add"), lambda: scanned(False)
    yield "scan", "selected", lambda: _core.array_scan(a, out, "add", selection=k), lambda: scanned(True)
    yield "spread", "plain", lambda: _core.array_spread(plane, plane_out, 0, 3), lambda: np.copyto(plane_out, plane[3])
    yield (
        "spread",
        "selected",
        lambda: _core.array_spread(plane, plane_out, 0, 3, plane_k),
        lambda: np.copyto(plane_out, plane[3], where=plane_k),
    )
    yield "gather", "plain", lambda: _core.array_gather(a, index, out), lambda: np.take(a, index, out=out)
    yield (
        "gather",
        "selected",
        lambda: _core.array_gather(a, index, out, k),
        lambda: np.copyto(out, np.take(a, index), where=k),
    )
    yield "send with add", "plain", lambda: _core.array_send(a, several, out, "add"), lambda: np.add.at(out, several, a)
    yield (
        "send with add",
        "selected",
        lambda: _core.array_send(a, several, out, "add", k),
        lambda: np.add.at(out, several[k], a[k]),
    )
