"""Pages of the papers: every table and figure that weft reproduces, published beside ours, figures drawn."""

from __future__ import annotations

from typing import Any

from scripts.manual.drawing import drawing, is_drawn
from scripts.manual.figures import errors, reproduction
from scripts.manual.markdown import table
from weft.papers import PAPERS, ReproducedTable, Reproduction
from weft.papers.rendering import OPEN, open_in_worst
from weft.papers.rendering import _number as number

TITLES = {
    "dunigan-1991": "Dunigan 1991: five hypercubes",
    "wu-shu-1989": "Wu and Shu 1989: the CM-2",
    "george-1994": "George, Brickner and Johnsson 1994: shifts on the CM-200",
    "feldmann-1993": "Feldmann, Stricker and Warfel 1993: connections on iWarp",
    "taki-1988": "Taki 1988: the Multi-PSI",
}
"""Titles of the pages."""

ABOUT = {
    "dunigan-1991": """Five hypercubes from 1985 to 1990, measured with one suite of tests: single messages, contention,
the host, arithmetic, and a factorisation. The machines are in the catalogue as `ipsc1`, `ipsc2`, `ipsc860`,
`ncube3200` and `ncube6400`, and the tests are benchmarks of `weft measure`.""",
    "wu-shu-1989": """The primitives of the Connection Machine CM-2 (`cm2-8k`): operations of its processors, the router
under contention, the NEWS grid, and scans. From their times and from operation counts follows the time of a Gaussian
elimination.""",
    "george-1994": """Many shifts of an array planned together (PSHIFT), compared with one after the other (CSHIFT), on
the Connection Machine CM-200 (`cm200`), for arrays of one to four axes.""",
    "feldmann-1993": """Communication compiled into phases of open connections, compared with message passing, on an
iWarp of 64 cells (`iwarp64`): patterns, and exchanges of finite-element meshes.""",
    "taki-1988": """A concurrent logic language on the Multi-PSI (`multi-psi-v1` and `multi-psi-v2`): what a message
costs in reductions, and how a program's performance follows from its work rate and its communication rate. Rows called
`here` were measured on the machine that built this page.""",
}
"""What each paper is about, for who does not know it."""

INTRODUCTION = """# Five published studies

Each page shows a study table by table and figure by figure: the published value, the value for weft's machine, and the
relative error. Predictions, fits and inputs are kept apart; [this page](../explanations/predictions.md) explains what
that means. The pages show what `weft reproduce` computes when the site is built.

"""

LEGEND = """Each cell shows: published → ours (relative error). `=` marks an input, which was given to the machine file
and counts in no summary. A single number is ours; there the paper printed none, or only a curve."""


def index() -> str:
    """The page of all papers."""
    rows = [
        (f"[{TITLES[name]}]({name}.md)", (module.__doc__ or "").splitlines()[0], ABOUT[name])
        for name, module in PAPERS.items()
    ]
    return INTRODUCTION + table(["paper", "citation", "what it is about"], rows)


def pages() -> dict[str, str]:
    """The pages and their pictures, by their files in the folder of papers."""
    found = {"index.md": index()}
    for name in PAPERS:
        reproduced = reproduction(name)
        found[f"{name}.md"] = page(reproduced)
        for one in reproduced.tables:
            if is_drawn(one):
                found[picture(name, one)] = drawing(one)
    return found


def picture(name: str, one: ReproducedTable) -> str:
    """The file of a drawn table."""
    return f"{name}-{one.label.lower()}-{one.number}.svg"


def page(reproduced: Reproduction) -> str:
    """The page of one paper."""
    name = reproduced.paper
    parts = [
        f"# {TITLES[name]}\n\n{ABOUT[name]}\n\n*{reproduced.citation}*\n\n```sh\nweft reproduce {name}\n```\n",
        f"## How far ours are off\n\n{reproduced.summary_title}\n\n{_summary(reproduced)}",
        f"## Tables and figures\n\n{LEGEND}\n",
    ]
    parts += [_section(name, one) for one in reproduced.tables]
    return "\n".join(parts)


def _summary(reproduced: Reproduction) -> str:
    rows = [
        (of, row["cells"], _share(row["median"]), _share(row["worst"]), row["worst_at"] or "", open_in_worst(row))
        for of, row in errors(reproduced.paper)
    ]
    heads = ["of", "cells", "median", "worst", "worst at", "open"]
    return f"{table(heads, rows, right=('cells', 'median', 'worst'))}\n{OPEN[0].upper()}{OPEN[1:]}.\n"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _section(paper: str, one: ReproducedTable) -> str:
    title = "What the text says" if one.number == "text" else f"{one.label} {one.number}"
    drawn = f"![{one.title}, published and ours]({picture(paper, one)})\n\n" if is_drawn(one) else ""
    cells = _pivoted(one)
    if drawn or cells.count("\n") > 24:
        indented = "".join(f"    {line}\n" for line in cells.splitlines())
        cells = f'??? note "The numbers"\n\n{indented}'
    notes = "".join(f"\n{position}. {note}" for position, note in enumerate(one.footnotes, 1))
    return f"### {title} {{ #{one.label.lower()}-{one.number} }}\n\n{one.title}.\n\n{drawn}{cells}\n{notes}\n"


def _pivoted(one: ReproducedTable) -> str:
    """The cells as the paper prints them."""
    wide = len(one.rows) + len(one.columns)
    chosen = one.cells.select(*one.rows, *one.columns, "published", "ours", "error", "kind")
    cells = {row[:wide]: row[wide:] for row in chosen.iter_rows()}
    rows = one.cells.select(one.rows).unique(maintain_order=True).rows()
    heads = one.cells.select(one.columns).unique(maintain_order=True).rows()
    names = [" ".join(map(str, head)) for head in heads]
    body = [[*row, *(_cell(cells.get((*row, *head))) for head in heads)] for row in rows]
    return table([*one.rows, *names], body, right=names)


def _cell(values: tuple[Any, ...] | None) -> str:
    if values is None:
        return ""
    published, ours, error, kind = values
    if published is None:
        return "" if ours is None else number(ours)
    if kind == "input" and ours is not None:
        given = number(published) if published == ours else f"{number(published)} → {number(ours)}"
        return f"{given} ="
    after = f" ({error:+.1%})" if error is not None else ""
    return f"{number(published)} → {'–' if ours is None else number(ours)}{after}"
