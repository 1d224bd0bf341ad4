"""Writes the source of a CUDA kernel that applies a stencil to planes which its blocks stage in shared memory.

Blocks march along the first axis. Each keeps a ring of planes of its tile, with what its points reach beyond the
tile, and copies the planes that come next while it computes: asynchronously, so that copies take no registers and many
are under way (NVIDIA, CUDA C++ Programming Guide, section Asynchronous Data Copies, from compute capability 8.0 on).
What lies along the marched axis through a thread's own points it keeps in registers, so that the ring needs no planes
for it. An element is read from the second-level cache about once and a quarter for a tile of 64 by 32 and points up
to four away; a block of a few rows, which finds its neighbours' rows in that cache, reads it twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from weft.cuda.boundary_source import Boundary, lookup, number
from weft.cuda.kernel_writer import KernelWriter
from weft.cuda.launching import VECTOR_BYTES

if TYPE_CHECKING:
    from weft.cuda.stencil_source import Grid, Tuning

MAX_PLANE = 1 << 29
"""Elements of a plane, at most: a thread knows from where it copies by 31 bits, two of which say how."""

ASYNCHRONOUS = """\
#ifndef COPY_AHEAD
#define COPY_AHEAD(to, from) asm volatile("cp.async.{cache}.shared.global [%0], [%1], {bytes};" \\
  :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from))
#define COPY_ELEMENT(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], {element};" \\
  :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from))
#define CLOSE_GROUP() asm volatile("cp.async.commit_group;")
#define AWAIT_GROUPS(left) asm volatile("cp.async.wait_group %0;" :: "n"(left))
#endif"""
"""Copies to shared memory, in groups that are awaited in their order: all but so many that are left."""


class Reach(NamedTuple):
    """How far the points of a stencil of three axes lie from the one that is computed.

    Attributes
    ----------
    queue
        The lowest and the highest distance along the marched axis of points on the thread's own column; None where that
        is one plane, which is read as any other.
    low, high
        The same of all other points: planes that the ring has.
    rows, columns
        The lowest and the highest distance along the second and the last axis.
    has_corners
        Whether a point is beyond the tile along both.
    """

    queue: tuple[int, int] | None
    low: int
    high: int
    rows: tuple[int, int]
    columns: tuple[int, int]
    has_corners: bool

    @classmethod
    def of(cls, points: Mapping[tuple[int, ...], float | None]) -> Reach:
        """That of these points.

        >>> Reach.of({(-1, 0, 0): 1.0, (1, 0, 0): 1.0, (0, 2, 0): 0.5})
        Reach(queue=(-1, 1), low=0, high=0, rows=(0, 2), columns=(0, 0), has_corners=False)
        """
        own = [along for along, *rest in points if not any(rest)]
        queue = (min(own), max(own)) if len(own) > 1 else None
        others = [along for along, *rest in points if any(rest) or queue is None] or [0]
        rows, columns = ([offset[axis] for offset in points] for axis in (1, 2))
        return cls(
            queue,
            min(others),
            max(others),
            (min(0, *rows), max(0, *rows)),
            (min(0, *columns), max(0, *columns)),
            any(row and column for _, row, column in points),
        )

    @property
    def newest(self) -> int:
        """How far ahead of the plane that is computed the newest plane is that it needs."""
        return self.high if self.queue is None else max(self.high, self.queue[1])

    @property
    def oldest(self) -> int:
        """The lowest distance of a plane in the ring."""
        return self.low if self.queue is None else min(self.low, self.queue[1])

    @property
    def planes(self) -> int:
        """Planes of the ring that are read while one is computed."""
        return self.newest - self.oldest + 1

    @property
    def first(self) -> int:
        """The lowest distance of any plane that is read."""
        return self.oldest if self.queue is None else min(self.oldest, self.queue[0])


