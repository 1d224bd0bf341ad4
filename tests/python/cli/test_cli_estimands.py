"""The option `--estimand` of commands that take machine files."""

import json

import pytest

import weft

ALTERNATIVE = """
[alternative]
estimand = "typical"

[[alternative.protocols]]
send_overhead = 2e-6
receive_overhead = 3e-6
hop_time = 1e-6
byte_time = 1e-9
completion = "buffered"
source = "medians"

[alternative.self_message]
startup = 1e-6
byte_time = 2e-10
source = "medians"
"""


@pytest.fixture
def machine(tmp_path):
    """The iPSC/860 with costs of messages that are another machine's as those of typical times."""
    text = weft.machine("ipsc860").to_toml().replace("\n[topology]", 'estimand = "undisturbed"\n\n[topology]', 1)
    path = tmp_path / "two.toml"
    path.write_text(text + ALTERNATIVE)
    return str(path)


def seconds_of(command, *words):
    code, out, err = command("measure", "echo", "--bytes", "8", "--hops", "1", *words, "--format", "json")
    assert code == 0, err
    (row,) = json.loads(out)
    return row["machine"], row["seconds"]


def test_a_simulation_takes_the_costs_that_were_chosen(command, machine):
    default = seconds_of(command, "--on", machine)
    assert default == ("ipsc860-undisturbed", pytest.approx(seconds_of(command, "--on", "ipsc860")[1]))
    assert seconds_of(command, "--on", machine, "--estimand", "undisturbed") == default
    # 2 + 3 microseconds at the ends, 1 for the link and 8 ns for the bytes.
    typical = seconds_of(command, "--on", machine, "--estimand", "typical")
    assert typical == ("ipsc860-typical", pytest.approx(6.008e-6))


def test_a_comparison_chooses_for_the_files_that_say_so(command, machine):
    code, out, err = command("compare", machine, "ipsc860", "--bytes", "8", "--estimand", "typical", "--format", "json")
    assert code == 0, err
    (row,) = json.loads(out)
    assert row["seconds ipsc860-typical"] == pytest.approx(6.008e-6)
    assert row["seconds ipsc860"] == pytest.approx(weft.machine("ipsc860").message_time(8, 1))
    code, _, err = command("compare", "ipsc2", "ipsc860", "--estimand", "typical")
    assert code == 2
    assert "none of these is a machine file that says of which times its costs are" in err


def test_what_is_shown_is_what_was_chosen(command, machine):
    code, out, _ = command("machines", "show", machine, "--estimand", "typical", "--format", "toml")
    shown = weft.Machine.parse(out, "shown.toml")
    assert code == 0
    assert shown.estimands == ["typical", "undisturbed"]
    assert shown.message_time(8, 1) == pytest.approx(6.008e-6)
    code, out, _ = command("machines", "show", machine)
    assert code == 0
    assert "alternative" in out


def test_the_grain_is_of_the_messages_that_were_chosen(command, machine):
    def transfer(*words):
        code, out, err = command("machines", "grain", *words, "--format", "json")
        assert code == 0, err
        return next(row["transfer"] for row in json.loads(out) if row["bytes"] == 8)

    assert transfer(machine) == pytest.approx(weft.machine("ipsc860").message_time(8, 1))
    assert transfer(machine, "--estimand", "typical") == pytest.approx(6.008e-6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("machines", "grain", "--estimand", "typical"), "none of these is a machine file that says of which times"),
        (("measure", "echo", "--on", "ipsc860", "--estimand", "typical"), "has no estimate of typical times"),
        (("measure", "echo", "--estimand", "typical"), "name one with --on"),
        (("health", "--estimand", "typical"), "name one with --on"),
        (("compile", "shift", "--on", "iwarp64", "--estimand", "typical"), "has no estimate of typical times"),
        (("health", "--on", "ipsc860", "--estimand", "typical"), "has no estimate of typical times"),
        (("run", "--on", "here", "--estimand", "typical", "nothing.py"), "name one with --on"),
        (("measure", "echo", "--on", "ipsc860", "--estimand", "mean"), "Invalid value"),
    ],
)
def test_what_is_not_estimated_is_refused(command, words, said):
    code, _, err = command(*words)
    assert code == 2
    assert said in " ".join(err.split())
