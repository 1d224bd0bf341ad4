"""What of a measurement counts as the machine's own."""

import itertools
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft import units
from weft.model import FitError
from weft.reports import tables
from weft.reports.content import collect
from weft.reports.page import _key, sections
from weft.study.here import (
    KNOWN,
    LONGEST,
    MAX_SELF,
    SHORTEST,
    agreement,
    fit,
    fit_typical,
    fitted_launches,
    held_out_words,
    lengths,
    typical_errors,
)
from weft.study.undisturbed import undisturbed

BYTES = [8, 64, 256, 1024, 4096, 16384, 65536, 262144]
OWN = np.array([1.0, 1.0, 1.1, 1.3, 2.0, 5.0, 15.0, 50.0])
SHARED_CORE = np.array([1.25, 1.25, 1.25, 1.2, 1.0, 0.9, 0.65, 0.57])
SHARED_NOTHING = np.array([1.5, 1.5, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5])


def launches(*states, benchmark="echo", noise=0.004, seed=1) -> pl.DataFrame:
    """Launches of several states: how many, and factors on `OWN`. Lower deciles are half the medians."""
    generator = np.random.default_rng(seed)
    factors = [np.broadcast_to(factor, len(BYTES)) for count, factor in states for _ in range(count)]
    return pl.DataFrame(
        [
            {
                "benchmark": benchmark,
                "ranks": 2,
                "hops": 1,
                "bytes": length,
                "algorithm": None,
                "repetition": number,
                "seconds": 2.0 * seconds,
                "seconds_p10": seconds,
            }
            for number, factor in enumerate(factors)
            for length, seconds in zip(BYTES, OWN * factor * generator.normal(1.0, noise, len(BYTES)), strict=True)
        ],
        schema_overrides={"algorithm": pl.String},
    )


def kept(table: pl.DataFrame) -> list[int]:
    return undisturbed(table, ["echo"])["repetition"].unique().sort().to_list()


def test_launches_of_other_states_do_not_count_though_most_are():
    table = launches((12, SHARED_CORE), (6, 1.0), (20, SHARED_NOTHING), (15, 1.25))
    assert kept(table) == list(range(12, 18))


def test_disturbed_launches_that_agree_with_none_do_not_count():
    generator = np.random.default_rng(2)
    alone = [(1, generator.uniform(1.05, 1.4, len(BYTES))) for _ in range(30)]
    assert kept(launches((5, 1.0), *alone)) == list(range(5))


def test_where_all_are_disturbed_those_count_that_are_least_so():
    generator = np.random.default_rng(4)
    slow = [(1, generator.uniform(1.2, 1.6, len(BYTES))) for _ in range(20)]
    less = [(1, generator.uniform(1.0, 1.15, len(BYTES))) for _ in range(3)]
    assert kept(launches(*slow[:10], *less, *slow[10:])) == [10, 11, 12]


def test_a_state_whose_short_messages_are_not_the_quickest_was_disturbed_too():
    generator = np.random.default_rng(5)
    alone = [(1, generator.uniform(1.0, 1.15, len(BYTES))) for _ in range(12)]
    found = undisturbed(launches((6, SHARED_CORE), *alone), ["echo"])
    assert found["repetition"].min() >= 6
    assert set(found["bytes"].value_counts()["count"]) == {3}


def test_a_launch_disturbed_at_one_length_of_eight_counts():
    once = np.ones(len(BYTES))
    once[6] = 1.2
    assert kept(launches((6, 1.0), (1, once))) == list(range(7))


def test_a_pair_that_is_quicker_by_chance_does_not_count():
    assert kept(launches((2, 0.9), (28, 1.0))) == list(range(2, 30))


def test_of_states_with_the_same_short_messages_the_larger_counts():
    long = np.where(np.array(BYTES) > 1024, 0.7, 1.0)
    assert kept(launches((5, long), (9, 1.0))) == list(range(5, 14))


def test_what_counts_is_near_the_lower_decile_and_where_there_is_none_the_median():
    table = launches((5, 1.0), noise=0.0)
    found = undisturbed(table, ["echo"]).filter(pl.col("bytes") == 8)["seconds"].to_list()
    assert found == pytest.approx([2.0 ** (1.0 / 3.0)] * 5)
    without = table.with_columns(seconds_p10=pl.lit(None, pl.Float64))
    assert undisturbed(without, ["echo"]).filter(pl.col("bytes") == 8)["seconds"].to_list() == [2.0] * 5


def test_benchmarks_are_judged_by_themselves_and_others_left_out():
    own = launches((5, 1.0), (6, 1.3), benchmark="echo-self")
    table = pl.concat([launches((6, 1.3), (5, 1.0)), own, own.with_columns(benchmark=pl.lit("ring"))])
    found = undisturbed(table, ["echo", "echo-self", "echo-host"])
    assert found["benchmark"].unique().sort().to_list() == ["echo", "echo-self"]
    assert found.filter(pl.col("benchmark") == "echo")["repetition"].unique().sort().to_list() == [6, 7, 8, 9, 10]
    assert found.filter(pl.col("benchmark") == "echo-self")["repetition"].unique().sort().to_list() == [0, 1, 2, 3, 4]


