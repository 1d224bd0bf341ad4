"""Empirical models of benchmarks: known forms, described machines, intervals by simulation, refusals, files."""

import json

import numpy as np
import polars as pl
import pytest

import weft
from weft._core import UsageError
from weft.model import FitError, fit_benchmark, read_models, write_models

RANKS = (2, 4, 8, 16, 32)
LENGTHS = tuple(8 << k for k in range(14))


def made(seconds, ranks=RANKS, lengths=LENGTHS, launches=1, noise=0.0, seed=0, **columns):
    """Samples of times that are known, with normal noise of their logarithms."""
    p, n, launch = (axis.ravel() for axis in np.meshgrid(ranks, lengths, range(launches), indexing="ij"))
    factors = np.exp(noise * np.random.default_rng(seed).standard_normal(len(p)))
    times = seconds(p.astype(float), n.astype(float)) * factors
    table = pl.DataFrame({"ranks": p, "bytes": n, "repetition": launch, "seconds": times})
    head = {"source": "measured", "machine": "m", "benchmark": "allreduce", "hops": None} | columns
    return table.with_columns(
        **{name: pl.lit(value, pl.Int64 if value is None else None) for name, value in head.items()}
    )


def tree(p, n):
    return np.ceil(np.log2(p)) * (2e-6 + 1.5e-9 * n)


@pytest.mark.parametrize(
    ("seconds", "formula"),
    [
        (tree, "2.00 µs ⌈log2 p⌉ + 1.50 ns ⌈log2 p⌉ n"),
        (lambda p, n: 3e-6 * (p - 1) + 2e-9 * n * (p - 1) / p, "3.00 µs (p - 1) + 2.00 ns (p - 1)/p n"),
        (lambda p, n: 1e-6 + 4e-6 * (p - 1) + 5e-9 * n, "1.00 µs + 4.00 µs (p - 1) + 5.00 ns n"),
        (lambda p, n: 1.5e-5 + 0.0 * n, "15.0 µs"),
    ],
)
def test_exact_times_give_the_terms_that_made_them(seconds, formula):
    (model,) = fit_benchmark(made(seconds), "allreduce").models
    assert model.formulas() == [formula]
    assert model.count == "ranks"


def test_a_change_of_protocol_is_a_piece():
    def seconds(p, n):
        return np.where(n <= 1024, tree(p, n), np.ceil(np.log2(p)) * (9e-6 + 0.5e-9 * n))

    (model,) = fit_benchmark(made(seconds), "allreduce").models
    assert model.table()["last"].to_list() == [1024, LENGTHS[-1]]
    assert model.formulas()[1] == "9.00 µs ⌈log2 p⌉ + 0.500 ns ⌈log2 p⌉ n"


def test_a_tree_on_a_described_machine_has_the_cost_of_its_messages():
    machine = weft.machine("ipsc860")
    times = weft.simulate("ipsc860", "broadcast", ranks=[2, 4, 8, 16, 32], bytes="8:64")
    (model,) = fit_benchmark(times, "broadcast").models
    startup, byte_time = model.pieces.forms[0].coefficients
    slope = (machine.message_time(64, 1) - machine.message_time(8, 1)) / 56
    assert model.formulas()[0].count("⌈log2 p⌉") == 2
    assert byte_time == pytest.approx(slope, rel=1e-6)
    assert startup == pytest.approx(machine.message_time(8, 1) - 8 * slope, rel=1e-6)


@pytest.mark.parametrize(
    ("benchmark", "options", "count", "length"),
    [
        ("broadcast", {"ranks": [2, 4, 8, 16, 64], "bytes": "8:4K"}, 32, 512),
        ("allreduce", {"ranks": [2, 4, 8, 16, 64], "bytes": "8:1K"}, 32, 48),
        ("bandwidth", {"bytes": "8:1M"}, None, 3000),
        ("contention", {"background_bytes": "8:8K", "bytes": "128:8K"}, 1024, 3000),
    ],
)
def test_predictions_hold_what_virtual_time_takes(benchmark, options, count, length):
    fitted = fit_benchmark(weft.simulate("ipsc860", benchmark, **options), benchmark)
    predicted = fitted.predict([] if count is None else [count], [length])
    asked = {"ranks": count} if "ranks" in options else {"background_bytes": count} if count else {}
    true = weft.simulate("ipsc860", benchmark, bytes=length, **asked)["seconds"].item()
    row = predicted.row(0, named=True)
    assert row["source"] == "predicted"
    assert row["seconds_low"] * (1 - 1e-9) <= true <= row["seconds_high"] * (1 + 1e-9)
    assert row["seconds"] == pytest.approx(true, rel=0.1)


def test_intervals_hold_new_medians_of_noise():
    inside = []
    for seed in range(4):
        fitted = fit_benchmark(made(tree, launches=20, noise=0.05, seed=seed), "allreduce")
        for ranks in (RANKS, (6, 24)):
            new = made(tree, ranks=ranks, launches=20, noise=0.05, seed=100 + seed)
            medians = new.group_by("ranks", "bytes").agg(pl.col("seconds").median().alias("new"))
            both = fitted.predict(ranks, LENGTHS).join(medians, on=["ranks", "bytes"])
            inside += both.select(pl.col("new").is_between("seconds_low", "seconds_high"))["new"].to_list()
    assert 0.91 <= np.mean(inside) <= 0.995


