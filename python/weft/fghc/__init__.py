"""Programs in FGHC, the language of the Multi-PSI (Flat GHC as in KL1): check them, explain them, run them.

>>> import tempfile, weft
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     program = Path(folder) / "sum.fghc"
...     _ = program.write_text(":- module sum. :- public main/2. main(X, Y) :- true | Y := X + 1.")
...     weft.fghc.run(program, goal="main(41,Y)").answers
[('Y', '42')]

`fghc.check("queens.fghc")` tells what is wrong, `fghc.explain("queens.fghc")` how an engine sees the program, and
`fghc.run("queens.fghc", goal="queens(8,2,S)", pes=2)` runs it and tells what was counted.
"""

from __future__ import annotations

from weft.fghc.checking import Finding, Report, check, explain, sources
from weft.fghc.running import ProcessingElement, Run, Site, Waiting, run, run_rank
from weft.fghc.table import table

__all__ = [
    "Finding",
    "ProcessingElement",
    "Report",
    "Run",
    "Site",
    "Waiting",
    "check",
    "explain",
    "run",
    "run_rank",
    "sources",
    "table",
]
