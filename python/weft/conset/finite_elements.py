"""The finite-element solver's systems: assembled, partitioned, and what their partition makes the ranks exchange.

Elements belong to one rank each; a rank multiplies with the matrix of its own elements, and what is missing at nodes
that ranks share comes from the neighbours, to be added (section 5.2 of Feldmann, Stricker and Warfel 1993). Solving is
`_core.solve_simulated` and its neighbours: conjugate gradients, one source for virtual time, threads and MPI.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from weft._core import ExchangeRequest, UsageError
from weft.conset.meshes import Mesh

Equation = Literal["poisson", "elasticity"]
EQUATIONS: tuple[Equation, ...] = ("poisson", "elasticity")

Integers = NDArray[np.int64]


def _needs(package: str) -> UsageError:
    return UsageError(f"the finite-element solver needs {package}: pip install 'weft[fem]'")


def partition(mesh: Mesh, parts: int) -> Integers:
    """The part of every cell: the dual graph cut by METIS's recursive bisection.

    Raises
    ------
    UsageError
        If pymetis is missing, or there are fewer cells than parts.
    """
    if parts < 1 or parts > len(mesh.cells):
        raise UsageError(f"{mesh.name}: {parts} parts of {len(mesh.cells)} cells")
    if parts == 1:
        return np.zeros(len(mesh.cells), dtype=np.int64)
    try:
        import pymetis
    except ImportError:
        raise _needs("pymetis") from None
    neighbours = mesh.dual_graph()
    starts = np.concatenate([[0], np.cumsum([len(adjacent) for adjacent in neighbours])])
    adjacency = pymetis.CSRAdjacency(starts.tolist(), np.concatenate(neighbours).tolist())
    _, membership = pymetis.part_graph(parts, adjacency=adjacency, recursive=True)
    part = np.asarray(membership, dtype=np.int64)
    empty = np.setdiff1d(np.arange(parts), part)
    if empty.size:
        raise UsageError(f"{mesh.name}: part {empty[0]} of {parts} got no cells; ask for fewer parts")
    return part


@dataclass(frozen=True)
class Partition:
    """A mesh whose cells are divided among ranks.

    Attributes
    ----------
    mesh
        The mesh.
    part
        The rank of every cell.
    parts
        How many ranks.
    """

    mesh: Mesh
    part: Integers
    parts: int

    @classmethod
    def of(cls, mesh: Mesh, parts: int) -> Partition:
        """The partition by METIS."""
        return cls(mesh, partition(mesh, parts), parts)

    @cached_property
    def nodes_of_parts(self) -> list[Integers]:
        """The nodes of every rank's cells, ascending; a node on the border belongs to several."""
        return [np.unique(self.mesh.cells[self.part == rank]) for rank in range(self.parts)]

    @cached_property
    def shared(self) -> dict[tuple[int, int], int]:
        """How many nodes each ordered pair of ranks shares, for those that share any."""
        node = np.concatenate(self.nodes_of_parts)
        rank = np.repeat(np.arange(self.parts), [len(nodes) for nodes in self.nodes_of_parts])
        from scipy.sparse import csr_array

        has = csr_array((np.ones(len(node), dtype=np.int64), (rank, node)), shape=(self.parts, len(self.mesh.points)))
        both = (has @ has.T).tocoo()
        pairs = zip(both.row.tolist(), both.col.tolist(), both.data.tolist(), strict=True)
        return {(one, other): count for one, other, count in sorted(pairs) if one != other}

    def connection_set(self, words: int = 1) -> dict[str, Any]:
        """The exchange between ranks as a connection set: a connection for every ordered pair that shares nodes.

        Parameters
        ----------
        words
            Words of a node: 1 for Poisson's equation, 2 or 3 for elasticity.

        Returns
        -------
        dict
            `name`, `nodes` and `connections` (`source`, `destination`, `words`), as `weft._core` reads it.
        """
        connections = [
            {"source": one, "destination": other, "words": words * count} for (one, other), count in self.shared.items()
        ]
        return {"name": self.mesh.name, "nodes": self.parts, "connections": connections}

    def structure(self) -> Structure:
        """The figures of the paper's table 4."""
        sent = np.zeros(self.parts, dtype=np.int64)
        degree = np.zeros(self.parts, dtype=np.int64)
        for (one, _), count in self.shared.items():
            sent[one] += count
            degree[one] += 1
        cells = np.bincount(self.part, minlength=self.parts)
        # Every rank receives as much as it sends.
        words = 2 * sent
        return Structure(
            len(self.mesh.cells), len(self.mesh.points), (int(cells.min()), int(cells.max())),
            (int(words.min()), int(words.max())), int(degree.max()),
        )  # fmt: skip


