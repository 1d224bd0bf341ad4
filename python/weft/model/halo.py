"""The time of an exchange of ghosts, from the time of single messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from weft import _core
from weft.model.curve import FitError
from weft.model.fitting import Fit
from weft.model.prediction import SCHEMA, DescribedMachine, predict


def predict_halo(model: Fit | DescribedMachine, shapes: Iterable[Sequence[int]], ranks: Iterable[int]) -> pl.DataFrame:
    """Predict one exchange of ghosts (the benchmark `halo`) on an idle machine.

    A rank sends one message to each of its neighbours, of the faces that both have in common. The prediction is that
    they leave one after the other, each taking as long as a message by itself; were all under way at once without
    disturbing each other, the longest would decide (the last term of equation 1 of George, Brickner, Johnsson 1994).
    Copies within a rank are not in it.

    Parameters
    ----------
    model
        A fit, or a machine of the catalogue or a file (`weft.machine`).
    shapes
        Shapes of the block of one rank.
    ranks
        Numbers of ranks; one with a single rank has no messages and no row.

    Returns
    -------
    polars.DataFrame
        Samples of source `predicted` with the columns of a prediction and `shape`. `seconds` is for one message after
        the other, `seconds_low` for all at once; `seconds_high` is the same as `seconds`.

    Raises
    ------
    FitError
        If the model knows nothing of messages between two ranks.
    """
    rows = []
    for shape in shapes:
        for count in ranks:
            messages = _core.halo_messages(list(shape), count)
            if not messages:
                continue
            name, each = message_times(model, messages)
            note = "one message after the other; at once the longest decides"
            words = "x".join(map(str, shape))
            row = (
                "predicted",
                name,
                "halo",
                count,
                None,
                sum(messages),
                0,
                sum(each),
                max(each),
                sum(each),
                None,
                note,
            )
            rows.append((*row, words))
    return pl.DataFrame(rows, schema={**SCHEMA, "shape": pl.String()}, orient="row")


def message_times(model: Fit | DescribedMachine, messages: Sequence[int]) -> tuple[str, list[float]]:
    """The machine's name, and what each of some messages between two ranks takes by itself, in seconds."""
    times = predict(model, "echo", sorted(set(messages)))
    of = dict(times.select("bytes", "seconds").iter_rows())
    each = [of[length] for length in messages]
    if min(each) <= 0.0:
        raise FitError(f"the model has messages of {min(messages)} bytes take no time")
    return times["machine"][0], each
