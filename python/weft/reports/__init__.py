"""Reports: one self-contained HTML file from samples and machine descriptions. Imports no runtime.

`content.py` works out what there is to say, `figures.py` and `tables.py` give it shape, `page.py` makes the file.

>>> import tempfile, weft
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     weft.reports.report(weft.simulate("ncube6400", "echo", bytes="8:1K"), Path(folder) / "ncube.html")
...     (Path(folder) / "ncube.html").stat().st_size > 100_000
True
"""

from weft.reports.page import check_report, report

__all__ = ["check_report", "report"]
