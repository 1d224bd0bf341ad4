"""Which MPI a rank uses: that of its launcher, told by the processes above it and by its variables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft._core import UsageError
from weft.launch import mpiexec, site
from weft.launch.site import Ancestor

OF_OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
OF_HYDRA = {"PMI_RANK": "0", "PMI_SIZE": "2"}
OF_SRUN = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def launcher(prefix, name):
    program = touch(prefix / "bin" / name)
    program.chmod(0o755)
    return Ancestor(name, program)


SHELL = Ancestor("bash", Path("/usr/bin/bash"))


@pytest.mark.parametrize(
    ("program", "variables", "place"),
    [
        ("prterun", OF_OPEN_MPI, "lib/libmpi.so.40"),
        ("prted", OF_OPEN_MPI, "lib64/libmpi.so.40"),
        ("orterun", OF_OPEN_MPI, "lib/libmpi.so"),
        ("hydra_pmi_proxy", OF_HYDRA, "lib/libmpi_abi.so.1"),
        ("hydra_pmi_proxy", OF_HYDRA, "lib/release/libmpi.so.12"),
        ("hydra_bstrap_proxy", OF_HYDRA | OF_SRUN, "lib/libmpi.so"),
    ],
)
def test_the_library_is_that_of_the_launcher(tmp_path, program, variables, place):
    own = touch(tmp_path / "own" / "lib" / "libmpi_abi.so.1").parent
    library = touch(tmp_path / "site" / place)
    assert site.library([own], variables, [SHELL, launcher(tmp_path / "site", program)]) == str(library)


def test_a_folder_of_several_mpis_has_each_launchers_own(tmp_path):
    folder = tmp_path / "usr" / "lib"
    for name in ("libmpi.so", "libmpi.so.40", "libmpich.so.12"):
        touch(folder / name)
    of_open_mpi = site.library([], OF_OPEN_MPI, [launcher(tmp_path / "usr", "orterun")])
    of_hydra = site.library([], OF_HYDRA, [launcher(tmp_path / "usr", "hydra_pmi_proxy")])
    assert of_open_mpi == str(folder / "libmpi.so.40")
    assert of_hydra == str(folder / "libmpich.so.12")


def test_a_library_of_another_family_is_not_taken(tmp_path):
    """Not even where the name without a version is all that the launcher's own would have."""
    touch(tmp_path / "usr" / "lib" / "libmpi.so.12")
    touch(tmp_path / "usr" / "lib" / "libmpi.so")
    own = touch(tmp_path / "own" / "libmpi.so.12").parent
    assert site.library([own], OF_OPEN_MPI, [launcher(tmp_path / "usr", "orterun")]) == "libmpi.so.40"


def test_the_nearest_launcher_counts(tmp_path):
    inner, outer = touch(tmp_path / "in" / "lib" / "libmpi.so.12"), touch(tmp_path / "out" / "lib" / "libmpi.so.40")
    above = [launcher(tmp_path / "in", "hydra_pmi_proxy"), SHELL, launcher(tmp_path / "out", "prterun")]
    assert site.library([], OF_OPEN_MPI | OF_HYDRA, above) == str(inner)
    assert site.library([], OF_OPEN_MPI | OF_HYDRA, above[1:]) == str(outer)


def test_variables_tell_where_processes_do_not(tmp_path):
    own = touch(tmp_path / "own" / "libmpi_abi.so.1")
    assert site.library([own.parent], OF_HYDRA, [Ancestor("slurmstepd", None)]) == str(own)
    assert site.library([own.parent], OF_OPEN_MPI, []) == "libmpi.so.40"
    loaded = touch(tmp_path / "module" / "libmpi.so.40")
    variables = OF_OPEN_MPI | {"LD_LIBRARY_PATH": f":{loaded.parent}"}
    assert site.library([own.parent], variables, []) == str(loaded)


def test_srun_and_processes_that_are_no_ranks_leave_it_open(tmp_path):
    above = [launcher(tmp_path, "prterun")]
    assert site.library([tmp_path], {}, above) is None
    assert site.library([tmp_path], OF_SRUN, [Ancestor("slurmstepd", None)]) is None
    assert site.library([tmp_path], OF_SRUN | OF_HYDRA, [Ancestor("slurmstepd", None)]) is None


def test_a_named_library_of_another_mpi_is_refused(tmp_path):
    library, above = touch(tmp_path / "lib" / "libmpi.so.40"), [launcher(tmp_path, "prterun")]
    named = touch(tmp_path / "mpich" / "libmpi.so.12.5")
    (named.parent / "libmpi.so").symlink_to(named)
    for path in (named, named.parent / "libmpi.so"):
        with pytest.raises(UsageError) as caught:
            site.check(str(path), [], OF_OPEN_MPI, above)
        assert str(caught.value) == (
            f"WEFT_MPI_LIBRARY is {path}, but {above[0].program}, which started this rank, is Open MPI's: "
            f"set WEFT_MPI_LIBRARY={library}, or use the mpiexec of that library"
        )
    site.check(str(library), [], OF_OPEN_MPI, above)
    site.check("/site/lib/libmpi.so", [], OF_OPEN_MPI, above)
    site.check(str(named), [], {}, above)
    site.check(str(named), [], OF_SRUN, [])


def test_ancestors_are_the_processes_above():
    code = "from weft.launch.site import ancestors; print(*(a.program for a in ancestors()), sep='\\n')"
    shell = f'{sys.executable} -c "{code}"; exit 0'
    output = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout.splitlines()
    assert output[0] == os.path.realpath("/bin/sh")
    assert output[1] == os.path.realpath(sys.executable)


def test_the_bundled_library_beside_a_sites_own_is_told(tmp_path):
    python = str(tmp_path / "venv" / "bin" / "python")
    launcher(tmp_path / "venv", "mpiexec")
    site_mpi = launcher(tmp_path / "site", "mpiexec").program
    variables = {"PATH": f"{tmp_path}/venv/bin:{tmp_path}/none:{site_mpi.parent}"}
    # A launcher alone is nobody's MPI.
    assert mpiexec.unused(variables, python) is None
    library = touch(tmp_path / "site" / "lib" / "libmpi.so.40")
    assert mpiexec.unused(variables, python) == (
        f"measured with the MPI that comes with weft, in {tmp_path}/venv. This site has its own, {site_mpi}, which may "
        f"be faster: WEFT_MPI_LIBRARY={library} measures that"
    )
    assert mpiexec.unused(variables | {"WEFT_MPI_LIBRARY": "x"}, python) is None
    assert mpiexec.unused(variables | OF_HYDRA, python) is None
    assert mpiexec.unused({"PATH": f"{tmp_path}/venv/bin"}, python) is None
    assert mpiexec.unused(variables, str(tmp_path / "bare" / "bin" / "python")) is None
