"""The source of a CUDA kernel that applies a stencil of constant or variable coefficients.

Threads of a block lie along the last two axes, and each computes a vector of points along the last. It goes along the
axis before those two, which is marched, and keeps in registers what it has read there, so that a point along that axis
is read once (P. Micikevicius, 3D finite difference computation on GPUs using CUDA, GPGPU-2, 2009). A thread whose
neighbours all lie within the array reads them at constant distances from one address. Others know for each row what it
stands for: a row of the array, perhaps with the other sign, or a value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from weft.cuda.boundary_source import Boundary, lookup, number

THREADS = 256
"""Threads of a block of several rows; twice as many where points reach further than `NEAR` rows."""

NEAR = 2
"""Rows that points may reach before larger blocks pay: a block reads the rows around its own, too."""

ROW_THREADS = 128
"""Threads of a block of one row, at most."""

AHEAD = 0
"""Planes that a thread reads before it needs them."""

WARP = 32
"""Threads that run together."""

TYPES = {"float32": "float", "float64": "double"}
"""The types of elements, in C."""

VECTOR_BYTES = 16
"""Bytes that a thread can read at once."""

MAX_CHUNKS = 2048
"""Parts that the marched axis is cut into at most."""

UNEVEN = 0.5
"""The part of a wave that blocks of one wave end after each other."""

COMPONENTS = "xyzw"
"""How CUDA's vector types name their elements."""


class Grid(NamedTuple):
    """An array in C order: right-hand sides, extents of the grid, elements of a site."""

    batch: int
    extents: tuple[int, ...]
    site: int

    @property
    def lanes(self) -> int:
        """Elements of a row."""
        return self.extents[-1] * self.site

    @property
    def marched(self) -> int | None:
        """The axis that threads march along; a grid of one axis has none."""
        return {1: None, 2: 0}.get(len(self.extents), len(self.extents) - 3)

    def stride(self, axis: int) -> int:
        """Elements between neighbours along an axis."""
        return math.prod(self.extents[axis + 1 :]) * self.site


