"""What the paper printed, and the names and lengths it uses."""

from __future__ import annotations

import polars as pl

from weft import samples
from weft.papers.reproduction import PaperError, reference_folder

NAME = "dunigan-1991"

CITATION = (
    "T. H. Dunigan, Performance of the Intel iPSC/860 and Ncube 6400 hypercubes, Parallel Computing 17 (1991) 1285-1302"
)

MACHINES = {
    "ipsc860": "iPSC/860",
    "ipsc1": "iPSC/1",
    "ipsc2": "iPSC/2",
    "ncube6400": "nCUBE 6400",
    "ncube3200": "nCUBE 3200",
}
"""The five machines by their names in the catalogue, in the order of the paper's tables."""

LENGTHS = tuple(2**k for k in range(3, 14))
"""Lengths of appendix A: 8 to 8192 bytes."""

HOPS = tuple(range(1, 7))
"""Hops of appendix A: all that a hypercube of 64 nodes has."""

SHORT = 100
"""Messages of up to this many bytes travel with the route acquisition on the iPSC/2 and iPSC/860 (section 2.1)."""

FITTED_HOPS = 2
"""The machine files were fitted to rates over so many hops; those over more were not known then."""

KB = 1000.0
"""Bytes of the paper's kB: 8 bytes at 100.0 kB/s are the 80 microseconds of table 7."""


def data_rates() -> pl.DataFrame:
    """Appendix A as samples.

    Returns
    -------
    polars.DataFrame
        Samples of source `published`: `echo` over 1 and 2 hops, `echo-self` (0 hops) and `echo-host` (hops null), with
        one-way `seconds`, which is bytes/rate, and `rate` in B/s. These are what the machine files were fitted to;
        rates over more hops (`printed_rates`) are compared with and nothing else.
    """
    path = {"node": "echo", "self": "echo-self", "host": "echo-host"}
    rate = pl.col("rate_kB_per_s") * KB
    return samples.validate(
        printed_rates()
        .filter(pl.col("hops").is_null() | (pl.col("hops") <= FITTED_HOPS))
        .select(
            pl.lit("published").alias("source"),
            pl.col("machine"),
            pl.col("path").replace_strict(path).alias("benchmark"),
            pl.when(pl.col("path") == "self").then(1).otherwise(2).cast(pl.Int64).alias("ranks"),
            pl.col("hops"),
            pl.col("bytes"),
            pl.lit(0, pl.Int64).alias("repetition"),
            (pl.col("bytes") / rate).alias("seconds"),
            rate.alias("rate"),
        )
    )


def printed_rates() -> pl.DataFrame:
    """The cells of appendix A as printed."""
    table = pl.read_csv(reference_folder(NAME) / "data-rates.csv", schema_overrides={"rate_kB_per_s": pl.Float64})
    return table.filter(pl.col("rate_kB_per_s").is_not_null())


def megaflops(workload: str, file: str = "aggregates.csv") -> dict[str, float]:
    """What section 6 says of whole programs: Mflop/s by machine, of `cholesky` (n = 1000) or `slalom`.

    With `file="blind.csv"` what weft predicted before it knew.
    """
    table = pl.read_csv(reference_folder(NAME) / file, schema_overrides={"megaflops": pl.Float64})
    return dict(table.filter(pl.col("workload").str.starts_with(workload)).select("machine", "megaflops").rows())


_FILES = {
    "1": "table-1-configurations.csv",
    "3": "table-3-arithmetic.csv",
    "4": "table-4-computation.csv",
    "5": "table-5-memory.csv",
    "6": "table-6-coefficients.csv",
    "7": "table-7-summary.csv",
}


def published(table: str) -> pl.DataFrame:
    """One of tables 1, 3, 4, 5, 6 and 7 as printed.

    Returns
    -------
    polars.DataFrame
        `machine`, `quantity`, `value` (text in table 1, which has names, numbers elsewhere) and `unit`.

    Raises
    ------
    PaperError
        For any other table.
    """
    if table not in _FILES:
        raise PaperError(f"there is no table {table!r} of figures in {NAME}; there are {', '.join(_FILES)}")
    kind = pl.String() if table == "1" else pl.Float64()
    return pl.read_csv(reference_folder(NAME) / _FILES[table], schema_overrides={"value": kind, "unit": pl.String()})


def operations(benchmark: str = "operation") -> pl.DataFrame:
    """Table 3 as samples.

    Parameters
    ----------
    benchmark
        `operation`, with the operation's name in `algorithm`; or `arithmetic`, as weft's benchmark has it: the machines
        of the catalogue, with the name in `variant`.
    """
    table = published("3")
    column = "algorithm"
    if benchmark == "arithmetic":
        table, column = table.filter(pl.col("machine").is_in(list(MACHINES))), "variant"
    return samples.validate(
        table.select(
            pl.lit("published").alias("source"),
            pl.col("machine"),
            pl.lit(benchmark).alias("benchmark"),
            pl.lit(1, pl.Int64).alias("ranks"),
            pl.lit(None, pl.Int64).alias("hops"),
            pl.lit(None, pl.Int64).alias("bytes"),
            pl.lit(0, pl.Int64).alias("repetition"),
            (pl.col("value") * 1e-6).alias("seconds"),
            pl.col("quantity").alias(column),
            *([pl.lit(1, pl.Int64).alias("threads")] if column == "variant" else []),
        )
    )


def text_figures() -> pl.DataFrame:
    """The figures that sections 3.2 and 4 give in words.

    Returns
    -------
    polars.DataFrame
        `quantity`, `machine`, `value`, `unit` (`1` for a share) and `where`, with the paper's own reserve.
    """
    return pl.read_csv(reference_folder(NAME) / "text-figures.csv", schema_overrides={"value": pl.Float64})
