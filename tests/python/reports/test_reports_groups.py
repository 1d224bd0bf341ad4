"""Sections of one node, traffic, programs and files."""

import json
import re

import plotly.graph_objects as go
import polars as pl
import pytest

from weft.reports import report
from weft.reports.content import collect


def row(source, machine, benchmark, seconds, **more):
    base = {"ranks": 2, "hops": None, "bytes": None, "repetition": 0}
    return {"source": source, "machine": machine, "benchmark": benchmark, "seconds": seconds} | base | more


def made():
    found = []
    for source, machine in (("measured", "here"), ("simulated", "cube"), ("published", "cube")):
        found += [
            row(source, machine, "echo", 1e-6 + 1e-9 * length, bytes=length, rate=length / 1e-6)
            for length in (8, 64, 1024)
        ]
        more = {"variant": "float64_multiply", "threads": 1, "ranks": 1}
        found.append(row(source, machine, "arithmetic", 1e-9, rate=1000.0, rate_unit="Mflop/s", **more))
    for machine, source in (("here", "measured"), ("cube", "simulated")):
        for words in (8, 64):
            more = {"variant": "float64", "extent": words, "rate": 500.0, "rate_unit": "Mflop/s", "ranks": 1}
            found.append(row(source, machine, "dot_product", 1e-8 * words, **more))
        for length in (8, 1024):
            found.append(row(source, machine, "routing-compute", 1e-3, bytes=length, slowdown=0.3, quiet_seconds=7e-4))
            for load in (8, 8192):
                more = {"bytes": length, "background_bytes": load, "background": "stream", "rate": 1e6}
                found.append(row(source, machine, "contention", 1e-4, slowdown=0.1, quiet_seconds=9e-5, **more))
            found += [
                row(source, machine, "fan-in", 1e-4, bytes=length, neighbours=count, rate=1e6 * count)
                for count in (1, 2)
            ]
        for n in (100, 1000):
            more = {"extent": n, "precision": "single", "rate": 1e8, "rate_unit": "flop/s", "ranks": 16}
            found.append(row(source, machine, "cholesky", 1.0, **more))
        for ranks in (1, 4):
            more = {"bytes": 4096, "rate": 1e6, "ranks": ranks, "io_nodes": 4, "file_system": "concurrent"}
            found.append(row(source, machine, "file-read", 1.0, **more))
    for size in (1 << 14, 1 << 20):
        more = {"variant": "load", "threads": 1, "bytes": size, "ranks": 1}
        found.append(row("measured", "here", "memory_latency", 1e-9, **more))
    more = {"variant": "triad", "threads": 2, "bytes": 1 << 20, "ranks": 1, "rate": 2e4, "rate_unit": "MB/s"}
    found.append(row("measured", "here", "stream", 1e-4, **more))
    return pl.DataFrame(found, infer_schema_length=None)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report(made(), path)
    return path.read_text(encoding="utf-8")


def test_every_group_with_rows_has_a_section(page):
    for section in ("node", "traffic", "programs", "files", "machines"):
        assert f'<section id="{section}">' in page


def test_groups_without_rows_have_none(tmp_path):
    report(made().filter(pl.col("benchmark") == "echo"), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    for section in ("node", "traffic", "programs", "files"):
        assert f'<section id="{section}">' not in text


def test_plotly_accepts_every_figure_and_names_are_right(page):
    found = dict(re.findall(r'<script type="application/json" id="([^"]*)">(.*?)</script>', page, re.DOTALL))
    figures = {name: json.loads(text) for name, text in found.items()}
    for figure in figures.values():
        go.Figure({"data": figure["data"], "layout": figure["layout"]})
    names = [trace["name"] for trace in figures["figure-traffic-2-data"]["data"]]
    assert names[:2] == ["here, measured, load 8 B", "here, measured, load 8 KiB"]
    fan = next(figure for figure in figures.values() if figure["data"][0]["x"] == [1, 2])
    assert fan["data"][0]["y"] == pytest.approx([1e6, 2e6])


def test_published_and_simulated_of_a_machine_share_a_colour():
    series = {(subject.machine, subject.source): subject.series for subject in collect(made()).subjects}
    assert series["here", "measured"] == 0
    assert series["cube", "published"] == series["cube", "simulated"] == 1


def test_the_grain_is_in_the_table_of_machines(page):
    """8 B in 1.008 us against multiplications of 1 ns."""
    assert "Multiplications for each message at which messages take" in page
    assert "19,200" in page
