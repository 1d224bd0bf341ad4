"""What the reproduction is handed: exchanges that others execute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Times:
    """One exchange in clocks, by every way there is.

    Attributes
    ----------
    phases, apr_phases
        Of weft's schedule and of the paper's compiler (APR and AS).
    predicted, apr_predicted
        What the schedules say.
    conset, apr
        Simulated: weft's schedule, the paper's compiler's.
    messages
        Simulated message passing; a program in stages sends a stage's when those of the one before have come. Where
        messages go in random order, the median over several orders.
    bound
        The best lower bound of the transfers and phases.
    first_messages
        Message passing as it was predicted before the measured times were known: messages of a program in stages
        without their order, one random order. None where that was the same.
    """

    phases: int
    apr_phases: int
    predicted: float
    apr_predicted: float
    conset: float
    apr: float
    messages: float
    bound: float
    first_messages: float | None = None


@dataclass(frozen=True)
class MeshResult:
    """A mesh like the paper's, its exchange, and one product with its matrix.

    Attributes
    ----------
    elements, nodes
        Of the mesh.
    elements_per_processor, words_per_processor
        Least and most; words are those sent.
    degree
        The most neighbours of a processor.
    words
        Of every connection.
    times
        Of the exchange, element by element.
    computation
        Clocks of the local part of the product on the slowest processor, simulated.
    operations
        Additions and multiplications of all processors together.
    """

    elements: int
    nodes: int
    elements_per_processor: tuple[int, int]
    words_per_processor: tuple[int, int]
    degree: int
    words: tuple[int, ...]
    times: Times
    computation: float
    operations: int


class Exchanges(Protocol):
    """Compiles and executes exchanges on the simulated iWarp."""

    def pattern(self, name: str, words: int) -> Times:
        """A named pattern with `words` words on every connection."""
        ...

    def mesh(self, name: str) -> MeshResult:
        """One of the meshes like the paper's."""
        ...
