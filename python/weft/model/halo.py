"""The time of an exchange of ghosts, from the time of single messages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import polars as pl

from weft import _core
from weft.model.exchange import copy_time, exchange_times
from weft.model.fitting import Fit
from weft.model.prediction import SCHEMA, DescribedMachine

WORD = 8
"""Bytes of a number of double precision."""


def predict_halo(model: Fit | DescribedMachine, shapes: Iterable[Sequence[int]], ranks: Iterable[int]) -> pl.DataFrame:
    """Predict one exchange of ghosts (the benchmark `halo`) on an idle machine.

    A rank sends one message to each of its neighbours, of the faces that both have in common. The prediction is what
    these take of the processor, one after the other, and what they then travel (`weft.model.exchange_times`); were all
    under way at once without disturbing each other, the longest would decide (the last term of equation 1 of George,
    Brickner, Johnsson 1994). Before and after come the copies into messages, out of them and within a rank, where a
    machine's file has the time of `copy_byte`.

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
        Samples of source `predicted` with the columns of a prediction and `shape`. `seconds_low` is for all messages
        at once; `seconds_high` for messages that wait for each other.

    Raises
    ------
    FitError
        If the model knows nothing of messages between two ranks.

    Examples
    --------
    >>> import weft
    >>> predicted = predict_halo(weft.machine("ipsc860"), shapes=[(64, 64)], ranks=[16])
    >>> round(predicted["seconds"].item(), 6)
    0.002434
    """
    rows = []
    for shape in shapes:
        for count in ranks:
            messages = _core.halo_messages(list(shape), count)
            if not messages:
                continue
            times = exchange_times(model, messages)
            note = "processors' part of each message, and what travels; at once the longest decides"
            words = "x".join(map(str, shape))
            faces = sum(2 * WORD * math.prod(shape) // extent for extent in shape)
            copies = (sum(messages) + faces) * copy_time(model)
            row = (
                "predicted",
                times.machine,
                "halo",
                count,
                None,
                sum(messages),
                0,
                copies + times.occupied + times.travelling,
                copies + min(times.longest, times.occupied + times.travelling),
                copies + times.occupied + times.queued,
                None,
                note,
            )
            rows.append((*row, words))
    return pl.DataFrame(rows, schema={**SCHEMA, "shape": pl.String()}, orient="row")
