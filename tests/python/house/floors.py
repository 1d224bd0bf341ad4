"""The table of floors, docs/floors.toml, and the page that shows it, into which it is written by running this file."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
BEGIN, END = "<!-- floors.toml -->\n```\n", "```\n<!-- end -->\n"

TABLE = tomllib.loads((ROOT / "docs" / "floors.toml").read_text())

FLOORS: dict[str, int] = {part: floor["number"] for floor in TABLE["floor"] for part in floor if part != "number"}
"""The floor of each part, by its folder or, for a module, its file without suffix."""


def drawn() -> str:
    """The table as the page shows it."""
    lines = []
    for floor in sorted(TABLE["floor"], key=lambda floor: -floor["number"]):
        for index, (part, about) in enumerate((part, about) for part, about in floor.items() if part != "number"):
            number = f"{floor['number']:>2}" if index == 0 else "  "
            lines.append(f"{number}  {part:<25}  {about}\n")
    return "".join(lines)


def shown(page: str) -> str:
    """What the page has between its marks.

    Raises
    ------
    ValueError
        If the marks are not there.
    """
    return page[page.index(BEGIN) + len(BEGIN) : page.index(END)]


if __name__ == "__main__":
    text = PAGE.read_text()
    PAGE.write_text(text.replace(BEGIN + shown(text), BEGIN + drawn()))
