"""Measures the figures of `[parallel]` on a device through JAX: a GPU, a TPU, or the processor.

An operation is repeated within one compiled program, each on the result of the one before, and a program with few
repetitions is subtracted from one with many: what remains is what operations cost that follow each other on the device,
without Python and without the start of the program. The fastest runs of several are compared.
"""

from __future__ import annotations

import functools
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft._core import Machine
from weft.estimation.streaming import ERROR_FACT
from weft.extras import require

FEW, MANY = 4, 20
"""Repetitions of an operation in the two programs."""

ROUNDS = 7
"""Runs of both programs, of which the fastest count."""

SHORTEST = 1e-12
"""Seconds that an operation takes at least: less is what clocks differ by."""

MIN_DIFFERENCE = 2e-3
"""Seconds that a difference lasts at least, so that clocks and starts do not decide it: repetitions are added."""

MAX_MANY = 2000
"""Repetitions in a program, at most."""

SLOW = 20e-3
"""Seconds of an operation from which on few repetitions do."""

FASTER = 0.8
"""A cache that takes more than this share of what the memory takes is none."""

CHAIN = 512
"""Operations of an element between reading and writing it, where computing is to take longer than the memory."""

SHORT = 1 << 10
"""Elements of arrays that take a launch and nothing else."""

LONG = 1 << 26
"""Bytes of the arrays that are read and written from memory, at least: several times what caches of today hold."""

WORKING_SETS = tuple(1 << power for power in range(18, 31))
"""Bytes that operations touch, to see where a cache ends."""

Step = Callable[[Any], Any]
"""One operation: what it computes from its own result, an array or a tuple of them."""


@dataclass(frozen=True)
class DeviceCosts:
    """What was measured on a device.

    Attributes
    ----------
    device
        What JAX calls it.
    figures
        The figures of the table `[parallel]` of a machine file, in seconds and bytes.
    sources
        How each was measured.
    """

    device: str
    figures: dict[str, float]
    sources: dict[str, str]

    def machine(self, name: str, error: float | None = None) -> Machine:
        """The device as a machine of one node without a network, to estimate with.

        Parameters
        ----------
        name
            Its name.
        error
            The relative error of estimates of operations, if it was measured.

        Examples
        --------
        >>> figures = dict.fromkeys(FIGURES, 1e-9) | {"cache_bytes": 1e6}
        >>> DeviceCosts("a device", figures, dict.fromkeys(FIGURES, "made up")).machine("mine").name
        'mine'
        """
        lines = [
            f"name = {json.dumps(name)}",
            f"title = {json.dumps(self.device + ', as measured through JAX')}",
            f"year = {time.localtime().tm_year}",
            'description = "A device for parallel variables: it passes no messages."',
            "",
            "[topology]",
            'kind = "crossbar"',
            "nodes = 1",
            'source = "one device"',
            "",
            "[switching]",
            'technique = "cut-through"',
            'source = "one device: nothing is switched"',
            "",
            "[parallel]",
            *(
                f"{key} = {{ value = {self.figures[key]:.6g}, source = {json.dumps(self.sources[key])} }}"
                for key in FIGURES
            ),
        ]
        if error is not None:
            source = "measured: nine of ten operations that the figures were not made of were estimated within this"
            lines += ["", "[facts]", f'{ERROR_FACT} = {{ value = {error:.3g}, unit = "ratio", source = "{source}" }}']
        return Machine.parse("\n".join([*lines, ""]), f"{name}.toml")


FIGURES = (
    "launch",
    "result",
    "byte_time",
    "cache_bytes",
    "cache_byte_time",
    "scattered_time",
    "collision_time",
    "integer_time",
    "float32_time",
    "float64_time",
    "divide_time",
    "function_time",
)
"""The figures of the table, as `crates/machine/src/data_parallel.rs` defines them, but the error of estimates."""


def measure_device(progress: Callable[[int, int], None] | None = None) -> DeviceCosts:
    """Measure JAX's first device. It should do nothing else meanwhile.

    Parameters
    ----------
    progress
        Called with the number of figures that are measured, and how many there are.

    Raises
    ------
    UsageError
        Where JAX is not installed.
    """
    require("measuring a device", "jax")
    import jax

    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(_STEPS))

    figures: dict[str, float] = {}
    sources: dict[str, str] = {}
    with double_precision():
        for step in _STEPS:
            for key, value, how in step(figures):
                figures[key], sources[key] = value, f"measured: {how}"
            tell()
    device = jax.devices()[0]
    return DeviceCosts(f"{device.device_kind} ({device.platform})", figures, sources)


