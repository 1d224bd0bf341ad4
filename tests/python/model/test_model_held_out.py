"""Lengths held out of the fit, on a real measurement: fitted to 2^k, tested on 3*2^k."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from weft import samples
from weft.model import FitError, compare, fit, predict

MEASURED = Path(__file__).parents[1] / "data" / "echo-mpich-shared-memory.csv"
TRAINING = [2**k for k in range(3, 21)]


def test_held_out_lengths_are_foretold() -> None:
    table = samples.read(MEASURED)
    found = fit(table.filter(pl.col("bytes").is_in(TRAINING)))
    held = samples.summarise(table.filter(~pl.col("bytes").is_in(TRAINING)))
    assert held["bytes"].to_list() == [3 * 2**k for k in range(2, 19)]
    foretold = predict(found, "echo", held["bytes"])
    errors = np.abs(foretold["seconds"].to_numpy() / held["seconds"].to_numpy() - 1.0)
    assert len(found.echo.pieces) <= 4
    assert np.median(errors) <= 0.03
    assert errors.max() <= 0.10
    inside = held["seconds"].is_between(foretold["seconds_low"], foretold["seconds_high"])
    assert inside.mean() >= 0.8
    ratios = compare(table, found)["ratio shared-memory (fitted)"]
    assert (ratios - 1.0).abs().max() <= 0.10


def test_a_fit_can_leave_lengths_out_and_say_how_well_it_foretells_them() -> None:
    table = samples.read(MEASURED)
    unseen = [3 * 2**k for k in range(2, 19)]
    found = fit(table, held_out=unseen)
    alone = fit(table.filter(pl.col("bytes").is_in(TRAINING)))
    assert [piece.startup for piece in found.echo.pieces] == [piece.startup for piece in alone.echo.pieces]
    assert found.residuals["bytes"].to_list() == TRAINING
    assert found.held_out["bytes"].to_list() == unseen
    foretold = predict(alone, "echo", unseen)["seconds"].to_numpy()
    assert np.allclose(found.held_out["fitted"], foretold)
    assert np.allclose(found.held_out["error"], foretold / found.held_out["seconds"].to_numpy() - 1.0)
    assert alone.held_out.is_empty()


def test_a_fit_of_nothing_but_lengths_held_out_is_refused() -> None:
    with pytest.raises(FitError, match="every length of echo is held out of the fit, which leaves nothing to fit"):
        fit(samples.read(MEASURED), held_out=range(2**21))


def test_halves_of_the_launches_give_the_same_figures() -> None:
    table = samples.read(MEASURED)
    halves = [fit(table.filter(pl.col("repetition") % 2 == half)) for half in (0, 1)]
    for name in ("startup", "byte_time"):
        one, other = (getattr(half, name).value for half in halves)
        assert abs(one / other - 1.0) <= 0.05
