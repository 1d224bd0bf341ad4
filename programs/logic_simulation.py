"""A circuit of gates, 32 cases at once: which faults of its lines its test patterns bring to light.

    python programs/logic_simulation.py [--size 200] [--machine here] [--seed 1]

A processor has a gate with two inputs, and a bit of its word for each test pattern (Seshu and Freeman, IRE Transactions
on Electronic Computers 11, 1962). Gates of a level compute from those before. Then each of some faults, a line that is
always low or high, is simulated in the same way, and the outputs are compared. Checked gate by gate. Ends with code 1
if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

LEVELS, FAULTS, KINDS = 6, 8, 4
ALL = -1
"""A word of ones."""


class Circuit(NamedTuple):
    """By gate, those of a level in one row: kind (and, or, exclusive or, not and), two inputs by their numbers; words
    of the first level, which are the patterns; lines with faults, and whether they are high."""

    kind: np.ndarray
    inputs: np.ndarray
    patterns: np.ndarray
    faults: np.ndarray
    high: np.ndarray


def problem(size: int, seed: int = 1) -> Circuit:
    """Gates at random, most with inputs of the level before."""
    generator = np.random.default_rng(seed)
    kind = generator.integers(0, KINDS, (LEVELS, size))
    inputs = np.zeros((2, LEVELS, size), np.int64)
    for level in range(1, LEVELS):
        near = generator.integers((level - 1) * size, level * size, (2, size))
        inputs[:, level] = np.where(generator.random((2, size)) < 0.8, near, generator.integers(0, level * size))
    patterns = generator.integers(-(1 << 31), 1 << 31, size).astype(np.int32)
    faults = generator.integers(0, LEVELS * size, FAULTS)
    return Circuit(kind, inputs, patterns, faults, generator.random(FAULTS) < 0.5)


def simulated(
    vp: pvar.VPSet, gates: list[tuple], words: pvar.ParallelVariable, stuck: pvar.ParallelVariable | None, value: int
) -> pvar.ParallelVariable:
    """Words of all gates, from those of the first level; those of a line that is stuck stay as they are."""
    words = words.copy()
    if stuck is not None:
        with vp.where(stuck):
            words[...] = value
    for selected, kinds, inputs in gates:
        one, other = (pvar.get(words, address) for address in inputs)
        both = one & other
        result = pvar.where(kinds[0], both, pvar.where(kinds[1], one | other, pvar.where(kinds[2], one ^ other, ~both)))
        with vp.where(selected if stuck is None else selected & ~stuck):
            words[...] = result
    return words


def solve(circuit: Circuit, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """Words of the last level without faults; and of each fault in how many patterns and outputs it shows."""
    size = circuit.kind.shape[1]
    vp = pvar.VPSet(circuit.kind.shape, machine=machine)
    level, kind = vp.coordinate(0), vp.array(circuit.kind.astype(np.int8))
    kinds = [kind == one for one in range(KINDS - 1)]
    inputs = [vp.array(one.astype(np.int32)) for one in circuit.inputs]
    gates = [(level == one, kinds, inputs) for one in range(1, LEVELS)]
    start = np.zeros(circuit.kind.shape, np.int32)
    start[0] = circuit.patterns
    first = vp.array(start)
    right = simulated(vp, gates, first, None, 0)
    is_output, own = level == LEVELS - 1, vp.address()
    shown = []
    for line, high in zip(circuit.faults.tolist(), circuit.high.tolist(), strict=True):
        wrong = simulated(vp, gates, first, own == line, ALL if high else 0)
        differ = wrong ^ right
        with vp.where(is_output):
            patterns = pvar.reduce(differ, "logior")
            outputs = pvar.reduce((differ != 0).astype(np.int32), "sum")
        shown.append((int(patterns) & 0xFFFFFFFF).bit_count())
        shown.append(int(outputs))
    return np.asarray(right).reshape(LEVELS, size)[-1], np.array(shown)


def expected(circuit: Circuit) -> tuple[np.ndarray, np.ndarray]:
    """The same, gate by gate, with whole numbers of Python's."""
    size, ones = circuit.kind.shape[1], 0xFFFFFFFF
    kind, inputs = circuit.kind.ravel().tolist(), circuit.inputs.reshape(2, -1).T.tolist()

    def words(line: int, value: int) -> list[int]:
        found = [int(one) & ones for one in circuit.patterns]
        for gate in range(LEVELS * size):
            if gate >= size:
                one, other = (found[before] for before in inputs[gate])
                found.append((one & other, one | other, one ^ other, ones & ~(one & other))[kind[gate]])
            if gate == line:
                found[gate] = value
        return found[-size:]

    right, shown = words(-1, 0), []
    for line, high in zip(circuit.faults.tolist(), circuit.high.tolist(), strict=True):
        differ = [one ^ other for one, other in zip(words(line, ones if high else 0), right, strict=True)]
        patterns = 0
        for one in differ:
            patterns |= one
        shown += [patterns.bit_count(), sum(one != 0 for one in differ)]
    return np.array(right, np.uint32).astype(np.int32), np.array(shown)


def main() -> int:
    parser = arguments.parser(__doc__, 200, "gates of a level", "circuit and patterns")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one gate")
    circuit = problem(chosen.size, chosen.seed)
    answer = solve(circuit, chosen.machine)
    print(f"{(answer[1][1::2] > 0).sum()} of {FAULTS} faults show")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(circuit), strict=True))
    return arguments.verdict(right, "words and faults must be those of the gates one by one")


if __name__ == "__main__":
    sys.exit(main())
