"""The MPI that a rank's launcher belongs to, before MPI is initialised.

A launcher of Open MPI and one of MPICH do not start each other's ranks: a library that does not understand its launcher
is the only rank of its own world, or ends the process. Which launcher it was is told by the processes above a rank (the
helper that started it lies in the folder of its MPI) and, where those are another user's, as under srun, by the
variables that the launcher has set.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from weft._core import UsageError
from weft.launch import environment, processes

NAMES = ("libmpi_abi.so.1", "libmpi.so.12", "libmpi.so.40", "libmpi.so")
"""What MPI libraries are called, as in crates/mpi: the standard ABI, MPICH's, Open MPI's."""


@dataclass(frozen=True)
class Family:
    """Launchers and libraries that understand each other."""

    name: str
    programs: tuple[str, ...]
    """The processes from which ranks are started."""
    libraries: tuple[str, ...]
    """Files that are this family's by their name; `libmpi.so` may be anybody's."""


OPEN_MPI = Family("Open MPI", ("prterun", "prted", "orted", "orterun", "mpirun.openmpi"), ("libmpi.so.40",))
PROXIES = ("hydra_pmi_proxy", "hydra_bstrap_proxy")
"""What Hydra's mpiexec starts on every computer; it is installed beside it, by MPICH and by Intel MPI."""
HYDRA = Family(
    "MPICH",
    (*PROXIES, "mpiexec.hydra"),
    ("libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"),
)


@dataclass(frozen=True)
class Ancestor:
    """A process above this one: its name, and its program where the system tells."""

    name: str
    program: Path | None


def ancestors(process: int | None = None) -> Iterator[Ancestor]:
    """The processes above one (this one unless named), from the nearest on; none where there is no `/proc`."""
    at = process or os.getpid()
    while (at := processes.parent(at)) > 1:
        try:
            name = Path(f"/proc/{at}/comm").read_text().strip()
        except OSError:
            return
        # That of another user's, as slurmstepd is, is not told.
        program = processes.program(at)
        yield Ancestor(name if program is None else program.name, program)


def is_mpiexec_of_hydra(program: Path | None) -> bool:
    """Whether a program is Hydra's mpiexec, which has its proxies as its children for as long as it runs."""
    if program is None or not program.name.startswith("mpiexec"):
        return False
    return any((program.parent / name).exists() for name in PROXIES)


def folders(prefix: Path) -> list[Path]:
    """Where an MPI that is installed in `prefix` has its libraries: those of Intel MPI and Debian too."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    names = [
        "lib",
        "lib64",
        "lib/release",
        *([f"lib/{multiarch}", f"lib/{multiarch}/openmpi/lib"] if multiarch else []),
    ]
    return [prefix / name for name in names]


def library(
    own: Iterable[Path],
    variables: Mapping[str, str] = os.environ,
    above: Iterable[Ancestor] | None = None,
) -> str | None:
    """The MPI library of the launcher that made this process a rank; `None` where it is none, or does not tell.

    Parameters
    ----------
    own
        Folders in which the library that comes with weft may be: taken where the launcher's own has none.
    variables
        The environment.
    above
        The processes above this one; those of the system unless given.

    Examples
    --------
    >>> library([], {}) is None
    True
    >>> library([], {"PMIX_RANK": "0", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, [])
    'libmpi.so.40'
    """
    launcher = _started_by(variables, above)
    return None if launcher is None else _of_family(*launcher, own, variables)


def _started_by(variables: Mapping[str, str], above: Iterable[Ancestor] | None) -> tuple[Family, Path | None] | None:
    """The family of the launcher of this rank, and its program where that is known."""
    if environment.launcher(variables) is None:
        return None
    for process in ancestors() if above is None else above:
        for family in (OPEN_MPI, HYDRA):
            if process.name in family.programs:
                return family, process.program
    named = _of_variables(variables)
    return None if named is None else (named, None)


def check(
    named: str, own: Iterable[Path], variables: Mapping[str, str] = os.environ, above: Iterable[Ancestor] | None = None
) -> None:
    """Refuse a library that is named, by its file, and whose MPI did not start this rank: it would abort, or be alone.

    Raises
    ------
    UsageError
        With the library to name instead.
    """
    launcher = _started_by(variables, above)
    if launcher is not None and Path(named).resolve().name.startswith(_foreign(launcher[0])):
        family, program = launcher
        raise UsageError(
            f"WEFT_MPI_LIBRARY is {named}, but {program or 'the launcher'}, which started this rank, "
            f"is {family.name}'s: "
            f"set WEFT_MPI_LIBRARY={_of_family(family, program, own, variables)}, or use the mpiexec of that library"
        )


def _of_variables(variables: Mapping[str, str]) -> Family | None:
    """The family that the variables name. Those of srun name none: it starts ranks of whatever speaks its PMI."""
    if "OMPI_COMM_WORLD_RANK" in variables:
        return OPEN_MPI
    return HYDRA if "PMI_RANK" in variables and "SLURM_STEP_NUM_TASKS" not in variables else None


def _of_family(family: Family, program: Path | None, own: Iterable[Path], variables: Mapping[str, str]) -> str:
    """Its file beside the launcher, in the loader's folders, or among weft's own; else a name for the loader."""
    candidates = [] if program is None else folders(program.parent.parent)
    installed = [folder / name for folder in candidates for name in family.libraries]
    # Debian and others have the libraries of several MPIs in one folder, where libmpi.so may be of any.
    if candidates and not any((folder / name).exists() for folder in candidates for name in _foreign(family)):
        installed += [folder / "libmpi.so" for folder in candidates]
    searched = [Path(folder) for folder in variables.get("LD_LIBRARY_PATH", "").split(":") if folder]
    named = [folder / name for folder in [*searched, *own] for name in family.libraries]
    existing = (str(path) for path in [*installed, *named] if path.exists())
    return next(existing, family.libraries[0] if family is OPEN_MPI else family.libraries[1])


def _foreign(family: Family) -> tuple[str, ...]:
    return (HYDRA if family is OPEN_MPI else OPEN_MPI).libraries


def other(bundled: Path, variables: Mapping[str, str] = os.environ) -> str | None:
    """What to say where the library that comes with weft is used on a site that has an MPI of its own.

    The site's is the first `mpiexec` in PATH outside of the folder `bundled` that was installed with a library.
    """
    for entry in filter(None, variables.get("PATH", "").split(":")):
        launcher = Path(entry) / "mpiexec"
        if launcher.parent.resolve() == (bundled / "bin").resolve() or not os.access(launcher, os.X_OK):
            continue
        prefixes = dict.fromkeys((launcher.parent.parent, launcher.resolve().parent.parent))
        candidates = [folder / name for prefix in prefixes for folder in folders(prefix) for name in NAMES]
        if site := next((path for path in candidates if path.exists()), None):
            return (
                f"measured with the MPI that comes with weft, in {bundled}. This site has its own, {launcher}, which "
                f"may be faster: WEFT_MPI_LIBRARY={site} measures that"
            )
    return None
