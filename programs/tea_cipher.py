"""Blocks enciphered with the Tiny Encryption Algorithm, a block of 64 bits on each processor.

    python programs/tea_cipher.py [--size 2000] [--machine here] [--seed 1]

Both halves of a block are mixed in 32 rounds of shifts, sums and exclusive ors of 32 bits (Wheeler and Needham 1994),
and back. Checked against Python's integers on some blocks, and by deciphering all. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

DELTA, ROUNDS, WORD = 0x9E3779B9, 32, 0xFFFFFFFF
KEY = (0x01234567, 0x89ABCDEF, 0xFEDCBA98, 0x76543210)


def problem(size: int, seed: int = 1) -> np.ndarray:
    """The two halves of each block."""
    return np.random.default_rng(seed).integers(0, 1 << 32, (2, size))


def mixed(half: pvar.ParallelVariable, total: int, first: int, second: int) -> pvar.ParallelVariable:
    """What a half of the block and a half of the key add to the other."""
    return ((half << 4) + first) ^ (half + total) ^ ((half >> 5) + second)


def solve(blocks: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """Enciphered blocks, and those deciphered again."""
    vp = pvar.VPSet(blocks.shape[1], machine=machine)
    left, right = (vp.array(half) for half in blocks)
    total = 0
    for _ in range(ROUNDS):
        total = (total + DELTA) & WORD
        left = (left + mixed(right, total, KEY[0], KEY[1])) & WORD
        right = (right + mixed(left, total, KEY[2], KEY[3])) & WORD
    enciphered = np.stack([np.asarray(left), np.asarray(right)])
    for _ in range(ROUNDS):
        right = (right - mixed(left, total, KEY[2], KEY[3])) & WORD
        left = (left - mixed(right, total, KEY[0], KEY[1])) & WORD
        total = (total - DELTA) & WORD
    return enciphered, np.stack([np.asarray(left), np.asarray(right)])


def expected(left: int, right: int) -> tuple[int, int]:
    """A block by Python's integers."""
    total = 0
    for _ in range(ROUNDS):
        total = (total + DELTA) % 2**32
        left = (left + ((right * 16 + KEY[0]) ^ (right + total) ^ (right // 32 + KEY[1]))) % 2**32
        right = (right + ((left * 16 + KEY[2]) ^ (left + total) ^ (left // 32 + KEY[3]))) % 2**32
    return left, right


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "blocks", "the blocks")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one block")
    blocks = problem(chosen.size, chosen.seed)
    enciphered, back = solve(blocks, chosen.machine)
    print(f"{chosen.size} blocks; the first becomes {enciphered[0, 0]:08x}{enciphered[1, 0]:08x}")
    some = range(0, chosen.size, max(1, chosen.size // 50))
    right = all(tuple(enciphered[:, at].tolist()) == expected(*map(int, blocks[:, at])) for at in some)
    return arguments.verdict(right and np.array_equal(back, blocks), "blocks must be those of integers, and come back")


if __name__ == "__main__":
    sys.exit(main())
