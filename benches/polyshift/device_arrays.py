"""Shifts and stencils of arrays on a CUDA device: weft's beside the device's copy, `cupy.roll` and `jnp.roll`.

A figure `of a copy` is the rate at which a call moves the bytes that it has to move (each array read once, each result
written once) over that of a copy from device memory to device memory in the same rounds. A figure `over rolls` is the
time of the same computed with the library's own `roll`, one after the other as its arrays do it, over weft's; `over
compiled rolls` is that with `jax.jit` around it. Times on the device are by CUDA events for CuPy, and by the clock to
the end of several calls for JAX. Results are compared with those on the processor first, at a smaller size.

    python -m benches device-arrays

needs a CUDA device, CuPy and JAX.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import weft
from benches import harness
from benches.benchmark import Benchmark, Need, SkippedError, rounds_option
from benches.harness import Call
from benches.recording import Report

NEEDS = (Need("cupy", "package", required=True), Need("jax", "package", required=True))

SHARE, ROLLS = 0.85, 3.0
"""Of a copy's rate, and of the time of rolls, at least."""

CHECKED = 128
"""Extents of arrays of up to three axes whose results are compared: where points reach far, planes are staged as those
of large arrays are. A quarter of that for more axes."""

LAUNCHES = 20
"""Calls in one timing, one right after the other as those of time steps are."""

Points = dict[int | tuple[int, ...], float]


def star(rank: int, radius: int) -> Points:
    """The points along the axes."""
    points: Points = {(0,) * rank: 0.5}
    for axis, by, sign in itertools.product(range(rank), range(1, radius + 1), (1, -1)):
        points[tuple(sign * by if other == axis else 0 for other in range(rank))] = 0.1 / by
    return points


def box(rank: int) -> Points:
    """All points around one."""
    return dict.fromkeys(itertools.product((-1, 0, 1), repeat=rank), 1 / 3**rank)


STENCILS: Mapping[str, tuple[tuple[int, ...], Points]] = {
    "3-point": ((1 << 27,), star(1, 1)),
    "5-point": ((16384, 16384), star(2, 1)),
    "9-point box": ((16384, 16384), box(2)),
    "17-point star": ((16384, 16384), star(2, 4)),
    "7-point": ((512, 512, 512), star(3, 1)),
    "7-point, awkward": ((511, 513, 517), star(3, 1)),
    "7-point, small": ((128, 128, 128), star(3, 1)),
    "13-point star": ((512, 512, 512), star(3, 2)),
    "25-point star": ((512, 512, 512), star(3, 4)),
    "27-point box": ((512, 512, 512), box(3)),
    "9-point 4-D": ((100, 100, 100, 104), star(4, 1)),
}
"""Shapes and points, all boundaries circular; and again with numbers beyond the ends for the 7-point one."""

PLANS: Mapping[str, list[tuple[int, int, int | None]]] = {
    "6 shifts": [(by, axis, None) for axis in range(3) for by in (1, -1)],
    "6 end-off shifts": [(by, axis, 0) for axis in range(3) for by in (1, -1)],
    "4 shifts along axes 0 and 1": [(by, axis, None) for axis in range(2) for by in (1, -1)],
    "1 shift along axis 0": [(1, 0, None)],
    "1 shift along axis 2": [(1, 2, None)],
}
"""Shifts of an array of three axes."""


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 7)


class Device:
    """The device, its timers and its copy."""

    def __init__(self) -> None:
        import cupy

        try:
            self.name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise SkippedError(f"no CUDA device: {error}") from error
        self.cupy = cupy

    def seconds(self, call: Call) -> float:
        """Seconds of a call of CuPy's arrays, by events of the stream."""
        first, last = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        first.record()
        for _ in range(LAUNCHES):
            call()
        last.record()
        last.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(first, last)) / LAUNCHES * 1e-3

    def copy(self, x: Any, y: Any) -> Call:
        """A copy from device memory to device memory."""
        runtime, stream = self.cupy.cuda.runtime, self.cupy.cuda.get_current_stream()
        return lambda: runtime.memcpyAsync(y.data.ptr, x.data.ptr, x.nbytes, runtime.memcpyDeviceToDevice, stream.ptr)


def waited(call: Callable[[], Any]) -> float:
    """Seconds of a call of JAX's arrays, of several whose last is waited for."""
    import jax

    start = time.perf_counter()
    for _ in range(LAUNCHES):
        result = call()
    jax.block_until_ready(result)
    return (time.perf_counter() - start) / LAUNCHES


def rolled(xp: Any, points: Points) -> Callable[[Any], Any]:
    """A stencil by a library's own rolls."""

    def apply(x: Any) -> Any:
        total = None
        for offset, coefficient in points.items():
            moved = x
            for axis, by in enumerate(offset if isinstance(offset, tuple) else (offset,)):
                moved = xp.roll(moved, -by, axis) if by else moved
            total = coefficient * moved if total is None else total + coefficient * moved
        return total

    return apply


