"""Output of OSU's, IMB's and NCCL's benchmarks as samples."""

import json
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies
from typer.testing import CliRunner

from weft import UsageError, importing
from weft.cli.main import app

OUTPUTS = Path(__file__).parent / "outputs"

OSU = (OUTPUTS / "osu.txt").read_text()

IMB = (OUTPUTS / "imb.log").read_text()

NCCL = """
# nccl-tests version 2.18.2 nccl-headers=23007 nccl-library=23007
# Collective test starting: {test}_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1
# Using devices
#  Rank  0 Group  0 Pid  15784 on  nid007106 device  0 [0009:01:00] NVIDIA GH200 120GB
#  Rank  1 Group  0 Pid  24926 on  nid007109 device  0 [0009:01:00] NVIDIA GH200 120GB
NCCL version 2.20.5+cuda12.4
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    13.10    0.00    0.00       0    12.90    0.00    0.00       0
     1048576        262144     float     sum      -1   250.00    4.19    4.19     N/A   240.00    4.37    4.37     N/A
# Out of bounds values : 0 OK
"""


def read(folder, text, **more):
    path = folder / "old.txt"
    path.write_text(text)
    return importing.read([path], **more)


def points(table):
    return [tuple(row.values()) for row in table.select("benchmark", "ranks", "bytes", "seconds").to_dicts()]


def test_tables_of_osu(native, tmp_path):
    table = read(tmp_path, OSU, ranks=8)
    assert points(table) == [
        ("echo", 2, 0, pytest.approx(0.22e-6)),
        ("echo", 2, 8, pytest.approx(1.25e-6)),
        ("multi-pair", 30, 8, pytest.approx(1e-6)),  # 15 pairs, 15 million messages a second of all of them
        ("bidirectional", 2, 1000, pytest.approx(1e-5)),  # 200 MB/s of both directions
        ("allreduce", 8, 8, pytest.approx(2.5e-6)),  # the line of no time is no figure
        ("barrier", 8, None, pytest.approx(0.91e-6)),
        ("iallreduce", 8, 8, pytest.approx(5e-6)),
    ]
    assert table["note"].to_list()[:3] == [
        "mean over iterations, of OSU 7.4",
        "mean over iterations, of OSU 7.4",
        "of a mean rate, of OSU 5.6.3, windows of 64",
    ]
    assert table["iterations"].to_list()[4] == 1000


ONE_SIDED = """
# OSU MPI_{name} Test v7.4
# Window creation: MPI_Win_allocate
# Synchronization: {synchronization}
# Datatype: MPI_CHAR.
# Size          {column}
8                       {value}
"""


@pytest.mark.parametrize(
    ("name", "column", "value", "benchmark", "seconds"),
    [
        ("Put Latency", "Latency (us)", 1.5, "put", 1.5e-6),
        ("Get latency", "Latency (us)", 2.0, "get", 2e-6),
        ("Put Bandwidth", "Bandwidth (MB/s)", 16.0, "put-bandwidth", 0.5e-6),
        ("Get Bandwidth", "Bandwidth (MB/s)", 8.0, "get-bandwidth", 1e-6),
        ("Accumulate latency", "Latency (us)", 3.0, "accumulate", 3e-6),
        ("Get_accumulate latency", "Latency (us)", 3.0, "get-accumulate", 3e-6),
        ("Fetch_and_op latency", "Latency (us)", 3.0, "fetch-and-op", 3e-6),
        ("Compare_and_swap latency", "Latency (us)", 3.0, "compare-and-swap", 3e-6),
    ],
)
def test_one_sided_tables_of_osu_say_how_accesses_are_completed(
    native, tmp_path, name, column, value, benchmark, seconds
):
    text = ONE_SIDED.format(name=name, synchronization="MPI_Win_lock/unlock", column=column, value=value)
    table = read(tmp_path, text)
    assert points(table) == [(benchmark, 2, 8, pytest.approx(seconds))]
    assert table["synchronization"].to_list() == ["lock"]
    assert "synchronization" not in read(tmp_path, text.replace("MPI_Win_lock/unlock", "MPI_Win_flush_local")).columns


