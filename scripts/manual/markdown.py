"""Tables and texts of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def cell(value: object) -> str:
    """A text that stands in one cell of a table."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[str] = ()) -> str:
    """A table; the columns in `right` hold numbers and are aligned to the right."""
    numbers = set(right)
    lines = [heads, ["--:" if head in numbers else "---" for head in heads]]
    lines += [[cell(value) for value in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def code(text: object) -> str:
    """Text in backquotes; nothing where there is none."""
    return f"`{text}`" if str(text) else ""


def plain(text: str) -> str:
    """Help of the command line without the marks of its terminal."""
    return re.sub(r"\[/?(?:bold|dim|italic|cyan)?\]", "", text)


def fenced(docstring: str) -> str:
    """A docstring whose examples (`>>>`) are blocks of code, without the flags of their tests."""
    lines: list[str] = []
    margin: str | None = None
    for line in docstring.splitlines():
        if margin is None and line.lstrip().startswith(">>>"):
            margin = line[: len(line) - len(line.lstrip())]
            lines += [*([""] if lines and lines[-1].strip() else []), f"{margin}```pycon"]
        elif margin is not None and not line.strip():
            lines.append(f"{margin}```")
            margin = None
        lines.append(re.sub(r" *# doctest:.*$", "", line))
    return "\n".join([*lines, f"{margin}```"] if margin is not None else lines)


def spaced(text: str) -> str:
    """A page with an empty line before each list: where pages are read as they are, none is needed; here one is."""
    lines: list[str] = []
    in_code = False
    for line in text.splitlines():
        in_code ^= line.lstrip().startswith("```")
        starts = not in_code and re.match(r"[-*] |1\. ", line) is not None
        if starts and lines and lines[-1].strip() and not re.match(r"[-*] |\d+\. | {2,}", lines[-1]):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"