def array(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Random numbers, the same in every plane along the first axis but for a factor, so that they are soon made."""
    rng = np.random.default_rng(1)
    plane = rng.standard_normal(shape[1:]).astype(dtype)
    factors = rng.standard_normal(shape[0]).astype(dtype).reshape(-1, *(1,) * (len(shape) - 1))
    return np.asarray(factors * plane)


def check(name: str, on_device: Any, on_processor: np.ndarray[Any, Any]) -> None:
    """Ends the program where a result is wrong."""
    eps = float(np.finfo(on_processor.dtype).eps)
    np.testing.assert_allclose(np.asarray(on_device), on_processor, rtol=64 * eps, atol=64 * eps, err_msg=name)


def sides(device: Device, x: Any, ours: Callable[..., Any], into: Call, rolls: Callable[[Any], Callable[[Any], Any]]) \
        -> dict[str, Callable[[], float]]:  # fmt: skip
    """Seconds of the copy and of every side.

    Parameters
    ----------
    device
        The device.
    x
        The array, on the processor.
    ours
        weft's call.
    into
        The same of the array on the device, into an output that is there.
    rolls
        The same by the rolls of a library.
    """
    import cupy
    import jax
    import jax.numpy as jnp

    held, there = cupy.asarray(x), jnp.asarray(x)
    other = cupy.empty_like(held)
    by_cupy, by_jax = rolls(cupy), rolls(jnp)
    compiled, ours_compiled = jax.jit(by_jax), jax.jit(ours)
    return {
        "copy": lambda: device.seconds(device.copy(held, other)),
        "weft, CuPy": lambda: device.seconds(into),
        "rolls, CuPy": lambda: device.seconds(lambda: by_cupy(held)),
        "weft, JAX": lambda: waited(lambda: ours(there)),
        "rolls, JAX": lambda: waited(lambda: by_jax(there)),
        "compiled weft, JAX": lambda: waited(lambda: ours_compiled(there)),
        "compiled rolls, JAX": lambda: waited(lambda: compiled(there)),
    }


def compare(report: Report, name: str, moved: float, contenders: dict[str, Callable[[], float]], rounds: int) -> None:
    """Times of all sides in turn, and what comes of them; `moved` is how many copies' bytes a call moves."""
    for call in contenders.values():
        call()
    times = harness.interleaved(contenders, rounds)
    for library, target in (("CuPy", None), ("JAX", ROLLS)):
        ours = times[f"weft, {library}"]
        shares = [moved * copied / mine for mine, copied in zip(ours, times["copy"], strict=True)]
        report.figure(f"{name}: {library}: of a copy", harness.spread(shares), "ratio", SHARE, "at least")
        over = harness.spread(harness.ratios(times[f"rolls, {library}"], ours))
        report.figure(f"{name}: {library}: over rolls", over, "ratio", target, "at least")
    compiled = harness.spread(harness.ratios(times["compiled rolls, JAX"], times["compiled weft, JAX"]))
    report.figure(f"{name}: JAX, both compiled: over rolls", compiled, "ratio")


def run(chosen: argparse.Namespace, report: Report) -> None:
    device = Device()
    import cupy
    import jax

    report.protocol = {"device": device.name, "cupy": cupy.__version__, "jax": jax.__version__,
                       "rounds": chosen.rounds, "calls in a timing": LAUNCHES}  # fmt: skip
    jax.config.update("jax_enable_x64", True)
    for (name, (shape, points)), dtype in itertools.product(STENCILS.items(), ("float32", "float64")):
        for boundary in ("circular", 0) if name == "7-point" else ("circular",):
            ends = "" if boundary == "circular" else ", numbers beyond the ends"
            of_stencil(
                report,
                device,
                f"{name} {'x'.join(map(str, shape))} {dtype}{ends}",
                shape,
                points,
                dtype,
                boundary,
                chosen.rounds,
            )
            cupy.get_default_memory_pool().free_all_blocks()
    for name, shifts in PLANS.items():
        for shape in ((512, 512, 512), (511, 513, 517)):
            of_plan(report, device, f"{name} {'x'.join(map(str, shape))} float32", shape, shifts, chosen.rounds)
            cupy.get_default_memory_pool().free_all_blocks()


def of_stencil(report: Report, device: Device, name: str, shape: tuple[int, ...], points: Points, dtype: str,
               boundary: Any, rounds: int) -> None:  # fmt: skip
    """One stencil."""
    import cupy
    import jax.numpy as jnp

    ours = weft.arrays.stencil(points, boundary=boundary)
    small = array(tuple(min(extent, CHECKED if len(shape) <= 3 else CHECKED // 4) for extent in shape), dtype)
    check(name, cupy.asnumpy(ours(cupy.asarray(small))), ours(small))
    check(name, ours(jnp.asarray(small)), ours(small))
    host = array(shape, dtype)
    x = cupy.asarray(host)
    out = cupy.empty_like(x)
    contenders = sides(device, host, ours, lambda: ours(x, out), lambda xp: rolled(xp, points))
    compare(report, name, 1.0, contenders, rounds)


def of_plan(report: Report, device: Device, name: str, shape: tuple[int, ...], shifts: list[Any], rounds: int) -> None:
    """One plan of shifts."""
    import cupy
    import jax.numpy as jnp

    def by(xp: Any) -> Callable[[Any], Any]:
        return lambda x: tuple(xp.roll(x, -distance, axis) for distance, axis, _ in shifts)

    for wanted in ((40, 41, 42), (40, 44, 48)):
        small = array(wanted, "float32")
        plan = weft.arrays.polyshift(wanted, "float32", shifts)
        for results in (map(cupy.asnumpy, plan(cupy.asarray(small))), plan(jnp.asarray(small))):
            for result, expected in zip(results, plan(small), strict=True):
                check(name, result, expected)
    plan = weft.arrays.polyshift(shape, "float32", shifts)
    host = array(shape, "float32")
    x = cupy.asarray(host)
    out = [cupy.empty_like(x) for _ in shifts]
    contenders = sides(device, host, plan, lambda: plan(x, out=out), by)
    compare(report, name, (1 + len(shifts)) / 2, contenders, rounds)


BENCHMARK = Benchmark(
    "device-arrays",
    "shifts and stencils of arrays on a CUDA device, beside its copy and the rolls of CuPy and JAX",
    "two minutes, with a CUDA device",
    run,
    options,
    needs=NEEDS,
)
