"""What the paper printed."""

from __future__ import annotations

import polars as pl

from weft.papers.reproduction import reference_folder

NAME = "george-1994"

CITATION = (
    "W. George, R. G. Brickner, S. L. Johnsson, POLYSHIFT communications software for the Connection Machine system "
    "CM-200, Scientific Programming 3 (1994) 83-99"
)

MACHINE = "cm200"

LENGTHS = {1: tuple(2**k for k in range(2, 15)), 2: tuple(2**k for k in range(1, 8)), 3: (2, 4, 8, 16), 4: (2, 4, 8)}
"""Lengths of the subgrid's axes in tables 1 to 4, by rank."""

QUANTITIES = {
    "cshift_elapsed_ms": ("CSHIFT elapsed", "ms"),
    "pshift_elapsed_ms": ("PSHIFT elapsed", "ms"),
    "elapsed_speedup": ("elapsed speedup", "1"),
    "cshift_cm_ms": ("CSHIFT CM", "ms"),
    "pshift_cm_ms": ("PSHIFT CM", "ms"),
    "cm_speedup": ("CM speedup", "1"),
}
"""The columns of tables 1 to 4: what they are called here and their units."""


FRONT_END_RANKS = (1, 2)
"""The front end's times were fitted to these, where the Connection Machine waits for it."""

BLIND_RANKS = (3, 4)
"""Their times were not known when weft first predicted them."""


def blind() -> pl.DataFrame:
    """What weft predicted for `BLIND_RANKS` before their times were known: the columns of `timings`, less speedups."""
    return pl.read_csv(reference_folder(NAME) / "blind.csv").rename({"axis_length": "length"})


def timings() -> pl.DataFrame:
    """Tables 1 to 4 as printed.

    Returns
    -------
    polars.DataFrame
        `rank`, `length` and the columns of `QUANTITIES`. Speedups of ranks 3 and 4 are ratios of the printed times.
    """
    folder = reference_folder(NAME)
    times = pl.read_csv(folder / "pshift-timings.csv").filter(pl.col("pshift_cm_ms").is_not_null())
    ratios = pl.read_csv(folder / "speedups.csv")
    both = times.join(ratios, on=["rank", "axis_length"], how="left", maintain_order="left")
    both = both.with_columns(
        pl.col(f"{kind}_speedup").fill_null(pl.col(f"cshift_{kind}_ms") / pl.col(f"pshift_{kind}_ms"))
        for kind in ("elapsed", "cm")
    )
    return both.rename({"axis_length": "length"}).select("rank", "length", *QUANTITIES)


def text_figures() -> pl.DataFrame:
    """Figures that the text gives: `quantity`, `value`, `unit` and `where`, with the paper's own reserve."""
    return pl.read_csv(reference_folder(NAME) / "text-figures.csv", schema_overrides={"value": pl.Float64})