def double_precision() -> Any:
    """The context in which JAX has numbers of 64 bits."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64()


def seconds_of(step: Step, state: Any) -> float:
    """What one of many operations that follow each other takes, in seconds.

    Parameters
    ----------
    step
        The operation.
    state
        What the first is applied to.
    """
    import jax

    def program(count: int) -> Callable[[], Any]:
        # Without the barrier a compiler would make one operation of two that follow each other.
        body = lambda _, value: jax.lax.optimization_barrier(step(value))  # noqa: E731
        compiled = jax.jit(lambda value: jax.lax.fori_loop(0, count, body, value))
        return functools.partial(compiled, state)

    few = program(FEW)
    once = _median_of(few, 3) / FEW
    is_slow = once > SLOW
    extra = 2 if is_slow else max(MANY - FEW, min(MAX_MANY, int(MIN_DIFFERENCE / max(once, 1e-9))))
    many = program(FEW + extra)
    _run(few), _run(many)
    rounds = [(_run(few), _run(many)) for _ in range(3 if is_slow else ROUNDS)]
    # What disturbs a run only makes it longer.
    fastest = [min(times) for times in zip(*rounds, strict=True)]
    return float(max((fastest[1] - fastest[0]) / extra, SHORTEST))


def _run(program: Callable[[], Any]) -> float:
    """Seconds of a program to its end."""
    import jax

    start = time.perf_counter()
    jax.block_until_ready(program())
    return time.perf_counter() - start


def _median_of(program: Callable[[], Any], rounds: int) -> float:
    _run(program)
    return statistics.median(_run(program) for _ in range(rounds))


Figures = Iterator[tuple[str, float, str]]
"""Figures with how they were measured."""


def _launches(figures: dict[str, float]) -> Figures:
    import jax.numpy as jnp

    short = jnp.ones(SHORT, jnp.float32)
    launch = seconds_of(lambda x: x + 1, short)
    yield "launch", launch, f"additions to {SHORT} elements that follow each other"
    import jax

    total = jax.jit(jnp.sum)
    float(total(short))
    whole = statistics.median(_timed(lambda: float(total(short))) for _ in range(50))
    yield (
        "result",
        max(whole - 2 * launch, 0.0),
        f"the sum of {SHORT} elements as a number of Python, less two launches",
    )


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _rates(figures: dict[str, float]) -> Figures:
    """The rates of memory and of a cache, and where that ends: the cut that explains the times of all sizes best."""
    import jax.numpy as jnp

    times = {}
    for working_set in WORKING_SETS:
        n = working_set // 8
        # Two arrays are read and one of them is written: 12 bytes for each of the 8 that are touched.
        state = (jnp.ones(n, jnp.float32), jnp.full(n, 0.5, jnp.float32))
        times[working_set] = max(seconds_of(lambda v: (v[0] + v[1], v[1]), state) - figures["launch"], 1e-12)
    rates = {working_set: taken / (1.5 * working_set) for working_set, taken in times.items()}
    slow = statistics.median(rates[one] for one in WORKING_SETS if one >= 4 * LONG)

    timed_sets = [one for one in WORKING_SETS if times[one] > figures["launch"]]

    def rate_within(cut: int) -> float:
        inside = [rates[one] for one in timed_sets if one <= cut]
        fast = statistics.median(inside) if inside else slow
        return fast if fast < FASTER * slow else slow

    def misfit(cut: int) -> float:
        fast = rate_within(cut)
        return math.fsum(abs(math.log(rates[one] / (fast if one <= cut else slow))) for one in timed_sets)

    cut = min((0, *WORKING_SETS[:-2]), key=misfit)
    fast = rate_within(cut)
    cut = cut if fast < slow else 0
    additions = "additions of two arrays of single precision, 12 bytes an element"
    yield "byte_time", slow, f"{additions}, of {4 * LONG >> 20} MiB and more"
    yield "cache_bytes", float(cut), f"{additions}: up to so many bytes they were faster"
    yield "cache_byte_time", fast, f"{additions}, of arrays that the cache holds"


def _addresses(figures: dict[str, float]) -> Figures:
    import jax.numpy as jnp

    n = LONG // 8
    rng = np.random.default_rng(1)
    table = jnp.ones(2 * LONG // 4, jnp.float32)
    index = jnp.asarray(rng.integers(0, table.size, n, dtype=np.int32))

    def gather(state: Any) -> Any:
        table, index, _ = state
        return table, index, table[index]

    taken = seconds_of(gather, (table, index, jnp.ones(n, jnp.float32)))
    streamed = figures["launch"] + 8 * n * figures["byte_time"]
    yield (
        "scattered_time",
        max((taken - streamed) / n, figures["byte_time"]),
        (f"{n} elements gathered from random addresses of {table.size * 4 >> 20} MiB, less the bytes in order"),
    )
    few = 1 << 18
    zeros = jnp.zeros(few, jnp.int32)

    def update(state: Any) -> Any:
        table, values = state
        return table.at[zeros].add(values), values

    taken = seconds_of(update, (jnp.zeros(SHORT, jnp.float32), jnp.ones(few, jnp.float32)))
    yield "collision_time", max((taken - figures["launch"]) / few, SHORTEST / few), f"{few} additions to one address"


def _chains(figures: dict[str, float]) -> Figures:
    """Operations on registers, so many for each element that computing takes longer than reading and writing it."""
    import jax.numpy as jnp

    def chained(operation: Step, operations: int) -> Step:
        def step(x: Any) -> Any:
            for _ in range(CHAIN // operations):
                x = operation(x)
            return x

        return step

    n = 1 << 20
    single = jnp.full(n, 0.5, jnp.float32)
    cases: tuple[tuple[str, Any, Step, int, str], ...] = (
        ("float32_time", single, lambda x: x * 0.75 + 0.25, 1, "a multiplication and an addition in one"),
        ("float64_time", single.astype(jnp.float64), lambda x: x * 0.75 + 0.25, 1, "as in single precision"),
        ("integer_time", jnp.full(n, 5, jnp.int32), lambda x: (x ^ 0x55AA) + 3, 2, "exclusive or and addition in turn"),
        ("divide_time", single, lambda x: 0.75 / (x + 0.5), 1, "a division, and an addition"),
        ("function_time", single, lambda x: jnp.exp(-x), 1, "an exponential"),
    )
    for key, state, operation, operations, what in cases:
        taken = seconds_of(chained(operation, operations), state)
        yield (
            key,
            max((taken - figures["launch"]) / (n * CHAIN), SHORTEST / (n * CHAIN)),
            f"{what}, {CHAIN} in a row on each element",
        )


_STEPS: tuple[Callable[[dict[str, float]], Figures], ...] = (_launches, _rates, _addresses, _chains)
