"""Files of samples: round trips, whole writes, and messages for bad ones."""

import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from weft._core import UsageError
from weft.catalogue import machine
from weft.samples import REQUIRED, SOURCES, SamplesError, append, read, validate, write

HEADER = ",".join(REQUIRED)
GOOD = "measured,here,echo,2,1,8,0,6.4e-7"

names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), min_size=1, max_size=12
)
counts = st.integers(0, 2**53 - 1)
rows = st.fixed_dictionaries(
    {
        "source": st.sampled_from(SOURCES),
        "machine": names,
        "benchmark": names,
        "ranks": st.integers(1, 2**40) | st.none(),
        "hops": st.integers(0, 100) | st.none(),
        "bytes": counts | st.none(),
        "repetition": counts,
        "seconds": st.floats(1e-40, 1e40),
        "algorithm": names | st.none(),
        "share_above_3x": st.floats(0, 1) | st.none(),
        "iterations": st.integers(1, 2**50) | st.none(),
    }
)
tables = st.lists(rows, max_size=8).map(
    lambda found: validate(
        pl.DataFrame(
            found or {name: [] for name in REQUIRED},
            schema_overrides={"ranks": pl.Int64, "hops": pl.Int64, "bytes": pl.Int64, "algorithm": pl.String},
        )
    )
)
in_folder = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@in_folder
@given(tables, st.sampled_from(["csv", "parquet"]))
def test_what_is_written_is_read_again(tmp_path: Path, table: pl.DataFrame, suffix: str) -> None:
    path = tmp_path / f"samples.{suffix}"
    write(table, path, force=True)
    assert_frame_equal(read(path), table, check_column_order=False, check_exact=True)
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".part"] == []


@in_folder
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda s: (HEADER + "\n" + s).encode(errors="ignore")))
def test_any_bytes_are_a_table_or_a_clear_message(tmp_path: Path, content: bytes) -> None:
    for suffix in ("csv", "parquet"):
        path = tmp_path / f"any.{suffix}"
        path.write_bytes(content)
        try:
            read(path)
        except SamplesError as error:
            message = str(error)
        else:
            continue
        assert message.startswith(str(path))


def test_extra_columns_keep_their_type_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "extra.csv"
    path.write_text(f"{HEADER},fan,share,colour,nothing\n{GOOD},3,0.5,red,\n{GOOD},4,1,blue,\n")
    table = read(path)
    assert table.schema["fan"] == pl.Int64
    assert table.schema["share"] == pl.Float64
    assert table["colour"].to_list() == ["red", "blue"]
    assert table["nothing"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{path}: expected a header line, found an empty file"),
        ("a,b\n1,2\n", f"{{path}}: the columns {', '.join(REQUIRED)} are missing"),
        (HEADER.replace("seconds", "time"), "{path}: the column seconds is missing; samples have at least"),
        (f"{HEADER},bytes\n", "{path}: the column 'bytes' appears twice in the header"),
        (
            f"{HEADER}\n{GOOD}\nmeasured,here,echo,2,1,8,1\n",
            "{path}, row 2 (line 3): expected 8 cells as in the header, found 7",
        ),
        (
            f"{HEADER}\n{GOOD}\n{GOOD.replace('6.4e-7', 'fast')}\n",
            "{path}, row 2, column seconds: expected a positive number of seconds, found 'fast'",
        ),
        (
            f"{HEADER}\n{GOOD.replace('6.4e-7', '0')}\n",
            "{path}, row 1, column seconds: expected a positive number of seconds, found '0'",
        ),
        (f"{HEADER}\n{GOOD.replace('6.4e-7', 'inf')}\n", "{path}, row 1, column seconds: expected a positive number"),
        (
            f"{HEADER}\n{GOOD.replace('6.4e-7', '')}\n",
            "{path}, row 1, column seconds: expected a positive number of seconds, found nothing",
        ),
        (
            f"{HEADER}\n{GOOD.replace('measured', 'dreamt')}\n",
            "{path}, row 1, column source: expected one of measured, simulated, predicted, published, found 'dreamt'",
        ),
        (
            f"{HEADER}\n{GOOD.replace(',8,', ',-8,')}\n",
            "{path}, row 1, column bytes: expected an integer of at least 0, found '-8'",
        ),
        (
            f"{HEADER}\n{GOOD.replace(',8,', ',8.5,')}\n",
            "{path}, row 1, column bytes: expected an integer of at least 0, found '8.5'",
        ),
        (
            f"{HEADER}\n{GOOD.replace(',here,', ',,')}\n",
            "{path}, row 1, column machine: expected a name, found nothing",
        ),
        (
            f"{HEADER},share_above_3x\n{GOOD},1.5\n",
            "{path}, row 1, column share_above_3x: expected a number from 0 to 1, found '1.5'",
        ),
    ],
)
def test_messages_name_file_row_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(SamplesError) as error:
        read(path)
    assert message.format(path=path) in str(error.value)


