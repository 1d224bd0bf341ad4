"""Schedules beside plain messages: what each takes, and which is said to be faster."""

import json

import pytest
from typer.testing import CliRunner

import weft
from weft.cli.main import app
from weft.conset import compiling
from weft.conset.exchange import execute

MIRRORS = 10e-3
"""The phase time of palomar, in which its mirrors move."""


def _halo(machine):
    """Short words with the next four numbers on either side: what parts of a narrow mesh exchange."""
    nodes = machine.nodes
    connections = [(a, (a + step) % nodes, 40) for a in range(nodes) for step in (1, 2, 3, 4, -1, -2, -3, -4)]
    return weft.conset.ConnectionSet(nodes, connections, "halo")


def test_messages_win_where_phases_cost_barriers(native):
    machine = weft.machine("rail-h100")
    connections = _halo(machine)
    schedule = weft.conset.compile(connections, machine, effort=0)
    assert schedule.faster == "messages"
    assert schedule.message_seconds == execute(machine, connections).seconds[0]
    # The schedule is carried out by what is faster, and by phases on request.
    executed = execute(machine, connections, schedule)
    assert (schedule.method, executed.phases, executed.seconds[0]) == ("messages", 0, schedule.message_seconds)
    phased = weft.conset.compile(connections, machine, effort=0, method="phases")
    assert (phased.method, phased.faster) == ("phases", "messages")
    assert phased.predicted_seconds == pytest.approx(execute(machine, connections, phased).seconds[0], rel=1e-9)
    read = weft.conset.Schedule.parse(schedule.to_json(), "schedule.json")
    read.verify(connections)
    assert (read.method, execute(machine, connections, read).seconds) == ("messages", executed.seconds)
    edited = schedule.to_json().replace('"by_messages":true,', "")
    with pytest.raises(weft.UsageError, match="changed after it was written"):
        weft.conset.Schedule.parse(edited, "schedule.json").verify()
    assert json.loads(schedule.to_json())["message_seconds"] == schedule.message_seconds < schedule.predicted_seconds
    schedule.verify(connections)


def test_phases_win_on_the_iwarp(native):
    schedule = weft.conset.compile("hypercube", "iwarp64", words=32, effort=0)
    assert schedule.faster == "phases"
    assert schedule.predicted_seconds < schedule.message_seconds


def test_messages_in_random_order_are_carried_out_as_they_were_simulated(native):
    machine = weft.machine("iwarp64")
    connections = weft.conset.ConnectionSet.named("all-to-all", machine, 32, 0)
    schedule = weft.conset.compile(connections, machine, effort=0, seed=5, method="messages")
    assert (schedule.method, schedule.faster) == ("messages", "phases")
    assert execute(machine, connections, schedule).seconds[0] == schedule.message_seconds
    assert execute(machine, connections).seconds[0] != schedule.message_seconds


def test_a_method_that_is_none_is_refused(native, monkeypatch):
    with pytest.raises(weft.UsageError, match="'throughput'; there are auto, phases, messages"):
        weft.conset.compile("torus", "iwarp64", effort=0, method="throughput")
    with pytest.raises(weft.UsageError, match="what is not simulated is not carried out"):
        weft.conset.compile("torus", "iwarp64", effort=0, method="messages", messages=False)
    monkeypatch.setattr(compiling, "MAX_MESSAGES", 10)
    with pytest.raises(weft.UsageError, match="256 connections; of 1 to 10 messages are simulated"):
        weft.conset.compile("torus", "iwarp64", effort=0, method="messages")
    for words, expected in [
        (["torus", "--method", "latency"], "torus is no collective, which takes auto, phases, messages"),
        (["allreduce", "--bytes", "1M", "--method", "phases"], "a collective, which takes auto, throughput, latency"),
    ]:
        found = CliRunner().invoke(app, ["compile", *words, "--on", "tpu-v4"])
        assert isinstance(found.exception, weft.UsageError)
        assert expected in str(found.exception)


def test_messages_wait_for_mirrors_too(native):
    machine = weft.machine("palomar")
    one = weft.conset.ConnectionSet(128, [(0, 1, 10)], "one")
    schedule = weft.conset.compile(one, machine, effort=0)
    assert MIRRORS < schedule.message_seconds < 1.001 * MIRRORS
    # Three circuits of one port, one after the other.
    three = weft.conset.ConnectionSet(128, [(0, to, 10) for to in (1, 2, 3)], "three")
    assert 3 * MIRRORS < weft.conset.compile(three, machine, effort=0).message_seconds < 3.01 * MIRRORS


def test_what_is_optimal_is_said_of_what(native):
    schedule = weft.conset.compile("all-to-all", "iwarp64", effort=0)
    assert schedule.phases == 27
    assert schedule.optimal == ["phases"]
    both = weft.conset.compile(weft.conset.ConnectionSet(64, [(0, 1, 10)], "one"), "iwarp64", effort=0)
    assert both.optimal == ["phases", "seconds"]


def test_messages_are_left_out_on_request_and_where_there_are_too_many(native, monkeypatch):
    left_out = weft.conset.compile("torus", "iwarp64", effort=0, messages=False)
    assert (left_out.message_seconds, left_out.faster) == (None, None)
    assert "message_seconds" not in json.loads(left_out.to_json())
    monkeypatch.setattr(compiling, "MAX_MESSAGES", 10)
    assert weft.conset.compile("torus", "iwarp64", effort=0).message_seconds is None


def test_no_time_of_messages_is_refused(native):
    schedule = weft.conset.compile("torus", "iwarp64", effort=0, messages=False)
    with pytest.raises(weft.UsageError, match="expected the seconds of messages, found -1"):
        schedule.beside_messages(-1.0)


def test_the_command_says_which_is_better(native, tmp_path):
    for pattern, on, expected in [
        ("all-to-all", "iwarp64", "slower than the phases"),
        ("random:2", "rail-h100", "faster than the phases"),
    ]:
        found = CliRunner().invoke(app, ["compile", pattern, "--on", on, "--effort", "0"])
        assert found.exit_code == 0
        (line,) = [line for line in found.output.splitlines() if "by messages" in line]
        assert expected in line
    assert "27, optimal: none has fewer phases" in CliRunner().invoke(
        app, ["compile", "all-to-all", "--on", "iwarp64", "--effort", "0"]
    ).output  # fmt: skip


def test_other_accesses_than_the_machines_are_not_compared_with_messages(native):
    schedule = weft.conset.compile("torus", "iwarp64", words=100, effort=0, access="shared", access_time=5e-7)
    assert (schedule.message_seconds, schedule.method) == (None, "phases")
    with pytest.raises(weft.UsageError, match="with the machine's accesses"):
        weft.conset.compile("torus", "iwarp64", effort=0, access_time=5e-7, method="messages")
