"""Wrong bits of blocks set right by a product code: Hamming's code along the rows and along the columns.

    python programs/product_code.py [--size 20] [--machine here] [--seed 1]

A processor has a bit of a block. The exclusive or of the numbers of all bits of a line that are set is the number of
the wrong one (Hamming 1950); columns and rows alternate until nothing changes. Checked by products with the matrix of
parities in numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LENGTH = 15
PARITY = [1, 2, 4, 8]
CHECKS = (np.arange(1, LENGTH + 1) >> np.arange(4)[:, None]) & 1
SWEEPS = 6


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Blocks of the code of which one bit in 30 has been received wrongly."""
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2, (size, LENGTH, LENGTH))
    at = np.array(PARITY) - 1
    bits[:, at] = 0
    bits[:, at] = np.einsum("pi,bij->bpj", CHECKS, bits) % 2
    bits[:, :, at] = 0
    bits[:, :, at] = np.einsum("pj,bij->bip", CHECKS, bits) % 2
    return (bits == 1) ^ (generator.random(bits.shape) < 1 / 30)


def solve(received: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bits, which blocks are of the code in the end, and in how many bits each differs from what was received."""
    vp = pvar.VPSet(received.shape, machine=machine)
    original, bit = vp.array(received), vp.array(received, copy=True)
    numbers = {axis: vp.coordinate(axis, np.int8) + 1 for axis in (1, 2)}
    for _ in range(SWEEPS):
        changed = vp.zeros(np.bool_)
        for axis, number in numbers.items():
            syndrome = pvar.reduce(pvar.where(bit, number, 0), "logxor", axis=axis)
            wrong = number == syndrome
            bit ^= wrong
            changed |= wrong
        if not pvar.reduce(changed, "or"):
            break
    valid = pvar.reduce(~changed, "and", axis=(1, 2))
    flips = pvar.reduce(bit ^ original, "sum", axis=(1, 2))
    return np.asarray(bit), np.asarray(valid)[:, 0, 0], np.asarray(flips)[:, 0, 0]


def expected(received: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by matrices."""
    bits, changed = received.astype(int), np.ones(received.shape, bool)
    # Which bit is wrong by the value of the four parities: none for 0.
    wrong = np.vstack([np.zeros(LENGTH, int), np.eye(LENGTH, dtype=int)])
    for _ in range(SWEEPS):
        columns = wrong[np.tensordot([1, 2, 4, 8], (CHECKS @ bits) % 2, (0, 1))]
        bits = (bits + columns.transpose(0, 2, 1)) % 2
        rows = wrong[((bits @ CHECKS.T) % 2) @ [1, 2, 4, 8]]
        bits = (bits + rows) % 2
        changed = (columns.transpose(0, 2, 1) + rows) > 0
        if not changed.any():
            break
    return bits == 1, ~changed.any(axis=(1, 2)), np.count_nonzero(bits != received, axis=(1, 2))


def main() -> int:
    parser = arguments.parser(__doc__, 20, "blocks", "bits and errors")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one block")
    received = problem(chosen.size, chosen.seed)
    answer = solve(received, chosen.machine)
    print(f"{answer[2].sum()} bits differ in the end; {np.count_nonzero(answer[1])} of {chosen.size} blocks are valid")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(received), strict=True))
    return arguments.verdict(right, "bits must be those of products with the matrix")


if __name__ == "__main__":
    sys.exit(main())
