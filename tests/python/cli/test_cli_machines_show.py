"""`weft machines show` prints figures as data sheets have them."""

import re

from typer.testing import CliRunner

from weft.cli.commands import app


def shown(name):
    outcome = CliRunner().invoke(app, ["machines", "show", name], env={"COLUMNS": "250", "NO_COLOR": "1"})
    assert outcome.exit_code == 0, outcome.output
    return re.sub(r"\s+", " ", outcome.stdout)


def test_figures_are_also_rates_and_times_with_units(native):
    printed = shown("frontera")
    for row in ("protocols 1.byte_time 8.13e-11 12.3 GB/s", "protocols 1.hop_time 1.3e-07 130 ns",
                "protocols 1.up_to 8192 8 KiB", "node.memory_bytes 206158430208 192 GiB",
                "operations.float64_add 4.14e-13 2.42 trillion a second"):  # fmt: skip
        assert row in printed
    assert "From node 0 to node 1, over 2 links: 8 bytes take 962 ns, 1 MiB takes" in printed


def test_a_machine_without_messages_says_nothing_of_them(native):
    assert "From node 0" not in shown("cm200")