def test_whole_numbers_may_be_written_as_floats_and_hops_left_out(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text(f"{HEADER}\nmeasured,here,echo,2.0,,8.0,0,6.4e-7\n")
    assert read(path).row(0) == ("measured", "here", "echo", 2, None, 8, 0, 6.4e-7)


def test_a_wrong_suffix_and_a_missing_file_are_said(tmp_path: Path) -> None:
    with pytest.raises(SamplesError, match=r"samples.txt: expected a name that ends in .csv or .parquet, found '.txt'"):
        read("samples.txt")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
        read(tmp_path / "nowhere.csv")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.csv"
    path.write_text(f"{HEADER}\n{GOOD}\n")
    before = path.read_bytes()
    table = read(path)
    with pytest.raises(SamplesError, match=r"the table for .*kept.csv, row 1, column seconds"):
        write(table.with_columns(seconds=pl.lit(-1.0)), path, force=True)
    with pytest.raises(UsageError, match=r"kept\.csv exists: --force \(from Python, force=True\) replaces it"):
        write(table, path)

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        write(table, path, force=True)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["kept.csv"]


def test_a_missing_folder_is_named_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text(f"{HEADER}\n{GOOD}\n")
    (tmp_path / "link.csv").symlink_to("real.csv")
    append(read(tmp_path / "real.csv"), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert len(read(tmp_path / "real.csv")) == 2
    with pytest.raises(UsageError, match=r"x\.csv: there is no folder .*nowhere$"):
        write(read(tmp_path / "real.csv"), tmp_path / "nowhere" / "x.csv")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_append_adds_rows_and_columns(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"grown.{suffix}"
    first = pl.DataFrame([dict(zip(REQUIRED, ["measured", "here", "echo", 2, 1, 8, 0, 6.4e-7], strict=True))])
    append(first, path)
    append(first.with_columns(load=pl.lit(0.5), repetition=pl.lit(1)), path)
    assert read(path)["repetition"].to_list() == [0, 1]
    assert read(path)["load"].to_list() == [None, 0.5]


def test_nested_and_boolean_values_are_refused() -> None:
    row = dict(zip(REQUIRED, ["measured", "here", "echo", 2, 1, 8, 0, 6.4e-7], strict=True))
    with pytest.raises(SamplesError, match="the table, column pairs: expected one value a row, found List"):
        validate(pl.DataFrame([row | {"pairs": [1, 2]}]))
    with pytest.raises(
        SamplesError, match="the table, row 1, column ranks: expected an integer of at least 1, found True"
    ):
        validate(pl.DataFrame([row | {"ranks": True}]))


def test_a_folder_is_called_one_and_says_which_file_is_meant(tmp_path):
    (tmp_path / "study").mkdir()
    with pytest.raises(SamplesError, match=r"is a folder: name a file in it; .*/study/samples\.csv$"):
        read(tmp_path / "study")
    with pytest.raises(UsageError, match=r"study is a folder: name a file in it; .* samples\.csv and here\.toml$"):
        machine(tmp_path / "study")
