"""The Gaussian elimination of figure 11, walked statement by statement: which operations one iteration makes.

Figure 11 lacks three closing parentheses; it is read as it must be to eliminate: the maximum and its row are sought in
the selections that the indentation shows, and the pivot row is spread outside of the selection of its column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from weft.data_parallel import Costs, Operation, Time
from weft.papers.wushu1989.published import MATRICES

COUNTED = ("float_subtract", "float_multiply", "float_divide", "reduce_max_grid", "spread", "select")
"""What table 14 counts, in its order; a subtraction costs what an addition does."""


def iteration(n: int) -> Iterator[tuple[str, Operation]]:
    """The operations of one iteration on an n by n+1 matrix, as the statements of figure 11 make them.

    Yields
    ------
    tuple
        The name as table 14 has it, or `abs` and `set` where it does not count, and the operation.
    """
    ratio = MATRICES[n]
    extent = n + 1
    select = Operation("select", vp_ratio=ratio)
    maximum = Operation("reduce_max_grid", vp_ratio=ratio)
    spread = Operation("spread", vp_ratio=ratio, extent=extent)
    absolute = Operation("float_add", vp_ratio=ratio)
    assign, assign_boolean = Operation("add", vp_ratio=ratio), Operation("add", bits=1, vp_ratio=ratio)
    yield "select", select  # *when isActive!!
    yield "select", select  # *when (=!! colNum!! (!! i))
    yield "abs", absolute
    yield "reduce_max_grid", maximum  # pivot_value
    yield "abs", absolute
    yield "select", select  # *when (=!! (abs!! x!!) (!! pivot_value))
    yield "reduce_max_grid", maximum  # pivot_index
    yield "spread", spread
    yield "set", assign  # tmp_pvar!!
    yield "select", select  # *when (=!! colNum!! (!! i))
    yield "float_divide", Operation("float_divide", vp_ratio=ratio)
    yield "set", assign  # factor!!
    yield "spread", spread
    yield "set", assign  # factor!!
    yield "select", select  # *when (=!! rowNum!! (!! pivot_index))
    yield "set", assign_boolean  # isActive!!
    yield "select", select  # *when isActive!!
    yield "float_multiply", Operation("float_multiply", vp_ratio=ratio)
    yield "float_subtract", Operation("float_add", vp_ratio=ratio)
    yield "set", assign  # x!!


def counts(n: int) -> Counter[str]:
    """How often each operation is made in an iteration."""
    return Counter(name for name, _ in iteration(n))


def elimination(costs: Costs, n: int, everything: bool) -> Time:
    """Seconds of all n-1 iterations.

    Parameters
    ----------
    costs
        Of the machine.
    n
        Rows of the matrix: a key of `MATRICES`.
    everything
        Whether what table 14 leaves out is counted too: two absolute values and five assignments.
    """
    times = [costs.time(one) for name, one in iteration(n) if everything or name in COUNTED]
    return Time((n - 1) * sum(time.real for time in times), (n - 1) * sum(time.cm for time in times))
