"""Stable marriages by proposals: all free men propose at once, and each woman keeps the best who ever did.

    python programs/stable_marriage.py [--size 100] [--machine here] [--seed 1]

Men are one VP set and women another; the lists of whom each likes are matrices, of which a man fetches his next
element. Proposals are sends that keep the least, which is the man whom she likes most. Whatever the order of proposals,
all men get the best wives that they can have (Gale and Shapley, American Mathematical Monthly 69, 1962). Checked
against proposals one after the other. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

Lists = tuple[np.ndarray, np.ndarray]
"""Women in the order in which each man likes them, and men in that in which each woman does: a row for each."""


def problem(size: int, seed: int = 1) -> Lists:
    """Lists at random, of as many men as women."""
    generator = np.random.default_rng(seed)
    in_order = np.tile(np.arange(size, dtype=np.int32), (size, 1))
    return generator.permuted(in_order, axis=1), generator.permuted(in_order, axis=1)


def solve(lists: Lists, machine: str = "here") -> np.ndarray:
    """The wife of each man."""
    size = len(lists[0])
    men, women = pvar.VPSet(size, machine=machine), pvar.VPSet(size, machine=machine)
    pairs = pvar.VPSet((size, size), machine=machine)
    likes = pairs.array(lists[0])
    # Where each man is on each woman's list.
    standing = pvar.send(pairs.coordinate(1), (pairs.coordinate(0), pairs.array(lists[1])))
    best, man = women.full(np.int32(size)), men.address()
    tried, is_free, wife = men.zeros(np.int32), men.full(True), men.zeros(np.int32)
    while pvar.reduce(is_free, "or"):
        with men.where(is_free):
            wife[...] = pvar.get(likes, (man, tried))
            tried += 1
            pvar.send(pvar.get(standing, (wife, man)), wife, combine="min", into=best)
        is_free = pvar.get(best, wife) != pvar.get(standing, (wife, man))
    return np.asarray(wife)


def expected(lists: Lists) -> np.ndarray:
    """The same, a proposal after the other."""
    likes = lists[0].tolist()
    standing = np.argsort(lists[1], axis=1).tolist()
    husband: list[int | None] = [None] * len(likes)
    tried, free = [0] * len(likes), list(range(len(likes)))
    while free:
        man = free.pop()
        woman = likes[man][tried[man]]
        tried[man] += 1
        other = husband[woman]
        if other is None or standing[woman][man] < standing[woman][other]:
            husband[woman], man = man, other
        if man is not None:
            free.append(man)
    return np.argsort(husband)


def main() -> int:
    parser = arguments.parser(__doc__, 100, "men, and women", "the lists")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one man and one woman")
    lists = problem(chosen.size, chosen.seed)
    found = solve(lists, chosen.machine)
    choice = np.argmax(lists[0] == found[:, None], axis=1) + 1
    print(f"{len(found)} pairs; men get their choice number {choice.mean():.1f} on average, {choice.max()} at worst")
    return arguments.verdict(np.array_equal(found, expected(lists)), "pairs must be those of single proposals")


if __name__ == "__main__":
    sys.exit(main())
