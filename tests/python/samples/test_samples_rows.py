"""Tables that weft makes have only columns of the schema."""

import pytest

from weft import samples
from weft.samples import COLUMNS, REQUIRED, SamplesError, from_rows

ROW = {
    "source": "measured",
    "machine": "here",
    "benchmark": "echo",
    "ranks": 2,
    "bytes": 8,
    "repetition": 0,
    "seconds": 1e-6,
}


def test_columns_that_no_row_fills_are_left_out() -> None:
    table = from_rows([{**ROW, "variant": None, "words": 4}, ROW])
    assert table.columns == [*REQUIRED, "words"]
    assert table["words"].to_list() == [4, None]


def test_no_rows_make_a_table_of_the_columns_asked_for() -> None:
    table = from_rows([], (*REQUIRED, "load"))
    assert table.columns == [*REQUIRED, "load"]
    assert table.schema["load"] == COLUMNS["load"].dtype


def test_a_column_outside_of_the_schema_is_not_written() -> None:
    with pytest.raises(SamplesError, match="rows of samples have colour, shade, which the schema does not know"):
        from_rows([{**ROW, "shade": None}, {**ROW, "colour": "blue"}])


def test_values_are_checked() -> None:
    with pytest.raises(SamplesError, match="row 2, column seconds: expected a positive number of seconds, found -1.0"):
        from_rows([ROW, {**ROW, "seconds": -1.0}])


def test_made_tables_survive_files(tmp_path) -> None:
    table = from_rows([{**ROW, "operation": "float_add", "bits": 32, "real_s": 1e-3, "time": "2026-01-01T00:00:00Z"}])
    for suffix in ("csv", "parquet"):
        path = tmp_path / f"made.{suffix}"
        samples.write(table, path)
        assert samples.read(path).select(table.columns).equals(table)
