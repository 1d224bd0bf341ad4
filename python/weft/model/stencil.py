"""The time of one step of a stencil, from the time of single messages and of a node's own work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from weft import _core
from weft.model.exchange import ExchangeTimes, exchange_times
from weft.model.fitting import Fit
from weft.model.prediction import SCHEMA, DescribedMachine

WORD = 8
"""Bytes of a number of double precision."""


@dataclass(frozen=True)
class NodeTimes:
    """What a node takes for its own part of a step.

    Attributes
    ----------
    site
        Seconds a site: the longer of its arithmetic and its memory.
    copy_byte
        Seconds a byte copied into messages and out of them; 0 where nobody knows.
    """

    site: float
    copy_byte: float = 0.0

    @classmethod
    def of_operations(cls, axes: int, operation: float, copy_byte: float | None) -> NodeTimes:
        """From the times of an operation within a sum of products, and of a byte copied.

        A site of the stencil of nearest neighbours over `axes` axes is a sum of `2 axes + 1` products, which are
        `4 axes + 1` operations; it reads 8 bytes and writes 8, as copying 8 bytes does. Both go on at one time.
        """
        copied = copy_byte or 0.0
        return cls(max((4 * axes + 1) * operation, WORD * copied), copied)


def predict_stencil(
    model: Fit | DescribedMachine, shapes: Iterable[Sequence[int]], ranks: Iterable[int], times: dict[int, NodeTimes]
) -> pl.DataFrame:
    """Predict one step of a stencil (the benchmark `stencil`) on an idle machine.

    Faces are copied into messages, which travel while the interior is computed; then they are copied out, and the rim
    is computed: `packing + occupied + max(travelling, interior) + unpacking + rim`, where `occupied` is what messages
    take of the processor (`exchange_times`). Had a machine a processor for messages alone and all links at once, the
    longest message would stand for all; were nothing hidden, the sum of all parts. (George, Brickner, Johnsson 1994,
    section 7, has the aim, equation 1 the parts.)

    Parameters
    ----------
    model, shapes, ranks
        As for `predict_halo`; a single rank has a row, of its own work alone.
    times
        What a node takes, by the number of axes of a shape.

    Returns
    -------
    polars.DataFrame
        Samples of source `predicted` with the columns of a prediction and `shape`. `seconds_low` is for the longest
        message alone, `seconds_high` for nothing hidden and messages that wait for each other.

    Raises
    ------
    FitError
        If the model knows nothing of messages between two ranks.
    """
    rows = []
    for shape in shapes:
        node = times[len(shape)]
        for count in ranks:
            messages, (packed, unpacked), interior, rim = _core.stencil_work(list(shape), count)
            exchange = ExchangeTimes(model.machine if isinstance(model, Fit) else model.name, 0.0, 0.0, 0.0, 0.0)
            if messages:
                exchange = exchange_times(model, messages)
            copies = (packed + unpacked) * node.copy_byte
            inside, outside = interior * node.site, rim * node.site
            seconds = copies + exchange.occupied + max(exchange.travelling, inside) + outside
            nothing_hidden = copies + exchange.occupied + exchange.queued + inside + outside
            least = min(seconds, copies + max(exchange.longest, inside) + outside)
            row = ("predicted", exchange.machine, "stencil", count, None, sum(messages), 0)
            note = "what travels is hidden behind the interior, the processors' part of messages is not"
            rows.append((*row, seconds, least, nothing_hidden, None, note, "x".join(map(str, shape))))
    return pl.DataFrame(rows, schema={**SCHEMA, "shape": pl.String()}, orient="row")
