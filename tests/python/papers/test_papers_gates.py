"""Errors by table and kind, their gates, and the pages that show them."""

import dataclasses
import json
import re
import subprocess
import sys

import polars as pl
import pytest

from accessibility import browser, serious
from weft._core import UsageError
from weft.papers import ReproducedTable, Reproduction
from weft.papers.gates import gates, judged
from weft.papers.reproduction import SUMMARY, Axes, with_error
from weft.papers.scores import scores
from weft.study import paper_pages
from weft.study.reproducing import reproduce


def made(paper="dunigan-1991", error=0.01, redraws=False):
    """A table with three blind cells, one fitted and one input, all as far off."""
    cells = pl.DataFrame(
        {
            "n": [1, 2, 4, 8, 16],
            "<series>": ["a"] * 5,
            "published": [10.0] * 5,
            "ours": [10.0 * (1 + error)] * 5,
            "unit": ["s"] * 5,
            "kind": ["blind"] * 3 + ["fitted", "input"],
        }
    )
    axes = Axes("n", "s", "n", ("<series>",), log_x=True, log_y=True)
    table = ReproducedTable(
        "A5", "Made & <told>", ("n",), ("<series>",), with_error(cells), ("a note",), "Table", axes, redraws=redraws
    )
    return Reproduction(paper, "A. Author, A title, 1991", (table,), pl.DataFrame(schema=SUMMARY), "said")


def test_kinds_are_told_apart():
    rows = scores(made(error=0.01))
    assert rows.select("of", "kind", "cells").rows() == [
        ("table A5", "blind", 3), ("table A5", "fitted", 1), ("table A5", "input", 1),
    ]  # fmt: skip
    assert rows["median"].to_list() == pytest.approx([0.01] * 3)
    assert rows["worst_at"][0] == "1, a"
    assert scores(made(redraws=True)).is_empty()


def test_a_gate_is_missed_by_an_error_and_by_cells_that_are_missing():
    limits = gates().filter((pl.col("of") == "table A5") & (pl.col("kind") == "blind")).row(0, named=True)
    rows = judged(scores(made(error=limits["gate_worst"] / 2)))
    assert rows.filter(pl.col("kind") == "blind")["met"].to_list() == [False], "three cells are fewer than 44"
    enough = scores(made(error=0.0)).with_columns(pl.lit(limits["gate_cells"]).cast(pl.Int64).alias("cells"))
    assert judged(enough)["met"].to_list() == [True, True, False], "no gate is for inputs of this table"
    worse = enough.with_columns(pl.lit(limits["gate_worst"] * 1.01).alias("worst"))
    assert judged(worse)["met"].to_list()[0] is False


def test_every_gate_has_a_reason():
    table = gates()
    assert table.null_count().sum_horizontal().item() == 0
    assert (table["reason"].str.len_chars() >= 10).all()
    assert table.select("paper", "of", "kind").is_unique().all()


@pytest.mark.parametrize("paper", ["dunigan-1991", "george-1994", "wu-shu-1989"])
def test_every_table_has_a_gate_and_meets_it(native, paper):
    rows = judged(scores(reproduce(paper)))
    assert rows.filter(~pl.col("met")).rows() == []
    known = gates().filter(pl.col("paper") == paper).select("of", "kind")
    assert sorted(rows.select("of", "kind").rows()) == sorted(known.rows()), "a gate for each, and no gate for nothing"


def test_hardware_times_of_the_multi_psi_are_positive(native):
    for number in ("1", "2"):
        (table,) = reproduce("taki-1988", number).tables
        ours = dict(table.cells.filter(pl.col("figure") == "time").select("item", "ours").rows())
        assert ours["hardware"] == pytest.approx({"1": 0.07, "2": 0.014}[number], rel=0.01)
        assert ours["firmware"] == pytest.approx(0.22, rel=0.01)


def test_a_page_has_every_cell_and_says_what_it_is(tmp_path):
    written = paper_pages.write([made(), made("george-1994")], tmp_path / "pages")
    assert [path.name for path in written] == ["index.html", "dunigan-1991.html", "george-1994.html"]
    page = written[1].read_text()
    assert "Made &amp; &lt;told&gt;" in page
    assert page.count('<span class="pm">+1.0% b</span>') == 3
    assert page.count('<span class="pm">+1.0% f</span>') == page.count('<span class="pm">+1.0% =</span>') == 1
    assert 'href="index.html"' in page
    figure = json.loads(re.search(r'<script type="application/json" id="[^"]*">(.*?)</script>', page).group(1))
    ours, published = figure["data"]
    assert (ours["mode"], published["mode"], published["meta"]["hollow"]) == ("lines", "markers", True)
    assert "MISSED" in written[0].read_text()
    import plotly.graph_objects as go

    go.Figure({"data": figure["data"], "layout": figure["layout"]})


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_page_of_a_paper_bars_anyone(tmp_path, dark):
    written = paper_pages.write([made(), made("george-1994")], tmp_path / "pages")
    assert {page.name: found for page in written if (found := serious(page, tmp_path, dark=dark))} == {}


def test_pages_that_exist_are_kept(tmp_path):
    paper_pages.check_folder(tmp_path / "new", ["taki-1988"])
    (tmp_path / "taki-1988.html").write_text("mine")
    with pytest.raises(UsageError, match=r"taki-1988\.html exists: --force"):
        paper_pages.check_folder(tmp_path, ["taki-1988"])
    paper_pages.check_folder(tmp_path, ["taki-1988"], force=True)
    paper_pages.check_folder(tmp_path, ["george-1994"])
    with pytest.raises(UsageError, match="there is no folder"):
        paper_pages.check_folder(tmp_path / "a" / "b", ["george-1994"])


def weft(*words):
    return subprocess.run([sys.executable, "-m", "weft.cli.main", *words], capture_output=True, text=True, check=False)


def test_the_command_ends_with_3_where_a_gate_is_missed(native, tmp_path):
    code = (
        "import polars as pl, sys\nfrom weft.papers import gates\nreal = gates.gates\n"
        "gates.gates = lambda: real().with_columns(pl.lit(1e-9).alias('gate_worst'))\n"
        "from weft.cli.main import main\nsys.argv = 'weft reproduce dunigan-1991 --table A5 -q'.split()\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    said = " ".join(done.stderr.split())
    assert "gate missed: dunigan-1991, table A5, blind: median" in said
    assert "(at most 0.0%), 44 cells (at least 44)" in said


def test_a_figure_is_drawn_on_the_terminal(native):
    done = weft("reproduce", "dunigan-1991", "--figure", "2", "--plot")
    assert done.returncode == 0, done.stderr
    assert "A  iPSC/860 1 hop" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("option", [["--table", "3"], ["--measure"]])
def test_options_of_one_paper_want_one(option):
    done = weft("reproduce", *option)
    assert done.returncode == 2
    assert "are of one paper: name it" in " ".join(done.stderr.split())


@pytest.mark.browser
def test_a_phone_draws_figures_whose_ticks_have_no_words(tmp_path):
    """Every second tick goes where it is narrow, also of an axis whose ticks are plain numbers."""
    one = made()
    (table,) = one.tables
    plain = dataclasses.replace(table, axes=dataclasses.replace(table.axes, log_x=False))
    (path,) = paper_pages.write([dataclasses.replace(one, tables=(plain,))], tmp_path / "pages")
    words = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000",
             "--window-size=390,844", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
             path.as_uri()]  # fmt: skip
    dom = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    assert 'data-drawn="yes"' in dom
