"""A quantum computer that adds: the state of some qubits through a circuit of gates.

    python programs/quantum_circuit.py [--size 8] [--machine here] [--seed 1]

A processor has an amplitude, real and imaginary part. A gate of one qubit combines it with the one whose address
differs in that bit, a controlled phase turns those with both bits set. The circuit is Draper's adder (arXiv
quant-ph/0008033, 2000): a Fourier transform, phases, and the transform back, after one layer of random rotations of
further qubits. Checked with matrices of gates. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

Gate = tuple[str, int, int, float]
"""`turn` of a qubit by an angle, `mix` (Hadamard), or `phase` of two qubits by an angle."""


def problem(size: int, seed: int = 1) -> tuple[int, int, list[Gate]]:
    """How many qubits there are, the number that they begin with, and the circuit."""
    generator = np.random.default_rng(seed)
    number, added = (int(one) for one in generator.integers(0, 1 << size, 2))
    gates: list[Gate] = [("turn", int(one), 0, float(generator.uniform(0.1, 1))) for one in range(0, size, 3)]
    transform: list[Gate] = []
    for one in reversed(range(size)):
        transform.append(("mix", one, 0, 0.0))
        transform += [("phase", one, other, math.pi / 2 ** (one - other)) for other in reversed(range(one))]
    gates += transform
    for one in range(size):
        angle = sum(math.pi / 2 ** (one - other) for other in range(one + 1) if added >> other & 1)
        gates.append(("phase", one, one, angle))
    gates += [(kind, one, other, -angle) for kind, one, other, angle in reversed(transform)]
    return size, number, gates


def solve(circuit: tuple[int, int, list[Gate]], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes, real and imaginary parts; and how likely each qubit is one."""
    qubits, number, gates = circuit
    vp = pvar.VPSet(1 << qubits, machine=machine)
    own = vp.address(np.int32)
    real, imaginary = (own == number).astype(np.float64), vp.zeros()
    bits = [(own & (1 << one)) != 0 for one in range(qubits)]
    for kind, one, other, angle in gates:
        if kind == "phase":
            with vp.where(bits[one] & bits[other]):
                cosine, sine = math.cos(angle), math.sin(angle)
                turned = real * cosine - imaginary * sine
                imaginary[...] = real * sine + imaginary * cosine
                real[...] = turned
            continue
        partner = own ^ (1 << one)
        there = pvar.get(real, partner), pvar.get(imaginary, partner)
        if kind == "mix":
            sign = pvar.where(bits[one], -1.0, 1.0)
            real, imaginary = ((sign * x + y) * math.sqrt(0.5) for x, y in zip((real, imaginary), there, strict=True))
        else:
            sign = pvar.where(bits[one], math.sin(angle), -math.sin(angle))
            cosine = math.cos(angle)
            real, imaginary = (cosine * x + sign * y for x, y in zip((real, imaginary), there, strict=True))
    likely = real * real + imaginary * imaginary
    ones = []
    for bit in bits:
        with vp.where(bit):
            ones.append(pvar.reduce(likely, "sum"))
    return np.stack([np.asarray(real), np.asarray(imaginary)]), np.array(ones)


def expected(circuit: tuple[int, int, list[Gate]]) -> tuple[np.ndarray, np.ndarray]:
    """The same with a tensor that has an axis for each qubit, the last qubit's first."""
    qubits, number, gates = circuit
    state = np.zeros(1 << qubits, complex)
    state[number] = 1
    state = state.reshape((2,) * qubits)
    for kind, one, other, angle in gates:
        axis = qubits - 1 - one
        if kind == "phase":
            index: list = [slice(None)] * qubits
            index[axis] = index[qubits - 1 - other] = 1
            state[tuple(index)] *= np.exp(1j * angle)
            continue
        sine, cosine = math.sin(angle), math.cos(angle)
        matrix = np.array([[1, 1], [1, -1]]) / math.sqrt(2) if kind == "mix" else [[cosine, -sine], [sine, cosine]]
        state = np.moveaxis(np.tensordot(matrix, state, (1, axis)), 0, axis)
    likely = abs(state) ** 2
    ones = [np.take(likely, 1, qubits - 1 - one).sum() for one in range(qubits)]
    return np.stack([state.real.ravel(), state.imag.ravel()]), np.array(ones)


def main() -> int:
    parser = arguments.parser(__doc__, 8, "qubits", "the numbers and rotations")
    chosen = parser.parse_args()
    if not 1 <= chosen.size <= 24:
        parser.error(f"expected 1 to 24 qubits, not {chosen.size}")
    circuit = problem(chosen.size, chosen.seed)
    answer = solve(circuit, chosen.machine)
    print(f"{len(circuit[2])} gates; the likeliest number is {int((answer[0] ** 2).sum(axis=0).argmax())}")
    pairs = zip(answer, expected(circuit), strict=True)
    right = all(one.shape == other.shape and np.allclose(one, other, atol=1e-9) for one, other in pairs)
    return arguments.verdict(right, "amplitudes must be those of the gates' matrices")


if __name__ == "__main__":
    sys.exit(main())
