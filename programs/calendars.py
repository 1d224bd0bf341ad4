"""The days of many years: dates, weekdays and feasts that move with Easter, and the working days between two of them.

    python programs/calendars.py [--size 4000] [--machine here] [--seed 1]

Days and bonds are two VP sets. Dates and Easter (Meeus, Astronomical Algorithms, 1991) are quotients and remainders,
working days are counted and looked for by scans. Checked with numpy's dates and another rule for Easter. Ends with code
1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

BEFORE_1970 = 719_468
"""From March 1 of the year 0, with which years begin here: leap days are at their ends then."""
FIXED_FEASTS = (61, 299, 300, 306)
"""May 1, December 25 and 26, and January 1."""
MOVING_FEASTS = (-2, 1, 39, 50)
"""Good Friday, Easter Monday, Ascension and Whit Monday, from Easter."""
COUPONS, QUARTER = 12, 91


class Bonds(NamedTuple):
    """The first of the days from 1970, how many there are, and beginnings and ends of bonds from the first day."""

    first: int
    days: int
    begin: np.ndarray
    end: np.ndarray


def problem(size: int, seed: int = 1) -> Bonds:
    """As many bonds as days."""
    generator = np.random.default_rng(seed)
    begin, end = np.sort(generator.integers(0, size, (2, size), dtype=np.int32), axis=0)
    return Bonds(int(generator.integers(-90_000, 0)), size, begin, end)


def solve(bonds: Bonds, machine: str = "here") -> tuple[np.ndarray, ...]:
    """Day of the month, month and year of all days, working days of bonds, and days that their coupons are late."""
    vp, terms = pvar.VPSet(bonds.days, machine=machine), pvar.VPSet(bonds.begin.shape, machine=machine)
    number = vp.address(np.int32) + (bonds.first + BEFORE_1970)
    year = (400 * number + 591) // 146_097
    century = year // 100
    day = number - (365 * year + year // 4 - century + century // 4)
    with vp.where(day < 0):
        year -= 1
        century[...] = year // 100
        day[...] = number - (365 * year + year // 4 - century + century // 4)
    month = (5 * day + 2) // 153
    day_of_month = day - (153 * month + 2) // 5 + 1
    golden, rest = year % 19, year % 100
    moon = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    easter = moon + sunday - 7 * ((golden + 11 * moon + 22 * sunday) // 451) + 21
    works = (number + 2) % 7 < 5
    for feast in FIXED_FEASTS:
        works &= day != feast
    for feast in MOVING_FEASTS:
        works &= day != easter + feast
    before = pvar.scan(works.astype(np.int32), "add", exclusive=True)
    following = pvar.scan(pvar.where(works, vp.address(), bonds.days), "min", direction="down")
    begin, end = terms.array(bonds.begin), terms.array(bonds.end)
    between = pvar.get(before, end) - pvar.get(before, begin)
    late = terms.zeros(np.int32)
    for coupon in range(COUPONS):
        due = end - coupon * QUARTER
        with terms.where(due >= begin):
            paid = pvar.get(following, due)
            with terms.where(paid < bonds.days):
                late += paid - due
    year += (month >= 10).astype(np.int32)
    return tuple(np.asarray(one) for one in (day_of_month, (month + 2) % 12 + 1, year, between, late))


def easter_of(year: int) -> np.datetime64:
    """Easter Sunday by the rule of Oudin (1940)."""
    golden, century = year % 19, year // 100
    moon = (century - century // 4 - (8 * century + 13) // 25 + 19 * golden + 15) % 30
    moon -= (moon // 28) * (1 - (29 // (moon + 1)) * ((21 - golden) // 11))
    sunday = moon - (year + year // 4 + moon + 2 - century + century // 4) % 7
    return np.datetime64(f"{year}-03-01") + sunday + 27


def expected(bonds: Bonds) -> tuple[np.ndarray, ...]:
    """The same with numpy's dates."""
    days = np.datetime64("1970-01-01") + bonds.first + np.arange(bonds.days)
    months = days.astype("M8[M]")
    years = days.astype("M8[Y]").astype(int) + 1970
    feasts = []
    for year in range(years[0] - 1, years[-1] + 2):
        feasts += [np.datetime64(f"{year}-{day}") for day in ("05-01", "12-25", "12-26", "01-01")]
        feasts += [easter_of(year) + one for one in MOVING_FEASTS]
    begin, end = days[bonds.begin], days[bonds.end]
    late = np.zeros(len(end), int)
    for due in (end - QUARTER * coupon for coupon in range(COUPONS)):
        paid = np.busday_offset(due, 0, roll="forward", holidays=feasts)
        late += np.where((due >= begin) & (paid <= days[-1]), (paid - due).astype(int), 0)
    dates = (days - months.astype("M8[D]")).astype(int) + 1, months.astype(int) % 12 + 1, years
    return *dates, np.busday_count(begin, end, holidays=feasts), late


def main() -> int:
    parser = arguments.parser(__doc__, 4000, "days", "the first day and the bonds")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one day")
    bonds = problem(chosen.size, chosen.seed)
    answer = solve(bonds, chosen.machine)
    print(f"from {answer[2][0]} to {answer[2][-1]}; bonds last {answer[3].mean():.1f} working days")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(bonds), strict=True))
    return arguments.verdict(right, "dates must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())