class Tile(NamedTuple):
    """A plane of a block in shared memory, in elements: its own points, and what is reached beyond them.

    Attributes
    ----------
    across, down
        Own points along the last axis and along the one before.
    before, above
        What lies before them along each.
    row, rows
        Of all: elements of a row, and rows.
    """

    across: int
    down: int
    before: int
    above: int
    row: int
    rows: int

    @classmethod
    def of(cls, reach: Reach, tuning: Tuning) -> Tile:
        """That of blocks of a division, whose rows begin and end with whole vectors."""
        width = tuning.width
        across, down = tuning.threads[0] * width, tuning.threads[1] * tuning.rows
        before, after = (-(-abs(by) // width) * width for by in reach.columns)
        return cls(across, down, before, -reach.rows[0], before + across + after, down + reach.rows[1] - reach.rows[0])

    @property
    def size(self) -> int:
        """Elements of a plane."""
        return self.row * self.rows


class StagedWriter(KernelWriter):
    """Writes the source of one kernel for arrays of three axes, with a constant for each point."""

    def __init__(
        self,
        grid: Grid,
        element: str,
        points: Mapping[tuple[int, ...], float | None],
        boundary: Sequence[tuple[Boundary, Boundary]],
        tuning: Tuning,
    ) -> None:
        super().__init__(grid, element, points, boundary, tuning)
        self.reach = Reach.of(points)
        self.tile = Tile.of(self.reach, tuning)
        self.ahead = tuning.stages - self.reach.planes
        farthest = max(map(abs, self.reach.columns)) + tuning.width
        if math.prod(grid.extents[1:]) > MAX_PLANE or farthest > grid.extents[2]:
            raise ValueError(f"planes of {grid.extents[1]} by {grid.extents[2]} elements are not staged")
        if self.ahead < 1:
            raise ValueError(f"a ring of {tuning.stages} planes has none to copy to beside {self.reach.planes} in use")
        self.copies = self.tile.size // tuning.width
        self.each = -(-self.copies // (tuning.threads[0] * tuning.threads[1]))

    def source(self) -> str:
        """All of it."""
        (_, n1, n2), (across, down), width = self.grid.extents, self.tuning.threads, self.tuning.width
        element = 4 if self.type == "float" else 8
        size = width * element
        lines = [
            *self.types(),
            ASYNCHRONOUS.format(cache="cg" if size == VECTOR_BYTES else "ca", bytes=size, element=element),
            "extern __shared__ __align__(16) unsigned char staged[];",
            *(lookup(axis, self.grid.extents[axis], self.boundary[axis]) for axis in range(3)),
            f'extern "C" __global__ void __launch_bounds__({across * down}) '
            "stencil(const T *__restrict__ x, T *__restrict__ out, int planes) {",
            self.position(),
            self.where(),
            *self.registers(),
            "  int stage = 0, behind;",
            *(self.copied(f"from + {self.reach.first + step}", str(step)) for step in range(self.ahead)),
            f"  for (int plane = from + {self.reach.first}; plane < to + {self.reach.newest}; ++plane) {{",
            f"    AWAIT_GROUPS({self.ahead - 1});",
            self.negated(),
            "    __syncthreads();",
            f"    {{ int next = stage + {self.ahead}; if (next >= {self.tuning.stages}) next -= {self.tuning.stages};",
            f"    if (plane + {self.ahead} < to + {self.reach.newest}) {{",
            self.copied(f"plane + {self.ahead}", "next"),
            "    } else { CLOSE_GROUP(); } }",
            *self.queued(),
            f"    if (plane >= from + {self.reach.newest}) {{",
            *self.summed(),
            f"      if (u < {n2}) {{",
            f"        T *at = out + (long long)(plane - {self.reach.newest}) * {n1 * n2}ll + (long long)v * {n2} + u;",
            *(
                f"        if (v + {row} < {n1}) __stcs((U *)(at + {row * n2}), total{row});"
                for row in range(self.tuning.rows)
            ),
            "      }",
            "    }",
            f"    if (++stage == {self.tuning.stages}) stage = 0;",
            "  }",
            "}",
            "",
        ]
        return "\n".join(lines)

    def position(self) -> str:
        """Where a block is, and a thread's first point."""
        n0, n1, n2 = self.grid.extents
        across = self.tuning.threads[0]
        along, rows = -(-n2 // self.tile.across), -(-n1 // self.tile.down)
        return f"""\
  unsigned int rest = blockIdx.x;
  const int left = (int)(rest % {along}u) * {self.tile.across}; rest /= {along}u;
  const int top = (int)(rest % {rows}u) * {self.tile.down}; rest /= {rows}u;
  const unsigned int chunks = ({n0} + planes - 1) / planes;
  const int from = (int)(rest % chunks) * planes;
  const int to = from + planes < {n0} ? from + planes : {n0};
  rest /= chunks;
  x += (long long)rest * {n0 * n1 * n2}ll;
  out += (long long)rest * {n0 * n1 * n2}ll;
  T *const ring = (T *)staged;
  const int thread = threadIdx.y * {across} + threadIdx.x;
  const int u = left + threadIdx.x * {self.tuning.width}, v = top + threadIdx.y * {self.tuning.rows};
  const int own = (threadIdx.y * {self.tuning.rows} + {self.tile.above}) * {self.tile.row}
    + {self.tile.before} + threadIdx.x * {self.tuning.width};"""

    def where(self) -> str:
        """From where in a plane a thread copies each of its vectors: four times the index of the first element.

        The last bit is set where the sign is the other one, the bit before where the vector is reversed. It is -1 for
        vectors that nobody reads, and for those of values, which are in all stages from the beginning.
        """
        _, n1, n2 = self.grid.extents
        tile, width = self.tile, self.tuning.width
        corner = (
            "false" if self.reach.has_corners else
            f"(row < {tile.above} || row >= {tile.above + tile.down}) && "
            f"(column < {tile.before} || column >= {tile.before + tile.across})"
        )  # fmt: skip
        reverse = (
            f"int last; T ignored = 1; at2(i2 + {width - 1}, &last, &ignored, &ignored); if (last < e2) where[k] |= 2;"
            if self.reverses
            else ""
        )
        return f"""\
  int where[{self.each}];
#pragma unroll
  for (int k = 0; k < {self.each}; ++k) {{
    const int number = thread + k * {self.threads};
    const int row = number / {tile.row // width}, column = number % {tile.row // width} * {width};
    const int i1 = top + row - {tile.above}, i2 = left + column - {tile.before};
    where[k] = -1;
    if (number >= {self.copies} || i1 >= {n1 + self.reach.rows[1]}) continue;
    if (i2 >= {n2 + tile.row - tile.across - tile.before} || ({corner})) continue;
    int e1, e2;
    T sign = 1, value = 0;
    if (at2(i2, &e2, &sign, &value) && at1(i1, &e1, &sign, &value)) {{
      where[k] = (e1 * {n2} + e2) << 2 | (sign < 0);
      {reverse}
    }} else {{
      for (int k = 0; k < {self.tuning.stages * width}; ++k)
        ring[k / {width} * {tile.size} + number * {width} + k % {width}] = value;
    }}
  }}"""

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.tuning.threads[0] * self.tuning.threads[1]

    def copied(self, plane: str, stage: str) -> str:
        """Copies a plane into a stage of the ring, as a group; where a value lies beyond the end, stores that."""
        _, n1, n2 = self.grid.extents
        width = self.tuning.width
        copy = "COPY_AHEAD(to, of_plane + (where[k] >> 2));"
        if self.reverses:
            copy = f"""if (where[k] & 2)
          for (int lane = 0; lane < {width}; ++lane) COPY_ELEMENT(to + lane, of_plane + (where[k] >> 2) - lane);
        else {copy}"""
        if any(not isinstance(end, str) for end in self.boundary[0]):
            copy = f"""if (!is_plane)
          for (int lane = 0; lane < {width}; ++lane) to[lane] = where[k] & 1 ? -value : value;
        else {copy}"""
        return f"""\
    {{ int e = 0; T sign = 1, value = 0;
      const bool is_plane = at0({plane}, &e, &sign, &value);
      const T *const of_plane = x + (long long)(is_plane ? e : 0) * {n1 * n2}ll;
#pragma unroll
      for (int k = 0; k < {self.each}; ++k) {{
        if (where[k] < 0) continue;
        T *const to = ring + ({stage}) * {self.tile.size} + (thread + k * {self.threads}) * {width};
        {copy}
      }}
      CLOSE_GROUP(); }}"""

    def negated(self) -> str:
        """Changes the sign of what a thread has copied to the newest plane, where that is the other one."""
        if not any("antiperiodic" in ends for ends in self.boundary):
            return ""
        width = self.tuning.width
        return f"""\
    {{ int e; T sign = 1, value = 0;
      if (at0(plane, &e, &sign, &value))
#pragma unroll
        for (int k = 0; k < {self.each}; ++k)
          if (where[k] >= 0 && (where[k] & 1) != (sign < 0)) {{
            T *const to = ring + stage * {self.tile.size} + (thread + k * {self.threads}) * {width};
            for (int lane = 0; lane < {width}; ++lane) to[lane] = -to[lane];
          }}
    }}"""

    @property
    def reverses(self) -> bool:
        """Whether vectors beyond the ends of rows may be those of the array from behind."""
        return self.tuning.width > 1 and any(end in ("reflect", "symmetric") for end in self.boundary[2])

    def registers(self) -> Iterator[str]:
        """Those that hold a thread's own columns.

        They begin as zeros, though no sum has what is in them before the first planes come: CUDA's compiler took what
        nothing was assigned to for the same in all threads of a warp, also where it had moved on from registers that
        are not (ptxas 13.0: every thread then computed with the columns of the first).
        """
        if self.reach.queue is not None:
            low, high = self.reach.queue
            for row in range(self.tuning.rows):
                yield f"  U {', '.join(f'q{row}_{k} = {{0}}' for k in range(high - low + 1))};"

    def queued(self) -> Iterator[str]:
        """Every column moves on by a plane."""
        if self.reach.queue is None:
            return
        low, high = self.reach.queue
        for row in range(self.tuning.rows):
            for k in range(high - low):
                yield f"    q{row}_{k} = q{row}_{k + 1};"
        yield f"    {self.staged(high)}"
        # Planes before the first that anybody copied are not there; none of them is in a sum.
        newest = f"ring + behind * {self.tile.size} + own"
        for row in range(self.tuning.rows):
            yield f"    q{row}_{high - low} = *(const U *)({newest} + {row * self.tile.row});"

    def staged(self, along: int) -> str:
        """The stage of the plane at a distance from the one that is computed."""
        return f"behind = stage - {self.reach.newest - along}; if (behind < 0) behind += {self.tuning.stages};"

    def summed(self) -> Iterator[str]:
        """The sums of a thread's points, vector by vector that is read."""
        width, rows = self.tuning.width, self.tuning.rows
        products: dict[tuple[int, int, int] | None, list[str]] = {}
        for (along, by_row, by_column), value in self.points.items():
            assert value is not None
            for row in range(rows):
                for lane in range(width):
                    vector, component = divmod(lane + by_column, width)
                    in_queue = self.reach.queue is not None and not by_row and not by_column
                    key = None if in_queue else (along, row + by_row, vector)
                    held = f"q{row}_{along - self.reach.queue[0]}" if in_queue and self.reach.queue else "read"
                    target = self.component(f"total{row}", lane)
                    products.setdefault(key, []).append(
                        f"{target} += {number(value)} * {self.component(held, component)};"
                    )
        zeros = [self.component(f"total{row}", lane) for row in range(rows) for lane in range(width)]
        yield f"      U {', '.join(f'total{row}' for row in range(rows))};"
        yield f"      {' = '.join(zeros)} = 0;"
        yield from (f"      {line}" for line in products.get(None, []))
        current = None
        for (along, by_row, vector), lines in sorted((key, lines) for key, lines in products.items() if key):
            if along != current:
                yield f"      {self.staged(along)}"
                yield (
                    f"      {{ const T *const near = ring + behind * {self.tile.size} + own;"
                    if current is None
                    else (f"      }} {{ const T *const near = ring + behind * {self.tile.size} + own;")
                )
                current = along
            yield f"      {{ const U read = *(const U *)(near + {by_row * self.tile.row + vector * width});"
            yield from (f"        {line}" for line in lines)
            yield "      }"
        if current is not None:
            yield "      }"
