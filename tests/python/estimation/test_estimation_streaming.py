"""Machines that stream parallel variables through memory: each operation by hand, and whole programs."""

import json
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import _core
from weft.estimation.streaming import Streaming
from weft.pvar import metered

LAUNCH, RESULT, BYTE, CACHED, SCATTERED, COLLISION = 1e-6, 5e-6, 1e-10, 2e-11, 8e-9, 1e-7
INTEGER, SINGLE, DOUBLE, DIVIDE, FUNCTION = 1e-10, 2e-10, 6e-10, 5e-9, 9e-9
N = 1 << 16

PROGRAMS = Path(__file__).parents[3] / "programs"

TABLE = f"""
[parallel]
launch = {LAUNCH}
result = {RESULT}
byte_time = {BYTE}
cache_bytes = 0
cache_byte_time = {CACHED}
scattered_time = {SCATTERED}
collision_time = {COLLISION}
integer_time = {INTEGER}
float32_time = {SINGLE}
float64_time = {DOUBLE}
divide_time = {DIVIDE}
function_time = {FUNCTION}
source = "made up"
"""


def described(**changes):
    text = weft.machine("multi-psi-v1").to_toml() + TABLE
    for key, value in changes.items():
        line = next(one for one in TABLE.splitlines() if one.startswith(f"{key} ="))
        text = text.replace(line, f"{key} = {value}")
    return Streaming(_core.Machine.parse(text, "made-up.toml"))


def seconds(program, machine=None, name=None):
    """What the last operation of a program takes, or the last of a name."""
    with metered() as meter:
        program()
    chosen = [i for i, record in enumerate(meter.sequence) if name is None or record.name == name][-1]
    return (machine or described()).time(meter.sequence[chosen], 0, meter.reaches[chosen]).real


def x(dtype, shape=N):
    return weft.pvar.VPSet(shape).full(1, dtype)


def sum_of_two(dtype):
    vp = weft.pvar.VPSet(N)
    return vp.full(1, dtype) + vp.full(2, dtype)


def test_additions_stream_and_functions_compute(native):
    assert seconds(lambda: x("float32") + 1) == pytest.approx(LAUNCH + 2 * 4 * N * BYTE)
    assert seconds(lambda: sum_of_two("float64")) == pytest.approx(LAUNCH + 3 * 8 * N * BYTE)
    assert seconds(lambda: np.exp(x("float32"))) == pytest.approx(LAUNCH + N * FUNCTION)
    assert seconds(lambda: np.exp(x("float64"))) == pytest.approx(LAUNCH + N * FUNCTION * DOUBLE / SINGLE)
    assert seconds(lambda: x("float32") / 3.0) == pytest.approx(LAUNCH + N * DIVIDE)


def test_a_short_array_takes_a_launch(native):
    assert seconds(lambda: x("float32", 8) + 1) == pytest.approx(LAUNCH, rel=0.01)


def test_a_result_is_waited_for(native):
    taken = seconds(lambda: x("int32").sum())
    assert taken == pytest.approx(2 * LAUNCH + RESULT + 4 * N * BYTE)


def test_arrays_that_were_just_touched_are_in_the_cache(native):
    def program():
        mine = x("float32")
        return mine + mine

    cold = seconds(program)
    warm = seconds(program, described(cache_bytes=1 << 30))
    assert warm - LAUNCH < 0.9 * (cold - LAUNCH)


def gathered(addresses):
    def program():
        vp = weft.pvar.VPSet(N)
        weft.pvar.get(vp.full(1, "float32"), vp.array(addresses))

    return seconds(program, name="get")


def test_addresses_in_order_stream_and_scattered_ones_take_a_time_each(native):
    in_order = gathered(np.arange(N))
    scattered = gathered(np.random.default_rng(1).permutation(N))
    assert in_order == pytest.approx(LAUNCH + (4 + 8 + 4) * N * BYTE)
    assert scattered == pytest.approx(LAUNCH + (8 + 4) * N * BYTE + N * SCATTERED)


def test_updates_of_one_address_follow_each_other(native):
    def program(targets):
        vp = weft.pvar.VPSet(N)
        address = vp.array(np.random.default_rng(2).integers(0, targets, N))
        weft.pvar.send(vp.full(1, "float32"), address, combine="add")

    one, many = (seconds(lambda targets=targets: program(targets), name="send add") for targets in (2, N))
    assert one > 0.49 * N * COLLISION
    assert many < LAUNCH + 4 * N * SCATTERED


