"""What bonds yield at their prices: a bond for each processor, and the yields of all by bisection.

    python programs/bond_yields.py [--size 2000] [--machine here] [--seed 1]

The price is the present value of coupons, once a year, and of the face value at the end, as a geometric series; it
falls with the yield. Checked by pricing coupon by coupon. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

Bonds = tuple[np.ndarray, np.ndarray, np.ndarray]


def problem(size: int, seed: int = 1) -> Bonds:
    """Prices of a face value of one, coupons and years."""
    generator = np.random.default_rng(seed)
    return generator.uniform(0.7, 1.3, size), generator.uniform(0.01, 0.09, size), generator.integers(1, 31, size) + 0.0


def solve(bonds: Bonds, machine: str = "here") -> np.ndarray:
    """The yield of each, a year."""
    vp = pvar.VPSet(bonds[0].shape, machine=machine)
    price, coupon, years = (vp.array(one) for one in bonds)
    low, high = vp.array(np.full(vp.shape, -0.5)), vp.array(np.full(vp.shape, 1.0))
    while pvar.reduce(high - low, "max") > 1e-9:
        rate = (low + high) * 0.5
        last = pvar.exp(-years * pvar.log(1.0 + rate))
        # Where the rate vanishes, the series is as many coupons as years.
        plain = abs(rate) < 1e-12
        annuity = pvar.where(plain, years, (1.0 - last) / pvar.where(plain, 1.0, rate))
        dear = coupon * annuity + last > price
        low, high = pvar.where(dear, rate, low), pvar.where(dear, high, rate)
    return np.asarray((low + high) * 0.5)


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "bonds", "the bonds")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one bond")
    price, coupon, years = problem(chosen.size, chosen.seed)
    rate = solve((price, coupon, years), chosen.machine)
    print(f"{chosen.size} bonds yield {rate.min():.2%} to {rate.max():.2%}")
    year = np.arange(1, 31)[:, None]
    coupons = np.where(year <= years, coupon / (1 + rate) ** year, 0).sum(axis=0)
    return arguments.verdict(np.allclose(coupons + (1 + rate) ** -years, price), "yields must give back the prices")


if __name__ == "__main__":
    sys.exit(main())