class StencilKernel(NamedTuple):
    """The source of a kernel named `stencil`, and the threads that it is launched with.

    Its arguments are the array, the output, the planes that a block marches along (an int), then for each point with
    an array of coefficients its address. Blocks have one index: those along the last axis come first, then those along
    the axis before, the planes, the other axes and the right-hand sides.
    """

    source: str
    threads: tuple[int, int]
    width: int
    grid: Grid
    reach: int
    """Planes that a block reads beside those that it marches along."""

    def blocks(self, planes: int) -> int:
        """Blocks of a launch in which each marches along so many planes."""
        across, down = self.threads
        extents, rank = self.grid.extents, len(self.grid.extents)
        along = -(-self.grid.lanes // (across * self.width))
        rows = -(-extents[-2] // down) if rank >= 3 else 1
        marched = self.grid.marched
        chunks = 1 if marched is None else -(-extents[marched] // planes)
        others = math.prod(extents[:-3]) if rank > 3 else 1
        return along * rows * chunks * others * self.grid.batch

    def planes(self, resident: int) -> int:
        """Planes that a block should march along on a device that has so many blocks at work at once.

        Blocks run in waves, the last of which is seldom full, and each block reads planes that its neighbours read,
        too: the number is that of the shortest sum of both.
        """
        if self.grid.marched is None:
            return 1
        extent = self.grid.extents[self.grid.marched]
        tiles = self.blocks(extent)

        def duration(planes: int) -> float:
            waves = tiles * -(-extent // planes) / resident
            return (math.ceil(waves) + UNEVEN) * (planes + self.reach + 1)

        return min((-(-extent // chunks) for chunks in range(1, min(extent, MAX_CHUNKS) + 1)), key=duration)


def vector_width(grid: Grid, itemsize: int, addresses: Sequence[int]) -> int:
    """Points that a thread computes at once: rows are a whole number of vectors, and all addresses one of vectors.

    >>> vector_width(Grid(1, (8, 8), 1), 4, [512]), vector_width(Grid(1, (8, 7), 1), 4, [512])
    (4, 1)
    """
    width = VECTOR_BYTES // itemsize
    while width > 1 and (grid.lanes % width or any(address % (width * itemsize) for address in addresses)):
        width //= 2
    return width


def stencil_kernel(
    grid: Grid,
    dtype: str,
    points: Mapping[tuple[int, ...], float | None],
    boundary: Sequence[tuple[Boundary, Boundary]],
    width: int = 1,
    ahead: int = AHEAD,
) -> StencilKernel:
    """The kernel of a stencil.

    Parameters
    ----------
    grid
        The array, with at least one element.
    dtype
        A key of `TYPES`.
    points
        Coefficients by offset; None for an array of coefficients, of the shape of the grid.
    boundary
        For each axis of the grid what lies beyond its low and its high end. A place beyond the ends of several axes is
        what the last of them says, of the array extended along those before.
    width
        Points that a thread computes at once: see `vector_width`.
    ahead
        Planes that a thread reads before it needs them, where it keeps what it reads.

    Examples
    --------
    >>> kernel = stencil_kernel(Grid(1, (512, 512), 1), "float32", {(1, 0): 0.5, (-1, 0): 0.5}, [(0.0, 0.0)] * 2)
    >>> kernel.threads, kernel.blocks(planes=64)
    ((128, 1), 32)
    """
    threads = _threads(grid, points, width)
    writer = _Writer(grid, dtype, points, boundary, width, threads, ahead)
    return StencilKernel(writer.source(), threads, width, grid, writer.reach)


def _threads(grid: Grid, points: Mapping[tuple[int, ...], float | None], width: int) -> tuple[int, int]:
    """Threads of a block along the last axis, and along the axis before it."""
    vectors = 1 << max(0, (grid.lanes // width - 1).bit_length())
    if len(grid.extents) < 3:
        return min(ROW_THREADS, max(WARP, vectors)), 1
    reach = max(abs(offset[-2]) for offset in points)
    across = min(WARP, vectors)
    return across, (THREADS if reach <= NEAR else 2 * THREADS) // across


class _Column(NamedTuple):
    """What a thread reads at one distance along all axes but the marched one: a vector of a row."""

    row: tuple[int, ...]
    """The offset, with 0 along the marched axis and the last."""

    vector: int
    """Vectors from the thread's own."""


class _Writer:
    """Writes the source of one kernel."""

    def __init__(
        self,
        grid: Grid,
        dtype: str,
        points: Mapping[tuple[int, ...], float | None],
        boundary: Sequence[tuple[Boundary, Boundary]],
        width: int,
        threads: tuple[int, int],
        ahead: int,
    ) -> None:
        self.grid, self.points, self.boundary, self.width, self.threads = grid, points, boundary, width, threads
        self.type = TYPES[dtype]
        self.rank, self.last, self.marched = len(grid.extents), len(grid.extents) - 1, grid.marched
        self.vectors = grid.lanes // width
        distances: dict[_Column, set[int]] = {}
        for offset in points:
            for lane in range(width):
                distances.setdefault(self.source_of(offset, lane)[0], set()).add(self.along(offset))
        self.reach = max(max(held_at) - min(held_at) for held_at in distances.values()) + ahead
        self.columns = {
            column: (min(held_at), max(held_at) + (ahead if len(held_at) > 1 else 0))
            for column, held_at in distances.items()
        }
        self.numbers = {column: count for count, column in enumerate(self.columns)}
        self.rows = {row: count for count, row in enumerate(dict.fromkeys(column.row for column in self.columns))}
        moved = [axis for axis in range(self.rank) if any(offset[axis] for offset in points)]
        self.fixed = [axis for axis in range(self.rank - 1) if axis != self.marched]
        self.moved = moved

    def along(self, offset: tuple[int, ...]) -> int:
        """The distance along the marched axis."""
        return 0 if self.marched is None else offset[self.marched]

    def source_of(self, offset: tuple[int, ...], lane: int) -> tuple[_Column, int]:
        """The column that a lane's neighbour at an offset is in, and which element of its vector it is."""
        vector, component = divmod(lane + offset[self.last] * self.grid.site, self.width)
        row = tuple(0 if axis in (self.marched, self.last) else by for axis, by in enumerate(offset))
        return _Column(row, vector), component

    def component(self, name: str, lane: int) -> str:
        """An element of a vector."""
        return name if self.width == 1 else f"{name}.{COMPONENTS[lane]}"

    def source(self) -> str:
        """All of it."""
        arrays = [count for count, value in enumerate(self.points.values()) if value is None]
        parameters = ["const T *__restrict__ x", "T *__restrict__ out", "int planes"]
        parameters += [f"const T *__restrict__ c{count}" for count in arrays]
        across, down = self.threads
        vector = self.type if self.width == 1 else f"{self.type}{self.width}"
        lines = [
            f"typedef {self.type} T;",
            f"typedef {vector} U;",
            "#define LOAD(address) __ldg(address)",
            *(lookup(axis, self.grid.extents[axis], self.boundary[axis]) for axis in self.moved),
            f'extern "C" __global__ void __launch_bounds__({across * down}) stencil({", ".join(parameters)}) {{',
            self.position(),
        ]
        interior = self.interior()
        if interior:
            lines += [f"  if ({interior}) {{", self.march(fast=True), "  } else {"]
            lines += [*(self.row(row) for row in self.rows), self.march(fast=False), "  }"]
        else:
            lines.append(self.march(fast=True))
        return "\n".join([*lines, "}", ""])

    def interior(self) -> str:
        """Whether a thread's rows all lie within the array; empty where they always do."""
        conditions = []
        for axis in self.fixed:
            low, high = min(row[axis] for row in self.rows), max(row[axis] for row in self.rows)
            conditions += [f"i{axis} >= {-low}"] if low < 0 else []
            conditions += [f"i{axis} + {high} < {self.grid.extents[axis]}"] if high > 0 else []
        return " && ".join(conditions)

    def position(self) -> str:
        """Where a thread is: its index along each axis but the marched one, and the planes that it marches along."""
        extents, across, down = self.grid.extents, *self.threads
        along = -(-self.vectors // across)
        lines = [
            "  unsigned int rest = blockIdx.x;",
            f"  const int u = (int)(rest % {along}u) * {across} + threadIdx.x;",
            f"  rest /= {along}u;",
            f"  if (u >= {self.vectors}) return;",
        ]
        if self.rank >= 3:
            rows = -(-extents[-2] // down)
            lines += [
                f"  const int i{self.last - 1} = (int)(rest % {rows}u) * {down} + threadIdx.y;",
                f"  rest /= {rows}u;",
                f"  if (i{self.last - 1} >= {extents[-2]}) return;",
            ]
        if self.marched is not None:
            extent = extents[self.marched]
            lines += [
                f"  const unsigned int chunks = ({extent} + planes - 1) / planes;",
                "  const int from = (int)(rest % chunks) * planes;",
                f"  const int to = from + planes < {extent} ? from + planes : {extent};",
                "  rest /= chunks;",
            ]
        for axis in range(self.rank - 4, -1, -1):
            lines += [f"  const int i{axis} = (int)(rest % {extents[axis]}u);", f"  rest /= {extents[axis]}u;"]
        size = math.prod(extents) * self.grid.site
        terms = ["0ll", *(f"(long long)i{axis} * {self.grid.stride(axis)}ll" for axis in self.fixed)]
        return "\n".join(
            [
                *lines,
                f"  x += (long long)rest * {size}ll;",
                f"  out += (long long)rest * {size}ll;",
                f"  const long long start = {' + '.join(terms)};",
            ]
        )

    def row(self, row: tuple[int, ...]) -> str:
        """What a row stands for: one of the array (perhaps with the other sign) from `start` on, or a value."""
        n = self.rows[row]
        lines = [
            f"  bool inside{n} = true, early{n} = true;",
            f"  T sign{n} = 1, before{n} = 1, value{n} = 0;",
            f"  long long start{n} = start;",
        ]
        for axis in reversed(self.fixed):
            if not row[axis]:
                continue
            # Axes before the marched one say what lies beyond them only where the marched axis has an element.
            is_early = self.marched is not None and axis < self.marched
            flag, sign = ("early", "before") if is_early else ("inside", "sign")
            lines.append(
                f"  if (inside{n} && early{n}) {{ int e; "
                f"if (at{axis}(i{axis} + {row[axis]}, &e, &{sign}{n}, &value{n})) "
                f"start{n} += (long long)(e - i{axis}) * {self.grid.stride(axis)}ll; "
                f"else {flag}{n} = false; }}"
            )
        return "\n".join(lines)

    def march(self, fast: bool) -> str:
        """The loop over planes, or the only vector of a thread."""
        plane = "0" if self.marched is None else "plane"
        lines = []
        for column, (low, high) in self.columns.items():
            lines.append(f"  U {', '.join(self.held(column, step) for step in range(high - low + 1))};")
        if self.marched is None:
            lines.append(self.fetches(fast, None, "0"))
        else:
            deepest = max(high - low for low, high in self.columns.values())
            lines += [self.fetches(fast, step, "from") for step in range(deepest)]
            lines.append("  for (int plane = from; plane < to; ++plane) {")
            lines.append(self.fetches(fast, None, "plane"))
        stride = 0 if self.marched is None else self.grid.stride(self.marched)
        lines.append(
            f"    const long long here = start + (long long){plane} * {stride}ll + (long long)u * {self.width};"
        )
        lines.append("    U sum;")
        if self.grid.site == 1:
            arrays = [count for count, value in enumerate(self.points.values()) if value is None]
            lines += [f"    const U w{count} = LOAD((const U *)(c{count} + here));" for count in arrays]
        lines += [f"    {self.component('sum', lane)} = {self.total(lane)};" for lane in range(self.width)]
        lines.append("    *(U *)(out + here) = sum;")
        for column, (low, high) in self.columns.items():
            lines += [f"    {self.held(column, k)} = {self.held(column, k + 1)};" for k in range(high - low)]
        if self.marched is not None:
            lines.append("  }")
        return "\n".join(lines)

    def held(self, column: _Column, step: int) -> str:
        """The register with what a column holds, counted from its lowest distance."""
        return f"v{self.numbers[column]}_{step}"

    def fetches(self, fast: bool, step: int | None, plane: str) -> str:
        """Reads, row by row, what columns need at one step before the march, or (None) in each step of it."""
        wanted: dict[tuple[tuple[int, ...], int], list[tuple[_Column, str]]] = {}
        for column, (low, high) in self.columns.items():
            if step is None:
                wanted.setdefault((column.row, high), []).append((column, self.held(column, high - low)))
            elif step < high - low:
                wanted.setdefault((column.row, low + step), []).append((column, self.held(column, step)))
        return "\n".join(self.fetch(fast, row, by, plane, columns) for (row, by), columns in wanted.items())

    def fetch(
        self, fast: bool, row: tuple[int, ...], by: int, plane: str, columns: Sequence[tuple[_Column, str]]
    ) -> str:
        """Reads vectors of a row in one plane into registers."""
        extent = 1 if self.marched is None else self.grid.extents[self.marched]
        stride = 0 if self.marched is None else self.grid.stride(self.marched)
        n = self.rows[row]
        is_within = f"q >= 0 && q < {extent}" if by else "true"
        lines = [f"    {{ const int q = {plane} + {by};"]
        if fast:
            shift = sum(by * self.grid.stride(axis) for axis, by in enumerate(row) if by)
            lines.append(f"      const T *p = x + (start + {shift}ll + (long long)q * {stride}ll);")
            state = "T f = 1; bool memory = true;"
            inside, early, sign, before, value = "true", "true", "(T)1", "(T)1", "(T)0"
        else:
            lines.append(f"      const T *p = x + (start{n} + (long long)q * {stride}ll);")
            state = f"T f = sign{n} * before{n}; bool memory = true;"
            inside, early, sign, before, value = (f"{w}{n}" for w in ("inside", "early", "sign", "before", "value"))
        lines.append(f"      {state}")
        beyond = ""
        if by:
            beyond = (
                f"int e; T s = 1, w = 0; if (!at{self.marched}(q, &e, &s, &w)) {{ memory = false; f = {sign} * w; }} "
                f"else if (!{early}) {{ memory = false; f = s * {sign} * {value}; }} "
                f"else {{ f = s * {sign} * {before}; p += (long long)(e - q) * {stride}ll; }}"
            )
        if not fast:
            lines.append(f"      if (!{inside}) {{ memory = false; f = {value}; }}")
            if by:
                lines.append(f"      else if (!({is_within})) {{ {beyond} }}")
            lines.append(f"      else if (!{early}) {{ memory = false; f = {sign} * {value}; }}")
            lines += [self.vector(column, name, "memory", "f") for column, name in columns]
        elif by:
            lines.append(f"      if ({is_within}) {{")
            lines += [self.vector(column, name, "", "") for column, name in columns]
            lines.append(f"      }} else {{ {beyond}")
            lines += [self.vector(column, name, "memory", "f") for column, name in columns]
            lines.append("      }")
        else:
            lines += [self.vector(column, name, "", "") for column, name in columns]
        lines.append("    }")
        return "\n".join(lines)

    def vector(self, column: _Column, name: str, memory: str, factor: str) -> str:
        """Reads a vector of the row at `p`: as it is, or where `memory` says so, times a factor, else that."""
        k = column.vector
        whole = self.loaded(name, f"p + (long long)(u + {k}) * {self.width}", memory, factor)
        if k == 0:
            return whole
        edges = self.boundary[self.last]
        if edges == ("circular", "circular") and abs(k) <= self.vectors:
            wrapped = (
                f"u + {k} < 0 ? u + {k + self.vectors} : u + {k} >= {self.vectors} ? u + {k - self.vectors} : u + {k}"
            )
            return self.loaded(name, f"p + (long long)({wrapped}) * {self.width}", memory, factor)
        lanes = "\n".join(self.lane(name, k, lane, memory, factor) for lane in range(self.width))
        inside = f"u + {k} >= 0 && u + {k} < {self.vectors}"
        return f"      if ({inside}) {{\n  {whole}\n      }} else {{\n{lanes}\n      }}"

    def loaded(self, name: str, address: str, memory: str, factor: str) -> str:
        """Reads a whole vector."""
        load = f"{name} = LOAD((const U *)({address}));"
        if not memory:
            return f"      {load}"
        parts = [self.component(name, lane) for lane in range(self.width)]
        scaled = " ".join(f"{part} *= {factor};" for part in parts)
        splat = " ".join(f"{part} = {factor};" for part in parts)
        return f"      if ({memory}) {{ {load} {scaled} }} else {{ {splat} }}"

    def lane(self, name: str, k: int, lane: int, memory: str, factor: str) -> str:
        """Reads an element of a vector beyond an end of the last axis."""
        site = self.grid.site
        element = f"e{f' * {site} + l - i * {site}' if site > 1 else ''}"
        value = f"a * p[{element}]" if not memory else f"{memory} ? a * {factor} * p[{element}] : a * {factor}"
        index = "l" if site == 1 else f"(l < 0 ? (l - {site - 1}) / {site} : l / {site})"
        return (
            f"        {{ const int l = (u + {k}) * {self.width} + {lane}; const int i = {index}; "
            f"int e; T a = 1, b = 0; "
            f"{self.component(name, lane)} = at{self.last}(i, &e, &a, &b) ? ({value}) : b; }}"
        )

    def total(self, lane: int) -> str:
        """The weighted sum of a lane, in the order of the points."""
        terms = []
        for count, (offset, value) in enumerate(self.points.items()):
            column, component = self.source_of(offset, lane)
            held = self.held(column, self.along(offset) - self.columns[column][0])
            if value is not None:
                weight = number(value)
            elif self.grid.site == 1:
                weight = self.component(f"w{count}", lane)
            else:
                weight = f"c{count}[(here + {lane}) / {self.grid.site}]"
            terms.append(f"{weight} * {self.component(held, component)}")
        return " + ".join(terms)
