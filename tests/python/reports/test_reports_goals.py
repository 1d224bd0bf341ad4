"""The section of programs in FGHC."""

import plotly.graph_objects as go
import polars as pl
import pytest

from weft.reports import goals, report
from weft.reports.content import collect


def made(messages: bool) -> pl.DataFrame:
    found = []
    for ranks in (1, 2, 4):
        for pe in (None, *range(ranks)):
            parts = ranks if pe is None else 1
            row = {
                "source": "simulated" if messages else "measured", "machine": "cube" if messages else "here",
                "benchmark": "fghc", "program": "queens", "goal": f"main({ranks})", "ranks": ranks, "pe": pe,
                "hops": None, "bytes": None, "repetition": 0, "seconds": 2.0, "rate": 100.0 * ranks * 0.8,
                "rate_unit": "reductions/s", "reductions": 80 * parts, "messages": 8 * parts * (ranks > 1),
                "work_s": 1.8 * parts, "idle_s": 0.2 * parts,
            }  # fmt: skip
            if messages:
                row["communication_s"] = 0.5 * parts
            found.append(row)
    return pl.DataFrame(found, infer_schema_length=None)


@pytest.mark.parametrize("messages", [False, True])
def test_bars_fill_the_time_of_every_pe(messages):
    figure = goals.pe_times(collect(made(messages)))
    go.Figure({"data": figure["data"], "layout": figure["layout"]})
    shares: dict[tuple[str, str], float] = {}
    for trace in figure["data"]:
        for place, share in zip(zip(*trace["x"], strict=True), trace["y"], strict=True):
            shares[place] = shares.get(place, 0.0) + share
    assert len(shares) == 2 + 4
    assert list(shares.values()) == pytest.approx([1.0] * 6)
    words = {trace["name"]: sum(trace["y"]) for trace in figure["data"]}
    assert words["messages"] == pytest.approx(6 * 0.25 if messages else 0.0)


def test_the_page_has_the_section_with_its_scales(tmp_path):
    path = tmp_path / "report.html"
    report(pl.concat([made(False), made(True)], how="diagonal_relaxed"), path)
    text = path.read_text(encoding="utf-8")
    assert "Programs in FGHC" in text
    assert "cube, queens: main(4)" in text
    figure = goals.performance(collect(made(True)))
    assert figure["data"][0]["x"] == [1, 2, 4]


def test_runs_without_one_pe_have_bars_and_no_scales():
    content = collect(made(True).filter(pl.col("ranks") > 1))
    assert goals.scales(content) is None
    assert goals.pe_times(content)["data"]
