"""A document in one file: sections with figures, tables and notes, in the style that all pages of weft have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from weft._core import __version__
from weft.extras import require
from weft.pages import data, policy

SPACE = 8 << 20
"""Bytes of free space that a page is sure to fit in: most of a page is the library that draws its figures."""


@dataclass(frozen=True)
class Column:
    """A column's heading; numbers stand to the right, text to the left."""

    name: str
    text: bool = False
    wrap: bool = False


@dataclass(frozen=True)
class Cell:
    """What a cell says, and what stands behind it.

    Attributes
    ----------
    text
        What people read.
    interval
        Smaller, after the text: an interval, or an error.
    value
        What the column is sorted by; None for the text.
    look
        A class of the style sheet.
    title
        What is said of the cell where a pointer rests on it.
    """

    text: str
    interval: str = ""
    value: float | None = None
    look: str = ""
    title: str = ""


def count_cell(count: int) -> Cell:
    """A number of things.

    Examples
    --------
    >>> count_cell(7936).text
    '7,936'
    """
    return Cell(f"{count:,}", value=count)


def listed_words(listed: int, known: int) -> str:
    """How many rows a table has, for its fold, where it may have the first ones only.

    Examples
    --------
    >>> listed_words(12, 12), listed_words(1000, 7936)
    ('12', 'the first 1,000 of 7,936')
    """
    return f"{known:,}" if listed == known else f"the first {listed:,} of {known:,}"


@dataclass(frozen=True)
class Row:
    """Cells; `own` rows are what the page is about."""

    cells: Sequence[Cell]
    own: bool = False


@dataclass(frozen=True)
class Table:
    """A table; `folded` is the line that opens it."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    folded: str = ""


@dataclass
class Section:
    """A heading and what stands under it.

    `short` stands for the title in the list of contents. `html` is markup that weft wrote itself, with names escaped.
    """

    id: str
    title: str
    text: str = ""
    figures: list[dict[str, Any]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    html: str = ""
    short: str = ""

    def figure(self, figure: Mapping[str, Any], label: str, caption: str) -> None:
        """Add a figure, if there is something in it."""
        if figure["data"]:
            self.figures.append(
                {
                    "id": f"figure-{self.id}-{len(self.figures) + 1}",
                    "json": data(figure),
                    "label": label,
                    "caption": caption,
                    "height": f"{figure['height']:g}rem",
                    "panels": "xaxis2" in figure["layout"],
                    "points": sum(len(trace.get("y", ())) for trace in figure["data"]),
                }
            )

    @property
    def empty(self) -> bool:
        """Whether there is nothing under it."""
        return not (self.figures or self.tables or self.facts or self.notes or self.html)


@dataclass
class Document:
    """A page before it is written.

    Attributes
    ----------
    title, lead
        The heading, and a sentence or two below it.
    findings
        Sentences that say what matters, before everything else.
    key
        Figures that sum it up: `name`, `value` and `more` each.
    warnings
        What must be known before a figure is believed: `head` and `text` each.
    sections
        In order; empty ones are left out.
    glossary
        Words that the page uses, and what they mean.
    origin
        What the page was made from.
    home
        A page that this one belongs to: its file and its title.
    scripts
        Further scripts of the page.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    findings: Sequence[str] = ()
    key: Sequence[Mapping[str, str]] = ()
    warnings: Sequence[Mapping[str, str]] = ()
    glossary: Sequence[tuple[str, str]] = ()
    origin: str = ""
    home: tuple[str, str] | None = None
    scripts: Sequence[str] = ()


def check_pages(what: str) -> None:
    """Refuse a page where what makes it is not installed; whoever works long for one asks before.

    Parameters
    ----------
    what
        What is wanted, for the message: `a report`.

    Raises
    ------
    UsageError
        With the line that installs it.
    """
    require(what, "jinja2")


def render(document: Document) -> str:
    """The page as text: everything that it shows is in it, and nothing but its own scripts runs in it."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    shown = [section for section in document.sections if not section.empty]
    scripts = [_asset("page.js"), *document.scripts]
    if any(section.figures for section in shown):
        scripts = [_asset("plotly-basic.min.js"), _asset("figures.js"), *scripts]
    return environment.get_template("page.html.j2").render(
        document=document, sections=shown, version=__version__, style=_asset("style.css"), scripts=scripts,
        policy=policy(scripts),
    )  # fmt: skip


def is_number(value: object) -> bool:
    """Whether a table can be sorted by it."""
    return isinstance(value, int | float) and math.isfinite(value)


def _asset(name: str) -> str:
    return resources.files("weft.pages").joinpath("assets", name).read_text(encoding="utf-8")