@dataclass(frozen=True)
class Structure:
    """Table 4 of the paper for one mesh.

    Attributes
    ----------
    elements, nodes
        Of the mesh.
    elements_per_processor
        Least and most.
    words_per_processor
        Least and most that it sends, for two words a shared node (as many are received).
    degree
        The most neighbours of a processor.
    """

    elements: int
    nodes: int
    elements_per_processor: tuple[int, int]
    words_per_processor: tuple[int, int]
    degree: int


@dataclass(frozen=True)
class System:
    """An assembled system of equations on a partitioned mesh.

    Attributes
    ----------
    partition
        The partition.
    equation
        `poisson` (one unknown a node) or `elasticity` (one a node and dimension).
    matrices
        Of every rank the matrix of its cells over all unknowns that are not held, as scipy's CSR.
    right
        The right-hand side.
    """

    partition: Partition
    equation: Equation
    matrices: list[Any] = field(repr=False)
    right: NDArray[np.float64] = field(repr=False)
    words: int = 1

    @property
    def unknowns(self) -> int:
        """How many."""
        return len(self.right)

    def direct(self) -> NDArray[np.float64]:
        """The solution by scipy's sparse factorisation."""
        from scipy.sparse.linalg import spsolve

        solution: NDArray[np.float64] = np.asarray(spsolve(sum(self.matrices).tocsc(), self.right))
        return solution

    def problem(self, tolerance: float = 1e-6, iterations: int = 10_000, precision: str = "double") -> dict[str, Any]:
        """The system as `weft._core.solve_simulated` reads it.

        Parameters
        ----------
        tolerance
            Until the residual is this part of the right-hand side.
        iterations
            At most.
        precision
            `single` (words of 4 bytes, as on iWarp) or `double`.
        """
        ranks_of = np.full(self.unknowns, -1)
        subdomains = []
        for rank, matrix in enumerate(self.matrices):
            own = np.unique(matrix.indices)
            local = matrix[own][:, own].tocsr()
            local.sort_indices()
            first = ranks_of[own] < 0
            ranks_of[own[first]] = rank
            subdomains.append(
                {
                    "unknowns": own.tolist(),
                    "row_starts": local.indptr.tolist(),
                    "columns": local.indices.tolist(),
                    "values": local.data.tolist(),
                    "right": self.right[own].tolist(),
                    "counts": first.tolist(),
                }
            )
        return {
            "unknowns": self.unknowns, "subdomains": subdomains, "tolerance": tolerance, "iterations": iterations,
            "precision": precision,
        }  # fmt: skip

    def connection_set(self) -> dict[str, Any]:
        """The exchange of this system's unknowns: fewer words than the mesh's where nodes are held."""
        of_ranks = [np.unique(matrix.indices) for matrix in self.matrices]
        connections = []
        for one, other in self.partition.shared:
            words = len(np.intersect1d(of_ranks[one], of_ranks[other], assume_unique=True))
            if words:
                connections.append({"source": one, "destination": other, "words": words})
        return {"name": self.partition.mesh.name, "nodes": self.partition.parts, "connections": connections}


