"""The source of a CUDA kernel that does all shifts of one array in one pass over it.

A thread reads a vector of a row once and writes it to its position in every output that is shifted along other axes.
What an end-off shift pushes out of an array leaves a position at the other end, which takes the boundary: so every
element of every output is written by one thread, and the array is read once, whatever the number of shifts (George,
Brickner, Johnsson 1994, section 3, save memory traffic the same way). Along the last axis a thread writes its own
position, of elements that it reads again from the first-level cache, since vectors are written whole only there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long", 16: "ulonglong2"}
"""The type that moves an element of so many bytes."""

THREADS = 256
"""Threads of a block."""

VECTORS = 4
"""Vectors that a thread moves: as many reads are under way before the first is written."""

VECTOR_BYTES = 16
"""Bytes that a thread can move at once."""


class ShiftOf(NamedTuple):
    """One shift: `by` within the extent, along an axis; whether it is circular; whether its boundary is an array."""

    by: int
    axis: int
    circular: bool
    boundary_is_array: bool


class ShiftKernel(NamedTuple):
    """The source of a kernel named `shifts`, and how it is launched.

    Its arguments are the array, the outputs, then for each shift that is not circular its boundary: an element by
    value, or the address of an array of the shape without the axis.
    """

    source: str
    blocks: int
    threads: int
    width: int


def vector_width(shape: Sequence[int], itemsize: int, addresses: Sequence[int]) -> int:
    """Elements that a thread moves at once: rows are a whole number of vectors, and all addresses one of vectors.

    >>> vector_width((8, 8), 4, [0, 512]), vector_width((8, 7), 4, [0, 512])
    (4, 1)
    """
    width = max(1, VECTOR_BYTES // itemsize)
    while width > 1 and (shape[-1] % width or any(address % (width * itemsize) for address in addresses)):
        width //= 2
    return width


def shift_kernel(shape: Sequence[int], itemsize: int, width: int, shifts: Sequence[ShiftOf]) -> ShiftKernel:
    """The kernel of shifts of an array in C order with at least one element.

    Parameters
    ----------
    shape
        Its extents.
    itemsize
        Bytes of an element: a key of `WORDS`.
    width
        Elements that a thread moves at once, as `vector_width` has them.
    shifts
        At least one, whose distances are within the extents.

    Examples
    --------
    >>> kernel = shift_kernel((8, 8), 4, 4, [ShiftOf(1, 0, True, False)])
    >>> kernel.blocks, kernel.threads
    (1, 256)
    """
    extents = [*shape[:-1], shape[-1] // width]
    size = math.prod(extents)
    index = "unsigned int" if math.prod(shape) + THREADS * VECTORS * width < 2**31 else "unsigned long long"
    parameters = ["const T *__restrict__ x"]
    parameters += [f"T *__restrict__ out{count}" for count in range(len(shifts))]
    for count, shift in enumerate(shifts):
        if not shift.circular:
            parameters.append(f"const T *__restrict__ edge{count}" if shift.boundary_is_array else f"T edge{count}")
    stores = "\n".join(_store(count, shift, extents, width) for count, shift in enumerate(shifts))
    step = THREADS * VECTORS
    source = f"""
typedef {WORDS[itemsize]} T;
typedef struct __align__({min(VECTOR_BYTES, itemsize * width)}) {{ T e[{width}]; }} U;
typedef {index} I;
extern "C" __global__ void __launch_bounds__({THREADS}) shifts({", ".join(parameters)}) {{
  const I first = (I)blockIdx.x * {step}u + threadIdx.x;
  U read[{VECTORS}];
#pragma unroll
  for (int k = 0; k < {VECTORS}; ++k)
    if (first + k * {THREADS}u < {size}u) read[k] = ((const U *)x)[first + k * {THREADS}u];
#pragma unroll
  for (int k = 0; k < {VECTORS}; ++k) {{
    const I i = first + k * {THREADS}u;
    if (i >= {size}u) break;
    const U v = read[k];
{stores}
  }}
}}
"""
    return ShiftKernel(source, -(-size // step), THREADS, width)


def _store(count: int, shift: ShiftOf, extents: Sequence[int], width: int) -> str:
    """Where one shift puts the vector that was read, or what it puts where that was."""
    if shift.by == 0:
        return f"    ((U *)out{count})[i] = v;"
    if width > 1 and shift.axis == len(extents) - 1:
        return _along_rows(count, shift, extents[-1] * width, width)
    extent, inner = extents[shift.axis], math.prod(extents[shift.axis + 1 :])
    position = f"(i / {inner}u) % {extent}u" if shift.axis else f"i / {inner}u"
    forward = shift.by > 0
    distance = abs(shift.by) * inner
    wrapped = (extent - abs(shift.by)) * inner
    leaves = f"p < {shift.by}u" if forward else f"p >= {extent + shift.by}u"
    beyond = f"i + {wrapped}u" if forward else f"i - {wrapped}u"
    within = f"i - {distance}u" if forward else f"i + {distance}u"
    return f"""    {{
      const I p = {position};
      if ({leaves}) {_edge(count, shift, extent, inner, width, beyond)}
      else ((U *)out{count})[{within}] = v;
    }}"""


def _edge(count: int, shift: ShiftOf, extent: int, inner: int, width: int, beyond: str) -> str:
    """Writes what comes in at the edge."""
    target = f"((U *)out{count})[{beyond}]"
    if shift.circular:
        return f"{target} = v;"
    if shift.boundary_is_array:
        return f"{target} = ((const U *)edge{count})[(i / {extent * inner}u) * {inner}u + i % {inner}u];"
    elements = " ".join(f"w.e[{lane}] = edge{count};" for lane in range(width))
    return f"{{ U w; {elements} {target} = w; }}"


def _along_rows(count: int, shift: ShiftOf, extent: int, width: int) -> str:
    """A shift along the last axis: the vector at the thread's own position, element by element."""
    row = f"(i / {extent // width}u)"
    lanes = []
    for lane in range(width):
        beyond = f"x[{row} * {extent}u + s - ({extent} & -(s >= {extent})) + ({extent} & -(s < 0))]"
        if not shift.circular:
            edge = f"edge{count}[{row}]" if shift.boundary_is_array else f"edge{count}"
            beyond = f"s >= 0 && s < {extent} ? x[{row} * {extent}u + s] : {edge}"
        lanes.append(f"        {{ const int s = p + {shift.by + lane}; w.e[{lane}] = {beyond}; }}")
    straight = " ".join(f"w.e[{lane}] = x[i * {width}u + ({shift.by + lane})];" for lane in range(width))
    body = "\n".join(lanes)
    return f"""    {{
      U w;
      const int p = (int)(i % {extent // width}u) * {width};
      if (p + {shift.by} >= 0 && p + {shift.by + width} <= {extent}) {{ {straight} }}
      else {{
{body}
      }}
      ((U *)out{count})[i] = w;
    }}"""
