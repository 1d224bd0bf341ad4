"""A picture in SVG as one of pixels, for what shows no SVG: slides and documents."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from weft import extras

_ZOOM = 2.0
"""Pixels for each unit of the drawing, so that small numbers can be read."""

_MAX_PIXELS = 8192
"""Of the longer side: at 4 bytes a pixel a picture has at most a quarter of a GiB in memory."""


def check(what: str) -> None:
    """Refuse a picture where what makes it is not installed; whoever works long for one asks before.

    Parameters
    ----------
    what
        What is wanted, for the message: `a picture in PNG`.

    Raises
    ------
    UsageError
        With the line that installs it.

    Examples
    --------
    >>> check("a picture in PNG")
    """
    extras.require(what, "resvg_py", "matplotlib")


def png(picture: str) -> bytes:
    """A picture in PNG, on white, two pixels for each unit of the drawing; fewer where it would have more than 8192.

    The fonts are those that matplotlib brings, so that the same picture is the same on every machine.

    Parameters
    ----------
    picture
        The text of an SVG with a `viewBox`, such as :func:`weft.conset.drawing.svg` gives.

    Raises
    ------
    UsageError
        If what makes such pictures is not installed.
    ValueError
        If the text is no SVG.

    Examples
    --------
    >>> png('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9" height="9"/>')[1:4]
    b'PNG'
    """
    check("a picture in PNG")
    import resvg_py

    box = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', picture)
    if box is None:
        raise ValueError("expected an SVG with a viewBox")
    width, height = float(box[1]), float(box[2])
    zoom = min(_ZOOM, _MAX_PIXELS / max(width, height))
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=picture,
            background="#ffffff",
            width=max(1, round(width * zoom)) if width >= height else None,
            height=max(1, round(height * zoom)) if width < height else None,
            skip_system_fonts=True,
            font_files=[str(_font())],
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
        )
    )


def _font() -> Path:
    """A font of matplotlib's, which is not imported for it."""
    spec = importlib.util.find_spec("matplotlib")
    (folder, *_) = (spec and spec.submodule_search_locations) or [""]
    return Path(folder) / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
