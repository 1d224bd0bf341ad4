"""Print the fit of the CM-2's primitives, as `machines/cm2-8k.toml` has them, with its errors."""

from __future__ import annotations

import numpy as np
import polars as pl

from weft.catalogue import machine
from weft.data_parallel import Costs
from weft.papers.wushu1989 import fitting
from weft.papers.wushu1989.published import MACHINE, cells


def main() -> None:
    """Fit, then say how far off it is."""
    fitted = fitting.fit()
    for name, figure in fitted.items():
        print(f"{name} = {figure:.4g}")
    table = cells().filter(~pl.col("slip"))
    errors = np.abs(fitting.times(Costs(machine(MACHINE)).with_figures(fitted), table) / table["ms"].to_numpy() - 1.0)
    first = table["table"].is_between(1, 12).to_numpy()
    for name, of, parameters in (
        ("tables 1 to 12", errors[first], len(fitted) - len(fitting.TABLE_14)),
        ("with table 14 and the text", errors, len(fitted)),
    ):
        near, within = np.mean(of <= 0.03), np.mean(of <= 0.10)
        print(
            f"# {name}: {len(of)} cells, {parameters} parameters; median {np.median(of):.1%}, worst {of.max():.1%}, "
            f"{near:.0%} within 3%, {within:.0%} within 10%"
        )

    left = fitting.router_left_out()["error"].abs().to_numpy()
    print(
        f"# table 5 with each ratio left out of the router's fit: median {np.median(left):.1%}, worst {left.max():.1%}"
    )


if __name__ == "__main__":
    main()
