import pytest

from weft.launch.environment import CpuTimes, LaunchConditions, Launcher, launcher


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"PMI_RANK": "1", "PMI_SIZE": "4"}, (1, 4)),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, (0, 2)),
        ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8"}, (3, 8)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, None),  # a batch script
    ],
)
def test_launchers_are_known_by_what_they_leave(variables, expected):
    found = launcher(variables)
    assert (None if found is None else (found.rank, found.size)) == expected
    assert found is None or isinstance(found, Launcher)


def test_stolen_time_is_read_from_the_first_line(tmp_path):
    path = tmp_path / "stat"
    path.write_text("cpu  10 0 20 60 5 0 1 4 0 0\ncpu0 1 2 3\n")
    assert CpuTimes.read(path) == CpuTimes(total=100, stolen=4)
    path.write_text("nonsense")
    assert CpuTimes.read(path) is None
    assert CpuTimes.read(tmp_path / "missing") is None


def test_conditions_have_a_time_and_a_load():
    conditions = LaunchConditions()
    assert conditions.time.endswith("Z")
    assert conditions.load is None or conditions.load >= 0
    stolen = conditions.stolen()
    assert stolen is None or 0 <= stolen <= 1
