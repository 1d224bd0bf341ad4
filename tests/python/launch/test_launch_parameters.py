"""The table of parameters: what the command line, Python's keywords, help and the samples make of it."""

import dataclasses
import inspect
import json
import re

import pytest
from hypothesis import given, strategies
from typer.testing import CliRunner

import weft
from weft import _core
from weft.cli.main import app
from weft.launch import ranges, request
from weft.launch.request import find, parsed, requests
from weft.parameters import Parameters, table
from weft.samples import COLUMNS
from weft.study.measuring import known, resolved


@pytest.fixture
def extended(native, monkeypatch):
    """The table with one parameter more, and the catalogue with one benchmark more that takes it."""
    rows, common = _core.parameters()
    beats = {"name": "pulse_beats", "kind": "doublings", "help": "How often the clock is read", "unit": "B",
             "least": 1, "greatest": None, "default": "one", "column": "readings of the clock"}  # fmt: skip
    echo = next(entry for entry in json.loads(_core.benchmarks()) if entry["name"] == "echo")
    takes = [{**echo["takes"][0], "name": "pulse_beats", "default": [2, 4, 8], "of": None}]
    pulse = {**echo, "name": "pulse", "summary": "readings of the clock", "aliases": ["tick"], "nearest_of": ["tock"],
             "takes": takes, "example": "weft measure pulse --pulse-beats 2:16"}  # fmt: skip
    entries = json.dumps([*json.loads(_core.benchmarks()), pulse])
    monkeypatch.setattr(_core, "parameters", lambda: (json.dumps([*json.loads(rows), beats]), common))
    monkeypatch.setattr(_core, "benchmarks", lambda: entries)
    caches = (table, request.benchmarks)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def shown(*words):
    """What `weft measure` prints, without boxes and breaks of lines."""
    result = CliRunner().invoke(app, ["measure", *words], env={"COLUMNS": "200", "TERM": "dumb"})
    return result, re.sub(r"[\s│╭╰─╮╯]+", " ", result.output)


def test_an_added_benchmark_and_parameter_are_an_option_with_help(extended):
    result, text = shown("pulse", "--help")
    assert result.exit_code == 0
    assert "--pulse-beats" in text
    assert "How often the clock is read, in bytes (K, M and G are powers of 1024). Default: 2:8." in text
    assert "weft measure pulse --pulse-beats 2:16" in text
    assert "--neighbours" not in text
    assert "readings of the clock" in shown("--help")[1]


def test_an_added_parameter_is_a_keyword_and_goes_into_requests(extended):
    wanted = requests(["tick"], parsed({"pulse_beats": "2:8", "ranks": 3}))
    assert [(one.benchmark, one.ranks) for one in wanted] == [("pulse", 3)]
    assert json.loads(wanted[0].to_json())["pulse_beats"] == [2, 4, 8]
    with pytest.raises(weft.UsageError, match="pulse-beats: 0 in '0' means nothing; the least is 1"):
        parsed({"pulse_beats": 0})
    with pytest.raises(weft.UsageError, match="echo takes no pulse_beats; pulse does"):
        weft.simulate("ipsc860", "echo", pulse_beats=2)


def test_an_added_parameter_is_a_column(extended):
    from weft.samples import schema

    column = schema.column_of(table()["pulse_beats"])
    assert (column.name, column.kind, column.meaning, column.parameter) == (
        "pulse_beats", "count", "readings of the clock", True,
    )  # fmt: skip


def test_the_keywords_are_those_of_the_table(native):
    assert list(Parameters.__annotations__) == [*table()]


def test_measure_and_simulate_take_the_same_parameters(native):
    for call in (weft.measure, weft.simulate):
        last = list(inspect.signature(call).parameters.values())[-1]
        assert last.kind is inspect.Parameter.VAR_KEYWORD
        assert last.annotation == "Unpack[Parameters]"


def test_every_benchmark_takes_parameters_of_the_table_and_shows_them(native):
    for benchmark in known().values():
        assert set(benchmark.takes) <= set(table()), benchmark.name
    text = shown("echo", "--help")[1]
    options = set(re.findall(r"--[a-z-]+", text))
    takes = {table()[name].option for name in find("echo").takes}
    assert takes <= options
    assert not ({parameter.option for parameter in table().values()} - takes) & options


