"""The node suite: what is asked of it, prices from machine files, launches of their own."""

import json
import re

import polars as pl
import pytest

from weft import _core
from weft.launch import blas, node_process, protocol
from weft.launch.protocol import Protocol, run, status
from weft.launch.request import Request, node_benchmarks, parsed, requests
from weft.launch.simulate import simulate
from weft.samples import summarise
from weft.study.measuring import measure


def test_every_benchmark_of_the_native_half_is_there(native):
    names = list(node_benchmarks())
    assert names[:3] == ["arithmetic", "sieve", "floatmath"]
    assert node_benchmarks()["dot_product"].takes["extent"].of == "vector"


def test_the_caltech_rows_of_a_machine_are_its_operation_times(native):
    notes = []
    found = simulate("ipsc860", "arithmetic", notes=notes)
    seconds = dict(found.select("variant", "seconds").iter_rows())
    assert seconds["float64_multiply"] == pytest.approx(0.1e-6)
    assert set(found["source"]) == {"simulated"}
    assert any("loop_turn" in note for note in notes)


@pytest.mark.parametrize("length", [1, 8, 4096])
def test_a_dot_product_is_twice_its_length_in_sums_of_products(native, length):
    found = simulate("ipsc2", "dot_product", extent=length, variant=["float64"])
    assert found["seconds"].to_list() == pytest.approx([2 * length * 3.8e-6])
    assert found["extent"].to_list() == [length]


def test_what_a_machine_file_does_not_price_is_said(native):
    with pytest.raises(_core.UsageError, match=r"ipsc860 has no sieve \(.*\): it is more than its operations"):
        simulate("ipsc860", "sieve")
    with pytest.raises(_core.UsageError, match="its machine file does not price copy_byte"):
        simulate("multi-psi-v1", "stream", variant=["copy"])
    with pytest.raises(_core.UsageError, match="priced, not run: it has no timeline"):
        simulate("ipsc860", "arithmetic", trace="t.json")


@pytest.mark.parametrize(
    ("machine", "benchmark"),
    [("torus8x8-flit", "router"), ("cm2-8k", "news"), ("cm200", "pshift"), ("ipsc860", "arithmetic")],
)
def test_faults_are_refused_where_no_messages_run(native, machine, benchmark):
    """They were ignored: a network with a dead link was as fast as one without."""
    faulty = _core.Machine.find(machine).with_faults(["node:0=0.5"])
    said = f"{benchmark} is of {machine} as it is described: faults (node:0=0.5) slow programs"
    with pytest.raises(_core.UsageError, match=re.escape(said)):
        simulate(faulty, benchmark)


def test_many_operations_without_a_price_are_one_line(native):
    with pytest.raises(_core.UsageError) as refused:
        simulate("cm2-8k", "arithmetic")
    assert str(refused.value) == (
        "cm2-8k has no arithmetic (int16_add, int32_add, int16_multiply and 11 more): its machine file does not price "
        "int16_add, int32_add, int16_multiply and 11 more"
    )


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["arithmetic"], {"ranks": 4}, "arithmetic runs on one rank"),
        (["arithmetic"], {"bytes": 8}, "sends no messages, so it takes no bytes"),
        (
            ["sieve"],
            {"extent": 8},
            "sieve takes no extent; dot_product and cholesky and jacobi and slalom and pshift do",
        ),
        (["sieve"], {"threads": 2}, "sieve takes no threads; stream and echo-threads do"),
        (["arithmetic"], {"variant": "int64_add"}, "arithmetic has no row 'int64_add'; there are int16_add"),
        (["echo"], {"neighbours": 2}, "echo takes no neighbours; fan-in and fan-out do"),
        (["echo"], {"probe": "1-3"}, "echo takes no probe; contention does"),
        (["barrier"], {"window": 4}, "barrier takes no window; bandwidth, bidirectional, multi-pair and 6 others do"),
    ],
)
def test_what_no_benchmark_takes_is_refused(native, names, options, message):
    with pytest.raises(_core.UsageError, match=message):
        requests(names, parsed(options))


def test_parameters_go_to_those_that_take_them(native):
    given = parsed({"extent": 64, "neighbours": "1:2", "window": 3, "bytes": 8})
    dot, echo, fan = requests(["dot_product", "echo", "fan-in"], given)
    assert (dot.parameters, dot.ranks) == ({"extent": (64,)}, 1)
    assert echo.parameters == {"bytes": (8,)}
    assert fan.parameters == {"neighbours": (1, 2), "window": 3, "bytes": (8,)}
    for request in (echo, fan):
        _core.check_request(request.to_json())