@pytest.mark.parametrize("last", [1024, 1536])
def test_where_a_piece_ends_between_samples_intervals_hold_new_medians_of_either(last):
    def seconds(p, n):
        return np.where(n <= last, tree(p, n), np.ceil(np.log2(p)) * (9e-6 + 0.5e-9 * n))

    inside = []
    for seed in range(4):
        fitted = fit_benchmark(made(seconds, launches=20, noise=0.05, seed=seed), "allreduce")
        new = made(seconds, lengths=(1536,), launches=20, noise=0.05, seed=100 + seed)
        medians = new.group_by("ranks", "bytes").agg(pl.col("seconds").median().alias("new"))
        both = fitted.predict(RANKS, (1536,)).join(medians, on=["ranks", "bytes"])
        inside += both.select(pl.col("new").is_between("seconds_low", "seconds_high"))["new"].to_list()
    assert np.mean(inside) >= 0.9


def test_an_algorithm_that_the_benchmark_chose_has_a_model_of_its_own():
    short = made(tree, lengths=LENGTHS[:7], algorithm="tree")
    long = made(lambda p, n: 2e-9 * n * (p - 1) / p, lengths=LENGTHS[7:], algorithm="ring")
    fitted = fit_benchmark(pl.concat([short, long]), "allreduce")
    assert [model.setting for model in fitted.models] == [{"algorithm": "tree"}, {"algorithm": "ring"}]
    predicted = fitted.predict([16], [64, 4096, 700])
    assert predicted["algorithm"].to_list()[:2] == ["tree", "ring"]
    between = predicted.row(2, named=True)
    assert between["note"] == "samples around it have different algorithms: tree, ring"
    assert (
        between["seconds_low"] < 2e-9 * 700 * 15 / 16 < 4 * (2e-6 + 1.5e-9 * 700) < between["seconds_high"] * (1 + 1e-9)
    )


def test_algorithms_that_were_asked_for_at_the_same_points_are_predicted_apart():
    both = [made(tree, algorithm="tree"), made(lambda p, n: 1e-6 * (p - 1) + 1e-9 * n, algorithm="ring")]
    predicted = fit_benchmark(pl.concat(both), "allreduce").predict([8], [64])
    assert predicted["algorithm"].to_list() == ["tree", "ring"]


def test_what_is_not_known_is_said():
    fitted = fit_benchmark(made(tree, ranks=(2, 4, 8)), "allreduce")
    assert "allreduce: 3 ranks do not tell how far off others are; measure 5 or more" in fitted.notes
    note = fitted.predict([6, 64], [8, 1 << 20])["note"].to_list()
    assert note[0] == (
        "too few ranks were measured to tell how far off others are; no power of 2, which all ranks of the samples "
        "are: algorithms treat others differently"
    )
    assert note[3].startswith("outside of the ranks of the samples, 2 to 8; outside of the lengths of the samples, 8 B")


def random_times(p, n):
    return 10.0 ** np.random.default_rng(1).uniform(-6, -1, len(p))


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (made(tree, ranks=(2,), lengths=(8, 16)), "allreduce: 2 points of 1 ranks and 2 lengths determine no model"),
        (made(random_times), "no sum of terms of ranks and length describes the samples: the best is off by"),
        (made(tree, benchmark="barrier"), "there are no samples of 'allreduce'; there are of barrier"),
        (pl.concat([made(tree), made(tree, machine="n")]), "several machines (m, n)"),
        (
            pl.concat([made(tree, neighbours=1), made(tree, neighbours=2)]),
            "ranks and neighbours vary, and a model is a function of one of them",
        ),
    ],
)
def test_what_samples_do_not_determine_is_refused(samples, message):
    with pytest.raises(FitError) as error:
        fit_benchmark(samples, "allreduce")
    assert message in str(error.value)


def test_nonsense_is_refused():
    samples = made(tree)
    with pytest.raises(FitError, match="at least 1 piece"):
        fit_benchmark(samples, "allreduce", most_pieces=0)
    with pytest.raises(FitError, match="no samples of allreduce of the machine 'x'; of m"):
        fit_benchmark(samples, "allreduce", "x")
    with pytest.raises(FitError, match="a count is at least 1, and 0 was asked for"):
        fit_benchmark(samples, "allreduce").predict([0], [8])


def test_a_file_predicts_what_its_samples_do(tmp_path):
    fitted = fit_benchmark(made(tree, launches=5, noise=0.02), "allreduce")
    write_models(fitted, tmp_path / "m.json")
    again = read_models(tmp_path / "m.json")
    points = [3, 16], [0, 100, 1 << 20]
    assert again.predict(*points).equals(fitted.predict(*points))
    assert again.notes == fitted.notes
    with pytest.raises(UsageError, match="exists"):
        write_models(fitted, tmp_path / "m.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.clear(), "expected models of benchmarks that `weft fit"),
        (lambda content: content.update(version=9), "models of version 9, and this is 1"),
        (lambda content: content.update(models=[]), "found none in it"),
        (lambda content: content["models"][0].pop("folds"), "found one without a part that models have"),
        (lambda content: content["models"][0].update(count="cats"), "no count 'cats'"),
        (lambda content: content["models"][0]["pieces"][0]["terms"].append("p^2"), "'p^2' is not in list"),
        (lambda content: content["models"][0]["cells"].update(counts=["x"]), "could not convert"),
    ],
)
def test_a_broken_file_says_what_it_lacks(tmp_path, change, message):
    write_models(fit_benchmark(made(tree), "allreduce"), tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    change(content)
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(UsageError) as error:
        read_models(tmp_path / "m.json")
    assert message in str(error.value)