@pytest.mark.parametrize(
    ("title", "benchmark"),
    [
        ("Non-blocking Broadcast Latency", "ibroadcast"),
        ("Non-blocking All-to-All Latency", "ialltoall"),
        ("Non-blocking Allgatherv Latency", "iallgatherv"),
        ("Non-blocking Reduce_scatter Latency", "ireduce-scatter"),
        ("Broadcast Persistent Latency", "broadcast-persistent"),
        ("Allgather Persistent Latency", "allgather-persistent"),
        ("Multi Latency", "multi-echo"),
    ],
)
def test_titles_of_osu_lead_to_the_benchmark_that_weft_has(native, tmp_path, title, benchmark):
    text = f"# OSU MPI {title} Test v7.4\n# Size    Avg Latency(us)\n8    2.5\n"
    assert points(read(tmp_path, text, ranks=4)) == [(benchmark, 4, 8, pytest.approx(2.5e-6))]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_data_that_osu_found_wrong_are_no_figures(native, tmp_path, end):
    lines = ["# OSU MPI Latency Test v7.5", "# Datatype: MPI_CHAR.", "# Size       Avg Latency(us)        Validation"]
    lines += ["1                       1.25              Pass", "2                       1.30              Fail"]
    (tmp_path / "checked.txt").write_bytes(end.join([*lines, ""]).encode())
    with pytest.warns(
        UserWarning, match=r"checked\.txt: the benchmark itself found wrong data in osu-latency, at 2 bytes"
    ):
        table = importing.read([tmp_path / "checked.txt"])
    assert points(table) == [("echo", 2, 1, pytest.approx(1.25e-6))]
    (tmp_path / "failed.txt").write_bytes(end.join([*lines[:3], lines[4], ""]).encode())
    with pytest.raises(UsageError, match="no line of it is a measurement: the benchmark itself found wrong data"):
        importing.read([tmp_path / "failed.txt"])


def test_data_that_imb_found_wrong_are_no_figures(native, tmp_path):
    text = (
        "# Benchmarking PingPong\n# #processes = 2\n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec    defects\n"
        "            4         1000         1.50         2.67       0.00\n"
        "            8         1000         1.60         5.00       2.00\n"
    )
    with pytest.warns(UserWarning, match="the benchmark itself found wrong data in .*pingpong, at 8 bytes: left out"):
        table = read(tmp_path, text)
    assert table["bytes"].to_list() == [4]


def test_data_that_nccl_found_wrong_are_no_figures(native, tmp_path):
    text = NCCL.format(test="all_reduce").replace("0.00    0.00       0    12.90", "0.00    0.00       3    12.90")
    with pytest.warns(UserWarning, match="the benchmark itself found wrong data in allreduce, at 8 bytes: left out"):
        table = read(tmp_path, text)
    assert points(table) == [("allreduce", 2, 1048576, pytest.approx(250e-6))]


def test_other_windows_of_osu_are_other_points(native, tmp_path):
    text = OSU.replace("[ window size: 64 ]", "[ window size: 32 ]")
    table = read(tmp_path, text, ranks=8).filter(pl.col("benchmark") == "multi-pair")
    assert table["window"].to_list() == [32]
    assert "window" not in read(tmp_path, OSU, ranks=8).columns


def test_groups_of_nccl_run_side_by_side(native, tmp_path):
    text = NCCL.format(test="all_reduce").replace("Rank  1 Group  0", "Rank  1 Group  1")
    more = "".join(f"#  Rank  {rank} Group  {rank != 2:d} Pid 1 on a device {rank}\n" for rank in (2, 3, 4))
    table = read(tmp_path, text.replace("NCCL version", f"{more}NCCL version"))
    assert table["ranks"].to_list() == [3, 3]


