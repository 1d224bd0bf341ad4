"""The reproduction of Feldmann, Stricker and Warfel 1993 with made exchanges, and what it says of the paper."""

import collections
import io
import json

import polars as pl
import pytest
from rich.console import Console

from weft.papers import PAPERS, PaperError, feldmann1993, render
from weft.papers.feldmann1993 import MeshResult, Times, published
from weft.papers.scores import scores


class Made:
    """Every exchange a thousand clocks, by messages two thousand."""

    def pattern(self, name: str, words: int) -> Times:
        assert name in feldmann1993.PATTERNS.values()
        first = None if name == "torus" else 2600.0
        return Times(2, 3, 900.0, 1400.0, 1000.0, 1500.0, 2000.0, 800.0, first)

    def mesh(self, name: str) -> MeshResult:
        times = self.pattern("torus", 1)
        return MeshResult(100, 60, (1, 3), (10, 40), 5, (1, 3, 250), times, 5000.0, 64_000)


def test_the_formulas_are_those_behind_the_printed_predictions():
    for name, words, conset, _, messages, _ in published.times().rows():
        if words is None:
            continue
        phases, degree = published.PHASES[name], published.OUT_DEGREE[name]
        assert published.conset_clocks(phases, degree, words) == pytest.approx(conset, rel=0.005)
        sent = 64 if name == "all-to-all" else degree
        assert published.message_clocks(sent, words) == messages


def test_table_6_is_made_of_528_and_ten():
    table = feldmann1993.published.meshes()
    for mesh in feldmann1993.MESHES:
        known = published.printed(mesh, None)
        words = (known["predicted_conset_clocks"] - 528 * table[mesh, "phases"]) / 10
        assert words == int(words)
        degree, most = int(table[mesh, "in- and out-degree"]), int(table[mesh, "words per processor (most)"])
        assert words >= 2 * most, "a processor sends and receives so many, one after the other"
        assert published.mesh_message_clocks(degree, most) == pytest.approx(
            known["predicted_message_clocks"], rel=0.004
        )


def test_table_5s_bandwidth_is_64_times_the_most_words():
    structure, solver = published.meshes(), published.solver()
    for mesh in feldmann1993.MESHES:
        seconds = solver[mesh, "communication"] * published.CLOCK
        most = structure[mesh, "words per processor (most)"]
        assert 64 * 4 * most / seconds * 1e-6 == pytest.approx(solver[mesh, "communication bandwidth"], rel=0.003)


def test_what_was_not_known_is_blind_and_nothing_is_called_an_input_that_is_none():
    found = PAPERS["feldmann-1993"].reproduce(exchanges=Made())
    assert [(table.label, table.number) for table in found.tables] == [
        *(("Table", number) for number in feldmann1993.TABLES),
        *(("Figure", number) for number in feldmann1993.FIGURES),
    ]
    hypercube = found.tables[1].cells
    measured = hypercube.filter(pl.col("time").str.ends_with("measured"))
    assert measured["published"].is_not_null().all()
    assert set(measured.filter(pl.col("time") == "ConSet measured")["kind"]) == {"predicted"}
    at_once = hypercube.filter(pl.col("time") == "messages at once")
    assert at_once["ours"].unique().to_list() == [2600.0]
    assert at_once["published"].is_null().all()
    assert set(at_once["kind"]) == {"blind"}
    torus = found.tables[0].cells.filter(pl.col("words") == 32)
    of_torus = torus.rows_by_key("time", named=True, unique=True)
    assert (of_torus["ConSet measured"]["published"], of_torus["ConSet measured"]["ours"]) == (1168.0, 1500.0)
    assert (of_torus["weft's schedule"]["published"], of_torus["weft's schedule"]["ours"]) == (None, 1000.0)
    everyone = found.tables[2].cells.filter(pl.col("words") == 32).rows_by_key("time", named=True, unique=True)
    for name, expected in {
        "ConSet measured": (54112.0, 1500.0, "predicted"), "weft's schedule": (54112.0, 1000.0, "blind"),
        "messages measured": (120960.0, 2000.0, "predicted"), "one random order": (120960.0, 2600.0, "blind"),
    }.items():  # fmt: skip
        assert tuple(everyone[name][column] for column in ("published", "ours", "kind")) == expected
    messages = found.tables[5].cells.filter(pl.col("time") == "messages measured")
    assert set(messages["kind"]) == {"blind"}
    structure, solver, exchange = (found.tables[number].cells for number in (3, 4, 5))
    for cells, name, kind in (
        (structure, "words per processor (most)", "predicted"), (structure, "logical channels", "input"),
        (solver, "computation", "fitted"), (exchange, "messages predicted", "predicted"),
    ):  # fmt: skip
        part = cells.filter(pl.col(cells.columns[1]) == name)
        assert set(part["kind"]) == {kind}
        assert part["error"].is_not_null().all()


