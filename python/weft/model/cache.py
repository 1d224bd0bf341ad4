"""What receives cost more where the cache of a node does not hold all that are posted at one time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

STEPS = 4
"""Sizes that are tried for each doubling of the bytes posted."""

RATIOS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""How many times as many bytes as find all of them in the cache may be posted before none is found, of those tried."""


@dataclass(frozen=True)
class Cache:
    """The table `[cache]` of a machine file; `crates/machine/src/description.rs` says what it means.

    Attributes
    ----------
    bytes
        The most bytes of receives posted at one time all of which are found in it.
    all_missed_bytes
        The fewest of which none is.
    miss_byte_time
        Time of the receiver for a byte that is not found, beside the protocol's, s/B.
    """

    bytes: int
    all_missed_bytes: int
    miss_byte_time: float

    def seconds(self, posted: int, length: int) -> float:
        """What a message of `length` bytes costs beside its protocol while `posted` bytes of receives are, s."""
        return self.miss_byte_time * length * missed(posted, self.bytes, self.all_missed_bytes)


def missed(posted: int, held: int, all_missed: int) -> float:
    """The share of bytes that are not found: a straight line from none at `held` to all at `all_missed`."""
    if posted <= held:
        return 0.0
    return 1.0 if posted >= all_missed else (posted - held) / (all_missed - held)


def best(posted: Iterable[int], residual: Callable[[int, int], float]) -> tuple[int, int]:
    """The sizes with the least residual, all found and all missed, of those tried over the range of bytes posted."""
    sizes = sorted(set(posted))
    return min(_tried(sizes[0], sizes[-1]), key=lambda pair: residual(*pair))


def _tried(first: int, last: int) -> Iterator[tuple[int, int]]:
    count = 1 + int(STEPS * np.log2(last / first))
    for size, ratio in product(np.geomspace(first, last, count), RATIOS):
        if size * ratio <= last:
            yield round(size), round(size * ratio)
