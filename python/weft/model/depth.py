"""How many time steps of a stencil one exchange of ghosts should serve."""

from __future__ import annotations

import math
from collections.abc import Sequence

from weft.model.exchange import exchange_times
from weft.model.fitting import Fit
from weft.model.prediction import DescribedMachine

MAX_STEPS = 16
"""Steps per exchange that are looked at."""


def time_per_step(
    model: Fit | DescribedMachine,
    block: Sequence[int],
    ranks: Sequence[int],
    reach: Sequence[tuple[int, int]],
    steps: int,
    *,
    site: float,
    bytes_per_site: int,
) -> float:
    """Seconds of one time step of a rank in the middle, when an exchange serves so many.

    Per exchange a rank sends a message to either side of every divided axis, `steps` times as deep as the stencil
    reaches and as wide as the block with the ghosts of earlier axes (which brings the corners); step `s` of them
    computes the block and, on divided sides, as many more sites as the `steps - s` later ones need. The first step's
    interior hides what travels, as in `predict_stencil`.

    Parameters
    ----------
    model
        A fit, or a machine of the catalogue or a file (`weft.machine`).
    block
        Sites of a rank's block along each axis.
    ranks
        Ranks along each axis.
    reach
        Sites that the stencil reaches below and above along each axis.
    steps
        Steps per exchange.
    site
        Seconds a site.
    bytes_per_site
        Bytes of a site.

    Raises
    ------
    FitError
        If the model knows nothing of messages between two ranks.
    """
    divided = [axis for axis, count in enumerate(ranks) if count > 1 and max(reach[axis]) > 0]
    messages = []
    extended = list(block)
    for axis in divided:
        across = math.prod(extended[:axis] + extended[axis + 1 :]) * bytes_per_site
        sides = [steps * width * across for width in reach[axis] if width > 0]
        # Both sides of two ranks around a circle are one neighbour, which gets one message.
        messages += [sum(sides)] if ranks[axis] == 2 else sides
        extended[axis] += steps * sum(reach[axis])
    times = exchange_times(model, messages) if messages else None
    occupied, travelling = (times.occupied, times.travelling) if times else (0.0, 0.0)
    computed = [
        math.prod(n + (steps - step) * sum(reach[axis]) * (axis in divided) for axis, n in enumerate(block)) * site
        for step in range(1, steps + 1)
    ]
    interior = math.prod(max(0, n - sum(reach[axis]) * (axis in divided)) for axis, n in enumerate(block)) * site
    return (occupied + max(travelling, interior) + sum(computed) - interior) / steps


def best_steps_per_exchange(
    model: Fit | DescribedMachine,
    block: Sequence[int],
    ranks: Sequence[int],
    reach: Sequence[tuple[int, int]],
    *,
    site: float,
    bytes_per_site: int,
    most: int = MAX_STEPS,
) -> int:
    """The steps per exchange whose time per step is least; the fewest among equals. Parameters as `time_per_step`.

    Ghosts never reach beyond the next block, so that messages go to neighbours only.

    Examples
    --------
    >>> import weft
    >>> slow_start = weft.machine("ipsc860")  # a message of no length takes as long as some 100 sites
    >>> best_steps_per_exchange(slow_start, (8, 8), (4, 4), ((1, 1), (1, 1)), site=0.45e-6, bytes_per_site=8) > 1
    True
    """
    fits = [n // max(reach[axis]) for axis, n in enumerate(block) if ranks[axis] > 1 and max(reach[axis]) > 0]
    counts = range(1, max(1, min([most, *fits])) + 1)

    def seconds(steps: int) -> float:
        return time_per_step(model, block, ranks, reach, steps, site=site, bytes_per_site=bytes_per_site)

    return min(counts, key=seconds)
