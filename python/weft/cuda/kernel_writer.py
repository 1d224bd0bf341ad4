"""What the writers of stencils' kernels have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weft.cuda.boundary_source import Boundary

if TYPE_CHECKING:
    from weft.cuda.stencil_source import Grid, Tuning

COMPONENTS = "xyzw"
"""How CUDA's vector types name their elements."""


class KernelWriter:
    """Writes the source of one kernel.

    Parameters
    ----------
    grid, points, boundary
        As `weft.cuda.stencil_source.stencil_kernel` has them.
    element
        The type of elements in C.
    tuning
        How the work is divided.
    """

    def __init__(
        self,
        grid: Grid,
        element: str,
        points: Mapping[tuple[int, ...], float | None],
        boundary: Sequence[tuple[Boundary, Boundary]],
        tuning: Tuning,
    ) -> None:
        self.grid, self.points, self.boundary, self.tuning, self.type = grid, points, boundary, tuning, element
        self.width = tuning.width

    def component(self, name: str, lane: int) -> str:
        """An element of a vector."""
        return name if self.width == 1 else f"{name}.{COMPONENTS[lane]}"

    def types(self) -> list[str]:
        """T and U: the types of an element and of a vector."""
        vector = self.type if self.width == 1 else f"{self.type}{self.width}"
        return [f"typedef {self.type} T;", f"typedef {vector} U;"]
