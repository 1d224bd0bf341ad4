"""Messages of several threads of a rank at one time."""

import polars as pl
import pytest

import weft
from weft.launch.request import find


def test_names_of_others_are_its_names(native):
    for name in ("osu_latency_mt", "IMB-PingPongMT", "latency-mt"):
        assert find(name).name == "echo-threads"


def test_a_described_machine_has_no_threads(command):
    code, _, err = command("measure echo-threads --on ipsc860 --bytes 8")
    assert code == 2
    assert "echo-threads needs threads that call MPI at one time, which virtual time does not have" in " ".join(
        err.split()
    )
    code, _, err = command("measure echo-threads --on ipsc860 --threads 2 --bytes 8")
    assert code == 2
    assert "threads is of a measurement here" in " ".join(err.split())


def test_no_threads_do_nothing(native):
    with pytest.raises(weft.UsageError, match="threads"):
        weft.measure("echo-threads", threads=0)


@pytest.mark.mpi
def test_every_number_of_threads_has_its_rows_beside_those_of_others(command):
    # Launches of threads are of their own: an echo beside them is measured as without them.
    code, _, err = command(
        "measure echo-threads echo --threads 1,3 --bytes 0,8,100000 --iterations 20 --launches 1 --budget 0 -o out.csv"
    )
    assert code in (0, 3), err
    table = pl.read_csv("out.csv")
    threads = (
        table.filter(pl.col("benchmark") == "echo-threads")
        .select("threads", "bytes", "iterations")
        .sort("threads", "bytes")
    )
    assert threads.rows() == [(count, size, 20 * count) for count in (1, 3) for size in (0, 8, 100000)]
    assert table.filter(pl.col("benchmark") == "echo").select("bytes").sort("bytes").rows() == [(0,), (8,), (100000,)]
    assert (table["seconds"] > 0).all()
