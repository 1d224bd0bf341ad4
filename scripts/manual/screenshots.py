"""Screenshots of the pages that weft makes, taken by a headless Chromium while the site is built.

`{{ screenshot report: what it shows }}` in a page is such a picture; without a browser the page says so instead.
"""

from __future__ import annotations

import functools
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = "screenshots"
"""The folder of the pictures in the site."""

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MARK = re.compile(r"\{\{ screenshot ([\w-]+): (.+?) \}\}", re.DOTALL)


class ScreenshotError(ValueError):
    """A screenshot that there is not, or that cannot be taken; the message says which and why."""


@dataclass(frozen=True)
class Screenshot:
    """A page, and how large a part of it is taken.

    Attributes
    ----------
    commands
        The commands of weft that make it, in their order.
    page
        The file that they write.
    width, height
        The window in CSS pixels.
    dark
        Whether dark colours are shown.
    """

    commands: tuple[str, ...]
    page: str
    width: int
    height: int
    dark: bool = False


_REPORT = ("measure echo --on ipsc860 --bytes 8:8K --hops 1:6 -o then.csv", "report then.csv -o report.html")
_SCHEDULE = ("compile hypercube --on iwarp64 -o schedule.json", "show schedule.json -o schedule.html")
_COLLECTIVE = (
    "compile allgather --on hgx-h100 --bytes 1M --method throughput -o allgather.json",
    "show allgather.json -o allgather.html",
)

SCREENSHOTS = {
    "report": Screenshot(_REPORT, "report.html", 1200, 1500),
    "report-phone": Screenshot(_REPORT, "report.html", 500, 1000, dark=True),
    "schedule": Screenshot(_SCHEDULE, "schedule.html", 1200, 1300),
    "collective": Screenshot(_COLLECTIVE, "allgather.html", 1200, 1300),
    "paper": Screenshot(("reproduce dunigan-1991 --figure 2 -q --html paper",), "paper/dunigan-1991.html", 1200, 1300),
}
"""Every screenshot by its name."""


def browser() -> str | None:
    """The browser there is."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


@functools.cache
def pages() -> dict[str, bytes]:
    """The pictures by their names in the folder: none without a browser.

    Raises
    ------
    ScreenshotError
        If a page cannot be made or the browser takes no picture of it.
    """
    found = browser()
    if found is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        return {f"{name}.png": _taken(found, shot, Path(folder)) for name, shot in SCREENSHOTS.items()}


def _taken(browser: str, shot: Screenshot, folder: Path) -> bytes:
    for command in shot.commands if not (folder / shot.page).exists() else ():
        _run([sys.executable, "-m", "weft.cli.main", *shlex.split(command)], folder)
    picture = folder / "picture.png"
    picture.unlink(missing_ok=True)
    colours = ["--blink-settings=preferredColorScheme=0"] if shot.dark else []
    _run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *colours,
          "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}",
          "--virtual-time-budget=20000", f"--window-size={shot.width},{shot.height}", f"--screenshot={picture}",
          (folder / shot.page).as_uri()], folder)  # fmt: skip
    if not picture.exists():
        raise ScreenshotError(f"{browser} has taken no picture of {shot.page}")
    return picture.read_bytes()


def _run(words: list[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    if done.returncode != 0:
        raise ScreenshotError(f"{shlex.join(words)}: exit code {done.returncode}\n{done.stderr}")


def placed(text: str, page: str) -> str:
    """A page whose marks are replaced.

    Parameters
    ----------
    text
        The page in Markdown.
    page
        Its path in the site, from which the pictures are linked.

    Raises
    ------
    ScreenshotError
        For a mark that names no screenshot.
    """
    return _MARK.sub(lambda mark: _picture(mark[1], " ".join(mark[2].split()), page), text)


def _picture(name: str, alternative: str, page: str) -> str:
    if name not in SCREENSHOTS:
        raise ScreenshotError(f"{page}: there is no screenshot '{name}', only {', '.join(SCREENSHOTS)}")
    if f"{name}.png" not in pages():
        return f"*Here is a screenshot where the site is built with a browser: {alternative}.*"
    return f"![{alternative}]({'../' * page.count('/')}{FOLDER}/{name}.png)"
