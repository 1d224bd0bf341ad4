"""What there is to run: one line and the parameters of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass

NODE = "node"
"""The group of the benchmarks of one node."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as the native half describes it."""

    name: str
    summary: str
    group: str
    default_ranks: int
    lengths: tuple[int, ...] = ()
    """Lengths in bytes where nobody says; empty if it takes none."""
    multiple_of: int = 1
    """Lengths are multiples of this many bytes."""
    hops: bool = False
    """Whether it takes distances."""
    host: bool = False
    """Whether it needs a host beside the nodes."""
    algorithms: tuple[str, ...] = ()
    min_ranks: int = 1
    fields: tuple[str, ...] = ()
    """Which further fields of a request it takes: `window`, `neighbours`, `background`…"""
    loads: int = 1
    """How many points each length has: numbers of neighbours, loads, orders."""
    words: str | None = None
    """What `--lengths` means to a benchmark of one node, if anything."""
    variants: tuple[str, ...] = ()
    """The rows of a benchmark of one node."""

    @property
    def node(self) -> bool:
        """Whether one process measures it and sends no messages: the node suite, and primitives of pvars."""
        return self.group == NODE or "vp_ratios" in self.fields
