"""A heap without its garbage: objects that can still be reached are marked, moved together, and point to each other.

    python programs/garbage_collection.py [--size 3000] [--machine here] [--seed 1]

A processor has an object of up to three references. Marks spread from the roots along all references at once; sums of
sizes are new addresses, which references fetch; survivors are packed into a VP set as small as needed, those that have
survived often enough into one of old ones. Checked object by object. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

FIELDS, OLD = 3, 3
NOTHING = -1


class Heap(NamedTuple):
    """Which objects each refers to, sizes in words, collections survived, and roots."""

    references: np.ndarray
    words: np.ndarray
    age: np.ndarray
    roots: np.ndarray


def problem(size: int, seed: int = 1) -> Heap:
    """Objects that refer mostly to those nearby, and often to nothing."""
    generator = np.random.default_rng(seed)
    nearby = np.arange(size) + generator.integers(-50, 51, (FIELDS, size))
    references = np.where(generator.random((FIELDS, size)) < 0.9, nearby % size, generator.integers(0, size, size))
    references[generator.random((FIELDS, size)) < 0.55] = NOTHING
    words = generator.integers(2, 17, size).astype(np.uint16)
    roots = generator.integers(0, size, 1 + size // 100)
    return Heap(references.astype(np.int32), words, generator.integers(0, OLD + 1, size).astype(np.uint8), roots)


def solve(heap: Heap, machine: str = "here") -> tuple[np.ndarray, ...]:
    """Survivors' addresses, references (as addresses), and ages, in order; who is old; words taken before and after."""
    vp, of_roots = pvar.VPSet(len(heap.words), machine=machine), pvar.VPSet(len(heap.roots), machine=machine)
    references = [vp.array(field) for field in heap.references]
    words, age = vp.array(heap.words).astype(np.int32), vp.array(heap.age, copy=True)
    marked = vp.zeros(np.bool_)
    reached = pvar.send(of_roots.full(True), of_roots.array(heap.roots), combine="or", vp=vp)
    while pvar.reduce(reached, "or"):
        marked |= reached
        arriving = vp.zeros(np.bool_)
        for field in references:
            with vp.where(reached & (field != NOTHING)):
                pvar.send(reached, field, combine="or", into=arriving)
        reached = arriving & ~marked
    before = words.sum()
    with vp.where(marked):
        address = pvar.scan(words, "add", exclusive=True)
        age[...] = pvar.minimum(age + 1, OLD)
        after = words.sum()
        live = pvar.VPSet(int(pvar.reduce(marked, "count")), machine=machine)
        number = vp.enumerate()
        ages, addresses = pvar.send(age, number, vp=live), pvar.send(address, number, vp=live)
    moved = []
    for field in references:
        forwarded = vp.full(NOTHING, np.int32)
        with vp.where(marked & (field != NOTHING)):
            forwarded[...] = pvar.get(address, field)
        with vp.where(marked):
            moved.append(pvar.send(forwarded, number, vp=live))
    with live.where(ages == OLD):
        old = pvar.VPSet(int(pvar.reduce(ages, "count")), machine=machine)
        of_old = pvar.send(addresses, live.enumerate(), vp=old)
    fields = np.stack([one.numpy() for one in moved])
    return addresses.numpy(), fields, ages.numpy(), of_old.numpy(), np.array([before, after])


def expected(heap: Heap) -> tuple[np.ndarray, ...]:
    """The same by a stack of objects to visit."""
    references, words = heap.references.T.tolist(), heap.words.tolist()
    stack = list(set(heap.roots.tolist()))
    marked = set(stack)
    while stack:
        for one in references[stack.pop()]:
            if one != NOTHING and one not in marked:
                marked.add(one)
                stack.append(one)
    addresses, end = {NOTHING: NOTHING}, 0
    for one in sorted(marked):
        addresses[one], end = end, end + words[one]
    fields = [[addresses[other] for other in references[one]] for one in sorted(marked)]
    ages = np.minimum(heap.age[sorted(marked)] + 1, OLD)
    of_them = np.array([addresses[one] for one in sorted(marked)])
    return of_them, np.array(fields).T, ages, of_them[ages == OLD], np.array([sum(words), end])


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "objects", "the heap")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one object")
    heap = problem(chosen.size, chosen.seed)
    answer = solve(heap, chosen.machine)
    print(f"{len(answer[0])} of {chosen.size} objects stay, in {answer[4][1]} of {answer[4][0]} words")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(heap), strict=True))
    return arguments.verdict(right, "survivors must be those that can be reached one by one")


if __name__ == "__main__":
    sys.exit(main())
