"""The lucky numbers, by a sieve that packs the survivors of each round together: a scan counts, a send moves.

    python programs/lucky_numbers.py [--size 20000] [--rounds 12] [--machine here]

From 1, 3, 5, ... every third is struck out; of what is left every seventh, for 7 is the next survivor; and so on. Who
is struck out depends on the place among the survivors, so each round compacts them: a running sum of those that stay
says where each goes. Checked against the same with a list. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, rounds: int = 12) -> tuple[int, int]:
    """How many odd numbers, and how many rounds at most."""
    return size, rounds


def solve(given: tuple[int, int], machine: str = "here") -> np.ndarray:
    """The survivors."""
    size, rounds = given
    vp = pvar.VPSet((size,), machine=machine)
    place = vp.coordinate(0)
    number = place * 2 + 1
    left = size
    for at in range(1, rounds + 1):
        if at >= left or int(number[at]) > left:
            break
        every = int(number[at])
        stays = (place < left) & ((place + 1) % every != 0)
        target = pvar.scan(stays.astype("int32"), "add", axis=0, exclusive=True)
        with vp.where(stays):
            left = int(pvar.reduce(target, "max")) + 1
            number = pvar.send(number, target)
    return np.asarray(number)[:left]


def sieved(given: tuple[int, int]) -> list[int]:
    """The same with a list."""
    size, rounds = given
    numbers = list(range(1, 2 * size, 2))
    for at in range(1, rounds + 1):
        if at >= len(numbers) or numbers[at] > len(numbers):
            break
        del numbers[numbers[at] - 1 :: numbers[at]]
    return numbers


def main() -> int:
    parser = arguments.parser(__doc__, 20000, "odd numbers to begin with")
    parser.add_argument("--rounds", type=int, default=12, help="rounds at most (default 12)")
    chosen = parser.parse_args()
    if chosen.size < 1 or chosen.rounds < 0:
        parser.error("expected at least one number")
    given = problem(chosen.size, chosen.rounds)
    found = solve(given, chosen.machine)
    print(f"{len(found)} of {chosen.size} odd numbers are left after {chosen.rounds} rounds, the last is {found[-1]}")
    return arguments.verdict(found.tolist() == sieved(given), "the survivors must be those of the list")


if __name__ == "__main__":
    sys.exit(main())
