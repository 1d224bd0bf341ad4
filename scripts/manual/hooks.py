"""Hooks of mkdocs: they add the generated pages, and refuse a site that would ask other computers for anything."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.manual import (
    cli,
    fghc,
    figures,
    grids,
    machine_file,
    papers,
    python_api,
    records,
    samples,
    schedule_file,
    screenshots,
)  # fmt: skip
from scripts.manual.markdown import spaced

PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": cli.page,
    "reference/machine-file.md": machine_file.page,
    "reference/fghc.md": fghc.page,
    "reference/samples.md": samples.page,
    "reference/schedule-file.md": schedule_file.page,
}
"""Generated pages, by their path in the site."""

_LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"'> ]+|"
                     r"<link\b(?![^>]*rel=[\"']?canonical)[^>]*\bhref=[\"']?(?:https?:)?//[^\"'> ]+|"
                     r"url\([\"']?(?:https?:)?//[^)]+|@import[^;]*//[^;]+")  # fmt: skip
"""What a browser fetches by itself from elsewhere."""


PYTHON = "reference/python"
"""The folder of the pages of Python packages."""

FOLDERS: dict[str, Callable[[], Mapping[str, str | bytes]]] = {
    PYTHON: python_api.pages,
    "papers": papers.pages,
    "records": records.pages,
    screenshots.FOLDER: screenshots.pages,
    grids.FOLDER: grids.pages,
}
"""Folders of generated pages and pictures."""


def on_config(config: MkDocsConfig, **_: Any) -> MkDocsConfig:
    """Put the pages of Python packages into the navigation."""
    reference = next(entry["Reference"] for entry in config.nav or [] if "Reference" in entry)
    where = reference.index(f"{PYTHON}/index.md")
    reference[where] = {"Python": [f"{PYTHON}/{name}" for name in python_api.pages()]}
    return config


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the generated pages."""
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    for folder, pages in FOLDERS.items():
        for name, text in pages().items():
            files.append(File.generated(config, f"{folder}/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill in the figures that sentences name and the screenshots, and make lists of what is written as lists.

    Raises
    ------
    PluginError
        For a figure or a screenshot that there is not.
    """
    try:
        return spaced(screenshots.placed(figures.filled(markdown), page.file.src_uri))
    except (figures.FigureError, screenshots.ScreenshotError) as error:
        raise PluginError(str(error)) from error


_SHIM = re.compile(r'<script src="https://unpkg.com/iframe-worker/shim"></script>')
"""What the theme loads for searching pages that are opened from the disk; `docs/offline-search.js` does the same."""


_NAMELESS = {'role="dialog"': "Search", 'id="__search"': "Search", 'id="__drawer"': "Navigation"}
"""Parts of the theme that have no name of their own, by what tells them from others."""


def named(page: str) -> str:
    """A page whose parts all have names, for people who hear it."""
    for part, name in _NAMELESS.items():
        page = page.replace(part, f'{part} aria-label="{name}"')
    return page


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Let pages search from the disk, and refuse those that load anything from the network.

    Raises
    ------
    PluginError
        With the file and what it loads.
    """
    site = Path(config.site_dir)
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            up = "../" * (len(path.relative_to(site).parts) - 1)
            text = _SHIM.sub(f'<script src="{up}offline-search.js"></script>', path.read_text())
            path.write_text(named(text))
        if path.suffix in {".html", ".css"} and (found := _LOADED.search(path.read_text(errors="replace"))):
            raise PluginError(f"{path}: pages must not load anything from the network, found {found.group()}")
