"""Samples made from known costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

Costs = Callable[[np.ndarray, np.ndarray], np.ndarray]


def make_samples(
    seconds: Costs,
    lengths: Sequence[int] = tuple(2**k for k in range(3, 21)),
    hops: Sequence[int | None] = (1,),
    launches: int = 1,
    noise: float = 0.0,
    seed: int = 0,
    **columns: object,
) -> pl.DataFrame:
    """Echo samples whose times are `seconds(lengths, hops)`, with normal relative noise."""
    generator = np.random.default_rng(seed)
    n, h, launch = (a.ravel() for a in np.meshgrid(lengths, range(len(hops)), range(launches), indexing="ij"))
    distances = [hops[i] for i in h]
    exact = seconds(n.astype(float), np.array([float(d or 0) for d in distances]))
    times = exact * (1.0 + noise * generator.standard_normal(len(n)))
    row = {"source": "measured", "machine": "m", "benchmark": "echo", "ranks": 2} | columns
    table = pl.DataFrame(
        {"hops": distances, "bytes": n, "repetition": launch, "seconds": times}, schema_overrides={"hops": pl.Int64}
    )
    return table.with_columns(*(pl.lit(value).alias(name) for name, value in row.items()))
