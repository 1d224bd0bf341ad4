"""Bytes as letters: base64, three bytes for four letters on each processor, and back.

    python programs/base64_text.py [--size 3000] [--machine here] [--seed 1]

Letters are fetched from a table of 64 processors (RFC 4648, section 4). Checked against Python's base64. Ends with code
1 if the check fails.
"""

from __future__ import annotations

import base64
import string
import sys

import arguments
import numpy as np

from weft import pvar

LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Triples of bytes."""
    return np.random.default_rng(seed).integers(0, 256, (3, size)).astype(np.int32)


def solve(triples: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The letters of each triple, and the triples that they say."""
    vp, table = pvar.VPSet(triples.shape[1], machine=machine), pvar.VPSet(64, machine=machine)
    letters = table.array(np.frombuffer(LETTERS.encode(), np.uint8).astype(np.int32))
    first, second, third = (vp.array(one) for one in triples)
    word = (first << 16) | (second << 8) | third
    written = [pvar.get(letters, (word >> shift) & 63) for shift in (18, 12, 6, 0)]
    read = vp.zeros("int32")
    for letter in written:
        number = pvar.where(letter >= ord("a"), letter - (ord("a") - 26), letter - ord("A"))
        number = pvar.where(letter < ord("A"), letter + (52 - ord("0")), number)
        number = pvar.where(letter == ord("+"), 62, pvar.where(letter == ord("/"), 63, number))
        read = (read << 6) | number
    back = [(read >> shift) & 255 for shift in (16, 8, 0)]
    return np.stack([np.asarray(one) for one in written]), np.stack([np.asarray(one) for one in back])


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "triples of bytes", "the bytes")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one triple")
    triples = problem(chosen.size, chosen.seed)
    letters, back = solve(triples, chosen.machine)
    text = letters.T.astype(np.uint8).tobytes()
    print(f"{text[:40].decode()}")
    right = text == base64.b64encode(triples.T.astype(np.uint8).tobytes()) and np.array_equal(back, triples)
    return arguments.verdict(right, "letters must be those of base64, and say the same bytes")


if __name__ == "__main__":
    sys.exit(main())