def assemble(partition: Partition, equation: Equation = "poisson") -> System:
    """Assemble an equation on a partitioned mesh with scikit-fem, the matrix of every rank's cells for itself.

    Poisson's equation has a unit source and is held at 0 on the whole boundary. Elasticity (Young's modulus 1,
    Poisson's ratio 0.3; plane stress of a plate) is pulled by its weight and held where the first coordinate is least.

    Raises
    ------
    UsageError
        For an unknown equation, or if scikit-fem is missing.
    """
    if equation not in EQUATIONS:
        raise UsageError(f"no equation '{equation}'; there are {', '.join(EQUATIONS)}")
    try:
        import skfem
    except ImportError:
        raise _needs("scikit-fem") from None
    mesh = partition.mesh
    points = np.ascontiguousarray(mesh.points.T)
    if mesh.kind == "triangle":
        cells = np.ascontiguousarray(mesh.cells.T)
        whole: Any = skfem.MeshTri(points, cells, sort_t=False)
        element: Any = skfem.ElementTriP1()
    else:
        # scikit-fem numbers the corners of a hexahedron by coordinates, VTK goes around.
        cells = np.ascontiguousarray(mesh.cells[:, [0, 1, 3, 4, 2, 5, 7, 6]].T)
        whole = skfem.MeshHex(points, cells)
        element = skfem.ElementHex1()
    words = 1 if equation == "poisson" else mesh.points.shape[1]
    if words > 1:
        element = skfem.ElementVector(element)
    basis = skfem.Basis(whole, element)
    held = _held(basis, mesh, equation)
    free = np.setdiff1d(np.arange(basis.N), held)
    right = _load(basis, equation)[free]
    matrices = []
    for rank in range(partition.parts):
        own = skfem.Basis(whole, element, elements=np.nonzero(partition.part == rank)[0])
        matrix = _stiffness(own, equation)[free][:, free].tocsr()
        matrix.eliminate_zeros()
        matrix.sum_duplicates()
        # A node on the border may have no coupling in the cells of one of its ranks; its place there stays.
        matrices.append(matrix)
    return System(partition, equation, matrices, right, words)


def _held(basis: Any, mesh: Mesh, equation: Equation) -> Integers:
    if equation == "poisson":
        nodes = mesh.boundary()
    else:
        least = mesh.points[:, 0].min()
        nodes = np.nonzero(mesh.points[:, 0] <= least + 1e-9 * np.ptp(mesh.points[:, 0]))[0]
    dofs: Integers = np.unique(basis.nodal_dofs[:, nodes])
    return dofs


def _load(basis: Any, equation: Equation) -> NDArray[np.float64]:
    import skfem

    if equation == "poisson":
        form = skfem.LinearForm(lambda v, w: 1.0 * v)
    else:
        form = skfem.LinearForm(lambda v, w: -1.0 * v[-1])
    load: NDArray[np.float64] = form.assemble(basis)
    return load


def _stiffness(basis: Any, equation: Equation) -> Any:
    import skfem
    from skfem.helpers import ddot, dot, eye, grad, sym_grad, trace

    if equation == "poisson":
        return skfem.BilinearForm(lambda u, v, w: dot(grad(u), grad(v))).assemble(basis)
    young, ratio = 1.0, 0.3
    shear = young / (2.0 * (1.0 + ratio))
    dimension = basis.mesh.p.shape[0]
    # Plane stress in two dimensions.
    bulk = young * ratio / (1.0 - ratio**2) if dimension == 2 else young * ratio / ((1.0 + ratio) * (1.0 - 2.0 * ratio))

    def form(u: Any, v: Any, w: Any) -> Any:
        strain = sym_grad(u)
        return ddot(2.0 * shear * strain + bulk * eye(trace(strain), dimension), sym_grad(v))

    return skfem.BilinearForm(form).assemble(basis)


def solve_request(system: System, exchange: ExchangeRequest, **settings: Any) -> str:
    """The JSON of a solver's request for ranks of MPI: the system's problem with an exchange.

    Parameters
    ----------
    system
        What is solved.
    exchange
        Of :func:`weft.conset.exchange.request`.
    settings
        As for :meth:`System.problem`.
    """
    return f'{{"exchange": {exchange.to_json()}, "problem": {json.dumps(system.problem(**settings))}}}'