def test_one_group_of_imb_is_the_benchmark_itself(native, tmp_path):
    table = read(tmp_path, IMB.replace("( 2 groups of 2 processes", "( 1 groups of 4 processes"))
    assert "ring" in table["benchmark"].to_list()


def test_medians_of_osu_are_preferred(native, tmp_path):
    text = (
        "# OSU MPI Latency Test v7.4\n"
        "# Size        Avg Lat(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)\n"
        "8   1.30   0.64   0.90   2.00\n"
    )
    table = read(tmp_path, text)
    assert points(table) == [("echo", 2, 8, pytest.approx(0.64e-6))]
    assert table["note"].item() == "median over iterations, of OSU 7.4"


def test_tables_of_imb(native, tmp_path):
    assert points(read(tmp_path, IMB)) == [
        ("echo", 2, 0, pytest.approx(0.51e-6)),
        ("echo", 2, 4194304, pytest.approx(400e-6)),
        ("imb-sendrecv-2-groups", 4, 8, pytest.approx(2e-6)),  # another benchmark than one group alone
        ("allreduce", 144, 8, pytest.approx(11.69e-6)),
        ("bandwidth", 4, 64, pytest.approx(1e-6)),  # two pairs, 2 million messages a second
        ("barrier", 4, None, pytest.approx(1e-6)),
    ]


@pytest.mark.parametrize(
    ("test", "benchmark", "lengths"),
    [
        ("all_reduce", "allreduce", [8, 1048576]),
        ("all_gather", "allgather", [4, 524288]),
        ("reduce_scatter", "nccl-reduce-scatter", [4, 524288]),
        ("alltoall", "alltoall", [4, 524288]),
        ("broadcast", "broadcast", [8, 1048576]),
    ],
)
def test_tables_of_nccl(native, tmp_path, test, benchmark, lengths):
    table = read(tmp_path, NCCL.format(test=test))
    assert points(table) == [
        (benchmark, 2, lengths[0], pytest.approx(13.1e-6)),
        (benchmark, 2, lengths[1], pytest.approx(250e-6)),
    ]
    assert table["iterations"].to_list() == [20, 20]
    assert table["rate"][1] == pytest.approx(1048576 / 250e-6)
    assert table["library"][0] == "NCCL version 2.20.5+cuda12.4"


@pytest.mark.parametrize("label", ["[1,0]<stdout>:", "[0] ", "0: ", "    "])
@pytest.mark.parametrize("text", [OSU, IMB, NCCL.format(test="all_reduce")])
def test_labels_of_launchers_are_passed_over(native, tmp_path, label, text):
    labelled = "".join(f"{label}{line}\n" for line in text.splitlines())
    assert read(tmp_path, labelled, ranks=2 if "nccl" in text else 8).equals(
        read(tmp_path, text, ranks=2 if "nccl" in text else 8)
    )


def test_files_are_repetitions(native, tmp_path):
    first, second = tmp_path / "one.log", tmp_path / "two.log"
    first.write_text(OSU)
    second.write_text(IMB)
    table = importing.read([first, second, first], ranks=8)
    echoes = table.filter((pl.col("benchmark") == "echo") & (pl.col("bytes") == 0))
    assert echoes["repetition"].to_list() == [0, 1, 2]
    assert set(table["machine"]) == {"one"}


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (
            "nothing of that kind\n",
            {},
            "no table of OSU's, IMB's or NCCL's benchmarks in it; expected a heading such as",
        ),
        ("", {}, "no table of OSU's"),
        (OSU, {}, "the output of osu_allreduce does not say how many ranks ran; say it: --ranks N"),
        (NCCL.replace("# Collective test starting: {test}_perf\n", ""), {}, "does not say which of NCCL's tests ran"),
        (NCCL.format(test="all_reduce"), {"ranks": 8}, "the output lists 2 ranks, and --ranks says 8"),
    ],
)
def test_what_cannot_be_read_is_said(native, tmp_path, text, more, message):
    with pytest.raises(UsageError) as raised:
        read(tmp_path, text, **more)
    assert message in str(raised.value)
    assert str(tmp_path / "old.txt") in str(raised.value)