def test_a_launch_with_few_of_the_lengths_does_not_count_and_hinders_none():
    table = launches((7, 1.0))
    few = table.filter((pl.col("repetition") > 1) | (pl.col("bytes") <= 64))
    assert kept(few) == [2, 3, 4, 5, 6]


def test_launches_without_short_messages_count_where_none_have_them():
    table = launches((5, 1.0), (5, 1.2))
    assert kept(table.filter(pl.col("bytes") > 1024)) == [0, 1, 2, 3, 4]
    assert kept(table.filter((pl.col("repetition") > 4) | (pl.col("bytes") > 1024))) == [5, 6, 7, 8, 9]
    generator = np.random.default_rng(6)
    alone = launches(*[(1, generator.uniform(1.0, 1.5, len(BYTES))) for _ in range(9)])
    assert min(kept(alone.filter((pl.col("repetition") > 2) | (pl.col("bytes") > 1024)))) > 2


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_launches_count(count):
    assert kept(launches((count, 1.0))) == list(range(count))


def test_nothing_measured_gives_nothing():
    assert undisturbed(launches((3, 1.0)).clear(), ["echo"]).is_empty()


@given(
    st.lists(st.lists(st.floats(0.1, 10.0), min_size=8, max_size=8), min_size=3, max_size=12),
)
def test_every_length_is_always_left_as_often_as_the_others(factors):
    table = launches(*[(1, np.array(row)) for row in factors], noise=0.0)
    found = undisturbed(table, ["echo"])
    assert sorted(found["bytes"].unique()) == BYTES
    counts = found["bytes"].value_counts()["count"]
    assert counts.n_unique() == 1


def test_held_out_lengths_are_not_fitted():
    fitted, held_out = lengths()
    assert not set(fitted) & set(held_out)
    assert (min(fitted), max(fitted)) == (SHORTEST, LONGEST)
    assert held_out == tuple(3 * 2**k for k in range(2, 20))
    for one, following in itertools.pairwise(held_out):
        assert sum(one < n < following for n in fitted) == 3


def study_of(*states) -> pl.DataFrame:
    """Echoes at the lengths of a study, by launches of several states: how many, and the range of their factors."""
    generator = np.random.default_rng(9)
    ranges = [bounds for count, bounds in states for _ in range(count)]
    return pl.DataFrame(
        [
            {
                "source": "measured",
                "machine": "here",
                "benchmark": "echo",
                "ranks": 2,
                "hops": None,
                "bytes": length,
                "algorithm": None,
                "repetition": number,
                "seconds": (1e-6 + 1e-10 * length) * generator.uniform(*bounds),
                "seconds_p10": None,
            }
            for number, bounds in enumerate(ranges)
            for length in sorted(sum(lengths(), ()))
        ],
        schema_overrides={"algorithm": pl.String, "hops": pl.Int64, "seconds_p10": pl.Float64},
    )


@pytest.mark.parametrize("between", [0.94, 0.96, 0.98, 1.0, 1.025, 1.04])
def test_a_length_at_which_buffers_may_outgrow_a_cache_moves_no_break(between):
    """Self-messages as a processor with 32 KiB of first-level cache was found to take them.

    Two buffers of 14336 bytes and what the MPI library keeps are about as long as that cache: they took 0.94 to 1.03
    times as long in one study as in another, where other lengths agreed within 2%.
    """
    known = [8, 1024, 10240, 14336, 16384, 20480, 262144, 524288, MAX_SELF]
    nanoseconds = np.array([180.0, 193.0, 284.0, 368.0 * between, 427.0, 558.0, 4848.0, 10989.0, 22061.0])
    echo = study_of((KNOWN, (1.0, 1.0)))
    own = echo.filter(pl.col("bytes") <= MAX_SELF).with_columns(benchmark=pl.lit("echo-self"), ranks=1, hops=0)
    seconds = pl.Series(1e-9 * np.interp(own["bytes"], known, nanoseconds))
    found = fit(pl.concat([echo, own.with_columns(seconds=seconds)], how="vertical_relaxed"))
    assert [piece.up_to for piece in found.curves["echo-self"].pieces] == [16383, None]


@pytest.mark.parametrize(
    ("states", "said", "known"),
    [
        (
            [(20, (1.1, 1.6)), (8, (1.0, 1.01))],
            "the fit is of the 8 of 28 launches of echo that nothing disturbed",
            True,
        ),
        ([(40, (1.0, 1.6))], "DISTURBED: fewer than 6 of 40 launches of echo agree with each other", False),
        ([(4, (1.0, 1.01))], "DISTURBED: only 4 launches of echo in that time", False),
    ],
)
def test_a_study_says_how_many_launches_its_fit_is_of(states, said, known):
    measured = study_of(*states)
    fitted = fit(measured)
    assert agreement(measured, fitted).startswith(said)
    assert ("--resume" in agreement(measured, fitted)) is not known
    assert (fitted_launches(measured, fitted)[0] >= KNOWN) is known
    assert "below the medians over all launches" in fitted.notes[0]


