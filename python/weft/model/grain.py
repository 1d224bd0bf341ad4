"""The ratio of communication to computation, and the grain that a parallel program needs because of it.

Table 7 and section 6 of Dunigan 1991: the time of an 8-byte message over one hop against that of an 8-byte
floating-point multiplication says how coarse the grain of a program must be.
"""

from __future__ import annotations

import polars as pl

from weft.samples import summarise, validate

SHARES = (0.5, 0.2, 0.05)
"""Shares of the time that communication may take."""

LENGTHS = (8, 1024)
"""Lengths of the messages, in bytes: table 7's, and one that is not all startup."""

SCHEMA: dict[str, pl.DataType] = {
    "machine": pl.String(),
    "source": pl.String(),
    "bytes": pl.Int64(),
    "transfer": pl.Float64(),
    "multiply": pl.Float64(),
    "ratio": pl.Float64(),
    "share": pl.Float64(),
    "operations": pl.Float64(),
}
"""The columns of :func:`grains`."""


def grain(transfer: float, operation: float, share: float) -> float:
    """Operations for each message at which messages take a share of the time.

    A program that computes `g` operations of `m` seconds for each message of `t` seconds, one after the other, spends
    the share `f = t / (t + g m)` of its time communicating; so `g = (t / m) (1 - f) / f`. At one half that is the
    communication-to-computation ratio of table 7 of Dunigan 1991.

    Parameters
    ----------
    transfer
        Time of a message, s.
    operation
        Time of an operation, s.
    share
        Between 0 and 1, both excluded.

    Raises
    ------
    ValueError
        If a time is not positive or the share is no such share.

    Examples
    --------
    >>> round(grain(80e-6, 80e-9, 0.5))
    1000
    >>> round(grain(80e-6, 80e-9, 0.05))
    19000
    """
    if not (transfer > 0.0 and operation > 0.0):
        raise ValueError(f"times are positive seconds, not {transfer} and {operation}")
    if not 0.0 < share < 1.0:
        raise ValueError(f"a share of the time is between 0 and 1, not {share}")
    return transfer / operation * (1.0 - share) / share


def share(transfer: float, operation: float, operations: float) -> float:
    """The share of the time that messages take at so many operations for each: the inverse of :func:`grain`."""
    return transfer / (transfer + operations * operation)


def grains(table: pl.DataFrame) -> pl.DataFrame:
    """The conclusion of Dunigan 1991 as data, for every machine and source of a table of samples.

    Parameters
    ----------
    table
        Samples of `echo` at 8 and 1024 bytes (those over the fewest hops are used) and of `arithmetic`, variant
        `float64_multiply`.

    Returns
    -------
    polars.DataFrame
        A row for each machine, source, length and share: `transfer` and `multiply` (s, medians over launches), `ratio`
        (transfer / multiply), `share`, and `operations`, the grain. Machines that lack one of the two are left out.
    """
    table = validate(table)
    rows = []
    for (machine, source), part in table.group_by("machine", "source", maintain_order=True):
        multiply = _multiply(part)
        if multiply is None:
            continue
        for length in LENGTHS:
            transfer = _transfer(part, length)
            if transfer is not None:
                ratio = transfer / multiply
                rows += [
                    (machine, source, length, transfer, multiply, ratio, f, grain(transfer, multiply, f))
                    for f in SHARES
                ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _multiply(part: pl.DataFrame) -> float | None:
    if "variant" not in part.columns:
        return None
    rows = part.filter((pl.col("benchmark") == "arithmetic") & (pl.col("variant") == "float64_multiply"))
    return None if rows.is_empty() else float(str(summarise(rows, by=["benchmark"])["seconds"][0]))


def _transfer(part: pl.DataFrame, length: int) -> float | None:
    rows = part.filter((pl.col("benchmark") == "echo") & (pl.col("bytes") == length))
    rows = rows.filter(pl.col("hops").fill_null(1) == pl.col("hops").fill_null(1).min())
    return None if rows.is_empty() else float(str(summarise(rows, by=["benchmark"])["seconds"][0]))
