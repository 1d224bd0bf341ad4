"""How fast sound runs through the ground: the velocity at which the echoes of a seismic survey agree best.

    python programs/velocity_analysis.py [--size 200] [--machine here] [--seed 1]

A processor has a sample of a trace. For each velocity it fetches its echo from where the hyperbola has it, between two
samples; sums over traces and along time give the semblance (Taner and Koehler, Geophysics 34, 1969). Checked against
numpy's interpolation. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

TRACES = 20
STEP = 0.004
SPREAD = 60.0
VELOCITIES = np.arange(1500.0, 3900.0, 240.0)
WINDOW = 3


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Traces with a number of echoes and noise."""
    generator = np.random.default_rng(seed)
    traces = generator.normal(0, 0.1, (TRACES, size))
    time = STEP * np.arange(size)
    offset = SPREAD * np.arange(TRACES)[:, None]
    for start, velocity in zip(generator.uniform(0, time[-1], 8), generator.choice(VELOCITIES, 8), strict=True):
        pulse = np.pi * 25 * (time - np.hypot(start, offset / velocity))
        traces += (1 - 2 * pulse**2) * np.exp(-(pulse**2))
    return traces.astype(np.float32)


def solve(traces: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The number of the best velocity for each time, and its semblance."""
    vp, samples = pvar.VPSet(traces.shape, machine=machine), traces.shape[1]
    trace, number = vp.array(traces), vp.coordinate(0)
    offset = number.astype(np.float32) * (SPREAD / STEP)
    start = vp.coordinate(1).astype(np.float32)
    best, velocity = vp.full(-1.0, np.float32), vp.zeros(np.int8)
    for index, speed in enumerate(VELOCITIES.tolist()):
        arrival = pvar.hypot(start, offset / speed)
        sample = pvar.floor(arrival).astype(np.int32)
        part = arrival - pvar.floor(arrival)
        echo = vp.zeros(np.float32)
        with vp.where(sample < samples - 1):
            early, late = pvar.get(trace, (number, sample)), pvar.get(trace, (number, sample + 1))
            echo[...] = early + part * (late - early)
        stacked = pvar.square(pvar.reduce(echo, "sum", axis=0))
        energy = pvar.reduce(echo * echo, "sum", axis=0)
        for distance in range(1, WINDOW + 1):
            pair = [pvar.shift(stacked, one, axis=1, boundary=0) for one in (-distance, distance)]
            stacked = stacked + pair[0] + pair[1] if distance == 1 else (stacked + pair[0] + pair[1]) * 0.5
            pair = [pvar.shift(energy, one, axis=1, boundary=0) for one in (-distance, distance)]
            energy = energy + pair[0] + pair[1] if distance == 1 else (energy + pair[0] + pair[1]) * 0.5
        semblance = stacked / (TRACES * energy + 1e-3)
        with vp.where(semblance > best):
            best[...] = semblance
            velocity[...] = index
    return np.asarray(velocity)[0], np.asarray(best)[0]


def expected(traces: np.ndarray) -> np.ndarray:
    """The semblance of all velocities and times."""
    time = np.arange(traces.shape[1])
    all_of_them = []
    for speed in VELOCITIES:
        echoes = []
        for number, trace in enumerate(traces.astype(float)):
            arrival = np.sqrt(time**2 + (number * SPREAD / STEP / speed) ** 2)
            echoes.append(np.where(arrival < time[-1], np.interp(arrival, time, trace), 0))
        both = [np.sum(echoes, axis=0) ** 2, np.sum(np.square(echoes), axis=0)]
        for distance in range(1, WINDOW + 1):
            kernel = np.zeros(2 * distance + 1)
            kernel[[0, distance, -1]] = 1 if distance == 1 else 0.5
            both = [np.convolve(np.pad(one, distance), kernel, "valid") for one in both]
        all_of_them.append(both[0] / (TRACES * both[1] + 1e-3))
    return np.array(all_of_them)


def main() -> int:
    parser = arguments.parser(__doc__, 200, "samples of a trace", "echoes and noise")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one sample")
    traces = problem(chosen.size, chosen.seed)
    velocity, semblance = solve(traces, chosen.machine)
    strongest = semblance.argmax()
    print(f"the best echo, after {strongest * STEP:.2f} s, is of {VELOCITIES[velocity[strongest]]:.0f} m/s")
    wanted = expected(traces)
    of_best = np.take_along_axis(wanted, velocity[None].astype(int), axis=0)[0]
    right = np.allclose(semblance, wanted.max(axis=0), atol=2e-3) and np.allclose(semblance, of_best, atol=2e-3)
    return arguments.verdict(right, "semblances must be those of numpy's interpolation")


if __name__ == "__main__":
    sys.exit(main())
