"""What a comparison is between: nearest nodes, however far apart they are, and distances that both machines have."""

import polars as pl
import pytest

import weft
from weft import samples
from weft.model import compare
from weft.study.subjects import tables


@pytest.fixture(autouse=True)
def _native(native):
    pass


def side_by_side(*subjects, **options):
    labels, parts, notes = tables([str(one) for one in subjects], **options)
    return compare(*parts, labels=labels), notes


@pytest.fixture
def here(tmp_path):
    """Samples of a machine that does not know its distances, and what is fitted to them."""
    table = weft.simulate("tpu-v4", "echo", bytes="8:8192").with_columns(
        pl.lit("here").alias("machine"), pl.lit("measured").alias("source"), pl.lit(None, pl.Int64).alias("hops")
    )
    samples.write(table, tmp_path / "here.csv")
    (tmp_path / "here.toml").write_text(weft.fit(table).to_machine("here", "a test"))
    return tmp_path / "here.csv", tmp_path / "here.toml"


@pytest.mark.parametrize("machines", [("hgx-h100", "frontera"), ("palomar", "ipsc860"), ("frontera", "tpu-v4")])
def test_machines_are_compared_between_their_nearest_nodes(machines):
    table, notes = side_by_side(*machines)
    assert notes == []
    assert len(table) == 11
    assert table[f"ratio {machines[1]}"].null_count() == 0
    assert table["hops"].is_null().all(), "nobody has asked for a distance"


def test_what_was_measured_is_compared_with_its_fit_and_with_machines(here):
    table, notes = side_by_side(*here, "ipsc860", "hgx-h100")
    assert notes == []
    assert len(table) == 11
    ratios = table.select(name for name in table.columns if name.startswith("ratio "))
    assert ratios.null_count().sum_horizontal().item() == 0
    assert table["ratio here #2"].is_between(0.9, 1.1).all()


@pytest.mark.parametrize("distance", [None, 1])
def test_a_distance_that_nobody_chose_makes_no_other_point(tmp_path, distance):
    """Bandwidth is between ranks 0 and 1, however far apart a machine has them."""
    table = weft.simulate("tpu-v4", "bandwidth", bytes=64).with_columns(pl.lit(distance, pl.Int64).alias("hops"))
    samples.write(table, tmp_path / "here.csv")
    compared, notes = side_by_side(tmp_path / "here.csv", "frontera")
    assert notes == []
    assert compared["ratio frontera"].null_count() == 0
    assert compared["hops"].to_list() == [distance]


@pytest.mark.parametrize(
    ("benchmarks", "sizes"),
    [(["halo", "stencil"], {"shape": "6x6:12x12,5x5x5", "ranks": 8}), ("cholesky", {"extent": "30,70"})],
)
def test_machines_run_the_shapes_and_extents_that_were_measured(tmp_path, benchmarks, sizes):
    table = weft.simulate("ipsc860", benchmarks, **sizes)
    samples.write(table, tmp_path / "here.csv")
    compared, notes = side_by_side(tmp_path / "here.csv", "ncube3200")
    assert notes == []
    assert len(compared) == len(table)
    assert compared["ratio ncube3200"].null_count() == 0


def test_a_comparison_uses_the_distances_that_both_have(tmp_path):
    samples.write(weft.simulate("ipsc860", "echo", bytes=8, hops="1:3"), tmp_path / "far.csv")
    table, notes = side_by_side(tmp_path / "far.csv", "hgx-h100")
    assert table.filter(pl.col("ratio hgx-h100").is_not_null())["hops"].to_list() == [2]
    assert [note.partition(":")[0] for note in notes] == ["hgx-h100 cannot run echo"] * 2
    assert "1 hop: on hgx-h100, a crossbar, no node is that far from node 0; there are nodes at 2 hops" in notes[0]


@pytest.mark.parametrize(
    ("distances", "told"), [("3", "3 hops"), ("1", "1 hop"), ("3,4", "3 or 4 hops"), ("3:5", "3, 4 or 5 hops")]
)
def test_nearest_nodes_stand_in_for_distances_that_a_machine_lacks(tmp_path, distances, told):
    samples.write(weft.simulate("ipsc860", "echo", bytes=8, hops=distances), tmp_path / "far.csv")
    table, notes = side_by_side(tmp_path / "far.csv", "hgx-h100")
    assert notes == [f"hgx-h100 has no nodes {told} apart: echo is between its nearest"]
    assert table.filter(pl.col("ratio hgx-h100").is_not_null())["hops"].to_list() == [int(told[0])]


def test_distances_that_are_asked_for_are_told():
    table, _ = side_by_side("ipsc860", "ncube6400", hops="1,2")
    assert table["hops"].unique().sort().to_list() == [1, 2]


@pytest.mark.parametrize("distance", [None, 1])
def test_a_benchmark_of_many_lengths_without_a_distance_is_run_on_machines(tmp_path, distance):
    table = weft.simulate("frontera", "echo-self", bytes="8:64").with_columns(
        pl.lit("here").alias("machine"), pl.lit("measured").alias("source"), pl.lit(distance, pl.Int64).alias("hops")
    )
    samples.write(table, tmp_path / "here.csv")
    compared, notes = side_by_side(tmp_path / "here.csv", "ipsc860")
    assert notes == []
    assert compared["bytes"].to_list() == [8, 16, 32, 64]
    assert compared["ratio ipsc860"].null_count() == 0
