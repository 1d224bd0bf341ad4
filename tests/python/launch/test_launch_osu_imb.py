"""The page that says what the names of OSU and IMB are in weft, and the names themselves."""

import re
from pathlib import Path

import pytest

from weft.launch.request import benchmarks

PAGE = Path(__file__).parents[3] / "docs/how-to/osu-imb.md"


def rows():
    """The names in each row of the page's table: of OSU, of IMB, of weft."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")] for line in lines[2:]]
    return [row for row in cells if row[2]]


def named(name):
    """weft's benchmark of a name of OSU or IMB."""
    wanted = name.lower().replace("_", "-")
    return next(
        (known.name for known in benchmarks().values() if wanted in (known.name, *known.aliases)), f"{name}: nothing"
    )


@pytest.mark.parametrize("row", rows(), ids=lambda row: "-".join(row[2]))
def test_names_of_the_page_are_names_of_the_benchmarks_beside_them(native, row):
    osu, imb, weft = row
    assert osu or imb
    for name in osu:
        assert named(name) in weft
    for name in imb:
        assert named(f"imb_{name}") in weft


def test_every_benchmark_of_mpi_has_a_name_of_osu(native):
    groups = ("overlap", "one-sided", "collective")
    nameless = [
        known.name
        for known in benchmarks().values()
        if known.group in groups and not any(alias.startswith("osu-") for alias in known.aliases)
    ]
    assert nameless == []


OSU_COLLECTIVES = (
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "gather"),
    *("gatherv", "reduce", "reduce_scatter", "scatter", "scatterv"),
)
OSU_PROGRAMS = (
    *("bibw", "bw", "latency", "latency_mp", "latency_mt", "latency_persistent", "bw_persistent", "bibw_persistent"),
    *("mbw_mr", "multi_lat", "partitioned_latency", "bw_fan_in", "bw_fan_out", "reduce_scatter_block"),
    *("acc_latency", "cas_latency", "fop_latency", "get_acc_latency", "get_bw", "get_latency"),
    *("put_bibw", "put_bw", "put_latency"),
    *OSU_COLLECTIVES,
    *(f"i{name}" for name in OSU_COLLECTIVES),
    *(f"{name}_persistent" for name in OSU_COLLECTIVES),
    *(
        f"{i}neighbor_{name}"
        for i in ("", "i")
        for name in OSU_COLLECTIVES
        if name.startswith("all") and "reduce" not in name
    ),
)
"""What OSU 7.5 has for MPI, but what only starts it (`hello`, `init`)."""

IMB_BENCHMARKS = (
    *("PingPong", "PingPongSpecificSource", "PingPongAnySource", "PingPing", "PingPingSpecificSource"),
    *("PingPingAnySource", "Sendrecv", "Exchange", "Uniband", "Biband", "Bcast", "Allgather", "Allgatherv", "Scatter"),
    *("Scatterv", "Gather", "Gatherv", "Alltoall", "Alltoallv", "Reduce", "Reduce_local", "Reduce_scatter"),
    *("Reduce_scatter_block", "Allreduce", "Barrier"),
    *("Unirandom", "Birandom", "Corandom", "Stencil2D", "Stencil3D"),
    *("PingPongMT", "PingPingMT", "SendRecvMT", "ExchangeMT", "UniBandMT", "BiBandMT", "BcastMT", "ReduceMT"),
    *("AllreduceMT", "Unidir_put", "Unidir_get", "Bidir_put", "Bidir_get", "One_put_all", "One_get_all", "All_put_all"),
    *("All_get_all", "Put_local", "Put_all_local", "Get_local", "Get_all_local", "Exchange_put", "Exchange_get"),
    *("Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Truly_passive_put"),
    *(f"{letter}_{way}_{kind}" for letter in "PS" for way in ("Write", "Read") for kind in ("Indv", "Expl")),
    *("P_Write_Shared", "P_Read_Shared", "C_Write_Indv", "C_Read_Indv"),
)
"""What IMB has, but variants of the same name."""


@pytest.mark.parametrize("name", [*(f"osu_{one}" for one in OSU_PROGRAMS), *(f"imb_{one}" for one in IMB_BENCHMARKS)])
def test_a_name_of_osu_or_imb_is_a_benchmark_or_leads_to_the_nearest(native, name):
    wanted = name.lower().replace("_", "-")
    known = benchmarks().values()
    assert any(wanted in (one.name, *one.aliases, *one.nearest_of) for one in known)
