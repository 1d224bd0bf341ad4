"""A text in as few bits as a code of whole bits for each letter can have it.

    python programs/huffman_code.py [--size 2000] [--machine here] [--seed 1]

Letters are counted by sends, and the two rarest groups joined until there is one (Huffman, Proceedings of the IRE 40,
1952). Codes follow from their lengths alone (Schwartz and Kallick 1964), a scan says where each letter's bits begin,
and sends put them into words. Checked by decoding. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import heapq
import sys

import arguments
import numpy as np

from weft import pvar

LETTERS, WORD = 27, 32


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Letters by number, some much rarer than others."""
    generator = np.random.default_rng(seed)
    frequency = 1 / (1 + generator.permutation(LETTERS)) ** 1.5
    return generator.choice(LETTERS, size, p=frequency / frequency.sum()).astype(np.uint8)


def solve(text: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, int]:
    """The words, the length of each letter's code, and how many bits there are."""
    vp, letters = pvar.VPSet(text.shape, machine=machine), pvar.VPSet(LETTERS, machine=machine)
    letter = vp.array(text)
    weight = pvar.send(1, letter, combine="add", vp=letters)
    length = joined(letters, weight)
    # Codes in the order of lengths, then of letters: each is the one before plus one, with zeros up to its length.
    longest = int(length.max())
    with letters.where(length > 0):
        order = pvar.rank(length)
        taken = pvar.send(1 << (longest - length), order)
    first = pvar.scan(taken, "add", exclusive=True)
    code = pvar.get(first, order) >> (longest - length)
    bits, own = pvar.get(length, letter), pvar.get(code, letter)
    start = pvar.scan(bits, "add", exclusive=True)
    total = int(pvar.reduce(bits, "sum"))
    words = pvar.VPSet((total + WORD - 1) // WORD, machine=machine).zeros(np.uint32)
    number, free = start // WORD, WORD - start % WORD - bits
    whole = free >= 0
    with vp.where(whole):
        pvar.send((own << free).astype(np.uint32), number, combine="logior", into=words)
    with vp.where(~whole):
        pvar.send((own >> -free).astype(np.uint32), number, combine="logior", into=words)
        rest = (own << (WORD + free)) & (2**WORD - 1)
        pvar.send(rest.astype(np.uint32), number + 1, combine="logior", into=words)
    return np.asarray(words), np.asarray(length), total


def joined(letters: pvar.VPSet, weight: pvar.ParallelVariable) -> pvar.ParallelVariable:
    """The length of each letter's code: how often the group that it belongs to is joined with another."""
    length, group, weight = letters.zeros(np.int64), letters.address(), weight.copy()
    for _ in range(max(1, int(pvar.reduce(weight > 0, "sum")) - 1)):
        with letters.where(weight > 0):
            (rarest,) = weight.argmin()
        others = (weight > 0) & (letters.address() != rarest)
        with letters.where(others):
            (second,) = weight.argmin() if pvar.reduce(others, "or") else (rarest,)
        with letters.where((group == rarest) | (group == second)):
            length += 1
            group[...] = rarest
        if second != rarest:
            weight[rarest] = weight[rarest] + weight[second]
            weight[second] = 0
    return length


def right(text: np.ndarray, words: np.ndarray, length: np.ndarray, total: int) -> bool:
    """Whether the words are the text, and no code is shorter."""
    counts = np.bincount(text, minlength=LETTERS)
    heap, least = [int(one) for one in counts if one], 0
    heapq.heapify(heap)
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        least += both
        heapq.heappush(heap, both)
    if total != (least or len(text)) or total != counts @ length:
        return False
    table, code, previous = {}, 0, 0
    for letter in sorted(np.flatnonzero(counts).tolist(), key=lambda one: (length[one], one)):
        code <<= int(length[letter]) - previous
        previous = int(length[letter])
        table[f"{code:0{previous}b}"] = letter
        code += 1
    decoded, seen = [], ""
    for bit in "".join(f"{word:0{WORD}b}" for word in words.tolist())[:total]:
        seen += bit
        if seen in table:
            decoded.append(table[seen])
            seen = ""
    return decoded == text.tolist()


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "letters", "the text")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one letter")
    text = problem(chosen.size, chosen.seed)
    words, length, total = solve(text, chosen.machine)
    print(f"{chosen.size} letters have {total} bits")
    return arguments.verdict(right(text, words, length, total), "decoding must give the text, from fewest bits")


if __name__ == "__main__":
    sys.exit(main())
