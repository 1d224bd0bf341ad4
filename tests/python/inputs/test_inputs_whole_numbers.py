"""Whole numbers that the extension module cannot have: refused with what they may be, in any interface."""

import pytest

import weft
from weft import inputs, units
from weft._core import UsageError
from weft.launch import ranges

HUGE = 10**30
NINES = "9" * 5000
"""More digits than Python reads."""


@pytest.mark.parametrize("value", [0, 1, 2**64 - 1, True])
def test_numbers_of_64_bits_are_taken(value):
    assert inputs.unsigned(value, "seed") == value


@pytest.mark.parametrize(
    ("value", "bits", "message"),
    [
        (-1, 64, r"seed: expected a whole number from 0 to 2\*\*64 - 1, found -1"),
        (2**64, 64, r"seed: expected a whole number from 0 to 2\*\*64 - 1, found 18446744073709551616"),
        (2**32, 32, r"seed: expected a whole number from 0 to 2\*\*32 - 1, found 4294967296"),
        (1.5, 64, "seed: expected a whole number, found 1.5"),
        ("3", 64, "seed: expected a whole number, found 3"),
        (None, 64, "seed: expected a whole number, found None"),
        pytest.param(10**5000, 64, r"2\*\*64 - 1, found a number of some 5000 digits", id="many digits"),
    ],
)
def test_others_are_refused(value, bits, message):
    with pytest.raises(UsageError, match=message):
        inputs.unsigned(value, "seed", bits)


@pytest.mark.parametrize(
    "read",
    [
        lambda: units.parse_length(NINES, "bytes"),
        lambda: units.parse_length("17179869184G", "bytes"),
        lambda: ranges.parse(NINES, "bytes", "double"),
        lambda: ranges.parse("1,18446744073709551616", "bytes", "one"),
        lambda: ranges.shapes(f"4x{NINES}", "bytes"),
    ],
)
def test_texts_of_numbers_with_more_bits_are_refused(read):
    with pytest.raises(UsageError, match=r"bytes: expected a whole number from 0 to 2\*\*64 - 1, found"):
        read()


def test_zeros_in_front_do_not_count():
    assert units.parse_length("0" * 100 + "8K", "bytes") == 8192
    assert units.parse_length("18446744073709551615", "bytes") == 2**64 - 1


@pytest.mark.parametrize("value", [-1, HUGE])
@pytest.mark.parametrize("name", ["words", "seed", "channels", "link_channels", "ports", "phases"])
def test_compiling_a_pattern_refuses_them(native, name, value):
    with pytest.raises(UsageError, match=rf"{name.replace('_', ' ')}: expected a whole number from 0 to"):
        weft.conset.compile("hypercube", "iwarp64", effort=0, **{name: value})


@pytest.mark.parametrize("value", [-1, HUGE])
@pytest.mark.parametrize(
    ("settings", "what"),
    [("bytes", "bytes"), ("root", "root"), ("element_bytes", "bytes of an element"), ("nodes", "nodes")],
)
def test_compiling_a_collective_refuses_them(native, settings, what, value):
    words = {"bytes": 1024, settings: [0, value] if settings == "nodes" else value}
    with pytest.raises(UsageError, match=f"{what}: expected a whole number from 0 to"):
        weft.conset.compile("broadcast", on="hgx-h100", **words)


@pytest.mark.parametrize(("machine", "benchmark"), [("ipsc860", "echo"), ("cm2-8k", "news")])
def test_simulating_refuses_them_as_a_seed(native, machine, benchmark):
    with pytest.raises(UsageError, match="seed: expected a whole number from 0 to"):
        weft.simulate(machine, benchmark, seed=HUGE)


@pytest.mark.parametrize("words", ["--words", "--seed", "--phases"])
def test_the_command_line_says_so(native, monkeypatch, capsys, words):
    from weft.cli import main

    monkeypatch.setattr("sys.argv", ["weft", "compile", "hypercube", "--on", "iwarp64", words, str(HUGE)])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 2
    assert f"{words[2:]}: expected a whole number from 0 to 2**" in capsys.readouterr().err
