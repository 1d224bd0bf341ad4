"""Printing for terminals: tables keep their numbers whole."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.measure import Measurement


def show(renderable: RenderableType) -> None:
    """Print as wide as it must be: a line that a narrow terminal breaks says more than a number cut off."""
    console = Console(highlight=False)
    needed = Measurement.get(console, console.options.update(max_width=10_000), renderable).maximum
    if needed > console.width:
        console.width = min(needed, 400)
    console.print(renderable)
