"""Checksums of many messages at once, bit by bit (cyclic redundancy checks as of Ethernet and zip).

    python programs/checksums.py [--size 2000] [--machine here] [--seed 1]

Each processor has a message. The checksum takes in a byte of it, and is divided by a polynomial in eight steps, each of
which is a shift and, where a bit falls out, an exclusive or. Checked against zlib. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
import zlib

import arguments
import numpy as np

from weft import pvar

POLYNOMIAL = 0xEDB88320
"""Of CRC-32, its bits in the order in which they are sent (IEEE 802.3)."""

LENGTH = 16
"""Bytes of a message."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """So many messages of random bytes."""
    return np.random.default_rng(seed).integers(0, 256, (size, LENGTH)).astype(np.int64)


def solve(messages: np.ndarray, machine: str = "here") -> np.ndarray:
    """The checksum of each."""
    vp = pvar.VPSet(len(messages), machine=machine)
    checksum = vp.full(0xFFFFFFFF, np.int64)
    for byte in messages.T:
        checksum = checksum ^ vp.array(np.ascontiguousarray(byte))
        for _ in range(8):
            falls_out = checksum & 1
            checksum = (checksum >> 1) ^ (falls_out * POLYNOMIAL)
    return np.asarray(checksum ^ 0xFFFFFFFF)


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "messages", "the messages")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one message")
    messages = problem(chosen.size, chosen.seed)
    found = solve(messages, chosen.machine)
    expected = [zlib.crc32(one.astype(np.uint8).tobytes()) for one in messages]
    print(f"{chosen.size} messages, the first has {found[0]:08x}")
    return arguments.verdict(found.tolist() == expected, "checksums must be those of zlib")


if __name__ == "__main__":
    sys.exit(main())
