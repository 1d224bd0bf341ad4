"""Devices that are measured through JAX: the machine that comes of it, and what is compared with it."""

import importlib.util

import pytest

import weft
from weft.estimation import device, device_check
from weft.estimation.device_check import Compared
from weft.estimation.streaming import ERROR, Streaming

FIGURES = dict.fromkeys(device.FIGURES, 1e-9) | {"cache_bytes": 1e6}
COSTS = device.DeviceCosts('the "best" device (gpu)', FIGURES, dict.fromkeys(device.FIGURES, "measured: by hand"))


def program():
    return weft.pvar.VPSet(8).full(1, "float32") + 1


def test_a_measured_device_is_a_machine_that_estimates(native, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(COSTS.machine("mine", 0.2).to_toml())
    total = weft.estimate(program, path).total
    assert (total.low_s, total.high_s) == pytest.approx((0.8 * total.real_s, 1.2 * total.real_s))
    assert weft.machine(path).title == 'the "best" device (gpu), as measured through JAX'


def test_a_device_that_was_badly_measured_takes_no_negative_time(native, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(COSTS.machine("mine", 5.7).to_toml())
    total = weft.estimate(program, path).total
    assert (total.low_s, total.high_s) == (0.0, pytest.approx(6.7 * total.real_s))


def test_without_a_measured_error_half_is_allowed_for():
    assert Streaming(COSTS.machine("mine")).model_error == ERROR
    assert Streaming(weft.machine("hgx-h100")).model_error == ERROR


def test_the_figures_are_those_of_the_table():
    keys = set(weft.machine("hgx-h100").to_toml().split("[parallel]")[1].split("[facts]")[0].split()) & set(FIGURES)
    assert keys == set(FIGURES)


def test_the_error_is_what_most_operations_keep_within():
    compared = [Compared("add", 8, 1.0, 1 + error / 100) for error in range(-10, 11)]
    assert 0.08 <= device_check.error_of(compared) <= 0.1
    assert compared[0].error == pytest.approx(-0.1)


@pytest.mark.skipif(importlib.util.find_spec("jax") is not None, reason="JAX is installed")
def test_without_jax_it_is_said_what_to_install():
    with pytest.raises(weft.UsageError, match=r"measuring a device needs jax: pip install 'weft\[jax\]'"):
        device.measure_device()


def test_the_command_writes_the_machine_and_what_it_was_compared_with(monkeypatch, tmp_path, native):
    from typer.testing import CliRunner

    from weft.cli.main import app

    compared = [Compared("add float64", 1024, 1e-6, 1.1e-6), Compared("sum float32", 1024, 2e-6, 1.5e-6)]
    monkeypatch.setattr(device, "measure_device", lambda progress=None: COSTS)
    monkeypatch.setattr(device_check, "compare_operations", lambda machine: iter(compared))
    path = tmp_path / "gpu.toml"
    done = CliRunner().invoke(app, ["calibrate", "--device", "-o", str(path)])
    assert done.exit_code == 0, done.output
    assert "+10%" in done.output
    assert "-25%" in done.output
    assert "nine of ten operations were estimated within 23" in done.output
    assert Streaming(weft.machine(path)).model_error == pytest.approx(0.235)
    again = CliRunner().invoke(app, ["calibrate", "--device", "-o", str(path)])
    assert again.exit_code != 0


def test_operations_on_a_device_are_compared():
    pytest.importorskip("jax", reason="jax is not installed")
    names = [name for name, *_ in device_check._operations()]
    assert len(set(names)) == len(names) > 10
    prices = Streaming(weft.machine("hgx-h100"))
    for _, program, step, state in device_check._operations():
        assert device_check._estimated(prices, program, 1 << 10) > 0
        with device.double_precision():
            assert device.seconds_of(step, state(1 << 10)) > 0
