"""The reproduction of Taki 1988 with made runs, and what it says of the paper."""

import io
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from weft import model
from weft.papers import PAPERS, PaperError, render, taki1988
from weft.papers.taki1988 import published

DESCRIBED = {
    "fghc": {
        "reduction_time": {"value": 1e-3}, "message_time": {"value": 1e-4}, "word_time": {"value": 1e-4},
        "reference_time": {"value": 1e-4}, "tree_time": {"value": 1e-4}, "source": "made",
    }
}  # fmt: skip


class Made:
    """A thousand reductions a second of one PE, messages of ten reductions, all PEs always at work."""

    def __init__(self, measured: bool = True) -> None:
        self.measured = measured

    def _samples(self, machine: str, goal: str, pes: int) -> pl.DataFrame:
        grain = int(goal.rstrip(")").rsplit(",", 1)[1]) if "," in goal else 1
        messages = 0 if pes == 1 else 100 * grain
        rate = model.performance(1000.0 * pes, 1.0, messages / 40_000, 10.0)
        seconds = 40_000 / rate
        rows = [(None, pes)] + [(pe, 1) for pe in range(pes)]
        return pl.DataFrame(
            [
                {
                    "source": "measured" if machine == "here" else "simulated", "machine": machine, "benchmark": "fghc",
                    "program": "p", "goal": goal, "ranks": pes, "pe": pe, "hops": None, "bytes": None, "repetition": 0,
                    "seconds": seconds, "rate": rate, "reductions": 40_000, "messages": messages,
                    "throw_goal": messages // 4, "work_s": seconds * part, "idle_s": 0.0, "communication_s": 0.012,
                }
                for pe, part in rows
            ]
        )  # fmt: skip

    def simulate(self, machine, program, goal, pes):
        return self._samples(machine, goal, pes)

    def text(self, machine, text, goal, pes):
        return self._samples(machine, goal, pes).with_columns(pl.lit(0.015).alias("seconds"))

    def kinds(self, machine, program, goal, pes):
        return {"throw_goal": 8, "read_value": 5, "control": 9, "release": 0}

    def measure(self, program, goal, pes):
        return self._samples("here", goal, pes) if self.measured else None


def reproduce(*what, measured=True):
    return taki1988.reproduce(*what, programs=Made(measured), describe=lambda machine: DESCRIBED)


def test_everything_is_reproduced_and_printed():
    found = reproduce()
    assert [table.number for table in found.tables] == [*taki1988.TABLES, *taki1988.FIGURES]
    text = io.StringIO()
    Console(file=text, width=160).print(render(found))
    assert "System performance against the number of PEs" in text.getvalue()
    assert PAPERS["taki-1988"] is taki1988
    assert set(found.cells()["kind"]) == {"blind", "predicted", "fitted", "measured", "input"}


def test_without_measuring_the_other_machines_remain():
    cells = reproduce(None, "8", measured=False).cells()
    assert set(cells["kind"]) == {"predicted"}
    assert cells.filter(pl.col("series").str.starts_with("here")).is_empty()


def test_the_relative_time_that_made_the_runs_comes_out():
    (table,) = reproduce("4").tables
    ours = {(row["item"], row["program"]): row["ours"] for row in table.cells.iter_rows(named=True)}
    for program, samples in ((1, 25.0), (2, 40.0)):
        who = f"program {program}, multi-psi-v1"
        assert ours["average", who] == pytest.approx(10.0)
        assert ours["fitted", who] == pytest.approx(10.0)
        assert ours["formula's error", who] == pytest.approx(0.0, abs=1e-6)
        assert ours["samples", who] == samples


def test_table_4_is_complete_and_one_figure_of_the_text_is_not_known():
    assert published.relative_times()["2", "maximum"] == 9.8
    printed = published.table("table-4-relative-time.csv")
    assert [name for name, value in printed.items() if value is not None] == [("1", "samples"), ("2", "samples")]
    words = published.table("text-figures.csv")
    assert words[None, "largest communication rate for 50% on V1"] is None


def test_the_printed_tables_add_up_as_the_readme_says():
    first = {item: value for (_, item), value in published.table("table-1-v1.csv").items()}
    assert first["total"] == pytest.approx(first["reduction"] + first["software"])
    second = {item: value for (_, item), value in published.table("table-2-v2.csv").items()}
    parts = ("reduction", "hardware", "firmware", "software")
    assert second["total"] == pytest.approx(sum(second[item] for item in parts))
    third = published.table("table-3-pe.csv")
    for program in ("1", "2"):
        rate = third[program, "reductions"] / third[program, "time"]
        assert rate == pytest.approx(third[program, "performance"], rel=0.01)


def test_the_programs_are_those_of_the_examples():
    for number in (1, 2):
        example = Path(__file__).parents[3] / "programs" / "fghc" / f"program{number}.fghc"
        assert example.read_text() == taki1988.program(number).read_text()


def test_other_tables_and_figures_are_refused():
    with pytest.raises(
        PaperError, match="table 5 of taki-1988 is not reproduced; there are 1, 2, 3, 4, messages, text"
    ):
        reproduce("5")
    with pytest.raises(PaperError, match="figure 7 of taki-1988"):
        reproduce(None, "7")