def test_speed_ups_are_shown_beside_that_of_the_papers_compiler():
    found = feldmann1993.reproduce("speed-ups", exchanges=Made())
    cells = found.tables[0].cells
    assert dict(cells.filter(pl.col("mesh") == "m11k").select("against", "ours").rows()) == {
        "APR and AS over messages": 2000 / 1500, "over messages": 2.0, "over APR and AS": 1.5, "bound / ours": 0.8,
    }  # fmt: skip


def test_it_is_rendered():
    out = io.StringIO()
    Console(file=out, width=200).print(render(feldmann1993.reproduce(exchanges=Made())))
    text = out.getvalue()
    for name in ("Table 1.", "Table 6.", "Figure 5.", "Figure 6.", "blind prediction", "messages at once"):
        assert name in text


@pytest.mark.parametrize(
    ("table", "figure", "message"),
    [
        ("7", None, "table 7 of feldmann-1993 is not reproduced; there are 1, 2, 3, 4, 5, 6, speed-ups"),
        (None, "1", "figure 1 of feldmann-1993 is not reproduced; figure 1 is a drawing"),
    ],
)
def test_other_tables_are_refused(table, figure, message):
    with pytest.raises(PaperError, match=message):
        feldmann1993.reproduce(table, figure, exchanges=Made())


def test_the_command_reproduces_a_table(native):
    from weft.study.reproducing import reproduce

    found = scores(reproduce("feldmann-1993", "1"))
    assert found["kind"].to_list() == ["predicted", "input"]
    assert found["median"][0] <= 0.05


def test_exchanges_take_about_what_was_measured(native):
    """No figure of the machine file is fitted to these times."""
    from weft.study.simulated_exchanges import SimulatedExchanges

    simulated = SimulatedExchanges()
    errors = {}
    for pattern, words in (
        ("torus", 32),
        ("torus", 2048),
        ("hypercube", 256),
        ("hypercube", 2048),
        ("all-to-all", 256),
    ):
        times, known = simulated.pattern(pattern, words), published.printed(pattern, words)
        errors[pattern, words] = times.apr / known["measured_conset_clocks"] - 1
        assert abs(times.messages / known["measured_message_clocks"] - 1) < 0.1
    assert max(abs(error) for error in errors.values()) < 0.1
    assert simulated.pattern("torus", 32).apr_phases == 1
    assert simulated.pattern("hypercube", 256).apr_phases == published.PHASES["hypercube"]


def test_the_papers_two_phases_of_a_butterfly_take_eight_channels_of_every_node(native):
    from weft.catalogue import machine
    from weft.conset import compile
    from weft.conset.patterns import pattern
    from weft.study import simulated_exchanges

    iwarp = machine("iwarp64")
    halves = simulated_exchanges._by_axis(pattern("butterfly", iwarp, words=1))
    assert [len(half.connections) for half in halves] == [192, 192]
    for half in halves:
        schedule = json.loads(compile(half, iwarp, compiler="apr", messages=False).to_json())
        (phase,) = schedule["phases"]
        channels = collections.Counter(node for transfer in phase["connections"] for node in transfer["route"])
        assert set(channels.values()) == {8}
        assert len(channels) == 64
