"""Which route packets take: the longest prefix of a table that an address begins with.

    python programs/prefix_routes.py [--size 500] [--machine here] [--seed 1]

A processor has a packet, another a node of a tree of 4 bits a level, into which routes are expanded (Srinivasan and
Varghese, ACM Transactions on Computer Systems 17, 1999). Packets go down the tree, those that are at its end no more,
and sends count packets and bytes of each route. Checked packet by packet. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

BITS, STRIDE = 24, 4
ROUTES = 60
SIDES = 1 << STRIDE


class Traffic(NamedTuple):
    """Routes as prefixes and their lengths; addresses of packets and their bytes; and the tree: child and route of each
    node and nibble, -1 for none."""

    prefixes: np.ndarray
    lengths: np.ndarray
    addresses: np.ndarray
    bytes: np.ndarray
    child: np.ndarray
    route: np.ndarray


def problem(size: int, seed: int = 1) -> Traffic:
    """Routes of all lengths, some within others; nine of ten packets are for one of them."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(2, BITS - 3, ROUTES)
    prefixes = generator.integers(0, 1 << BITS, ROUTES)
    inner = generator.integers(0, ROUTES // 2, ROUTES // 2)
    for one, other in enumerate(inner.tolist(), ROUTES // 2):
        lengths[one] = min(BITS - 4, lengths[other] + int(generator.integers(1, 7)))
        shared = BITS - lengths[other]
        prefixes[one] = prefixes[other] >> shared << shared | prefixes[one] & ((1 << shared) - 1)
    prefixes = prefixes >> (BITS - lengths) << (BITS - lengths)
    chosen = generator.integers(0, ROUTES, size)
    addresses = prefixes[chosen] | generator.integers(0, 1 << BITS, size) % (1 << (BITS - lengths[chosen]))
    addresses = np.where(generator.random(size) < 0.9, addresses, generator.integers(0, 1 << BITS, size))
    child, route = [[-1] * SIDES], [[-1] * SIDES]
    for one in np.argsort(lengths, kind="stable").tolist():
        node, left, shift = 0, int(lengths[one]), BITS - STRIDE
        while left > STRIDE:
            nibble = int(prefixes[one]) >> shift & (SIDES - 1)
            if child[node][nibble] < 0:
                child[node][nibble] = len(child)
                child.append([-1] * SIDES)
                route.append([-1] * SIDES)
            node, left, shift = child[node][nibble], left - STRIDE, shift - STRIDE
        first = int(prefixes[one]) >> shift & (SIDES - 1)
        route[node][first : first + (1 << (STRIDE - left))] = [one] * (1 << (STRIDE - left))
    lengths_of = generator.choice([40, 576, 1500], size)
    return Traffic(prefixes, lengths, addresses, lengths_of, np.array(child), np.array(route))


def solve(traffic: Traffic, machine: str = "here") -> tuple[np.ndarray, ...]:
    """The route of each packet, -1 for none; packets and bytes by route."""
    vp = pvar.VPSet(len(traffic.addresses), machine=machine)
    tree = pvar.VPSet(traffic.child.shape, machine=machine)
    table = pvar.VPSet(ROUTES, machine=machine)
    child, route = (tree.array(one.astype(np.int32)) for one in (traffic.child, traffic.route))
    address, length = vp.array(traffic.addresses.astype(np.int32)), vp.array(traffic.bytes.astype(np.int64))
    node, best = vp.zeros(np.int32), vp.full(-1, np.int32)
    for shift in range(BITS - STRIDE, -1, -STRIDE):
        goes_on = node >= 0
        if not pvar.reduce(goes_on, "or"):
            break
        nibble = (address >> shift) & (SIDES - 1)
        with vp.where(goes_on):
            here = pvar.get(route, (node, nibble))
            with vp.where(here >= 0):
                best[...] = here
            node[...] = pvar.get(child, (node, nibble))
    packets, volume = table.zeros(np.int32), table.zeros(np.int64)
    with vp.where(best >= 0):
        pvar.send(1, best, combine="add", into=packets)
        pvar.send(length, best, combine="add", into=volume)
    return np.asarray(best), np.asarray(packets), np.asarray(volume)


def expected(traffic: Traffic) -> tuple[np.ndarray, ...]:
    """The same from the routes themselves, the longest first; of equal ones the last counts."""
    order = sorted(range(ROUTES), key=lambda one: (-int(traffic.lengths[one]), -one))
    best = np.full(len(traffic.addresses), -1)
    for one in reversed(order):
        rest = BITS - int(traffic.lengths[one])
        best[traffic.addresses >> rest == int(traffic.prefixes[one]) >> rest] = one
    with_route = best >= 0
    packets = np.bincount(best[with_route], minlength=ROUTES)
    volume = np.bincount(best[with_route], traffic.bytes[with_route], ROUTES).astype(int)
    return best, packets, volume


def main() -> int:
    parser = arguments.parser(__doc__, 500, "packets", "routes and packets")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one packet")
    traffic = problem(chosen.size, chosen.seed)
    answer = solve(traffic, chosen.machine)
    print(f"{(answer[0] >= 0).mean():.1%} of the packets have a route; the busiest has {answer[1].max()}")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(traffic), strict=True))
    return arguments.verdict(right, "routes must be those of the longest prefixes")


if __name__ == "__main__":
    sys.exit(main())