def test_a_line_of_imb_without_repetitions_is_no_time(native, tmp_path):
    path = tmp_path / "cut.txt"
    lines = ["# Benchmarking Uniband", "#bytes #repetitions Mbytes/sec Msg/sec", "1000 0.90 1.10 1.00"]
    path.write_text("\n".join([*lines, "2000 10 1.10 1.00"]))
    assert importing.read([path], ranks=2)["bytes"].to_list() == [2000]
    path.write_text("\n".join(lines))
    with pytest.raises(UsageError, match=r"cut\.txt"):
        importing.read([path], ranks=2)


def test_no_file_is_refused():
    with pytest.raises(UsageError, match="nothing to import"):
        importing.read([])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(strategies.data())
def test_any_text_ends_with_samples_or_a_message(native, tmp_path_factory, data):
    """Lines of real output, cut, repeated and mixed with others."""
    lines = (OSU + IMB + NCCL.format(test="all_gather")).splitlines()
    pieces = data.draw(strategies.lists(strategies.sampled_from(lines) | strategies.text(max_size=30), max_size=40))
    cut = data.draw(strategies.integers(0, 60))
    path = tmp_path_factory.mktemp("any") / "any.txt"
    path.write_text("\n".join(pieces)[: max(0, len("\n".join(pieces)) - cut)], encoding="utf-8", errors="replace")
    try:
        with warnings.catch_warnings(record=True) as left_out:
            warnings.simplefilter("always")
            table = importing.read([path], ranks=2)
        assert all("any.txt" in str(warning.message) for warning in left_out)
    except UsageError as error:
        assert "any.txt" in str(error)  # noqa: PT017
    else:
        assert len(table)
        assert (table["seconds"] > 0).all()


def test_the_command_writes_samples_that_are_compared(native, tmp_path):
    (tmp_path / "old.txt").write_text(OSU)
    run = CliRunner().invoke
    output = tmp_path / "old.csv"
    result = run(app, ["import", str(tmp_path / "old.txt"), "--ranks", "8", "-o", str(output), "--machine", "blue"])
    assert result.exit_code == 0, result.output
    assert "multi-pair" in output.read_text()
    again = run(app, ["import", str(tmp_path / "old.txt"), "--ranks", "8", "-o", str(output)])
    assert again.exit_code != 0
    printed = run(app, ["import", str(tmp_path / "old.txt"), "--ranks", "8", "--format", "json"])
    assert len(json.loads(printed.output)) == 7
    compared = run(app, ["compare", str(output), "frontera", "--format", "csv"])
    assert compared.exit_code == 0, compared.output


@pytest.mark.parametrize(
    ("title", "benchmark"),
    [
        ("OSU MPI Latency Test (Version 2.1)", "echo"),
        ("OSU One Sided MPI_Get latency Test v4.2", "get"),
        ("OSU MPI One Sided MPI_Get latency Test v4.2", "get"),
        ("OSU MPI_Put-CUDA Latency Test v5.9", "put"),
        ("OSU MPI-ROCM Latency Test v5.9", "echo"),
        ("OSU MPI All-to-All Personalized Exchange Latency Test v3.1.1", "alltoall"),
        ("OSU MPI Non-blocking All-to-Allv Personalized Exchange Latency Test v5.7.1", "ialltoallv"),
        ("OSU MPI Non-blocking All-to-All Latency Test v5.7.1", "ialltoall"),
    ],
)
def test_titles_of_osu_in_many_versions(native, tmp_path, title, benchmark):
    table = read(tmp_path, f"# {title}\n# Size          Latency (us)\n8      2.50\n", ranks=2)
    assert points(table) == [(benchmark, 2, 8, pytest.approx(2.5e-6))]