class World:
    """Two rows a launch; the second is never steady."""

    def __init__(self):
        self.asked = []

    def __call__(self, wanted):
        self.asked.append([(request.benchmark, request.several("variant")) for request in wanted])
        for index, request in enumerate(wanted):
            number = request.seed
            rows = [("steady", 1.0), ("loose", float(1 + number % 7))]
            yield (
                index,
                [
                    {"benchmark": request.benchmark, "ranks": 1, "variant": name, "extent": 8, "seconds": seconds}
                    for name, seconds in rows
                    if request.wants(name)
                ],
            )


def test_only_loose_rows_are_launched_again_and_memory_once():
    world = World()
    wanted = [Request("arithmetic"), Request("memory")]
    found = run(wanted, world, Protocol(budget=1e9, most=33))
    assert world.asked[0] == [("arithmetic", ()), ("memory", ())]
    assert all(asked == [("arithmetic", ("steady", "loose"))] for asked in world.asked[1:30])
    assert all(asked == [("arithmetic", ("loose",))] for asked in world.asked[30:])
    ended = status(found.rows, Protocol(), False, False)
    kinds = {(key[0], dict(zip(protocol.POINT, key, strict=True))["variant"]): how for key, how in ended.items()}
    assert kinds["arithmetic", "steady"] == protocol.CONVERGED
    assert kinds["arithmetic", "loose"] == protocol.NOT_CONVERGED
    assert kinds["memory", "steady"] == protocol.ASKED_ONCE


def test_a_row_of_a_table_is_the_point_that_was_launched():
    fresh = {"benchmark": "file-write", "ranks": 1, "extent": 5, "preallocate": True}
    kept = {"benchmark": "file-write", "ranks": 1, "extent": 5, "preallocate": "true", "variant": None}
    assert protocol.point(fresh) == protocol.point(kept)


def test_rows_land_in_the_table_with_their_rates(native):
    found = measure(
        "arithmetic", variant=["float64_add", "int32_add"], seconds_per_point=1e-3, protocol=Protocol(budget=0.0)
    )
    assert len(found) == 12
    assert set(found["variant"]) == {"float64_add", "int32_add"}
    assert set(found["rate_unit"]) <= {"Mflop/s", "Mop/s"}
    assert summarise(found)["launches"].to_list() == [6, 6]
    rates = summarise(found).filter(pl.col("variant") == "float64_add")
    assert rates["rate"][0] * rates["seconds"][0] == pytest.approx(1e-6, rel=1e-6)


def test_a_length_that_cannot_be_is_said_by_the_process(native):
    with pytest.raises(_core.UsageError, match="a length of 8 cannot be measured"):
        measure("stream", bytes=8, protocol=Protocol(launches=1, budget=0.0))


def test_numpys_blas_is_a_row_with_its_name(native):
    found = blas.row(1e-3, 7)
    assert found["variant"].startswith("n1000_blas_")
    assert found["checked"]
    assert found["rate"] * found["seconds"] == pytest.approx((2e9 / 3 + 2e6) * 1e-6)
    rows = node_process.measured("linpack", {"seconds_per_point": 1e-3, "variant": ["n100"]}, ["n100"])
    assert [row["variant"] for row in rows] == ["n100"]


def test_a_wrong_solution_is_refused(monkeypatch):
    import numpy as np

    monkeypatch.setattr(np.linalg, "solve", lambda a, b: np.ones_like(b))
    with pytest.raises(_core.RunError, match="nothing is reported: the residual is"):
        blas.row(1e-3, 7)


def test_a_process_that_dies_is_named(native, monkeypatch):
    import sys

    from weft.launch import node

    monkeypatch.setattr(node, "PROGRAM", (sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"))
    with pytest.raises(_core.RunError, match="the process that measures the node was killed by signal 9"):
        measure("sieve", protocol=Protocol(launches=1, budget=0.0))


def test_a_request_crosses_as_the_native_half_reads_it(native):
    request = Request("linpack", 1, {"variant": ("n100", "n1000_blas_x"), "seconds_per_point": 0.1})
    assert json.loads(request.to_json())["variant"] == ["n100"]


@pytest.mark.parametrize("code", [0, 1])
def test_a_process_that_is_interrupted_before_it_comes_to_weft_is_named_alone(code, native, monkeypatch, tmp_path):
    import sys

    from weft.launch import node

    # Python's own words of an interrupt say where it was. It ends with the signal, or, while it still imports what it
    # starts with, with exit code 1.
    (tmp_path / "sitecustomize.py").write_text("import os; os.kill(os.getpid(), 2); input()" if code else "")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(node, "PROGRAM", (sys.executable, "-c", "import os; os.kill(os.getpid(), 2); input()"))
    with pytest.raises(_core.RunError) as error:
        measure("sieve", protocol=Protocol(launches=1, budget=0.0))
    assert str(error.value) == (
        "the process that measures the node was killed by signal 2 (Interrupt); find out what ended it (memory, a "
        "batch system, a person), and measure again"
    )
