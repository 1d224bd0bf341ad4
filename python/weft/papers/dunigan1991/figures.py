"""The figures as tables of ours; a published column only where the paper prints the numbers (appendix A)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import polars as pl

from weft.papers.dunigan1991.published import (
    FITTED_HOPS,
    HOPS,
    KB,
    LENGTHS,
    MACHINES,
    megaflops,
    printed_rates,
    text_figures,
)
from weft.papers.dunigan1991.runs import Runs
from weft.papers.reproduction import (
    BLIND,
    FITTED,
    INPUT,
    MEASURED,
    PREDICTED,
    Axes,
    OperationTime,
    PaperError,
    ReproducedTable,
    with_error,
)

FIGURES = tuple(str(number) for number in range(1, 13))
"""The figures that the paper has."""

WITH_HERE = "2"
"""The figure that has a curve of the machine at hand."""

NEEDS = {"10": "file-host", "11": "file-read", "12": "cholesky"}
"""Figures that need a benchmark which a build of weft may not have."""

_LOADS = (8, 128, 1024, 8192)
_NEIGHBOURS = (1, 2, 4, 6)
_VECTORS = tuple(2**k for k in range(3, 13))
_ORDERS = (100, 200, 400, 600, 800, 1000)
_SAID_ORDER = 1000
_READERS = (1, 2, 4, 8, 16)

Cell = tuple[object, ...]


def figure(
    number: str,
    runs: Runs,
    operation_time: OperationTime | None,
    benchmarks: Collection[str],
    here: Mapping[int, float] | None = None,
) -> ReproducedTable:
    """One figure; with the seconds of a message here by its bytes, figure 2 has them beside the hypercubes.

    Raises
    ------
    PaperError
        If this build of weft does not have the benchmark.
    """
    needed = NEEDS.get(number)
    if needed is not None and needed not in benchmarks:
        raise PaperError(f"figure {number} needs the benchmark {needed}, which this build of weft does not have")
    if number == "1":
        return _dot_product(operation_time)
    if number == WITH_HERE:
        return _rates(runs, here or {})
    return _FIGURES[number](runs)


def _table_of(
    number: str,
    title: str,
    columns: tuple[str, ...],
    unit: str,
    cells: Iterable[Cell],
    notes: Sequence[str],
    rows: str = "bytes",
    kind: str | pl.Expr = PREDICTED,
    axes: tuple[str, str, bool, bool] = ("bytes", "kB/s", True, True),
    redraws: bool = False,
) -> ReproducedTable:
    """A table of cells `(row, *columns, published, ours)`; `axes`: titles of x and y, and which is logarithmic."""
    schema: dict[str, pl.DataType] = {rows: pl.Int64(), **dict.fromkeys(columns, pl.String())}
    schema |= {"published": pl.Float64(), "ours": pl.Float64()}
    table = pl.DataFrame(list(cells), schema=schema, orient="row").with_columns(
        pl.lit(unit).alias("unit"), (pl.lit(kind) if isinstance(kind, str) else kind).alias("kind")
    )
    x, y, log_x, log_y = axes
    return ReproducedTable(
        number, f"{title}, {unit}", (rows,), columns, with_error(table), tuple(notes), "Figure",
        Axes(x, y, rows, columns, log_x, log_y), redraws=redraws,
    )  # fmt: skip


_HERE = "here"
_BY_HOPS = (
    pl.when(pl.col("machine") == _HERE)
    .then(pl.lit(MEASURED))
    .when(pl.col("hops").is_in([f"{hops} hop" for hops in HOPS if hops > FITTED_HOPS]))
    .then(pl.lit(BLIND))
    .otherwise(pl.lit(FITTED))
)


def _printed(path: str, hops: int | None = None) -> dict[tuple[str, int], float]:
    table = printed_rates().filter(pl.col("path") == path)
    if hops is not None:
        table = table.filter(pl.col("hops") == hops)
    return {(m, n): rate for m, n, rate in table.select("machine", "bytes", "rate_kB_per_s").rows()}


def _by_length(table: pl.DataFrame) -> dict[int, float]:
    return dict(table.select("bytes", "seconds").rows())


def _dot_product(operation_time: OperationTime | None) -> ReproducedTable:
    cells: list[Cell] = []
    for precision in ("float32", "float64"):
        seconds = operation_time("ipsc860", f"{precision}_sum_of_products") if operation_time else None
        cells += [(n, precision, None, 1e-6 / seconds if seconds else None) for n in _VECTORS]
    notes = (
        "Ours: one over the time of an operation in a sum of products (table 3), the same for every length: a machine "
        "file has neither the i860's pipelines nor its cache, which is what the figure shows. An input, no prediction.",
        "On the machine at hand it is measured: `weft measure dot_product`.",
    )
    axes = ("length of the vectors", "Mflop/s", True, False)
    return _table_of("1", "i860 dot product", ("precision",), "Mflop/s", cells, notes, "elements", INPUT, axes)


def _rates(runs: Runs, here: Mapping[int, float]) -> ReproducedTable:
    cells: list[Cell] = []
    for hops in (1, 6):
        printed = _printed("node", hops)
        for machine, title in MACHINES.items():
            ours = _by_length(runs.echo(machine).filter(pl.col("hops") == hops))
            cells += [(n, title, f"{hops} hop", printed.get((machine, n)), n / ours[n] / KB) for n in LENGTHS]
    if here:
        cells += [(n, _HERE, "1 hop", None, n / here[n] / KB if n in here else None) for n in LENGTHS]
    title = "Data rates over 1 and 6 hops"
    return _table_of("2", title, ("machine", "hops"), "kB/s", cells, (_DRAWN,), kind=_BY_HOPS, redraws=True)


def _latency(runs: Runs) -> ReproducedTable:
    cells: list[Cell] = []
    for machine in ("ncube6400", "ipsc860"):
        for hops in HOPS:
            printed = _printed("node", hops)
            ours = _by_length(runs.echo(machine).filter(pl.col("hops") == hops))
            for n in LENGTHS:
                rate = printed.get((machine, n))
                cells.append(
                    (n, MACHINES[machine], f"{hops} hop", n / rate / KB * 1e6 if rate else None, ours[n] * 1e6)
                )
    axes, columns = ("bytes", "us", True, True), ("machine", "hops")
    return _table_of("3", "Message latencies", columns, "us", cells, (_DRAWN,), kind=_BY_HOPS, axes=axes, redraws=True)


def _path(number: str, title: str, path: str, benchmark: str) -> Callable[[Runs], ReproducedTable]:
    def draw(runs: Runs) -> ReproducedTable:
        printed = _printed(path)
        cells: list[Cell] = []
        for machine, name in MACHINES.items():
            ours = _by_length(runs.samples(machine, benchmark))
            cells += [(n, name, printed.get((machine, n)), n / ours[n] / KB) for n in LENGTHS]
        return _table_of(number, title, ("machine",), "kB/s", cells, (_DRAWN,), kind=FITTED, redraws=True)

    return draw


def _slowdown(runs: Runs) -> ReproducedTable:
    said = text_figures().filter(pl.col("quantity").str.starts_with("routing_compute_slowdown"))
    printed: dict[str, float] = dict(said.select("machine", "value").rows())
    cells: list[Cell] = []
    for machine, name in MACHINES.items():
        ours = dict(runs.run(machine, "routing-compute").select("bytes", "slowdown").rows())
        for n in LENGTHS:
            # 'For small messages' is the shortest; no loss is said of every length.
            text = printed.get(machine)
            known = text is not None and (text == 0.0 or n == LENGTHS[0])
            cells.append((n, name, 100 * text if known and text is not None else None, 100 * float(ours[n])))
    notes = (
        "Published: 'about 30%' for small messages and 'no loss', section 4.2; the curves have no numbers. The cost of "
        "forwarding in the machine files was taken from these sentences: inputs.",
    )
    title, axes = "Loss of computing speed on routing nodes", ("bytes", "% of computing speed lost", True, False)
    return _table_of("6", title, ("machine",), "%", cells, notes, kind=INPUT, axes=axes, redraws=True)


def _contention(number: str, machine: str) -> Callable[[Runs], ReproducedTable]:
    def draw(runs: Runs) -> ReproducedTable:
        samples = runs.run(machine, "contention", background_bytes=_LOADS)
        cells: list[Cell] = []
        quiet = samples.filter(pl.col("background_bytes") == _LOADS[0])
        cells += [(n, "idle", None, n / s / KB) for n, s in quiet.select("bytes", "quiet_seconds").rows()]
        cells += [
            (n, f"load {load} B", None, n / seconds / KB)
            for n, load, seconds in samples.select("bytes", "background_bytes", "seconds").rows()
        ]
        notes = (
            "The probe sends from node 1 to node 3 while node 0 sends messages of the load's length to node 7. "
            "The paper prints no numbers.",
        )
        title = f"Data rates of the {MACHINES[machine]} with channel contention"
        return _table_of(number, title, ("load",), "kB/s", cells, notes)

    return draw


def _fan_in(runs: Runs) -> ReproducedTable:
    cells: list[Cell] = []
    for machine in ("ipsc860", "ncube6400"):
        samples = runs.run(machine, "fan-in", neighbours=_NEIGHBOURS)
        cells += [
            (n, MACHINES[machine], f"from {count}", None, rate / KB)
            for n, count, rate in samples.select("bytes", "neighbours", "rate").rows()
        ]
    notes = (
        "The paper prints no numbers but the iPSC/860's bound of 2.8 million bytes a second, the rate of one channel; "
        "ours at 8192 bytes is in the table of the text's figures.",
    )
    return _table_of("9", "Aggregate fan-in data rates", ("machine", "neighbours"), "kB/s", cells, notes)


def _host_files(runs: Runs) -> ReproducedTable:
    cells: list[Cell] = []
    for machine in ("ipsc860", "ncube6400"):
        samples = runs.run(machine, "file-host", (256, 1024, 4096, 16384, 65536))
        cells += [(n, MACHINES[machine], None, rate / KB) for n, rate in samples.select("bytes", "rate").rows()]
    return _table_of("10", "Node-to-host read throughput", ("machine",), "kB/s", cells, (_NO_NUMBERS,))


def _files(runs: Runs) -> ReproducedTable:
    cells: list[Cell] = []
    for servers in (1, 2, 4):
        for readers in _READERS:
            samples = runs.run("ipsc860", "file-read", (4096,), ranks=readers, io_nodes=servers)
            cells.append((readers, f"{servers} I/O node{'s' if servers > 1 else ''}", None, samples["rate"][0] / KB))
    title = "iPSC/860 concurrent file system, aggregate read throughput in blocks of 4096 bytes"
    axes = ("compute nodes", "kB/s", False, False)
    return _table_of("11", title, ("I/O nodes",), "kB/s", cells, (_NO_NUMBERS,), "compute nodes", axes=axes)


def _cholesky(runs: Runs) -> ReproducedTable:
    said = megaflops("cholesky")
    cells: list[Cell] = []
    for machine, name in MACHINES.items():
        samples = runs.run(machine, "cholesky", (), ranks=16, extent=_ORDERS)
        cells += [
            (n, name, said.get(machine) if n == _SAID_ORDER else None, rate * 1e-6)
            for n, rate in samples.select("extent", "rate").rows()
        ]
    notes = (
        "The curve has no numbers; those at n = 1000 are from the text of section 6. A modification is charged as the "
        "inner loop of LINPACK, by the machine's rating in section 3.2 (iPSC/860 and nCUBE 6400; for others it is not "
        "printed, and ours is an upper bound), so that nothing was fitted to the figure.",
        "What was predicted before the text was known is in the table of the text's figures.",
        "SLALOM on 64 nodes is in the table of the text's figures.",
    )
    title, axes = "Cholesky factorisation on 16 nodes, single precision", ("n", "Mflop/s", False, False)
    return _table_of("12", title, ("machine",), "Mflop/s", cells, notes, "n", PREDICTED, axes)


_DRAWN = "Published where appendix A prints the figures that the curve was drawn from."
_NO_NUMBERS = "The paper prints a curve without numbers: ours stand alone."

_FIGURES: dict[str, Callable[[Runs], ReproducedTable]] = {
    "3": _latency,
    "4": _path("4", "Data rates of a node to itself", "self", "echo-self"),
    "5": _path("5", "Host-to-node data rates", "host", "echo-host"),
    "6": _slowdown,
    "7": _contention("7", "ipsc860"),
    "8": _contention("8", "ncube6400"),
    "9": _fan_in,
    "10": _host_files,
    "11": _files,
    "12": _cholesky,
}
