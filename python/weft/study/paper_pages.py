"""Reproductions as pages: every figure drawn, every table with the error of every cell, and an index with the gates."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from weft import files
from weft.extras import require
from weft.pages.document import Cell, Column, Document, Row, Section, Table, check_pages, render
from weft.papers import PAPERS, ReproducedTable, Reproduction
from weft.papers.gates import judged
from weft.papers.reproduction import BLIND, FITTED, INPUT, MARKS, MEASURED, PREDICTED
from weft.papers.scores import compared, scores, totals, unscored
from weft.reports import drawings

INDEX = "index.html"
"""The page that leads to the others."""
SPACE = 4 << 20
"""Bytes of free space that a page is sure to fit in."""

_GOOD, _POOR = 0.03, 0.10
_EXACT = 5e-5

KIND_WORDS = (
    (BLIND, "a prediction made before the published figure was known"),
    (PREDICTED, "a prediction of a figure that was known: neither it nor one that determines it was used"),
    (FITTED, "the published figure, or one that determines it, was fitted to: the error is that of a fit"),
    (INPUT, "what the machine file was told comes back"),
    (MEASURED, "measured on this machine; compared with nothing"),
)
"""The kinds of cells, in words."""


def check_folder(folder: str | os.PathLike[str], papers: Sequence[str], *, force: bool = False) -> None:
    """Refuse a folder of pages before any work is done for it.

    Parameters
    ----------
    folder
        Where the pages go; it is made where its own folder exists.
    papers
        What is reproduced; more than one have an index.
    force
        Whether pages that exist are replaced.

    Raises
    ------
    UsageError
        If a page exists and `force` is not set, the folder cannot be made or written, or what makes pages is missing.
    """
    check_pages("a page")
    folder = Path(folder)
    if not folder.exists():
        files.check_output(folder, (), space=SPACE * len(papers))
        return
    for name in _names(papers):
        files.check_output(folder / name, (), force=force, space=SPACE)


def write(reproductions: Sequence[Reproduction], folder: str | os.PathLike[str]) -> list[Path]:
    """Write a page for each reproduction, and an index where there are several; each whole or not at all.

    Returns
    -------
    list of pathlib.Path
        What was written, the page to open first in front.
    """
    folder = Path(folder)
    # All pages are made before one is written, so that nothing is left half done by what cannot be drawn.
    several = len(reproductions) > 1
    home = (INDEX, "all papers") if several else None
    pages = {f"{one.paper}.html": render(paper_document(one, home)) for one in reproductions}
    if several:
        pages = {INDEX: render(index_document(reproductions))} | pages
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        files.deliver(text.encode(), folder / name)
    return [folder / name for name in pages]


def _names(papers: Sequence[str]) -> list[str]:
    return [*([INDEX] if len(papers) > 1 else []), *(f"{paper}.html" for paper in papers)]


def paper_document(reproduction: Reproduction, home: tuple[str, str] | None = None) -> Document:
    """The page of one paper."""
    scored = judged(scores(reproduction))
    author = reproduction.citation.split(",")[0]
    return Document(
        title=f"{_title(reproduction.paper)}, reproduced",
        lead=reproduction.citation,
        findings=[*_findings(reproduction), *([reproduction.summary_title] if reproduction.summary_title else [])],
        sections=[_summary(reproduction, scored), *(_section(table) for table in reproduction.tables)],
        glossary=[*((kind, meaning) for kind, meaning in KIND_WORDS), *_WORDS],
        origin=f"the paper of {author} and the machines of the catalogue",
        home=home,
    )  # fmt: skip


_WORDS = (
    ("error", "ours ÷ published − 1; the difference where 0 was published"),
    ("open", "what rounding or other published figures leave open in the worst cell"),
    ("gate", "the error from which on a change has made a table worse; weft reproduce ends with 3 where one is missed"),
)


def _title(paper: str) -> str:
    name, _, year = paper.rpartition("-")
    return f"{' and '.join(part.capitalize() for part in name.split('-'))} {year}"


def _findings(reproduction: Reproduction) -> list[str]:
    """How near ours are, with predictions apart from fits."""
    rows = {row["kind"]: row for row in totals(scores(reproduction), compared(reproduction)).iter_rows(named=True)}
    said = []
    for kind, words in ((BLIND, "blind predictions"), (PREDICTED, "other predictions"), (FITTED, "fitted cells")):
        if kind in rows:
            row = rows[kind]
            said.append(f"{row['cells']} {words}: median error {row['median']:.1%}, worst {row['worst']:.1%}.")
    if INPUT in rows:
        said.append(f"{rows[INPUT]['cells']} further cells are inputs: they say nothing about the model.")
    return said or [unscored(reproduction)]


def _summary(reproduction: Reproduction, scored: pl.DataFrame) -> Section:
    section = Section("summary", "Errors by table", "Absolute relative errors, and what each table's may be at most.")
    if not scored.is_empty():
        section.tables.append(_scores(scored, with_paper=False))
    if not reproduction.summary.is_empty():
        columns = [Column("of these", text=True), Column("cells"), Column("median"), Column("worst")]
        rows = [
            Row([Cell(row["of"]), _count(row["cells"]), _share(row["median"]), _share(row["worst"])])
            for row in reproduction.summary.iter_rows(named=True)
        ]
        section.tables.append(Table([*columns], rows, title="Parts of these"))
    return section


def _scores(scored: pl.DataFrame, with_paper: bool) -> Table:
    columns = [*([Column("paper", text=True)] if with_paper else []), Column("of", text=True)]
    columns += [Column("ours", text=True), Column("cells"), Column("median"), Column("worst")]
    columns += [Column("worst at", text=True, wrap=True), Column("open"), Column("open by", text=True, wrap=True)]
    columns += [Column("gate", text=True)]
    columns += [Column("why the gate is there", text=True, wrap=True)]
    rows = []
    for row in scored.iter_rows(named=True):
        cells = [*([Cell(row["paper"])] if with_paper else []), Cell(row["of"], title=row["title"])]
        cells += [Cell(row["kind"], title=dict(KIND_WORDS)[row["kind"]]), _count(row["cells"])]
        cells += [_share(row["median"]), _share(row["worst"]), Cell(row["worst_at"])]
        cells += [_share(row["uncertainty"]), Cell(row["uncertainty_of"] or ""), _gate(row)]
        rows.append(Row([*cells, Cell(row["reason"] or "")]))
    return Table(columns, rows)


def _gate(row: Mapping[str, Any]) -> Cell:
    if row["gate_cells"] is None:
        return Cell("none", look="missed")
    limits = f"{row['gate_median']:.1%}, worst {row['gate_worst']:.1%}"
    return Cell(f"{'met' if row['met'] else 'MISSED'} ({limits})", look="met" if row["met"] else "missed")


def _count(cells: int) -> Cell:
    return Cell(str(cells), value=cells)


def _share(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(f"{value:.1%}", value=value)


def _section(table: ReproducedTable) -> Section:
    """A table or a figure: the figure drawn, the cells, the footnotes."""
    name = table.name[0].upper() + table.name[1:]
    section = Section(table.name.replace(" ", "-"), f"{name}. {table.title}", short=name)
    if table.axes is not None:
        section.figure(drawings.of_paper(table.title, *_points(table), table.axes), table.title, _caption(table))
    section.tables.append(_cells(table, folded="The figure's values" if table.label == "Figure" else ""))
    section.notes += table.footnotes
    return section


def _points(table: ReproducedTable) -> tuple[pl.DataFrame, str]:
    points = table.cells if table.points is None else table.points
    unit = points["unit"][0] if "unit" in points.columns and len(points) else ""
    return points, str(unit or "")


def _caption(table: ReproducedTable) -> str:
    points = table.cells if table.points is None else table.points
    if points["published"].is_null().all():
        return "Ours alone: no numbers were published."
    marker = "Pale bars" if table.axes is not None and table.axes.bars else "Hollow points"
    return f"{marker} are published, {'full bars' if marker == 'Pale bars' else 'lines'} are ours."


def _cells(table: ReproducedTable, folded: str) -> Table:
    """Published, ours and the error of every cell."""
    cells = table.cells
    heads = cells.select(table.columns).unique(maintain_order=True).rows()
    rows = cells.select(table.rows).unique(maintain_order=True).rows()
    width = len(table.rows) + len(table.columns)
    chosen = cells.select(*table.rows, *table.columns, "published", "ours", "error", "kind")
    known = {row[:width]: row[width:] for row in chosen.iter_rows()}
    columns = [Column(name, text=not cells.schema[name].is_numeric()) for name in table.rows]
    columns += [Column(" ".join(str(part) for part in head)) for head in heads]
    lines = [
        Row([*(_head(part) for part in row), *(_cell(known.get((*row, *head))) for head in heads)]) for row in rows
    ]
    return Table(columns, lines, folded=folded)


def _head(part: Any) -> Cell:
    return Cell(str(part), value=part if isinstance(part, int | float) else None)


def _cell(values: tuple[Any, ...] | None) -> Cell:
    if values is None:
        return Cell("")
    published, ours, error, kind = values
    text = f"{_number(published)} / {_number(ours)}"
    if error is None:
        mark = MARKS[kind] if kind == INPUT and ours is not None else ""
        return Cell(text, mark, value=ours, title=kind if ours is not None else "")
    shown = "" if kind == INPUT and abs(error) <= _EXACT else f"{error:+.1%} "
    size = abs(error)
    look = "" if kind == INPUT and not shown else "good" if size <= _GOOD else "bad" if size > _POOR else "poor"
    return Cell(text, f"{shown}{MARKS[kind]}", value=ours, look=look, title=f"{kind}: {dict(KIND_WORDS)[kind]}")


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    if value == 0.0 or abs(value) >= 1000.0:
        return f"{value:,.0f}"
    return f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")


def index_document(reproductions: Sequence[Reproduction]) -> Document:
    """The page that leads to those of the papers: errors of each by kind, and every gate."""
    scored = judged(pl.concat([scores(one) for one in reproductions]))
    cells = pl.concat([compared(one) for one in reproductions])
    missed = scored.filter(~pl.col("met"))
    verdict = "All gates are met." if missed.is_empty() else f"{len(missed)} of {len(scored)} gates are missed."
    by_kind = totals(
        scored.with_columns(pl.lit("all").alias("paper")), cells.with_columns(pl.lit("all").alias("paper"))
    )
    findings = [
        f"{row['cells']:,} cells are {row['kind']}: median error {row['median']:.1%}, worst {row['worst']:.1%}."
        for row in by_kind.iter_rows(named=True)
    ]
    sections = [
        Section("papers", "Papers", html=_links(reproductions), tables=[_papers(scored, cells)]),
        Section("gates", "Every table and its gate", tables=[_scores(scored, with_paper=True)]),
    ]
    return Document(
        title="Published studies, reproduced",
        lead="Five studies of communication on parallel machines, run on their machines as weft describes them.",
        findings=[*findings, f"{verdict} weft reproduce ends with exit code 3 where one is missed."],
        sections=sections,
        glossary=[*KIND_WORDS, *_WORDS],
    )


def _links(reproductions: Sequence[Reproduction]) -> str:
    lines = (
        f'<li><a href="{html.escape(one.paper)}.html">{html.escape(_title(one.paper))}</a>: '
        f"{html.escape(one.citation)}</li>"
        for one in reproductions
    )
    return f"<ul>{''.join(lines)}</ul>"


def _papers(scored: pl.DataFrame, cells: pl.DataFrame) -> Table:
    columns = [
        Column("paper", text=True),
        Column("ours", text=True),
        Column("cells"),
        Column("median"),
        Column("worst"),
    ]
    rows = [
        Row([Cell(row["paper"]), Cell(row["kind"], title=dict(KIND_WORDS)[row["kind"]]), _count(row["cells"]),
             _share(row["median"]), _share(row["worst"])])
        for row in totals(scored, cells).iter_rows(named=True)
    ]  # fmt: skip
    return Table(columns, rows)


def overview(reproductions: Sequence[Reproduction]) -> pl.DataFrame:
    """Every table of some reproductions by kind, with its errors and its gate: what `judged` says."""
    return judged(pl.concat([scores(one) for one in reproductions]))


def names() -> list[str]:
    """All papers, in the order in which they are shown."""
    return list(PAPERS)


def check_plot() -> None:
    """Refuse drawings on a terminal where what makes them is not installed."""
    require("a drawing on the terminal", "plotext")
