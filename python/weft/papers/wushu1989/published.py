"""What the paper printed, and which operation each cell is of."""

from __future__ import annotations

import polars as pl

from weft.data_parallel import Operation
from weft.papers.reproduction import reference_folder

NAME = "wu-shu-1989"

CITATION = (
    "M.-Y. Wu, W. Shu, Performance study on the Connection Machine, YALEU/DCS/TR-717 (1989), in Proceedings of the "
    "International Conference on Parallel Processing 1989"
)

MACHINE = "cm2-8k"

MATRICES = {63: 1, 127: 2, 255: 8}
"""Orders of the eliminated matrices and the VP ratios that table 14 gives them."""


def cells() -> pl.DataFrame:
    """Tables 1 to 12 and 14 as printed, a row a time, and what the text says of figure 7 (as table 0).

    Returns
    -------
    polars.DataFrame
        `table`, `operation` (a name of `weft.data_parallel.KINDS`; `float_subtract` is a `float_add`), `pattern`,
        `mode`, `ratio`, `hops`, `grid`, `vp_ratio` (empty where they do not apply), `time` (`real` or `cm`), `ms`, and
        `slip`: whether the printed figure is a known slip (see the folder's README) and no model is compared with it.
    """
    kinds: dict[str, pl.DataType] = {
        "ms": pl.Float64(),
        **dict.fromkeys(("ratio", "hops"), pl.Int64()),
        **dict.fromkeys(("pattern", "mode", "grid"), pl.String()),
    }
    table = pl.read_csv(reference_folder(NAME) / "operations.csv", schema_overrides=kinds)
    table = pl.concat([table, _of_the_text(table.schema)])
    backward_300 = (pl.col("table") == 8) & (pl.col("ratio") == 300)
    divide = (pl.col("table") == 14) & (pl.col("ms") == 0.031)
    return table.with_columns((backward_300 | divide).fill_null(False).alias("slip"))


def _of_the_text(schema: pl.Schema) -> pl.DataFrame:
    """An integer addition at VP ratio 4: 191 microseconds of real time."""
    microseconds = float(
        named("text-figures").row(by_predicate=pl.col("quantity") == "add_real_vp_4", named=True)["value"]
    )
    row = {"table": 0, "operation": "add", "vp_ratio": 4, "time": "real", "ms": microseconds / 1e3}
    return pl.DataFrame([{name: row.get(name) for name in schema}], schema=schema)


def named(name: str) -> pl.DataFrame:
    """Another file of the reference folder, without its suffix."""
    return pl.read_csv(reference_folder(NAME) / f"{name}.csv")


def operation(cell: dict[str, object]) -> Operation:
    """The operation that a row of `cells` is of."""
    parameters: dict[str, object] = {"vp_ratio": cell["vp_ratio"]}
    for key in ("pattern", "mode", "ratio", "hops"):
        if cell[key] is not None:
            parameters[key] = cell[key]
    kind = str(cell["operation"])
    if kind == "spread":
        # '(8,512)': along the first axis.
        parameters["extent"] = int(str(cell["grid"]).split("x")[0])
    return Operation("float_add" if kind == "float_subtract" else kind, **parameters)  # type: ignore[arg-type]