def test_every_parameter_with_a_column_is_one_of_the_samples(native):
    for parameter in table().values():
        assert (parameter.name in COLUMNS) is (parameter.column is not None), parameter.name


def test_help_without_a_benchmark_lists_them_and_no_options_of_theirs(native):
    text = shown("--help")[1]
    assert "--neighbours" not in text
    for name in ("echo", "conset", "pshift", "dot_product"):
        assert name in text


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["pingpong"], ["echo"]),
        (["latency"], ["echo"]),
        (["osu_latency"], ["echo"]),
        (["imb", "pingpong"], ["echo"]),
        (["imb pingpong"], ["echo"]),
        (["IMB-PingPong", "osu_bw"], ["echo", "bandwidth"]),
        (["bw"], ["bandwidth"]),
        (["osu_bibw", "osu_mbw_mr", "osu_multi_lat"], ["bidirectional", "multi-pair", "multi-echo"]),
        (["osu_iallreduce", "osu_allreduce_persistent"], ["iallreduce", "allreduce-persistent"]),
        (["osu_put_latency", "IMB-Fetch_and_op"], ["put", "fetch-and-op"]),
        (["osu_allreduce"], ["allreduce"]),
        (["allreduce", "stream"], ["allreduce", "stream"]),
    ],
)
def test_names_of_the_field_lead_to_the_benchmark(native, words, names):
    assert resolved(words) == names


@pytest.mark.parametrize(("name", "nearest"), [("osu_put_bibw", "put: rank 0 writes"), ("imb_exchange", "ring: every")])
def test_what_weft_does_not_have_leads_to_what_is_nearest(native, name, nearest):
    with pytest.raises(weft.UsageError, match=f"weft has no {name}; nearest to it is {nearest}"):
        resolved([name])


def test_what_the_command_line_takes_python_takes(native):
    found = weft.measure("jacobi", on="ipsc860", extent=64, ranks=4)
    assert found["extent"].to_list() == [64]
    found = weft.measure("file-read", on="ipsc860", file_bytes="64K", bytes=4096, ranks=2)
    assert found["file_bytes"].to_list() == [65536]
    found = weft.measure("pshift", on="cm200", axes=3, extent="2,4")
    assert found["extent"].to_list() == [2, 4]
    found = weft.measure("conset", on="iwarp64", pattern="hypercube", words=32)
    assert found["words"].to_list() == [32]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n", 64, "there is no parameter 'n'"),
        ("window", "1,2", "window: one number, not the 2 of '1,2'"),
        ("seconds_per_point", "soon", "seconds-per-point: 'soon' is not a positive number"),
        ("seconds_per_point", float("nan"), "seconds-per-point: 'nan' is not a positive number"),
        ("axes", 32, "axes: 32 is more than 31, the greatest that is taken"),
        ("hops", 9999999999, "hops: 9999999999 is more than 4294967295, the greatest that is taken"),
        ("threads", "1,8G", "threads: 8589934592 is more than 4294967295, the greatest that is taken"),
        ("io_nodes", 1 << 32, "io-nodes: 4294967296 is more than 4294967295, the greatest that is taken"),
        ("iterations", 1_000_001, "iterations: 1000001 is more than 1000000, the greatest that is taken"),
        ("shape", "8x", "shape: '8x' in '8x' is no shape"),
    ],
)
def test_what_no_parameter_can_be_is_said(native, name, value, message):
    with pytest.raises(weft.UsageError, match=re.escape(message)):
        parsed({name: value})


@given(numbers=strategies.sets(strategies.integers(1, 1 << 40), min_size=1, max_size=8))
def test_numbers_are_read_as_they_are_written(numbers):
    doublings = [parameter for parameter in table().values() if parameter.kind == "doublings"]
    for parameter in doublings:
        plain = dataclasses.replace(parameter, greatest=None)
        assert ranges.values(plain, ",".join(map(str, numbers))) == tuple(sorted(numbers))
