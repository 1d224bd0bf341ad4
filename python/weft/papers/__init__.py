"""Published studies next to what weft gets: one module for each paper.

`PAPERS` finds a module by name; each has `TABLES` (what it can reproduce) and `reproduce`, which is handed how a
benchmark is simulated and therefore names no world.

>>> import weft
>>> sorted(weft.papers.PAPERS)
['dunigan-1991', 'feldmann-1993', 'george-1994', 'taki-1988', 'wu-shu-1989']
>>> weft.papers.PAPERS["dunigan-1991"].TABLES[:3]
('1', '3', '4')
"""

from __future__ import annotations

from weft.papers import dunigan1991, feldmann1993, george1994, taki1988, wushu1989
from weft.papers.rendering import render
from weft.papers.reproduction import (
    Describe,
    OperationTime,
    PaperError,
    ReproducedTable,
    Reproduction,
    Simulate,
    reference_folder,
)

PAPERS = {
    "dunigan-1991": dunigan1991,
    "feldmann-1993": feldmann1993,
    "george-1994": george1994,
    "taki-1988": taki1988,
    "wu-shu-1989": wushu1989,
}
"""The papers that can be reproduced: modules with `TABLES` and `reproduce`, by name."""

__all__ = [
    "PAPERS",
    "Describe",
    "OperationTime",
    "PaperError",
    "ReproducedTable",
    "Reproduction",
    "Simulate",
    "dunigan1991",
    "feldmann1993",
    "george1994",
    "reference_folder",
    "render",
    "taki1988",
    "wushu1989",
]
