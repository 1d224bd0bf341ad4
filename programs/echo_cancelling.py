"""Telephone lines without the echo of one's own voice: an adaptive filter for each line.

    python programs/echo_cancelling.py [--size 200] [--machine here] [--seed 1]

A processor has a line: a ring of the latest samples, a delay of its own, and weights that normalized least mean squares
adapt (Nagumo and Noda, IEEE Trans. Autom. Control 12, 1967), except while somebody speaks at the near end. Samples are
of 32 bits. Checked with numpy's windows in 64 bits. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

SAMPLES, TAPS, DELAYS = 160, 8, 20
RING = TAPS + DELAYS
RATE, FLOOR = 0.5, 0.01
LOUD = 0.75
"""Who is louder than this part of what was sent speaks himself (Duttweiler 1978)."""


class Lines(NamedTuple):
    """What was sent and what comes back, sample by sample, and by how many samples echoes are late."""

    sent: np.ndarray
    back: np.ndarray
    delay: np.ndarray


def problem(size: int, seed: int = 1) -> Lines:
    """Noise as speech, echoes of it through other filters, and somebody at the near end now and then."""
    generator = np.random.default_rng(seed)
    sent = generator.normal(0, 1, (SAMPLES, size)).astype(np.float32)
    delay = generator.integers(0, DELAYS, size).astype(np.int32)
    echo = generator.normal(0, 0.12, (TAPS, size))
    back = generator.normal(0, 0.003, (SAMPLES, size))
    for line in range(TAPS):
        for late in range(DELAYS):
            who, by = delay == late, late + line
            back[by:, who] += echo[line, who] * sent[: SAMPLES - by, who]
    speaks = np.repeat(generator.random((SAMPLES // 20, size)) < 0.15, 20, axis=0)
    back += speaks * generator.normal(0, 3, (SAMPLES, size))
    return Lines(sent, back.astype(np.float32), delay)


def solve(lines: Lines, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each line's weights, how often it adapted them, and the energy of what is left of its last samples."""
    vp = pvar.VPSet(len(lines.delay), machine=machine)
    delay = vp.array(lines.delay)
    ring, weights = vp.arrays(RING, np.float32), vp.arrays(TAPS, np.float32)
    adapted, energy = vp.zeros(np.int16), vp.zeros(np.float32)
    for time, (sent, back) in enumerate(zip(lines.sent, lines.back, strict=True)):
        ring[time % RING] = vp.array(sent)
        error, power, peak = vp.array(back, copy=True), vp.full(FLOOR, np.float32), vp.zeros(np.float32)
        loudness, latest = abs(error), time - delay
        inputs = [ring[(latest - tap) % RING] for tap in range(TAPS)]
        for tap, one in enumerate(inputs):
            error -= weights[tap] * one
            power += one * one
            peak[...] = pvar.maximum(peak, abs(one))
        with vp.where(loudness <= LOUD * peak):
            step = RATE * error / power
            for tap, one in enumerate(inputs):
                weights[tap] += step * one
            adapted += 1
            if time >= SAMPLES // 2:
                energy += error * error
    return weights.numpy(), np.asarray(adapted), np.asarray(energy)


def expected(lines: Lines) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same from windows of the samples of all lines, in 64 bits."""
    size = len(lines.delay)
    weights, adapted, energy = np.zeros((size, TAPS)), np.zeros(size, int), np.zeros(size)
    history = np.concatenate([np.zeros((RING, size)), lines.sent])
    for time, back in enumerate(lines.back.astype(float)):
        latest = RING + time - lines.delay
        window = history[latest[:, None] - np.arange(TAPS), np.arange(size)[:, None]]
        error = back - (weights * window).sum(axis=1)
        power = FLOOR + (window**2).sum(axis=1)
        adapts = abs(back) <= LOUD * abs(window).max(axis=1)
        weights[adapts] += RATE * (error / power)[adapts, None] * window[adapts]
        adapted += adapts
        energy += np.where(adapts & (time >= SAMPLES // 2), error**2, 0)
    return weights, adapted, energy


def main() -> int:
    parser = arguments.parser(__doc__, 200, "lines", "samples and echoes")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one line")
    lines = problem(chosen.size, chosen.seed)
    weights, adapted, energy = solve(lines, chosen.machine)
    print(f"adapted in {adapted.mean() / SAMPLES:.0%} of all samples, with an energy of {energy.mean():.4f} left")
    wanted = expected(lines)
    right = np.array_equal(adapted, wanted[1]) and np.allclose(weights, wanted[0], rtol=1e-3, atol=1e-4)
    right = right and np.allclose(energy, wanted[2], rtol=1e-3, atol=1e-4)
    return arguments.verdict(bool(right), "weights must be those of numpy within rounding")


if __name__ == "__main__":
    sys.exit(main())
