"""Prime numbers by the sieve of Eratosthenes: a processor for each number, which strikes itself out by its remainder.

    python programs/sieve.py [--size 10000] [--machine here]

The next prime is the least number that is left above the one before. Checked against division by all smaller primes.
Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int) -> int:
    """The numbers from 0 to below this."""
    return size


def solve(size: int, machine: str = "here") -> np.ndarray:
    """Which numbers are prime."""
    vp = pvar.VPSet((size,), machine=machine)
    number = vp.coordinate(0, np.int32)
    prime = number >= 2
    divisor = 2
    while divisor * divisor < size:
        with vp.where(prime & (number > divisor)):
            prime[...] = number % divisor != 0
        with vp.where(prime & (number > divisor)):
            divisor = int(pvar.reduce(number, "min")) if pvar.reduce(prime, "or") else size
    return np.asarray(prime)


def expected(size: int) -> np.ndarray:
    """The same by trial division, number by number."""
    primes: list[int] = []
    for number in range(2, size):
        if all(number % prime for prime in primes if prime * prime <= number):
            primes.append(number)
    answer = np.zeros(size, bool)
    answer[primes] = True
    return answer


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "numbers")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one number")
    primes = solve(problem(chosen.size), chosen.machine)
    print(f"{np.count_nonzero(primes)} primes below {chosen.size}")
    return arguments.verdict(np.array_equal(primes, expected(chosen.size)), "primes must be those of trial division")


if __name__ == "__main__":
    sys.exit(main())
