"""Exchanges in virtual time and over MPI, from Python and from the command line."""

import io
import json

import polars as pl
import pytest
from typer.testing import CliRunner

import weft
from weft.cli.main import app
from weft.conset import exchange
from weft.conset.exchange import execute, simulate

CLOCK = 50e-9


def test_both_models_of_the_hypercube(native):
    found = simulate("iwarp64", pattern="hypercube", words=(32, 2048))
    assert found.select("benchmark", "words", "phases").rows() == [
        ("conset", 32, 2), ("messages", 32, None), ("conset", 2048, 2), ("messages", 2048, None),
    ]  # fmt: skip
    seconds = dict(zip(zip(found["benchmark"], found["words"], strict=True), found["seconds"], strict=True))
    for words in (32, 2048):
        assert seconds["conset", words] >= (2 * 528 + 352 + 2 * 6 * words) * CLOCK
        assert seconds["messages", words] >= (12 * 416 + 2 * 6 * words) * CLOCK
    assert seconds["conset", 32] < seconds["messages", 32]


def test_the_torus_is_as_measured_in_1993(native):
    """Table 1 of Feldmann, Stricker and Warfel 1993: median error of at most 5%."""
    from weft.papers.feldmann1993 import measured

    printed = measured().filter(pl.col("pattern") == "torus")
    assert len(printed) == 8
    found = simulate("iwarp64", pattern="torus", words=sorted(set(printed["words"])))
    both = printed.join(found, on=["benchmark", "words"], suffix="_ours")
    errors = (both["seconds_ours"] / both["seconds"] - 1.0).abs()
    assert errors.median() <= 0.05
    assert errors.max() <= 0.1


def test_two_runs_are_the_same(native):
    runs = [simulate("iwarp64", pattern="random:3", words=(100,), seed=5) for _ in range(2)]
    assert runs[0].equals(runs[1])


def test_a_timeline_is_written(native, tmp_path):
    path = tmp_path / "trace.json"
    simulate("iwarp64", ["messages"], pattern="torus", words=(32,), trace=path)
    assert json.loads(path.read_text())["traceEvents"]
    with pytest.raises(weft.UsageError, match="a timeline shows one run"):
        simulate("iwarp64", pattern="torus", words=(32,), trace=path, force=True)


def test_an_edited_schedule_is_refused(native):
    machine = weft.machine("iwarp64")
    connections = weft.conset.ConnectionSet.named("torus", machine, 10, 0)
    schedule = weft.conset.compile(connections, machine)
    edited = json.loads(schedule.to_json())
    edited["phases"][0]["connections"][0]["words"] = 9
    with pytest.raises(weft.UsageError, match="the schedule was changed after it was made"):
        execute(machine, connections, weft.conset.Schedule.parse(json.dumps(edited), "edited"))


def test_a_schedule_of_something_else_is_refused(native):
    machine = weft.machine("iwarp64")
    schedule = weft.conset.compile("torus", machine, words=10)
    with pytest.raises(
        weft.UsageError, match="the schedule transfers 10 words of connection 0, the pattern 'torus' has 11"
    ):
        execute(machine, weft.conset.ConnectionSet.named("torus", machine, 11, 0), schedule)
    with pytest.raises(weft.UsageError, match="which the pattern 'hypercube' does not have"):
        execute(machine, weft.conset.ConnectionSet.named("hypercube", machine, 10, 0), schedule)
    with pytest.raises(weft.UsageError, match="the schedule was made for iwarp64, a torus of 64 nodes"):
        execute("palomar", weft.conset.ConnectionSet.named("torus", machine, 10, 0), schedule)


def test_a_connection_to_itself_is_refused(native):
    machine = weft.machine("iwarp64")
    request = json.loads(exchange.request(weft.conset.ConnectionSet.named("torus", machine, 10, 0)).to_json())
    request["set"]["connections"][3]["destination"] = request["set"]["connections"][3]["source"]
    with pytest.raises(weft.UsageError, match="connection 3 goes from node 0 to itself"):
        weft._core.simulate_exchange(machine, weft._core.ExchangeRequest.from_json(json.dumps(request)))


