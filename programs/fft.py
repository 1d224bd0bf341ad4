"""The fast Fourier transform by shifts over powers of two, decimated in frequency.

    python programs/fft.py [--size 4096] [--machine here] [--seed 1]

In the stage with half-length h, a processor whose bit h is 0 adds what lies h further; one whose bit is 1 subtracts
itself from what lies h before, and turns by a root of one. Afterwards each sends to the place with its bits reversed.
Real and imaginary parts are two parallel variables; the front end computes the roots, once for a size. Checked against
numpy's transform. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import functools
import math
import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Complex values of single precision."""
    made = np.random.default_rng(seed)
    return (made.standard_normal(size) + 1j * made.standard_normal(size)).astype(np.complex64)


@functools.cache
def turns(size: int, half: int) -> tuple[np.ndarray, np.ndarray]:
    """What a step multiplies by, real and imaginary; all transforms of a size have the same."""
    turn = np.exp(-1j * math.pi / half * (np.arange(size) & (half - 1))).astype(np.complex64)
    return np.ascontiguousarray(turn.real), np.ascontiguousarray(turn.imag)


def solve(given: np.ndarray, machine: str = "here") -> np.ndarray:
    """The transform."""
    size = len(given)
    vp = pvar.VPSet((size,), machine=machine)
    place = vp.coordinate(0)
    re, im = vp.array(given.real), vp.array(given.imag)
    half = size // 2
    while half >= 1:
        upper = (place & half) != 0
        re_next, im_next = (pvar.shift(part, half, axis=0, boundary="circular") for part in (re, im))
        re_last, im_last = (pvar.shift(part, -half, axis=0, boundary="circular") for part in (re, im))
        turn_re, turn_im = (vp.array(part) for part in turns(size, half))
        with vp.where(upper):
            re_less, im_less = re_last - re, im_last - im
        new_re, new_im = re + re_next, im + im_next
        with vp.where(upper):
            new_re[...] = re_less * turn_re - im_less * turn_im
            new_im[...] = re_less * turn_im + im_less * turn_re
        re, im = new_re, new_im
        half //= 2
    bits = size.bit_length() - 1
    reversed_place = place & 0
    for bit in range(bits):
        reversed_place = reversed_place | (((place >> bit) & 1) << (bits - 1 - bit))
    return np.asarray(pvar.send(re, reversed_place)) + 1j * np.asarray(pvar.send(im, reversed_place))


def error(given: np.ndarray, found: np.ndarray) -> float:
    """The largest difference from numpy's transform, relative to its largest value."""
    expected = np.fft.fft(given)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def main() -> int:
    parser = arguments.parser(__doc__, 4096, "values, a power of two", "the values")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.size & (chosen.size - 1):
        parser.error(f"expected a power of two, not {chosen.size}")
    given = problem(chosen.size, chosen.seed)
    found = error(given, solve(given, chosen.machine))
    print(f"{chosen.size} values: largest difference from numpy's transform {found:.1e}")
    passed = found <= 2.4e-7 * math.log2(chosen.size)
    return arguments.verdict(passed, "numpy's transform must be met to rounding")


if __name__ == "__main__":
    sys.exit(main())
