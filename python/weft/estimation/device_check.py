"""Operations on parallel variables as a measured device does them, beside what its figures say they take.

The figures come from additions, a gather and chains of operations; the operations here are others, by types, by sizes
and by what they do, so that the differences say how far estimates can be believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft._core import Machine
from weft.estimation.device import double_precision, seconds_of
from weft.estimation.streaming import Streaming

SIZES = (1 << 17, 1 << 24)
"""Elements of the variables: one that caches hold, and one that they do not."""

COVERED = 0.9
"""The share of operations whose error is at most the error of a machine."""

BINS = 1024
"""Addresses of the send that adds."""


@dataclass(frozen=True)
class Compared:
    """One operation on a device.

    Attributes
    ----------
    operation
        Its name, with the type of its elements.
    size
        Elements.
    measured_s
        What it took among operations that followed each other.
    estimated_s
        What the figures of the device say.
    """

    operation: str
    size: int
    measured_s: float
    estimated_s: float

    @property
    def error(self) -> float:
        """The estimate over what was measured, less one."""
        return self.estimated_s / self.measured_s - 1


def error_of(compared: list[Compared]) -> float:
    """The relative error that `COVERED` of the operations keep within.

    >>> error_of([Compared("add", 8, 1.0, 1.1), Compared("add", 9, 1.0, 0.8)]).__round__(3)
    0.19
    """
    return float(np.quantile([abs(one.error) for one in compared], COVERED))


def compare_operations(machine: Machine) -> Iterator[Compared]:
    """Each operation at each size, on JAX's first device and as the machine's figures have it.

    Parameters
    ----------
    machine
        The description of that device.
    """
    prices = Streaming(machine)
    for operation, program, step, state in _operations():
        for size in SIZES:
            with double_precision():
                measured = seconds_of(step, state(size))
            yield Compared(operation, size, measured, _estimated(prices, program, size))


def _estimated(prices: Streaming, program: Callable[[int], Any], size: int) -> float:
    """The last operation of a program, without the way of a result to the front end."""
    from weft.pvar import metered

    with metered() as meter:
        program(size)
    at = len(meter.sequence) - 1
    record = meter.sequence[at]
    # Repeated on a device, an operation finds its arrays where the one before has left them.
    own = sum(length for _, length in meter.reaches[at])
    reach = tuple((own, length) for _, length in meter.reaches[at])
    return prices.time(record, 0, reach).real - (prices.result if record.kind.startswith("reduce") else 0.0)


def _variable(dtype: str, size: int) -> Any:
    from weft.pvar import VPSet

    return VPSet(size).full(3, dtype)


def _operations() -> Iterator[tuple[str, Callable[[int], Any], Callable[[Any], Any], Callable[[int], Any]]]:
    """Each operation: its name, as a program of weft, as a step of JAX, and the state of that for a size."""
    yield from _of_elements()
    yield from _of_all()
    yield from _by_address()


def _of_elements() -> Iterator[Any]:
    import jax.numpy as jnp

    def two(dtype: str) -> Callable[[int], Any]:
        return lambda n: (jnp.full(n, 3, dtype), jnp.full(n, 3, dtype))

    def both(operation: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        return lambda state: (operation(*state), state[1])

    def program(dtype: str, operation: Callable[[Any, Any], Any]) -> Callable[[int], Any]:
        return lambda n: operation(_variable(dtype, n), _variable(dtype, n))

    for name, operation in (("add", lambda x, y: x + y), ("multiply", lambda x, y: x * y)):
        for dtype in ("float64", "int32"):
            yield f"{name} {dtype}", program(dtype, operation), both(operation), two(dtype)
    divide = lambda x, y: x / y  # noqa: E731
    yield "divide float32", program("float32", divide), both(divide), two("float32")
    yield "sqrt float32", lambda n: np.sqrt(_variable("float32", n)), jnp.sqrt, lambda n: jnp.full(n, 3, "float32")
    yield "exp float64", lambda n: np.exp(_variable("float64", n)), jnp.exp, lambda n: jnp.full(n, 0.5, "float64")


def _of_all() -> Iterator[Any]:
    import jax.numpy as jnp

    def state(n: int) -> Any:
        return jnp.full(n, 3, "float32"), jnp.float32(0)

    yield "sum float32", lambda n: _variable("float32", n).sum(), lambda s: (s[0], jnp.sum(s[0])), state
    yield (
        "maximum int32",
        lambda n: _variable("int32", n).max(),
        lambda s: (s[0], jnp.max(s[0])),
        (lambda n: (jnp.full(n, 3, "int32"), jnp.int32(0))),
    )


def _by_address() -> Iterator[Any]:
    import jax.numpy as jnp

    from weft import pvar

    def shuffled(n: int) -> Any:
        return np.random.default_rng(2).permutation(n)

    def binned(n: int) -> Any:
        return np.random.default_rng(3).integers(0, BINS, n)

    def addressed(indices: Callable[[int], Any], operation: Callable[[Any, Any], Any]) -> Callable[[int], Any]:
        def program(n: int) -> Any:
            vp = pvar.VPSet(n)
            return operation(vp.full(3, "float32"), vp.array(indices(n)))

        return program

    def indexed(indices: Callable[[int], Any]) -> Callable[[int], Any]:
        return lambda n: (jnp.full(n, 3, "float32"), jnp.asarray(indices(n)), jnp.zeros(n, "float32"))

    def get(state: Any) -> Any:
        return state[0], state[1], state[0][state[1]]

    def send(state: Any) -> Any:
        return state[0], state[1], state[2].at[state[1]].add(state[0])

    yield "get shuffled float32", addressed(shuffled, pvar.get), get, indexed(shuffled)
    add = lambda x, address: pvar.send(x, address, combine="add")  # noqa: E731
    yield "send add shuffled float32", addressed(shuffled, add), send, indexed(shuffled)
    yield f"send add to {BINS} float32", addressed(binned, add), send, indexed(binned)
