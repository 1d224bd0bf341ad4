"""`weft import`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from weft.cli import outputs, teaching

_EXAMPLES = """
weft import latency.txt -o old.csv  # the output of osu_latency, as samples of echo
weft import run1.log run2.log --ranks 64 --machine cluster -o old.csv  # two launches of collectives on 64 ranks
weft import slurm-1234.out --format csv  # IMB's tables among other lines, printed
weft compare old.csv new.csv  # with what weft measures now
"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import", cls=teaching.command(_EXAMPLES), no_args_is_help=True)(import_)


def import_(
    files: Annotated[list[Path], typer.Argument(help="Files with what the benchmarks printed; each is a repetition.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write samples (.csv or .parquet).")] = None,
    force: outputs.Replace = False,
    machine: Annotated[
        str | None, typer.Option(help="Name of the machine in the samples. Default: the first file's name.")
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(min=1, help="How many ranks ran, where the output does not say (OSU's collectives).")
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option(help="What ran, where the output does not say (NCCL's tests before 2.17).")
    ] = None,
    shown: outputs.Shown = outputs.Format.TABLE,
) -> None:
    """Read results of OSU, IMB, nccl-tests and rccl-tests into samples, so that old results can be compared.

    Benchmarks that weft has too get its names (osu_latency: echo), others keep theirs (osu-bibw). Times are of one
    operation and lengths of a message or a rank's block, as in weft's own samples. Most tools print means, weft
    medians: the column `note` says which a time is.
    """
    from weft import importing, samples

    outputs.check(output, (".csv", ".parquet"), force=force)
    with warnings.catch_warnings(record=True) as left_out:
        warnings.simplefilter("always", UserWarning)
        table = importing.read(files, machine=machine, ranks=ranks, benchmark=benchmark)
    for warning in left_out:
        outputs.note(escape(f"note: {warning.message}"))
    if not outputs.show_plainly(table, shown):
        _show(table)
    if output is not None:
        samples.write(table, output, force=force)
        outputs.wrote(f"samples: {output}")


def _show(table: object) -> None:
    """How much of what was read."""
    import polars as pl
    from rich import box
    from rich.table import Table

    from weft import units
    from weft.cli.printing import show

    assert isinstance(table, pl.DataFrame)
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("benchmark")
    for heading in ("ranks", "lengths", "repetitions", "shortest time", "longest time"):
        shown.add_column(heading, justify="right")
    for (benchmark, ranks), part in table.group_by("benchmark", "ranks", maintain_order=True):
        lengths = part["bytes"].drop_nulls()
        shown.add_row(
            str(benchmark),
            str(ranks),
            f"{units.length(lengths.min())} – {units.length(lengths.max())}" if len(lengths) else "–",  # type: ignore[arg-type]
            str(part["repetition"].n_unique()),
            units.seconds(part["seconds"].min()),  # type: ignore[arg-type]
            units.seconds(part["seconds"].max()),  # type: ignore[arg-type]
        )
    show(shown)
