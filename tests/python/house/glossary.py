"""The glossary, docs/glossary.toml: what it counts, and the page that shows it. Running this file writes both."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from floors import ROOT
from identifiers import in_python, in_rust, snake

TABLE = ROOT / "docs" / "glossary.toml"
PAGE = ROOT / "docs" / "CONVENTIONS.md"
BEGIN, END = "<!-- glossary.toml -->\n", "<!-- end -->\n"

FOLDERS = ("crates", "python/weft", "benches")
"""Where identifiers and comments are counted."""
PAGES = ("README.md", "docs/*.md", "docs/decisions/*.md")
"""Where phrases are counted besides. Not in the page that shows the glossary, nor in the history of changes."""
LONGEST = 5
"""Parts of an identifier; what has more is a sentence, as tests are named."""
_NOT_PAGES = {PAGE, ROOT / "docs" / "CHANGELOG.md"}


@dataclass(frozen=True)
class Word:
    """A private word: what it is called in the field, and how many identifiers and lines still have it."""

    today: str
    standard: str
    count: int | None = None
    parts: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    within: tuple[str, ...] = ()

    def is_in(self, name: str) -> bool:
        """Whether an identifier has the word."""
        snaked = snake(name)
        if name in self.keeps or snaked.count("_") > LONGEST + 1:
            return False
        return any(f"_{part}_" in snaked for part in self.parts) or (
            name.isupper() and any(snaked.startswith(f"_{part}_") for part in self.constants)
        )


def words() -> list[Word]:
    """The glossary, in its order."""
    entries = tomllib.loads(TABLE.read_text())["word"]
    return [
        Word(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})
        for entry in entries
    ]


def uses() -> dict[str, list[str]]:
    """For each word the identifiers and lines that have it: an identifier counts once in a file."""
    found: dict[str, list[str]] = defaultdict(list)
    glossary = words()
    for path, text in _sources():
        names = in_rust(text) if path.suffix == ".rs" else in_python(text) if path.suffix == ".py" else set()
        where = path.relative_to(ROOT).as_posix()
        for word in glossary:
            if not where.startswith(word.within or ""):
                continue
            found[word.today] += [f"{where}: {name}" for name in sorted(names) if word.is_in(name)]
            for phrase in word.phrases:
                lines = sum(phrase in line.lower() for line in text.splitlines())
                found[word.today] += [f"{where}: {phrase}"] * lines
    return found


def _sources() -> list[tuple[Path, str]]:
    files = [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".rs", ".py", ".pyi"} and "target" not in path.relative_to(ROOT).parts
    ]
    files += [path for pattern in PAGES for path in sorted(ROOT.glob(pattern)) if path not in _NOT_PAGES]
    return [(path, path.read_text()) for path in files]


def drawn() -> str:
    """The table as the page shows it."""
    rows = "".join(f"| {word.today} | {word.standard} |\n" for word in words())
    return f"| not | but |\n|---|---|\n{rows}"


def shown(page: str) -> str:
    """What the page has between its marks.

    Raises
    ------
    ValueError
        If the marks are not there.
    """
    return page[page.index(BEGIN) + len(BEGIN) : page.index(END)]


def counted(text: str, counts: dict[str, int]) -> str:
    """The glossary's file with these counts, each after the word it is of."""
    lines = [line for line in text.splitlines() if not line.startswith("count = ")]
    out = []
    for line in lines:
        out.append(line)
        if today := re.fullmatch(r'today = "(.*)"', line):
            out.append(f"count = {counts[today.group(1)]}")
    return "\n".join(out) + "\n"


def main() -> None:
    """Write the counts that have fallen, and those of new words; then the page."""
    TABLE.write_text(counted(TABLE.read_text(), _counts()))
    page = PAGE.read_text()
    PAGE.write_text(page.replace(BEGIN + shown(page), BEGIN + drawn()))


def _counts() -> dict[str, int]:
    found = uses()
    return {
        word.today: len(found[word.today]) if word.count is None else min(word.count, len(found[word.today]))
        for word in words()
    }


if __name__ == "__main__":
    main()
