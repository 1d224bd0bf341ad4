"""Equations: LaTeX in a fence named math becomes MathML, which browsers show without any script."""

from __future__ import annotations

from typing import Any


def fence(source: str, *_: Any, **__: Any) -> str:
    """A fence of `pymdownx.superfences`, each line an equation of its own."""
    from latex2mathml.converter import convert

    return "".join(convert(line.strip(), display="block") for line in source.splitlines() if line.strip())
