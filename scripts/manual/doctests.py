"""An extension of griffe: examples in docstrings are shown as code wherever they stand."""

from __future__ import annotations

from typing import Any

import griffe

from scripts.manual.markdown import fenced


class Doctests(griffe.Extension):
    """Puts the examples of every docstring between fences."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that has been read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
