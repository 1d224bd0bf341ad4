"""Writes the source of one CUDA kernel that applies a stencil: see `weft.cuda.stencil_source`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from weft.cuda.boundary_source import Boundary, lookup, number
from weft.cuda.kernel_writer import KernelWriter

if TYPE_CHECKING:
    from weft.cuda.stencil_source import Grid, Tuning


class _Column(NamedTuple):
    """What a thread reads at one distance along all axes but the marched one: a vector of a row."""

    row: tuple[int, ...]
    """The offset, with 0 along the marched axis and the last."""

    vector: int
    """Vectors from the thread's own."""


class _Term(NamedTuple):
    """A product in the sum of one of a thread's elements."""

    column: _Column
    component: int
    along: int
    """The distance along the marched axis."""

    point: int
    """The number of the point."""


class StencilWriter(KernelWriter):
    """Writes the source of one kernel whose threads know nothing of each other.

    What a thread reads lies in columns along the marched axis. Either it keeps of each column as many vectors as points
    reach along it, and sums them up for one plane (`Tuning.sums` is false); or it adds each vector, once read, to the
    sums of all planes that it belongs to, and keeps those sums.
    """

    def __init__(
        self,
        grid: Grid,
        element: str,
        points: Mapping[tuple[int, ...], float | None],
        boundary: Sequence[tuple[Boundary, Boundary]],
        tuning: Tuning,
    ) -> None:
        super().__init__(grid, element, points, boundary, tuning)
        self.threads = tuning.threads
        self.rank, self.last, self.marched = len(grid.extents), len(grid.extents) - 1, grid.marched
        self.vectors = grid.lanes // self.width
        self.moved = [axis for axis in range(self.rank) if any(offset[axis] for offset in points)]
        self.fixed = [axis for axis in range(self.rank - 1) if axis != self.marched]
        along = [self.along(offset) for offset in points]
        self.low, self.high = min(along), max(along)
        self.terms = {
            (row, lane): list(self.terms_of(row, lane)) for row in range(tuning.rows) for lane in range(self.width)
        }
        self.coefficients = list(points.values())
        self.arrays = [count for count, value in enumerate(self.coefficients) if value is None]
        self.sums = tuning.sums and self.marched is not None and not self.arrays
        self.columns = self.held_columns()
        # What is read ahead, or for a row of the thread that the array does not have, may lie beyond an end, too.
        if self.marched is not None and any(ends != (0, 0) for ends in self.columns.values()):
            self.moved.append(self.marched)
        if tuning.rows > 1:
            self.moved.append(self.last - 1)
        self.numbers = {column: count for count, column in enumerate(self.columns)}
        self.rows = {row: count for count, row in enumerate(dict.fromkeys(column.row for column in self.columns))}
        self.components = self.used_components()

    def along(self, offset: tuple[int, ...]) -> int:
        """The distance along the marched axis."""
        return 0 if self.marched is None else offset[self.marched]

    def terms_of(self, row: int, lane: int) -> Iterator[_Term]:
        """The products of one of a thread's elements, in the order of the points."""
        for count, offset in enumerate(self.points):
            vector, component = divmod(lane + offset[self.last] * self.grid.site, self.width)
            row_offset = [0 if axis in (self.marched, self.last) else by for axis, by in enumerate(offset)]
            if row:
                row_offset[-2] += row
            yield _Term(_Column(tuple(row_offset), vector), component, self.along(offset), count)

    def held_columns(self) -> dict[_Column, tuple[int, int]]:
        """The lowest and the highest plane that a thread holds of each column, from the plane that it writes."""
        distances: dict[_Column, set[int]] = {}
        for term in (term for terms in self.terms.values() for term in terms):
            distances.setdefault(term.column, set()).add(term.along)
        columns = {}
        for column, held_at in distances.items():
            if self.sums:
                columns[column] = (self.high, self.high + self.tuning.ahead)
            else:
                columns[column] = (min(held_at), max(held_at) + (self.tuning.ahead if len(held_at) > 1 else 0))
        return columns

    def used_components(self) -> dict[_Column, list[int]]:
        """The elements of each column's vectors that are in any sum."""
        used: dict[_Column, set[int]] = {}
        for term in (term for terms in self.terms.values() for term in terms):
            used.setdefault(term.column, set()).add(term.component)
        return {column: sorted(components) for column, components in used.items()}

    def source(self) -> str:
        """All of it."""
        parameters = ["const T *__restrict__ x", "T *__restrict__ out", "int planes"]
        parameters += [f"const T *__restrict__ c{count}" for count in self.arrays]
        across, down = self.threads
        lines = [
            *self.types(),
            "#define LOAD(address) __ldg(address)",
            *(lookup(axis, self.grid.extents[axis], self.boundary[axis]) for axis in sorted(set(self.moved))),
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
            if axis == self.last - 1:
                high = max(high, self.tuning.rows - 1)
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
        if self.rank >= 2:
            tile = down * self.tuning.rows
            rows = -(-extents[-2] // tile)
            lines += [
                f"  const int i{self.last - 1} = (int)(rest % {rows}u) * {tile} + threadIdx.y * {self.tuning.rows};",
                f"  rest /= {rows}u;",
                f"  if (i{self.last - 1} >= {extents[-2]}) return;",
            ]
        axes = []
        for axis in range(self.rank - 4, -1, -1):
            axes += [f"  const int i{axis} = (int)(rest % {extents[axis]}u);", f"  rest /= {extents[axis]}u;"]
        march = []
        if self.marched is not None:
            extent = extents[self.marched]
            march = [
                f"  const unsigned int chunks = ({extent} + planes - 1) / planes;",
                "  const int from = (int)(rest % chunks) * planes;",
                f"  const int to = from + planes < {extent} ? from + planes : {extent};",
                "  rest /= chunks;",
            ]
        lines += [*march, *axes] if self.tuning.planes_first else [*axes, *march]
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
        """The loop over planes, or the only vectors of a thread."""
        lines = []
        for column, (low, high) in self.columns.items():
            lines.append(f"  U {', '.join(self.held(column, step) for step in range(high - low + 1))};")
        if self.sums:
            lines += self.first_sums(fast)
        if self.marched is None:
            lines.append(self.fetches(fast, None, "0"))
        else:
            deepest = max(high - low for low, high in self.columns.values())
            lines += [self.fetches(fast, step, "from") for step in range(deepest)]
            lines.append("  for (int plane = from; plane < to; ++plane) {")
            lines.append(self.fetches(fast, None, "plane"))
        lines += self.written(fast)
        for column, (low, high) in self.columns.items():
            lines += [f"    {self.held(column, k)} = {self.held(column, k + 1)};" for k in range(high - low)]
        if self.marched is not None:
            lines.append("  }")
        return "\n".join(lines)

    def first_sums(self, fast: bool) -> list[str]:
        """The sums of planes from the first on, of what lies before the plane that completes the first."""
        deepest = self.high - self.low
        names = [self.sum_of(row, k) for row in range(self.tuning.rows) for k in range(deepest + 1)]
        lines = [f"  U {', '.join(names)};"]
        for step in range(deepest):
            by = self.low + step
            wanted: dict[tuple[int, ...], list[tuple[_Column, str]]] = {}
            needed = {t.column for terms in self.terms.values() for t in terms if t.along <= by}
            for column in self.columns:
                if column in needed:
                    wanted.setdefault(column.row, []).append((column, self.held(column, 0)))
            lines += [self.fetch(fast, row, by, "from", columns) for row, columns in wanted.items()]
            lines += self.added(by)
            lines += self.shifted_sums()
        return lines

    def added(self, by: int) -> list[str]:
        """Adds what was read of a plane to the sums of all planes, up to `by` planes before it, that it belongs to."""
        lines = []
        for (row, lane), terms in self.terms.items():
            sums: dict[int, list[str]] = {}
            for term in terms:
                if term.along <= by:
                    product = f"{self.weight(term, lane)} * {self.value(term, 0)}"
                    sums.setdefault(self.high - term.along, []).append(product)
            for k, products in sums.items():
                target = self.component(self.sum_of(row, k), lane)
                # The plane that is farthest behind the one that was read meets its sum for the first time.
                first = [] if k == self.high - self.low else [target]
                lines.append(f"    {target} = {' + '.join([*first, *products])};")
        return lines

    def shifted_sums(self) -> list[str]:
        """Every sum becomes that of the plane before."""
        return [
            f"    {self.sum_of(row, k)} = {self.sum_of(row, k + 1)};"
            for row in range(self.tuning.rows)
            for k in range(self.high - self.low)
        ]

    def sum_of(self, row: int, k: int) -> str:
        """The register with the sum of a row, `k` planes from the one that is complete next."""
        return f"sum{row}_{k}"

    def written(self, fast: bool) -> list[str]:
        """Sums up what was read and writes a plane's vectors."""
        plane = "0" if self.marched is None else "plane"
        stride = 0 if self.marched is None else self.grid.stride(self.marched)
        lines = [f"    const long long here = start + (long long){plane} * {stride}ll + (long long)u * {self.width};"]
        if self.sums:
            lines += self.added(self.high)
        for row in range(self.tuning.rows):
            beyond = "" if fast or not row else f"if (i{self.last - 1} + {row} < {self.grid.extents[-2]}) "
            at = f"here + {row * self.grid.stride(self.last - 1)}ll" if row else "here"
            total = self.sum_of(row, 0)
            if not self.sums:
                lines += [f"    {beyond}{{", f"    U {total};"]
                if self.grid.site == 1:
                    lines += [f"    const U w{count} = LOAD((const U *)(c{count} + {at}));" for count in self.arrays]
                for lane in range(self.width):
                    products = [
                        f"{self.weight(term, lane, at)} * {self.value(term, term.along - self.columns[term.column][0])}"
                        for term in self.terms[row, lane]
                    ]
                    lines.append(f"    {self.component(total, lane)} = {' + '.join(products)};")
                beyond = ""
            address, end = f"(U *)(out + {at})", "" if self.sums else " }"
            store = f"__stcs({address}, {total});" if self.tuning.streaming else f"*{address} = {total};"
            lines.append(f"    {beyond}{store}{end}")
        return [*lines, *(self.shifted_sums() if self.sums else [])]

    def weight(self, term: _Term, lane: int, at: str = "") -> str:
        """The coefficient of a product."""
        value = self.coefficients[term.point]
        if value is not None:
            return number(value)
        if self.grid.site == 1:
            return self.component(f"w{term.point}", lane)
        return f"c{term.point}[({at} + {lane}) / {self.grid.site}]"

    def value(self, term: _Term, step: int) -> str:
        """The element of a product."""
        return self.component(self.held(term.column, step), term.component)

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
        k, used = column.vector, self.components[column]
        whole = self.loaded(name, f"p + (long long)(u + {k}) * {self.width}", memory, factor, used)
        if k == 0:
            return whole
        edges = self.boundary[self.last]
        if edges == ("circular", "circular") and abs(k) <= self.vectors:
            wrapped = (
                f"u + {k} < 0 ? u + {k + self.vectors} : u + {k} >= {self.vectors} ? u + {k - self.vectors} : u + {k}"
            )
            return self.loaded(name, f"p + (long long)({wrapped}) * {self.width}", memory, factor, used)
        lanes = "\n".join(self.lane(name, k, lane, memory, factor) for lane in used)
        inside = f"u + {k} >= 0 && u + {k} < {self.vectors}"
        return f"      if ({inside}) {{\n  {whole}\n      }} else {{\n{lanes}\n      }}"

    def loaded(self, name: str, address: str, memory: str, factor: str, used: Sequence[int]) -> str:
        """Reads a vector, or the one element of it that is used."""
        parts = [self.component(name, lane) for lane in used]
        load = f"{name} = LOAD((const U *)({address}));"
        if len(used) == 1 and self.width > 1:
            load = f"{parts[0]} = LOAD({address} + {used[0]});"
        if not memory:
            return f"      {load}"
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
