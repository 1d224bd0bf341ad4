"""Reports: what is in them, that Plotly accepts their figures, and that a browser draws them."""

import base64
import hashlib
import html
import json
import re
import subprocess

import polars as pl
import pytest

from accessibility import browser, serious
from weft import model, samples
from weft._core import UsageError
from weft.pages import data
from weft.reports import figures, findings, report, tables
from weft.reports.content import collect

LENGTHS = [8 << k for k in range(18)]


class Described:
    """A machine with a full name and one operation time."""

    def __init__(self, name, title):
        self.name, self.title = name, title

    def to_toml(self):
        return '[operations]\nfloat64_multiply = { value = 8e-8, source = "table 3" }\n'


def rows(source, machine, benchmark, ranks, hops, length, times, **more):
    return [
        {
            "source": source, "machine": machine, "benchmark": benchmark, "ranks": ranks, "hops": hops, "bytes": length,
            "repetition": number, "seconds": seconds, "rate": length / seconds if length else None, **more,
        }
        for number, seconds in enumerate(times)
    ]  # fmt: skip


def made():
    """One measured machine, one simulated hypercube."""
    found = []
    for length in LENGTHS:
        seconds = 6e-7 + 1e-10 * length
        times = [seconds * (1 + 0.01 * k) for k in range(6)]
        more = {
            "load": 0.5, "stolen": 0.01, "time": "2026-01-01T00:00:00Z", "status": "converged", "library": "An MPI",
            "processor": "A <processor> & more", "system": "Linux", "iterations": 100, "share_above_3x": 0.01,
        }  # fmt: skip
        found += rows("measured", "here", "echo", 2, None, length, times, **more)
        found += rows("measured", "here", "allreduce", 2, None, length, times, **more)
        found += rows("measured", "here", "bandwidth", 2, None, length, times, **more)
        for hops in (1, 2, 3):
            found += rows("simulated", "cube", "echo", 64, hops, length, [7.5e-5 + 1e-5 * (hops - 1) + 4e-7 * length])
    for ranks in (2, 4, 8):
        found += rows("simulated", "cube", "barrier", ranks, None, None, [1e-4 * ranks])
    return pl.DataFrame(found, infer_schema_length=None)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report(made(), path, machines=[Described("cube", "A Cube")], title="Costs <here>", origin="samples.csv")
    return path


def text_of(page):
    return page.read_text(encoding="utf-8")


def test_a_report_needs_no_network(page):
    text = re.sub(r"<script>.*?</script>", "", text_of(page), flags=re.DOTALL)
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    assert "@import" not in text
    assert "url(" not in text


def test_what_people_wrote_is_escaped(page):
    text = text_of(page)
    assert "<h1>Costs &lt;here&gt;</h1>" in text
    assert "A &lt;processor&gt; &amp; more" in text


def test_every_section_is_there_and_in_the_contents(page):
    text = text_of(page)
    for section in ("latency", "rate", "hops", "collectives", "machines", "fit", "protocol"):
        assert f'<section id="{section}">' in text
        assert f'href="#{section}"' in text


