"""Progress bars with an estimate of the time left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from weft.cli import speaking


class Bar:
    """A bar for a measurement, on standard error, gone when it is done; nothing where that is no terminal.

    Parameters
    ----------
    title
        What is done.
    shown
        Whether there is a bar at all; `--quiet` and `--verbose` leave it out too.
    """

    def __init__(self, title: str, shown: bool = True) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("points ·"),
            TimeElapsedColumn(),
            TextColumn("gone,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=not (shown and speaking.shows_progress(console.is_terminal)),
        )
        self._title = title
        self._task = self._progress.add_task(title, total=None)
        self._done = 0

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def launch(self, number: int, points: int, remaining: int) -> None:
        """A launch begins."""
        speaking.log.info("%s, launch %d: %d points of %d remain", self._title, number + 1, remaining, points)
        self._progress.update(
            self._task, total=self._done + remaining, description=f"{self._title}, launch {number + 1}"
        )

    def rows(self, number: int) -> None:
        """That many more points are done."""
        self._done += number
        self._progress.advance(self._task, number)

    def title(self, title: str) -> None:
        """What is done from now on, counted from the start."""
        speaking.log.info("%s", title)
        self._title, self._done = title, 0
        self._progress.reset(self._task, description=title, total=None)


@contextlib.contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """A line on standard error that says what is being done, gone at the end; nothing where that is no terminal."""
    console = Console(stderr=True)
    if not speaking.shows_progress(console.is_terminal):
        yield lambda text: speaking.log.info("%s", text)
        return
    with console.status("") as shown:
        yield shown.update
