"""The page that says what the names of OSU and IMB are in weft, and the names themselves."""

import re
from pathlib import Path

import pytest

from weft.launch.request import benchmarks

PAGE = Path(__file__).parents[3] / "docs/how-to/osu-imb.md"


def rows():
    """The names in each row of the page's table: of OSU, of IMB, of weft."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")] for line in lines[2:]]
    return [row for row in cells if row[2]]


def named(name):
    """weft's benchmark of a name of OSU or IMB."""
    wanted = name.lower().replace("_", "-")
    return next(
        (known.name for known in benchmarks().values() if wanted in (known.name, *known.aliases)), f"{name}: nothing"
    )


@pytest.mark.parametrize("row", rows(), ids=lambda row: "-".join(row[2]))
def test_names_of_the_page_are_names_of_the_benchmarks_beside_them(native, row):
    osu, imb, weft = row
    assert osu or imb
    for name in osu:
        assert named(name) in weft
    for name in imb:
        assert named(f"imb_{name}") in weft


def test_every_benchmark_of_mpi_has_a_name_of_osu(native):
    groups = ("overlap", "one-sided", "collective")
    nameless = [
        known.name
        for known in benchmarks().values()
        if known.group in groups and not any(alias.startswith("osu-") for alias in known.aliases)
    ]
    assert nameless == []