def test_a_request_is_handed_on_as_it_is(native):
    machine = weft.machine("iwarp64")
    connections = weft.conset.ConnectionSet.named("torus", machine, 10, 0)
    schedule = weft.conset.compile(connections, machine)
    for plan in (schedule, None):
        request = exchange.request(connections, plan, random=7, elements=(1e-9, 2e-9), word_bytes=4, iterations=3)
        text = request.to_json()
        again = weft._core.ExchangeRequest.from_json(text)
        assert again.to_json() == text
        assert repr(again) == repr(request)
        assert weft._core.simulate_exchange(machine, again) == weft._core.simulate_exchange(machine, request)
    with pytest.raises(weft.UsageError, match="the request is malformed: unknown field `sets`"):
        weft._core.ExchangeRequest.from_json(text.replace('"set":', '"sets":'))


def test_elements_cost_their_programs(native):
    machine = weft.machine("iwarp64")
    connections = weft.conset.ConnectionSet.named("torus", machine, 100, 0)
    schedule = weft.conset.compile(connections, machine, access="shared", access_time=10 * CLOCK)
    ten = 2.5 * CLOCK
    found = execute(machine, connections, schedule, elements=(ten, ten)).seconds[0]
    bound = (528 + 352 + 8 * 1000) * CLOCK
    assert bound <= found <= 1.05 * bound + 64 * CLOCK


def run(*words):
    return CliRunner().invoke(app, ["measure", *words])


def test_the_command_measures_both(native):
    result = run(
        "conset,messages", "--on", "iwarp64", "--pattern", "hypercube", "--words", "32,256", "--format", "csv", "-q"
    )
    assert result.exit_code == 0, result.output
    found = pl.read_csv(io.StringIO(result.stdout))
    assert {"source", "machine", "benchmark", "pattern", "words", "phases", "seconds"} <= set(found.columns)
    assert found["benchmark"].to_list() == ["conset", "messages"] * 2
    assert set(found["source"]) == {"simulated"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["conset", "--on", "iwarp64"], "say what is exchanged with --pattern"),
        (["conset,echo", "--on", "iwarp64", "--pattern", "torus"], "measure conset and echo one after the other"),
        (["echo", "--on", "iwarp64", "--pattern", "torus"], "echo takes no pattern; conset and messages do"),
        (["conset", "--on", "ipsc860", "--pattern", "torus"], "no table \\[connections\\]|has no connections"),
        (["conset", "--on", "iwarp64", "--pattern", "torus", "--ranks", "4"], "is between all of its nodes"),
        (["messages", "--on", "iwarp64", "--pattern", "torous"], "torous"),
    ],
)
def test_what_the_command_refuses(native, words, message):
    result = run(*words)
    with pytest.raises(weft.UsageError, match=message):
        raise result.exception


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_exchanges_over_mpi(native, ranks):
    from weft.study.exchanging import measure_here

    found = measure_here(
        ["conset", "messages"], pattern="all-to-all", words=(1, 500), ranks=ranks, launches=1, iterations=2
    ).table
    assert found.select("source", "benchmark", "ranks", "words").rows() == [
        ("measured", name, ranks, words) for words in (1, 500) for name in ("conset", "messages")
    ]
    assert set(found.filter(pl.col("benchmark") == "conset")["phases"]) == {ranks - 1}


@pytest.mark.mpi
def test_a_lost_rank_ends_the_launch(native):
    """A schedule for more ranks than there are: every rank says so, none waits."""
    from weft.launch.exchanging import run_mpi
    from weft.study.exchanging import of_ranks

    connections = weft.conset.ConnectionSet.named("all-to-all", of_ranks(4), 5, 0)
    with pytest.raises(weft.UsageError, match="an exchange of 4 ranks on a launch of 2"):
        run_mpi("exchange", [exchange.request(connections, phantom=False).to_json()], 2)
