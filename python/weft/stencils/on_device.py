"""Stencils on arrays of a CUDA device, of CuPy and of JAX, where there is a kernel for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft.cuda import through_jax
from weft.cuda.launching import VECTOR_BYTES, Launch, is_cupy, is_output, launch, may_overlap
from weft.cuda.stencil_source import Grid, vector_width
from weft.cuda.stencils import Coefficients, Ends, has_kernel, stencil_launch
from weft.stencils import boundaries

if TYPE_CHECKING:
    from weft.stencils.description import Stencil

MAX_ELEMENTS = 2**40
"""Elements of an array: far more than any device holds, and blocks are still counted in 32 bits."""

MAX_UNROLLED = 8
"""Applications that are written one after the other for JAX; more are a loop."""


class Described(NamedTuple):
    """A stencil as the kernels have it, for arrays of one shape and type."""

    grid: Grid
    real: np.dtype[Any]
    """What is computed in: complex numbers are pairs of it."""

    coefficients: Coefficients
    ends: Ends

    @property
    def arrays(self) -> list[tuple[int, ...]]:
        """The offsets whose coefficients are arrays."""
        return [offset for offset, value in self.coefficients if value is None]


def apply(stencil: Stencil, x: Any, *, out: Any, steps: int) -> Any | None:
    """`steps` applications by a kernel; None where there is none for this array, stencil or output.

    Kernels are of float32 and float64 (complex arrays are pairs of those), with real coefficients, and with numbers or
    continued boundaries at each end. Results are those of numpy's arrays up to rounding: a device multiplies and adds
    in one operation.
    """
    on_cupy = is_cupy(x)
    device = None if on_cupy else through_jax.device_of(x)
    if device is None and not on_cupy:
        return None
    if steps < 1 or not 0 < x.size < MAX_ELEMENTS or x.ndim < stencil.rank + stencil.site_rank:
        return None
    described = _described(stencil, x)
    if described is None:
        return None
    if device is None:
        return _of_cupy(stencil, described, x, out, steps)
    return _of_jax(stencil, described, x, steps, device)


def _of_cupy(stencil: Stencil, described: Described, x: Any, out: Any, steps: int) -> Any | None:
    """Applications to an array of CuPy."""
    import cupy

    if out is not None and not is_output(out, x):
        return None
    with x.device:
        arrays = _cupy_arrays(stencil, described)
        if arrays is None:
            return None
        source = x if x.flags.c_contiguous else cupy.ascontiguousarray(x)
        if out is not None and may_overlap(source, out):
            source = source.copy()
        result = cupy.empty(x.shape, x.dtype) if out is None else out
        other = cupy.empty(x.shape, x.dtype) if steps > 1 else result
        wanted = _launch(stencil, described, source, [source, result, other, *arrays])
        for step in range(steps):
            # The last step writes into the result.
            target = result if (steps - step) % 2 else other
            launch(wanted, [source, *arrays], [target])
            source = target
        return result


def _launch(stencil: Stencil, described: Described, x: Any, arrays: list[Any]) -> Launch:
    """The launch for an array of CuPy; `arrays` are all that a kernel reads or writes."""
    alignment = math.gcd(VECTOR_BYTES, *(array.data.ptr for array in arrays))

    def prepare() -> Launch:
        grid, real, coefficients, ends = described
        return stencil_launch(
            grid, real.name, coefficients, ends, vector_width(grid, real.itemsize, [alignment]), x.device.id
        )  # fmt: skip

    if not _is_fixed(stencil):
        return prepare()
    wanted: Launch = stencil.kept(("cupy", x.shape, x.dtype, x.device.id, alignment), prepare)
    return wanted


def _of_jax(stencil: Stencil, described: Described, x: Any, steps: int, device: int) -> Any | None:
    """Applications to an array of JAX, compiled as a whole."""
    arrays = _jax_arrays(stencil, described, device)
    if arrays is None:
        return None

    def prepare() -> Callable[..., Any]:
        return _compiled(described, tuple(x.shape), np.dtype(x.dtype), steps, device)

    key = ("jax kernel", x.shape, x.dtype, steps, device)
    applied: Callable[..., Any] = stencil.kept(key, prepare) if _is_fixed(stencil) else prepare()
    return applied(x, *arrays)


@lru_cache(maxsize=256)
def _compiled(
    described: Described, shape: tuple[int, ...], dtype: np.dtype[Any], steps: int, device: int
) -> Callable[..., Any]:
    """Some applications as a function of an array and of the arrays of coefficients, which JAX compiles."""
    import jax
    import jax.numpy as jnp

    grid, real, coefficients, ends = described
    # XLA's arrays begin where vectors may.
    wanted = stencil_launch(grid, real.name, coefficients, ends, vector_width(grid, real.itemsize, [0]), device)
    call = through_jax.call(wanted, [(shape, dtype)], device)

    def applied(x: Any, *arrays: Any) -> Any:
        expanded = [jnp.broadcast_to(array.astype(real), grid.extents) for array in arrays]

        def once(_: Any, x: Any) -> Any:
            return call(x, *expanded)[0]

        if steps <= MAX_UNROLLED:
            for step in range(steps):
                x = once(step, x)
            return x
        # Two at a time: what a step reads is then free for what the next one writes.
        x = jax.lax.fori_loop(0, steps // 2, lambda step, x: once(step, once(step, x)), x)
        return once(0, x) if steps % 2 else x

    compiled: Callable[..., Any] = jax.jit(applied)
    return compiled


def _grid(stencil: Stencil, shape: tuple[int, ...], pairs: bool) -> Grid:
    """The axes of an array: right-hand sides, grid, site, of which the parts of a complex number are elements."""
    first = len(shape) - stencil.rank - stencil.site_rank
    last = len(shape) - stencil.site_rank
    return Grid(math.prod(shape[:first]), tuple(shape[first:last]), math.prod(shape[last:]) * (1 + pairs))


def _is_fixed(stencil: Stencil) -> bool:
    """Whether all coefficients that are no arrays are numbers, which do not change."""

    def is_fixed() -> bool:
        return all(_is_array(value) or isinstance(value, (int, float, np.generic)) for value in stencil.points.values())

    fixed: bool = stencil.kept("has fixed numbers", is_fixed)
    return fixed


def _is_array(coefficient: Any) -> bool:
    """Whether a coefficient differs from point to point."""
    nested = isinstance(coefficient, (list, tuple))
    return bool(np.ndim(coefficient) if nested else getattr(coefficient, "ndim", 0))


def _described(stencil: Stencil, x: Any) -> Described | None:
    """A stencil as the kernels have it; None where they have nothing for it. Numbers alone are kept."""

    def describe() -> Described | None:
        kind = np.dtype(x.dtype)
        pairs = kind.kind == "c"
        real = np.dtype(f"f{kind.itemsize // 2}") if pairs else kind
        grid = _grid(stencil, x.shape, pairs)
        if not has_kernel(real) or max(grid.extents) * grid.site >= 2**31:
            return None
        ends, coefficients = _ends(stencil, pairs), _coefficients(stencil, real)
        return None if ends is None or coefficients is None else Described(grid, real, coefficients, ends)

    if not _is_fixed(stencil):
        return describe()
    described: Described | None = stencil.kept(("described", x.shape, x.dtype), describe)
    return described


def _ends(stencil: Stencil, pairs: bool) -> Ends | None:
    """What lies beyond both ends of each axis; None where a kernel has nothing for it."""
    checked = []
    for boundary in stencil.boundary:
        both = [_end(end, pairs) for end in boundaries.both(boundary)]
        if None in both:
            return None
        checked.append((both[0], both[1]))
    return tuple(checked)


def _end(end: Any, pairs: bool) -> Any | None:
    """A boundary as the kernels have it. A number that is not zero is not the same for both parts of a complex one."""
    if boundaries.is_word(end, *boundaries.CONTINUED):
        return end
    if isinstance(end, str) or boundaries.is_array(end) or boundaries.is_function(end):
        return None
    number = complex(end)
    return None if number.imag or (pairs and number) else number.real


def _coefficients(stencil: Stencil, real: np.dtype[Any]) -> Coefficients | None:
    """Coefficients as the kernels have them; None where one is complex, or known only to whom traces it."""
    held: list[tuple[tuple[int, ...], float | None]] = []
    for offset, coefficient in stencil.points.items():
        if _is_array(coefficient):
            held.append((offset, None))
            continue
        try:
            value = complex(coefficient)
        except Exception:  # JAX raises errors of its own for traced values
            return None
        if value.imag:
            return None
        # The arrays of numpy take a coefficient in their own precision.
        held.append((offset, float(real.type(value.real))))
    return tuple(held)


def _cupy_arrays(stencil: Stencil, described: Described) -> list[Any] | None:
    """The arrays of coefficients as those of CuPy, of the shape of the grid; None where one does not fit."""
    import cupy

    arrays = []
    for offset in described.arrays:
        array = through_jax.cupy_copy(stencil.points[offset])
        if array is None or array.dtype.kind == "c" or not _broadcasts(array.shape, described.grid.extents):
            return None
        expanded = cupy.broadcast_to(cupy.asarray(array, dtype=described.real), described.grid.extents)
        arrays.append(cupy.ascontiguousarray(expanded))
    return arrays


def _jax_arrays(stencil: Stencil, described: Described, device: int) -> list[Any] | None:
    """The arrays of coefficients as those of JAX; None where one does not fit, or lies elsewhere."""
    arrays = []
    for offset in described.arrays:
        array = through_jax.jax_array(stencil.points[offset], device)
        if array is None or np.dtype(array.dtype).kind == "c" or not _broadcasts(array.shape, described.grid.extents):
            return None
        arrays.append(array)
    return arrays


def _broadcasts(shape: tuple[int, ...], extents: tuple[int, ...]) -> bool:
    """Whether an array can stand for one of the extents of the grid."""
    aligned = zip(reversed(shape), reversed(extents), strict=False)
    return len(shape) <= len(extents) and all(own in (1, extent) for own, extent in aligned)