def test_columns_of_osu_without_sign_or_gaps(native, tmp_path):
    text = (
        "# OSU MPI Non-blocking Barrier Latency Test v5.7.1\n# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        "       Overall(us)       Compute(us)    Coll. Init(us)        Overlap(%)\n"
        "             90.00             68.00              5.00             65.00\n"
        "# OSU MPI Allreduce Latency Test v7.4\n# Size Avg Latency(us) Min Latency(us) Iterations\n8 2.50 2.00 1000\n"
    )
    assert points(read(tmp_path, text, ranks=4)) == [
        ("ibarrier", 4, None, pytest.approx(9e-5)),
        ("allreduce", 4, 8, pytest.approx(2.5e-6)),
    ]


def test_rates_of_bidirectional_puts_are_of_both_directions(native, tmp_path):
    text = "# OSU MPI_Put Bi-directional Bandwidth Test v5.7.1\n# Size      Bandwidth (MB/s)\n1000     200.00\n"
    assert read(tmp_path, text)["seconds"].to_list() == [pytest.approx(1e-5)]


GROUPS = """
# Benchmarking Multi-Allgather
# ( 3 groups of 2 processes each running simultaneous )
# Group  0:     0    1
#
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
          512         1000        10.00        30.00        20.00
# Benchmarking PingPong
# ( #processes = 2 )
       #bytes #repetitions      t[usec]   Mbytes/sec
            8         1000         3.00         2.67
# Benchmarking Multi-Barrier
# ( 2 groups of 4 processes each running simultaneous )
 Group #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
     0         1000         1.00         2.00         1.50
     1         1000         1.00         3.00         2.00
"""


def test_groups_of_imb_and_its_predecessor(native, tmp_path):
    table = read(tmp_path, GROUPS)
    assert points(table) == [
        ("imb-multi-allgather-3-groups", 6, 512, pytest.approx(2e-5)),
        ("echo", 2, 8, pytest.approx(3e-6)),
        ("imb-multi-barrier-2-groups", 8, None, pytest.approx(1.5e-6)),
        ("imb-multi-barrier-2-groups", 8, None, pytest.approx(2e-6)),
    ]
    assert table["note"].to_list()[-1] == "mean over iterations and ranks, of IMB, group 1"


