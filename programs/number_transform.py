"""Products of polynomials by the number-theoretic transform: butterflies of whole numbers modulo a prime.

    python programs/number_transform.py [--size 1024] [--machine here] [--seed 1]

A processor has a coefficient of each factor; partners of a butterfly fetch from each other through the router. The
product is cyclic, of coefficients below the prime. Checked against products of Python's integers. Ends with code 1 if
the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

PRIME, ROOT = 998_244_353, 3
"""119 times 2**23 plus one, and a generator of its numbers: there are roots of unity of every power of two to 2**23."""


Given = tuple[np.ndarray, np.ndarray, np.ndarray]


def problem(size: int, seed: int = 1) -> Given:
    """Coefficients of two factors, as rows, and the powers of a root of unity and of its inverse."""
    root = pow(ROOT, (PRIME - 1) // size, PRIME)
    factors = np.random.default_rng(seed).integers(0, PRIME, (2, size))
    return factors, powers(root, size), powers(pow(root, -1, PRIME), size)


def powers(root: int, count: int) -> np.ndarray:
    """The powers from 0 of a number, modulo the prime."""
    found = np.empty(count, np.int64)
    power = 1
    for index in range(count):
        found[index] = power
        power = power * root % PRIME
    return found


def transformed(x: pvar.ParallelVariable, powers_of_root: np.ndarray) -> pvar.ParallelVariable:
    """The transform by a root of unity: frequencies in order from coefficients in order (Stockham's form)."""
    vp, size = x.vp, x.size
    address, roots = vp.address(), vp.array(powers_of_root)
    half = size // 2
    stride = 1
    while stride < size:
        # Output number q + stride * (2 p + r) is made of inputs q + stride * p and of half a size behind it.
        within = address & (stride - 1)
        group = address // (2 * stride)
        one = pvar.get(x, within + stride * group)
        other = pvar.get(x, within + stride * group + half)
        twiddle = pvar.get(roots, stride * group)
        upper = (address // stride) % 2 == 1
        x = pvar.where(upper, (one - other + PRIME) % PRIME * twiddle % PRIME, (one + other) % PRIME)
        stride *= 2
    return x


def solve(given: Given, machine: str = "here") -> np.ndarray:
    """The coefficients of the cyclic product."""
    factors, forward, backward = given
    size = factors.shape[1]
    vp = pvar.VPSet((size,), machine=machine)
    first, second = (transformed(vp.array(row), forward) for row in factors)
    product = transformed(first * second % PRIME, backward)
    return np.asarray(product * pow(size, -1, PRIME) % PRIME)


def expected(factors: np.ndarray) -> np.ndarray:
    """The same from one product of large integers, whose digits are the coefficients."""
    size = factors.shape[1]
    bits = 2 * PRIME.bit_length() + size.bit_length()
    one, other = (sum(int(number) << (bits * index) for index, number in enumerate(row)) for row in factors)
    product, digit = one * other, (1 << bits) - 1
    answer = np.zeros(size, np.int64)
    for index in range(2 * size - 1):
        answer[index % size] = (answer[index % size] + (product >> (bits * index) & digit) % PRIME) % PRIME
    return answer


def main() -> int:
    parser = arguments.parser(__doc__, 1024, "coefficients of a factor", "the coefficients")
    chosen = parser.parse_args()
    if chosen.size < 1 or chosen.size & (chosen.size - 1) or chosen.size > 1 << 23:
        parser.error(f"expected a power of two up to 2**23, not {chosen.size}")
    given = problem(chosen.size, chosen.seed)
    product = solve(given, chosen.machine)
    print(f"two factors of {chosen.size} coefficients: the product's first is {product[0]}")
    return arguments.verdict(np.array_equal(product, expected(given[0])), "coefficients must be those of integers")


if __name__ == "__main__":
    sys.exit(main())