def test_both_estimands_are_fitted_and_each_error_says_against_which():
    fitted, held_out = lengths()
    generator = np.random.default_rng(7)
    rows = [
        {
            "source": "measured", "machine": "here", "benchmark": "echo", "ranks": 2, "hops": 1, "bytes": length,
            "algorithm": None, "repetition": number,
            "seconds": (1e-6 + 1e-10 * length) * (1.0 if number < 10 else 1.2) * generator.normal(1.0, 0.004),
        }
        for number in range(40)
        for length in (*fitted, *held_out)
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema_overrides={"algorithm": pl.String}).with_columns(seconds_p10=pl.col("seconds"))
    undisturbed_fit, typical = fit(table), fit_typical(table)
    assert undisturbed_fit.startup.value == pytest.approx(1e-6, rel=0.02)
    assert typical.startup.value == pytest.approx(1.2e-6, rel=0.02)
    assert undisturbed_fit.held_out["error"].abs().max() < 0.02
    assert typical_errors(undisturbed_fit, table).to_numpy() == pytest.approx(-1 / 6, abs=0.02)
    assert typical_errors(typical, table).abs().max() < 0.02
    errors = held_out_words(typical_errors(undisturbed_fit, table))
    words = f"against typical times, the medians over all launches: {errors}"
    assert any(note.startswith(words) for note in undisturbed_fit.notes)
    assert (undisturbed_fit.estimand, typical.estimand) == ("undisturbed", "typical")
    assert_the_machine_file_has_both(undisturbed_fit, typical)
    assert_no_number_contradicts_another(table, undisturbed_fit, typical)


def assert_the_machine_file_has_both(undisturbed_fit, typical):
    text = undisturbed_fit.to_machine("here", "samples.csv", alternative=typical)
    machine = weft.Machine.parse(text, "here.toml")
    assert machine.estimands == ["undisturbed", "typical"]
    for described, fitted in ((machine, undisturbed_fit), (machine.with_estimand("typical"), typical)):
        simulated = weft.simulate(described, "echo", bytes="8,64K")
        seconds = dict(simulated.select("bytes", "seconds").iter_rows())
        assert seconds == pytest.approx({n: fitted.echo.seconds(n) for n in (8, 65536)}, rel=1e-3)
        assert simulated["machine"].unique().to_list() == [f"here-{fitted.estimand}"]
    assert pickle.loads(pickle.dumps(machine.with_estimand("typical"))).estimand == "typical"
    with pytest.raises(FitError, match="estimate different times and say so, found 'typical' and 'typical'"):
        typical.to_machine("here", "samples.csv", alternative=typical)


def assert_no_number_contradicts_another(table, undisturbed_fit, typical):
    """Every figure of the page that is of one estimand is what that estimand was made of, by more than its noise."""
    content = collect(table, fits=[undisturbed_fit, typical])
    (subject,) = content.subjects
    shown = {row.cells[0].text: [cell.value for cell in row.cells] for row in tables.machines(content).rows}
    names = [column.name for column in tables.machines(content).columns]
    startup, transfer = names.index("startup"), names.index("8-byte transfer")
    assert list(shown) == ["here, measured, undisturbed", "here, measured, typical"]
    for row in shown.values():
        # The message of 8 bytes is the startup and next to nothing.
        assert row[transfer] == pytest.approx(row[startup], rel=0.02)
    medians = dict(subject.echo().select("bytes", "seconds").iter_rows())
    assert shown["here, measured, typical"][transfer] == pytest.approx(medians[8])
    assert shown["here, measured, undisturbed"][transfer] < 0.9 * medians[8]
    key = {figure["name"]: figure["more"] for figure in _key(content)}
    assert "undisturbed" in key["Startup"]
    assert key["8 B message"].startswith("median of 40 launches")
    assert all("undisturbed" in key[name] for name in ("Rate of long messages", "Half the rate at"))
    titles = [table.title for section in sections(content) for table in section.tables if "fit of" in table.title]
    assert titles == [f"here, measured: {fit.estimand_words}" for fit in (undisturbed_fit, typical)]
    notes = [note for section in sections(content) for note in section.notes if "median error" in note]
    for one in (undisturbed_fit, typical):
        own = [note for note in notes if note.startswith(f"here, measured, {one.estimand_words}, ")]
        assert len(own) == 2
        sizes = one.held_out.filter(pl.col("benchmark") == "echo")["error"].abs()
        assert f"worst {units.share(float(str(sizes.max())))}." in " ".join(own)
