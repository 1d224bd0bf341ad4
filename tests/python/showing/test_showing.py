"""Objects as people meet them: a line on a terminal, a table in a notebook, a plot, and through a pickle."""

import functools
import html.parser
import pickle
import sys

import matplotlib as mpl
import matplotlib.pyplot
import numpy as np
import polars as pl
import pytest

import weft
from weft import UsageError, samples

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


@functools.cache
def echo():
    return weft.simulate("ipsc860", "echo", bytes="8:64K", hops="1,3")


@functools.cache
def fit():
    return weft.fit(echo())


@functools.cache
def schedule():
    return weft.conset.compile("transpose", "iwarp64", effort=0)


@functools.cache
def reproduction():
    return weft.reproduce("dunigan-1991")


OBJECTS = {
    "Samples": echo,
    "Fit": fit,
    "Machine": lambda: weft.machine("ipsc860"),
    "Schedule": schedule,
    "ConnectionSet": lambda: weft.conset.pattern("transpose", weft.machine("iwarp64")),
    "Reproduction": reproduction,
    "ReproducedTable": lambda: reproduction().tables[0],
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_says_in_a_line_what_it_is(name):
    assert repr(OBJECTS[name]()).startswith("<weft ")
    assert len(repr(OBJECTS[name]())) < 160
    assert "\n" not in repr(OBJECTS[name]())


class Balanced(html.parser.HTMLParser):
    """Every element that begins ends, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(markup):
    parser = Balanced()
    parser.feed(markup)
    assert not parser.open
    return " ".join(parser.text)


@pytest.mark.parametrize("name", OBJECTS)
def test_a_notebook_shows_a_table(name):
    markup = OBJECTS[name]()._repr_html_()
    assert "<table" in markup
    assert len(markup) < 500_000
    if name != "Samples":  # polars's own
        read(markup)


def test_what_a_notebook_shows_is_what_the_object_says():
    shown = read(weft.machine("ipsc860")._repr_html_())
    assert "Intel iPSC/860" in shown
    assert "128" in shown
    assert str(schedule().phases) in read(schedule()._repr_html_())
    assert "dunigan" in read(reproduction()._repr_html_()).lower()


def test_names_from_files_are_text_in_a_notebook():
    table = weft.conset.ConnectionSet(2, [(0, 1, 1)], name="<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in table


def same(one, other):
    return one.to_json() == other.to_json()


@pytest.mark.parametrize("name", sorted({machine.name for machine in weft.machines()}))
def test_machines_survive_a_pickle(name):
    machine = weft.machine(name)
    assert same(pickle.loads(pickle.dumps(machine)), machine)


def test_faults_survive_a_pickle():
    slow = weft.machine("ipsc860").with_faults(["node:1=0.5"]).with_faults(["link:0-2=0.25"])
    again = pickle.loads(pickle.dumps(slow))
    assert again.faults == ["node:1=0.5", "link:0-2=0.25"]
    assert "node:1=0.5" in repr(again)
    times = [weft.simulate(machine, "echo", bytes=8)["seconds"].item() for machine in (slow, again, "ipsc860")]
    assert times[0] == times[1] > times[2]


def test_schedules_and_connections_survive_a_pickle():
    assert same(pickle.loads(pickle.dumps(schedule())), schedule())
    connections = weft.conset.ConnectionSet(4, [(0, 1, 8), (1, 2, 8)], name="pair", orders=[(0, 1)])
    assert same(pickle.loads(pickle.dumps(connections)), connections)


def test_samples_and_fits_survive_a_pickle():
    again = pickle.loads(pickle.dumps(echo()))
    assert type(again) is weft.Samples
    assert again.equals(echo())
    assert pickle.loads(pickle.dumps(fit())).table().equals(fit().table())


@pytest.mark.parametrize("words", [{"ranks": 16}, {"ranks": 6, "serial": [1], "order": "send"}, {}])
def test_geometries_survive_a_pickle(words):
    geometry = weft.arrays.Geometry((100, 30), **words)
    again = pickle.loads(pickle.dumps(geometry))
    assert again == geometry
    assert [again.owner((i, 7)) for i in range(100)] == [geometry.owner((i, 7)) for i in range(100)]


def test_a_geometry_of_a_run_has_arrays_after_a_pickle():
    again = pickle.loads(pickle.dumps(weft.arrays.Geometry((4, 6))))
    x = np.arange(24.0).reshape(4, 6)
    assert np.array_equal(again.distribute(x).gather(), x)


def lines(ax):
    """Points of each line of a plot, by its name."""
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_a_plot_of_samples_has_their_medians():
    ax = echo().plot()
    (short, long) = list(ax.containers)
    for container, hops in ((short, 1), (long, 3)):
        drawn = container.lines[0].get_xydata()
        rows = echo().filter(pl.col("hops") == hops).sort("bytes")
        assert np.array_equal(drawn, rows.select("bytes", "seconds").to_numpy())
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert "(s)" in ax.get_ylabel()


def test_samples_are_drawn_over_what_varies():
    table = weft.simulate("ipsc860", "allreduce", bytes=8, ranks="2:16")
    assert table.plot().get_xlabel() == "ranks"
    with pytest.raises(samples.SamplesError, match="no numbers in 'machine' to draw times against"):
        table.plot(x="machine")


def test_samples_of_one_row_or_of_several_machines_are_drawn():
    assert weft.simulate("ipsc860", "echo", bytes=8).plot().get_xlabel() == "length (B)"
    both = weft.Samples(pl.concat([echo(), weft.simulate("ncube6400", "echo", bytes="8:1K")], how="diagonal"))
    assert [text.get_text() for text in both.plot().get_legend().get_texts()] == [
        "ipsc860, ranks 128, hops 1",
        "ipsc860, ranks 128, hops 3",
        "ncube6400, ranks 2, hops 1",
    ]


def test_a_plot_of_a_fit_goes_through_its_points():
    drawn = [line.get_xydata() for line in fit().plot().get_lines()]
    for hops, points, curve in ((1, *drawn[:2]), (3, *drawn[2:])):
        seconds = np.interp(np.log(points[:, 0]), np.log(curve[:, 0]), curve[:, 1])
        assert points[:, 1] == pytest.approx(seconds, rel=0.1)
        assert all(fit().echo.seconds(int(length), hops) == y for length, y in curve)


def test_a_plot_of_a_machine_has_the_times_of_its_messages():
    drawn = lines(weft.machine("ipsc860").plot())
    assert list(drawn) == ["1 hop", "4 hops", "7 hops"]
    machine = weft.machine("ipsc860")
    assert all(seconds == machine.message_time(int(length), 4) for length, seconds in drawn["4 hops"])


def test_every_machine_is_shown_and_those_that_pass_messages_are_drawn():
    for machine in weft.machines():
        assert machine.title.replace("&", "&amp;") in machine._repr_html_()
        if weft.catalogue.passes_messages(machine):
            machine.plot()
        else:
            with pytest.raises(UsageError, match="its nodes pass no messages between programs"):
                machine.plot()


def test_a_plot_of_a_schedule_has_its_phases_and_ends_when_it_does():
    bars = schedule().plot().patches
    assert len(bars) == schedule().phases + 1, "the last one is the nodes' leaving"
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(schedule().predicted_seconds)


def test_plots_are_drawn_on_the_axes_that_they_are_given():
    ax = mpl.figure.Figure().add_subplot()
    for plotted in (fit(), echo(), schedule(), weft.machine("ipsc860")):
        assert plotted.plot(ax=ax) is ax


def test_a_plot_of_a_reproduction_has_every_figure_of_the_paper():
    figure = reproduction().plot()
    titles = " ".join(ax.get_title() for ax in figure.axes)
    assert len(figure.axes) == len(reproduction().figures) > 3
    assert all(f"Figure {table.number}." in titles for table in reproduction().figures)
    table = next(table for table in reproduction().tables if table.label == "Table")
    with pytest.raises(weft.papers.PaperError, match="is a table; figures can be drawn"):
        table.plot()
    with pytest.raises(weft.papers.PaperError, match="no figure of dunigan-1991"):
        weft.reproduce("dunigan-1991", table="3").plot()


@pytest.mark.parametrize("name", ["Samples", "Fit", "Machine", "Schedule", "Reproduction"])
def test_without_matplotlib_a_plot_names_the_line_to_type(name, monkeypatch):
    what = OBJECTS[name]()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"^a plot needs matplotlib: pip install 'weft\[report\]'$"):
        what.plot()


def test_samples_are_a_checked_table_of_polars():
    assert isinstance(echo(), pl.DataFrame)
    with pytest.raises(samples.SamplesError, match="seconds"):
        weft.Samples(echo().with_columns(seconds=pl.lit(-1.0)))
    assert weft.Samples(echo().to_dicts()).equals(echo())
    assert "shape:" in str(echo())
