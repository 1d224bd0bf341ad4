"""The source of a CUDA kernel that does all shifts of one array in one pass over it.

A thread reads the vector at its own position and writes it to where it belongs in every output in which that is a
whole vector: what an end-off shift pushes out of an array leaves a position at the other end, which takes the boundary.
Every other output it writes at its own position: what it reads for it lies at a constant distance, in parts of two
vectors that follow each other, for all but the few vectors that meet an end of the shifted axis. So all that is written
is written as whole vectors, whatever the length of rows, and device memory is read once, whatever the number of shifts,
but for outputs whose vectors do not fit and that lie farther apart than a second-level cache holds (George, Brickner,
Johnsson 1994, section 3, save memory traffic the same way).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from weft.cuda.launching import VECTOR_BYTES

WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long", 16: "ulonglong2"}
"""The type that moves an element, or a vector of elements, of so many bytes."""

THREADS = 256
"""Threads of a block."""


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


def vector_width(shape: Sequence[int], itemsize: int, addresses: Sequence[int], shifts: Sequence[ShiftOf]) -> int:
    """Elements that a thread moves at once: all addresses are those of vectors, and few vectors meet an end.

    >>> vector_width((8, 64), 4, [0, 512], [ShiftOf(1, 1, True, False)])
    4
    >>> vector_width((64, 3), 4, [0, 512], [ShiftOf(1, 1, True, False)])
    1
    """
    width = max(1, VECTOR_BYTES // itemsize)
    while width > 1 and any(address % (width * itemsize) for address in addresses):
        width //= 2
    for shift in shifts:
        span = _span(math.prod(shape[shift.axis + 1 :]), width)
        if span and 2 * (abs(shift.by) + span) > shape[shift.axis]:
            return 1
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
    size = math.prod(shape)
    vectors = -(-size // width)
    index = "unsigned int" if 2 * size + THREADS * width < 2**32 else "unsigned long long"
    parameters = ["const T *__restrict__ x"]
    parameters += [f"T *__restrict__ out{count}" for count in range(len(shifts))]
    for count, shift in enumerate(shifts):
        if not shift.circular:
            parameters.append(f"const T *__restrict__ edge{count}" if shift.boundary_is_array else f"T edge{count}")
    outputs = "\n".join(_output(count, shift, shape, width) for count, shift in enumerate(shifts))
    source = f"""
typedef {WORDS[itemsize]} T;
typedef {WORDS[itemsize * width]} W;
typedef union {{ T e[{width}]; W all; }} U;
typedef {index} I;
#define LOAD(i) __ldg((const W *)x + (i))
#define STORE(out, i, value) __stcs((W *)(out) + (i), value)
extern "C" __global__ void __launch_bounds__({THREADS}) shifts({", ".join(parameters)}) {{
  const I i = (I)blockIdx.x * {THREADS}u + threadIdx.x;
  if (i >= {vectors}u) return;
  const I first = i * {width}u;
{outputs}
}}
"""
    return ShiftKernel(source, -(-vectors // THREADS), THREADS, width)


def _span(inner: int, width: int) -> int:
    """How far apart along an axis the elements of one vector can be, where `inner` elements are at each index of it.

    >>> _span(8, 4), _span(7, 4), _span(1, 4)
    (0, 1, 3)
    """
    return 0 if inner % width == 0 else -(-(width - 1) // inner)


def _output(count: int, shift: ShiftOf, shape: Sequence[int], width: int) -> str:
    """How one shift's output is written."""
    inner, extent = math.prod(shape[shift.axis + 1 :]), shape[shift.axis]
    if shift.by and inner % width == 0:
        return _scattered(count, shift, extent, inner // width, width)
    return _gathered(count, shift, math.prod(shape), extent, inner, width)


def _gathered(count: int, shift: ShiftOf, size: int, extent: int, inner: int, width: int) -> str:
    """Writes the vector at a thread's own position: from a constant distance, or element by element at an end."""
    vector, component = divmod(shift.by * inner, width)
    span = _span(inner, width)
    conditions = []
    if shift.by < 0:
        conditions.append(f"p >= {-shift.by}u")
    if shift.by > 0 or span:
        conditions.append(f"p + {span + max(shift.by, 0)}u < {extent}u")
    if component and vector >= 0:
        conditions.append(f"i + {vector + 2}u <= {size // width}u")
    if size % width:
        conditions.append(f"first + {width}u <= {size}u")
    taken = " ".join(
        f"o.e[{lane}] = {'a' if component + lane < width else 'b'}.e[{(component + lane) % width}];"
        for lane in range(width)
    )
    second = f" U b; b.all = LOAD({_moved('i', vector + 1)});" if component else ""
    position, last = (f"({element} / {inner}u) % {extent}u" for element in ("first", "e"))
    return f"""  {{
    const I p = {position};
    if ({" && ".join(conditions) or "true"}) {{
      U a, o; a.all = LOAD({_moved("i", vector)});{second} {taken}
      STORE(out{count}, i, o.all);
    }} else for (I e = first; e < first + {width}u && e < {size}u; ++e) {{
      const I p = {last};
      if ({_inside(shift, extent)}) out{count}[e] = x[{_moved("e", shift.by * inner)}];
      else out{count}[e] = {_beyond(count, shift, extent, inner)};
    }}
  }}"""


def _moved(index: str, by: int) -> str:
    """An index without a sign, and a distance from it."""
    return f"{index} + {by}u" if by >= 0 else f"{index} - {-by}u"


def _inside(shift: ShiftOf, extent: int) -> str:
    """Whether what an element at `p` wants is inside."""
    return f"p < {extent - shift.by}u" if shift.by >= 0 else f"p >= {-shift.by}u"


def _beyond(count: int, shift: ShiftOf, extent: int, inner: int) -> str:
    """What an element `e` is that wants something beyond an end."""
    if shift.circular:
        wrapped = shift.by - extent if shift.by > 0 else shift.by + extent
        return f"x[{_moved('e', wrapped * inner)}]"
    return f"edge{count}[(e / {extent * inner}u) * {inner}u + e % {inner}u]" if shift.boundary_is_array else (
        f"edge{count}"
    )  # fmt: skip


def _scattered(count: int, shift: ShiftOf, extent: int, inner: int, width: int) -> str:
    """Writes the vector at a thread's own position to where it belongs, and what comes in to where nothing does."""
    forward = shift.by > 0
    leaves = f"p < {shift.by}u" if forward else f"p >= {extent + shift.by}u"
    beyond = _moved("i", (extent - abs(shift.by)) * inner * (1 if forward else -1))
    if shift.circular:
        comes = f"STORE(out{count}, {beyond}, v);"
    elif shift.boundary_is_array:
        comes = (
            f"STORE(out{count}, {beyond}, "
            f"__ldg((const W *)edge{count} + (i / {extent * inner}u) * {inner}u + i % {inner}u));"
        )
    else:
        elements = " ".join(f"w.e[{lane}] = edge{count};" for lane in range(width))
        comes = f"{{ U w; {elements} STORE(out{count}, {beyond}, w.all); }}"
    return f"""  {{
    const I p = (i / {inner}u) % {extent}u;
    const W v = LOAD(i);
    if ({leaves}) {comes}
    else STORE(out{count}, {_moved("i", -shift.by * inner)}, v);
  }}"""
