"""Ranks of elements that are divided over processes: a sort by regular samples.

Each process sorts its own, and gives as many samples of them as there are processes; from all samples come the
boundaries between processes (Shi and Schaeffer, Parallel sorting by regular sampling, 1992, section 2). Elements go to
the processes of their range, are ranked there, and the ranks go back the way the elements came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.pvar.execution import Array

Exchange = Callable[[Array, list[int]], tuple[Array, list[int]]]
"""What processes have for each other: an array in the order of processes, how many elements of it each gets; back come
what arrived, in the order of processes, and how many of each."""

AllGather = Callable[[Array], list[Array]]
"""A small array of every process, on every process."""


def ranks(keys: Array, addresses: Array, processes: int, rank: int, exchange: Exchange, allgather: AllGather) -> Array:
    """Where each key comes among those of all processes; equal ones in the order of their addresses. Collective.

    Parameters
    ----------
    keys
        This process's, of 64 bits without sign.
    addresses
        Theirs, ascending, and different on all processes.
    processes, rank
        How many processes, and which this is.
    exchange, allgather
        How they communicate.
    """
    order = np.argsort(keys, kind="stable")
    keys, addresses = keys[order], addresses[order].astype(np.uint64)
    counts = _division(keys, addresses, _boundaries(keys, addresses, processes, allgather))
    arrived, lengths = exchange(keys, counts)
    of_whom, _ = exchange(addresses, counts)
    totals = np.concatenate(allgather(np.array([arrived.size], np.int64)))
    here = np.empty(arrived.size, np.int64)
    here[np.lexsort((of_whom, arrived))] = np.arange(arrived.size) + totals[:rank].sum()
    back, _ = exchange(here, lengths)
    result = np.empty(keys.size, np.int64)
    result[order] = back
    return result


def _boundaries(keys: Array, addresses: Array, processes: int, allgather: AllGather) -> list[tuple[Any, Any]]:
    """Keys and addresses from which on elements are of the next process."""
    at = np.linspace(0, keys.size, processes, endpoint=False).astype(np.int64) if keys.size else np.empty(0, np.int64)
    samples = np.concatenate(allgather(np.stack([keys[at], addresses[at]], axis=1).reshape(-1))).reshape(-1, 2)
    samples = samples[np.lexsort((samples[:, 1], samples[:, 0]))]
    if not len(samples):
        # Nobody has an element, so any boundaries will do.
        return [(np.uint64(0), np.uint64(0))] * (processes - 1)
    chosen = [len(samples) * one // processes for one in range(1, processes)]
    return [(samples[one, 0], samples[one, 1]) for one in chosen]


def _division(keys: Array, addresses: Array, boundaries: list[tuple[Any, Any]]) -> list[int]:
    """How many of the elements in order each process gets."""
    begins = [0]
    for key, address in boundaries:
        low, high = np.searchsorted(keys, key, "left"), np.searchsorted(keys, key, "right")
        begins.append(int(low + np.searchsorted(addresses[low:high], address)))
    counts: list[int] = np.diff([*begins, keys.size]).tolist()
    return counts