def test_a_table_of_imb_without_processes_asks_for_ranks(native, tmp_path):
    text = (
        "# Benchmarking Bcast\n  #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n  8 1000 1.00 3.00 2.00\n"
    )
    with pytest.raises(UsageError, match="imb-bcast does not say how many ranks ran.*--ranks N"):
        read(tmp_path, text)
    assert points(read(tmp_path, text, ranks=4)) == [("broadcast", 4, 8, pytest.approx(2e-6))]


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ("size count type time algbw busbw error time algbw busbw error",
         "4096 128 float 32.00 0.13 0.10 N/A 34.00 0.12 0.10 N/A"),
        ("size count type redop time algbw busbw error time algbw busbw error",
         "4096 128 float 32.00 0.13 0.10 N/A 34.00 0.12 0.10 N/A"),
        ("size count type root time algbw busbw error time algbw busbw error",
         "4096 128 float 0 32.00 0.13 0.10 0e+00 34.00 0.12 0.10 0e+00"),
        ("size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
         "4096 128 float none -1 32.00 0.13 0.10 0 34.00 0.12 0.10 0"),
        ("size count type redop root time algbw busbw #wrong | # size count type redop root time",
         "4096 128 float none -1 32.00 0.13 0.10 0 | 4096 128 float none -1 99.00"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sign", ["#", ""])
def test_columns_of_nccl_in_many_versions(native, tmp_path, columns, row, sign):
    text = (
        f"{sign} nThread 1 nGpus 2 minBytes 8 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20\n"
        f"{sign}  Rank  0 Pid 7 on a device  0\n{sign}  Rank  1 Pid 7 on a device  1\n"
        f"{sign}  {columns}\n{row}\n"
    )
    assert points(read(tmp_path, text, benchmark="all_gather")) == [("allgather", 2, 2048, pytest.approx(32e-6))]


@pytest.mark.parametrize(
    "label",
    ["> ", "> > ", "00:55:22  ", "2024-05-01T10:00:00.1234567Z ", "(head, rank=0, pid=38) [1,0]<stdout>:", "[0] "],
)
def test_lines_behind_labels(native, tmp_path, label):
    text = "".join(f"{label}{line}\n" for line in OSU.splitlines())
    assert points(read(tmp_path, text, ranks=8)) == points(read(tmp_path, OSU, ranks=8))


def test_a_table_of_one_tool_does_not_go_on_in_another_s(native, tmp_path):
    osu = (
        "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n"
    )
    imb = (
        "# Benchmarking Bcast\n# #processes = 4\n  #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "  8 1000 1.00 3.00 2.00\n"
    )
    text = osu + "8  2.50  2.00  3.00  1000\n" + imb + osu + "16  2.75  2.00  3.00  1000\n"
    table = read(tmp_path, text, ranks=8).sort("benchmark", "bytes")
    assert points(table) == [
        ("allreduce", 8, 8, pytest.approx(2.5e-6)),
        ("allreduce", 8, 16, pytest.approx(2.75e-6)),
        ("broadcast", 4, 8, pytest.approx(2e-6)),
    ]


UNKNOWN = "# OSU OpenSHMEM Put Test v5.9\n# Size          Latency (us)\n8                       9.00\n"


def test_a_table_that_is_not_understood_is_named(native, tmp_path):
    with pytest.warns(UserWarning, match="'# OSU OpenSHMEM Put Test v5.9' is not understood and was left out"):
        table = read(tmp_path, OSU + UNKNOWN, ranks=8)
    assert points(table) == points(read(tmp_path, OSU, ranks=8))
    with pytest.raises(UsageError, match="no table in it is understood: # OSU OpenSHMEM Put Test"):
        read(tmp_path, UNKNOWN)
    # Windows of several lengths are columns of their own.
    varied = (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n# [ pairs: 2 ] [ window size: varied ]\n\n"
        "# Uni-directional Bandwidth (MB/sec)\n#             8        16\n1          1.25      2.50\n"
    )
    with pytest.raises(UsageError, match="no table in it is understood: # OSU MPI Multiple Bandwidth"):
        read(tmp_path, varied)


def test_the_command_names_tables_that_it_leaves_out(native, tmp_path):
    path = tmp_path / "mixed.txt"
    path.write_text(OSU + UNKNOWN)
    result = CliRunner().invoke(app, ["import", str(path), "--ranks", "8"])
    assert result.exit_code == 0
    assert "note:" in result.stderr
    assert "OpenSHMEM Put Test v5.9" in result.stderr


def test_a_list_of_ranks_that_was_cut_counts_to_its_last(native, tmp_path):
    table = NCCL.format(test="all_reduce").split("NCCL version")[1].partition("\n")[2]
    text = "".join(f"#  Rank {last} Group  0 Pid  14840 on a device  3 [0x01]\n{table}" for last in (143, 71))
    ranks = read(tmp_path, text, benchmark="all_reduce")["ranks"]
    assert ranks.to_list() == [144, 144, 72, 72]


def test_lines_that_are_no_measurement_are_named(native, tmp_path):
    lines = (
        "# OSU MPI Latency Test v7.3",
        "# Size   Avg Latency(us)",
        "1  1.03",
        "2  -1.02",
        "4  0.00",
        "8  nan",
        "16  1.2",
    )
    (tmp_path / "osu.txt").write_text("\n".join(lines))
    with pytest.warns(UserWarning, match="is no measurement: left out") as warned:
        table = importing.read([tmp_path / "osu.txt"])
    assert [size for _, _, size, _ in points(table)] == [1, 16]
    assert [str(each.message).partition(": ")[2] for each in warned] == [
        f"{line!r} of '# OSU MPI Latency Test v7.3' is no measurement: left out" for line in ("2  -1.02", "8  nan")
    ]