def test_the_table_of_machines_has_the_papers_ratio(page):
    """8 bytes in 78.2 us against 80 ns: 977.5 multiplications, like the paper's 1000."""
    row = re.search(r"<tr><td[^>]*>A Cube</td>.*?</tr>", text_of(page)).group()
    cells = [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<td.*?</td>", row)]
    cells = [cell.strip() for cell in cells]
    assert cells[-3:] == ["78.2 µs", "80.0 ns", "977"]


def test_numbers_have_units_and_few_digits(page):
    assert "8 B message" in text_of(page)
    assert "615 ns" in text_of(page)


def test_plotly_accepts_every_figure(page):
    import plotly.graph_objects as go

    found = re.findall(r'<script type="application/json" id="[^"]*">(.*?)</script>', text_of(page), re.DOTALL)
    assert len(found) == 6
    for figure in map(json.loads, found):
        assert figure["data"]
        go.Figure({"data": figure["data"], "layout": figure["layout"]})


def test_fits_are_drawn_within_their_lengths():
    content = collect(made())
    drawn = [t for t in figures.latency(content)["data"] if t["name"] == "here, measured, fit"]
    x = [value for value in drawn[0]["x"] if value is not None]
    assert 8 <= min(x) <= max(x) <= 1.01 * LENGTHS[-1]
    seconds = [value for value in drawn[0]["y"] if value is not None]
    assert seconds[0] == pytest.approx(6.15e-7, rel=0.02)


def test_lengths_held_out_of_a_fit_are_told_apart():
    table = made()
    fit = model.fit(table.filter(pl.col("machine") == "here"), held_out=[512])
    content = collect(table, fits=[fit])
    errors = figures.fit_errors(content.own[0].fit)
    assert errors.filter("held_out")["bytes"].to_list() == [512]
    assert errors["error"].abs().max() < 0.01


def test_loose_points_are_warned_of(tmp_path):
    wild = [1e-6, 2e-6, 3e-6, 1e-6, 2e-6, 3e-6]
    table = pl.DataFrame(
        rows("measured", "here", "echo", 2, 1, 8, wild) + rows("measured", "here", "echo", 2, 1, 64, wild)
    )
    report(table, tmp_path / "r.html")
    (subject,) = collect(table).own
    convergence = str(samples.convergence(subject.summary))
    assert convergence == (
        "2 of 2 points not converged, as 6 launches are fewer than the 20 of a 95% interval; "
        "the widest interval is ±50%"
    )
    text = text_of(tmp_path / "r.html")
    assert f"Not converged:</b> here, measured: {convergence}." in text
    assert dict(tables.conditions(subject))["Points"] == convergence


def test_no_two_machines_look_alike():
    table = []
    for length in (8, 64, 512):
        table += rows("measured", "here", "echo", 2, 1, length, [1e-7 * (length + 8)] * 6)
        for number in range(25):
            table += rows("simulated", f"machine {number}", "echo", 2, 1, length, [1e-6 * (number + 1) * (length + 8)])
    figure = figures.latency(collect(pl.DataFrame(table)))
    points = [trace for trace in figure["data"] if "marker" in trace]
    looks = {(trace["meta"]["series"] % 10, trace["marker"]["symbol"]) for trace in points}
    assert len(looks) == len(points) == 26
    lines = [trace for trace in figure["data"] if "fit" in trace["name"]]
    assert len({(trace["meta"]["series"] % 10, trace["line"]["dash"]) for trace in lines}) == len(lines) == 26


def test_what_cannot_be_fitted_is_said_and_still_drawn(tmp_path):
    table = pl.DataFrame(rows("measured", "here", "echo", 2, 1, 8, [1e-6] * 6))
    report(table, tmp_path / "r.html")
    assert "here (measured) is not fitted: " in text_of(tmp_path / "r.html")
    assert 'id="figure-latency-1"' in text_of(tmp_path / "r.html")


def test_no_half_written_file(tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("the old one")
    monkeypatch.setattr("weft.pages.document._asset", lambda name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report(made(), path, force=True)
    assert path.read_text() == "the old one"
    with pytest.raises(UsageError, match=r"r\.html exists: --force"):
        report(made(), path)
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize("name", ["</script><!--", "<!--<script>", "]]>", "&lt;", "a\u2028b\u2029c", "é\\"])
def test_json_cannot_end_its_script(name):
    text = data({"name": name})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"name": name}


def test_only_the_scripts_of_the_page_may_run(page):
    text = page.read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
    policy = html.unescape(policy)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert len(hashes) == 3
    assert re.findall(r"'sha256-([^']*)'", policy) == hashes
    assert not re.search(r"\son[a-z]+=", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)), (
        "no inline handlers"
    )


@pytest.mark.browser
@pytest.mark.parametrize("size", ["1400,1000", "390,844"])
def test_a_browser_draws_every_figure(page, tmp_path, size):
    words = [
        browser(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000",
        f"--window-size={size}",
        f"--user-data-dir={tmp_path}", "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    dom = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    assert 'data-drawn="yes"' in dom
    places = dom.split(' js-plotly-plot" style')[1:]
    assert len(places) == 6
    for place in places:
        assert "main-svg" in place, "a figure was not drawn"
    assert dom.count('class="scatterlayer') >= 6


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_keeps_people_from_a_report(page, tmp_path, dark):
    assert serious(page, tmp_path, dark=dark) == []


def test_a_report_is_less_than_2_megabytes(page):
    assert page.stat().st_size < 2_000_000


def test_findings_come_first_and_are_made_from_the_samples(page):
    content = collect(made(), [Described("cube", "A Cube")])
    said = findings.findings(content)
    assert said[0] == "here, measured: A <processor> & more, Linux."
    assert said[1] == "Messages are sent by An MPI between at most 2 ranks."
    assert said[2].startswith("A message of 8 B takes 616 ns (±2%), one of 1 MiB 108 µs (±2%), which is 9.7")
    assert said[3] == (
        "Shorter than 5.86 KiB a message gets less than half of the rate of long ones: several short ones are better "
        "sent as one."
    )
    assert "The same 8 B take 78.2 µs on A Cube, 130 times as long." in said
    text = text_of(page)
    assert text.index("A message of 8 B takes") < text.index('<section id="latency">')


def test_what_is_odd_is_said():
    table = pl.DataFrame(
        [
            row
            for length, seconds in ((8, 1e-6), (64, 2e-6), (512, 1e-6))
            for row in rows("measured", "here", "echo", 2, 1, length, [seconds * (1 + k / 1e4) for k in range(20)],
                            stolen=0.25, share_above_3x=0.001)
        ]
    )  # fmt: skip
    said = findings.findings(collect(table))
    assert "Odd: a message of 512 B takes 1.00 µs, which is less than one of 64 B (2.00 µs)." in said
    assert "Odd: a hypervisor took up to 25.0% of the processors' time from a launch." in said
    assert not any("three times their median" in sentence for sentence in said)


def test_of_many_machines_four_have_colours_beside_what_was_measured():
    table = []
    for length in (8, 64, 512):
        table += rows("measured", "here", "echo", 2, 1, length, [1e-7 * (length + 8)] * 6)
        for number in range(25):
            table += rows("simulated", f"machine {number}", "echo", 2, 1, length, [1e-6 * (number + 1) * (length + 8)])
    content = collect(pl.DataFrame(table))
    coloured = [subject for subject in content.subjects if not subject.rest]
    assert [subject.machine for subject in coloured] == ["here", "machine 0", "machine 8", "machine 16", "machine 24"]
    assert [subject.series for subject in coloured] == [0, 1, 2, 3, 4]
    assert sum(subject.rest for subject in content.subjects) == 21
    meta = [trace["meta"] for trace in figures.latency(content)["data"]]
    assert {one["group"] for one in meta if not one["rest"]} == {"here, measured", *(s.machine for s in coloured[1:])}


def test_long_curves_are_thinned_and_keep_their_extremes():
    values = [1.0] * 100_000
    values[777], values[50_001] = 9.0, 0.5
    thin = figures.thinned({"x": list(range(100_000)), "y": values, "name": "a"})
    assert len(thin["y"]) <= figures.MAX_POINTS + 2
    assert (max(thin["y"]), min(thin["y"])) == (9.0, 0.5)
    assert [values[x] for x in thin["x"]] == thin["y"]
    assert thin["x"][-1] == 99_999


def test_numbers_are_as_exact_as_they_are_drawn():
    trace = {"name": "a", "x": [8, 1 << 40], "y": [1 / 3, None], "error_y": {"array": [2 / 3], "visible": True}}
    assert figures.rounded(trace) == {
        "name": "a", "x": [8, 1 << 40], "y": [0.3333333, None], "error_y": {"array": [0.6666667], "visible": True},
    }  # fmt: skip
