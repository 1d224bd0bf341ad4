"""Reports: one self-contained HTML file from samples and machine descriptions. Imports no runtime.

`content.py` works out what there is to say, `figures.py` and `tables.py` give it shape, `page.py` makes the file.
"""

from weft.reports.page import check_report, report

__all__ = ["check_report", "report"]