def test_ranks_are_passes_of_a_radix_sort(native):
    def ranked(dtype):
        return seconds(lambda: weft.pvar.rank(weft.pvar.VPSet(N).full(1, dtype)), name="rank")

    # Keys of 4 bytes, and positions of as many as the addresses have.
    position = weft.pvar.rank(weft.pvar.VPSet(N).full(1, "int32")).data.itemsize
    back = LAUNCH + N * position * BYTE + 2 * N * SCATTERED
    assert ranked("float32") == pytest.approx(4 * (2 * LAUNCH + N * (3 * 4 + 2 * position) * BYTE) + back)
    assert ranked("int64") == pytest.approx(8 * (2 * LAUNCH + N * (3 * 8 + 2 * position) * BYTE) + back)
    assert ranked("uint8") == pytest.approx(2 * LAUNCH + N * (3 * 1 + 2 * position) * BYTE + back)


def test_shifts_on_the_cm_200_are_calls_of_cshift(native):
    def program():
        weft.pvar.shift(x("float64", (512, 1024)), 1, axis=1)

    local = [16, 16]
    times = json.loads(_core.shift_times(weft.machine("cm200"), local, 8, [(1, 1)]))
    assert seconds(program, Streaming(weft.machine("cm200"))) == pytest.approx(times["cshift"]["elapsed_s"])


def test_the_error_of_estimates_is_a_ratio(native):
    def of(value, unit):
        facts = f'\n[facts]\nestimate_error = {{ value = {value}, unit = "{unit}", source = "compared" }}\n'
        text, _, _ = weft.machine("multi-psi-v1").to_toml().partition("\n[facts]")
        return Streaming(_core.Machine.parse(text + facts + TABLE, "made-up.toml")).model_error

    assert of(0.2, "ratio") == of(0.2, "1") == 0.2
    with pytest.raises(weft.MachineError, match=r"facts.estimate_error: .* found 20 %; did you mean 0.2"):
        of(20, "%")
    with pytest.raises(weft.MachineError, match=r"at least 0.* found -0.2 ratio"):
        of(-0.2, "ratio")


@pytest.mark.parametrize("machine", ["hgx-h100", "tpu-v4", "cm200"])
@pytest.mark.parametrize("program", ["life", "kmeans", "radix_sort"])
def test_programs_are_estimated(native, machine, program):
    total = weft.estimate(PROGRAMS / f"{program}.py", machine, arguments=["--size", "64"]).total
    assert 0 < total.low_s < total.real_s < total.high_s < 60
    assert total.cm_s is None


def test_planned_shifts_of_distributed_arrays_are_counted(native):
    found = weft.estimate(PROGRAMS / "stencil27.py", "cm200", arguments=["--size", "32"])
    (line,) = found.lines
    assert (line.operation, line.count) == ("polyshift", 5)
    offsets = {6: [(by, axis) for axis in range(3) for by in (1, -1)], 2: [(1, 2), (-1, 2)]}
    six, two = (weft.arrays.polyshift((32,) * 3, float, offsets[count]).estimate("cm200") for count in (6, 2))
    assert 4 * six.planned_s + two.planned_s < found.total.real_s * 1.01
    assert found.total.real_s < 5 * six.single_s


def test_planned_shifts_of_a_gpu_are_a_launch_and_what_they_stream(native):
    found = weft.estimate(PROGRAMS / "stencil27.py", "hgx-h100", arguments=["--size", "256"])
    (line,) = found.lines
    assert (line.operation, line.count, line.cm_s) == ("polyshift", 5, None)
    # 26 shifts that read and write 256^3 doubles at 3.35 TB/s, and five launches of 2.5 us.
    assert line.real_s == pytest.approx(26 * 2 * 256**3 * 8 / 3.35e12 + 5 * 2.5e-6, rel=0.01)


def test_machines_without_costs_of_shifts_say_that_they_are_not_counted(native, tmp_path):
    text, _, _ = weft.machine("cm2-8k").to_toml().partition("\n[shifts]")
    _, _, rest = weft.machine("cm2-8k").to_toml().partition("\n[primitives]")
    (tmp_path / "cm2.toml").write_text(f"{text}\n[primitives]{rest}")

    def program():
        geometry = weft.arrays.Geometry(8)
        geometry.polyshift(float, shifts=[(1, 0)])(geometry.zeros())
        x("float32", 8) + 1

    found = weft.estimate(program, tmp_path / "cm2.toml")
    assert "polyshift" not in [line.operation for line in found.lines]
    assert any("1 exchanges of planned shifts are not counted" in note for note in found.notes)
    with pytest.raises(weft.UsageError, match="cm2-8k has no costs of planned shifts.*cm200 has them"):
        weft.estimate(PROGRAMS / "stencil27.py", tmp_path / "cm2.toml", arguments=["--size", "8"])
