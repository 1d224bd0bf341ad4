"""A tune of many notes as one track: each note rings by itself, sends add them, and an echo follows.

    python programs/music_box.py [--size 40] [--machine here] [--seed 1]

Notes, the samples of all notes and the samples of the track are three VP sets: samples fetch pitch and loudness of
their note, compute a tone that fades, and send it to the time at which it sounds. Checked note by note in numpy. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

RING, APART = 80, 20
"""Samples that a note rings for, and those from one note to the next on average."""

PARTIALS = (1.0, 0.5, 0.25, 0.2, 0.1, 0.05)
FADING = 0.05
ECHOES = ((331, 0.4), (797, 0.2))


class Tune(NamedTuple):
    """Of each note: the sample at which it begins, its radians a sample, and how loud it is."""

    begin: np.ndarray
    pitch: np.ndarray
    loudness: np.ndarray


def problem(size: int, seed: int = 1) -> Tune:
    """Notes of a pentatonic scale."""
    generator = np.random.default_rng(seed)
    keys = generator.choice([0, 2, 4, 7, 9], size) + 12 * generator.integers(0, 2, size)
    begin = np.sort(generator.integers(0, APART * size, size))
    loudness = generator.uniform(0.1, 0.5, size)
    return Tune(begin.astype(np.int32), (0.1 * 2 ** (keys / 12)).astype(np.float32), loudness.astype(np.float32))


def solve(tune: Tune, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The track between -1 and 1, and as numbers of 16 bits."""
    notes = pvar.VPSet(tune.begin.shape, machine=machine)
    samples = pvar.VPSet((notes.size, RING), machine=machine)
    track = pvar.VPSet(APART * notes.size, machine=machine)
    begin, pitch, loudness = (pvar.get(notes.array(one), samples.coordinate(0)) for one in tune)
    time = samples.coordinate(1).astype(np.float32)
    tone, phase = samples.zeros(np.float32), pitch * time
    for number, strength in enumerate(PARTIALS, 1):
        tone = tone + pvar.sin(phase * float(number)) * pvar.exp(time * (-FADING * number)) * strength
    sound, sample = track.zeros(np.float32), begin + samples.coordinate(1)
    with samples.where(sample < track.size):
        pvar.send(tone * loudness, sample, combine="add", into=sound)
    wet = sound
    for distance, strength in ECHOES:
        wet = wet + pvar.shift(sound, -distance, boundary=0) * strength
    wet = pvar.tanh(wet)
    wet = wet / max(float(pvar.reduce(abs(wet), "max")), 1e-6)
    return np.asarray(wet), np.asarray(pvar.round(wet * 32767.0).astype(np.int16))


def expected(tune: Tune) -> np.ndarray:
    """The track, note by note."""
    sound = np.zeros(APART * len(tune.begin) + RING)
    time = np.arange(RING)
    for begin, pitch, loudness in zip(*(one.tolist() for one in tune), strict=True):
        partials = np.arange(1, len(PARTIALS) + 1)[:, None]
        tones = np.exp(-FADING * partials * time) * np.sin(pitch * partials * time)
        sound[begin : begin + RING] += loudness * np.array(PARTIALS) @ tones
    sound = sound[: APART * len(tune.begin)]
    wet = sound.copy()
    for distance, strength in ECHOES:
        wet[distance:] += strength * sound[: max(0, len(sound) - distance)]
    wet = np.tanh(wet)
    return wet / max(np.abs(wet).max(), 1e-6)


def main() -> int:
    parser = arguments.parser(__doc__, 40, "notes", "the tune")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one note")
    tune = problem(chosen.size, chosen.seed)
    sound, words = solve(tune, chosen.machine)
    print(f"{len(sound)} samples, {np.sqrt(np.mean(sound**2)):.3f} of the peak on average")
    wanted = expected(tune)
    right = np.allclose(sound, wanted, atol=1e-4) and np.abs(words - 32767 * wanted).max() < 5
    return arguments.verdict(right, "the track must be that of numpy")


if __name__ == "__main__":
    sys.exit(main())
