"""Looks with axe-core whether people with a keyboard, a reader or weak sight can use generated pages.

    python scripts/accessible.py site pages/report.html     every page in a folder, and single pages

Each is opened in a headless Chromium, in light and in dark colours. What is serious or critical is printed, a line
each, and makes the exit code 1. Without a browser or axe-core (`npm install axe-core`, or WEFT_AXE=FILE) that is said,
and nothing is looked at. tests/python/accessibility.py does the same for single pages of the tests.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(names: list[str]) -> int:
    """The command line: the number of pages with findings, as an exit code."""
    import pytest

    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from accessibility import serious

    if not names:
        sys.exit(__doc__)
    bad = 0
    for page in pages(names):
        for dark in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    found = serious(page, Path(folder), dark=dark)
                except pytest.skip.Exception as missing:
                    print(f"nothing was looked at: {missing}")
                    return 0
            for impact, rule, element in found:
                print(f"{page}{' (dark)' if dark else ''}: {impact}: {rule}: {element}")
            bad += bool(found)
        print(f"{page}: looked at", file=sys.stderr)
    return int(bad > 0)


def pages(names: list[str]) -> Iterator[Path]:
    """Pages by their names, and all that are in folders."""
    for name in map(Path, names):
        yield from sorted(name.rglob("*.html")) if name.is_dir() else [name]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
