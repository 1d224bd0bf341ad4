"""A fit as a machine file gives back the times it was fitted to."""

import tomllib
from pathlib import Path

import polars as pl
import pytest
from made_samples import make_samples

from weft.model import Fit, FitError, fit, machine_costs, predict


def circuit() -> Fit:
    """Two protocols over 1 to 6 hops, to oneself and to the host."""
    lengths = [2**k for k in range(3, 14)]
    own = make_samples(lambda n, _: 20e-6 + 0.02e-6 * n, lengths, (0,), benchmark="echo-self", ranks=1)
    host = make_samples(lambda n, _: 3e-3 + 1e-6 * n, lengths, (None,), benchmark="echo-host")
    echo = make_samples(lambda n, h: 64e-6 + 100e-6 * (n > 100) + 11e-6 * h + 0.4e-6 * n, lengths, (1, 2, 6), ranks=64)
    return fit(pl.concat([echo, own, host]))


def stored() -> Fit:
    return fit(make_samples(lambda n, h: 200e-6 + 1.5e-6 * n + h * (180e-6 + 1e-6 * n), hops=(1, 2, 3)))


def one_distance() -> Fit:
    return fit(make_samples(lambda n, _: 1e-6 + 0.1e-9 * n, hops=(None,), launches=6, noise=0.01))


@pytest.mark.parametrize("make", [circuit, stored, one_distance])
def test_the_file_costs_what_the_fit_does(tmp_path: Path, make: object) -> None:
    found: Fit = make()  # type: ignore[operator]
    path = tmp_path / "m.toml"
    path.write_text(found.to_machine("m", "samples.csv", "2026-01-31"))
    costs = machine_costs(path)
    for benchmark in found.curves:
        hops = found.echo.hops if benchmark == "echo" else [None]
        lengths = [0, 8, 100, 128, 5000, 8192]
        by_fit, by_file = (predict(model, benchmark, lengths, hops) for model in (found, costs))
        assert by_file["seconds"].to_list() == pytest.approx(by_fit["seconds"].to_list(), rel=1e-5)
        assert by_file["seconds_low"].null_count() == len(by_file)


def test_every_figure_has_its_source() -> None:
    text = tomllib.loads(circuit().to_machine("m", 'odd "name".csv', "2026-01-31"))
    assert text["year"] == 2026
    assert text["topology"] == {
        "source": "assumed: the smallest hypercube with 64 ranks and 6 hops", "kind": "hypercube", "dimension": 6,
    }  # fmt: skip
    assert text["switching"]["technique"] == "circuit"
    short, long = text["protocols"]
    source = 'fitted from odd "name".csv on 2026-01-31'
    assert short["source"] == long["source"] == source
    assert text["self_message"]["source"] == f"{source}; one line through all lengths, standard deviation 0.0%"
    assert text["host"]["source"].startswith(source)
    assert short["up_to"] == {"value": 127, "source": f"{source}; somewhere from 64 to 127 bytes"}
    assert "up_to" not in long
    assert short["send_overhead"] == short["receive_overhead"]
    assert short["send_overhead"]["value"] == pytest.approx(32e-6, rel=1e-5)
    assert short["send_overhead"]["source"] == f"{source}; half of the startup on each side is assumed"
    assert short["hop_time"] == pytest.approx(11e-6, rel=1e-5)
    assert short["completion"] == {"value": "buffered", "source": "assumed: an echo does not show it"}
    assert "the protocol changes between 64 and 128 bytes" in text["description"].replace("Echo: ", "")


def test_store_and_forward_leaves_the_rest_of_the_byte_time_to_the_ends() -> None:
    text = tomllib.loads(stored().to_machine("m", "s.csv"))
    assert text["switching"]["technique"] == "store-and-forward"
    (protocol,) = text["protocols"]
    assert protocol["byte_time"] == pytest.approx(1e-6, rel=1e-5)
    assert protocol["send_byte_time"]["value"] == pytest.approx(0.75e-6, rel=1e-5)


def test_one_distance_is_a_crossbar_whose_hops_are_unknown() -> None:
    text = tomllib.loads(one_distance().to_machine("m", "s.csv"))
    assert (text["topology"]["kind"], text["topology"]["nodes"]) == ("crossbar", 2)
    assert text["protocols"][0]["hop_time"] == {
        "value": 0.0, "source": "unknown, part of the overheads: one distance was measured",
    }  # fmt: skip
    assert text["self_message"]["source"].startswith("assumed to cost as much as between nodes")


@pytest.mark.parametrize("name", ["", "two words", "here.toml", "a/b"])
def test_a_name_is_checked(name: str) -> None:
    with pytest.raises(FitError, match="a machine's name has letters, digits"):
        one_distance().to_machine(name, "s.csv")


PACKETS = """
name = "p"
[switching]
technique = "TECHNIQUE"
[[protocols]]
source = "made up"
send_overhead = { value = 1.0, source = "made up" }
receive_overhead = 2
hop_time = 10.0
byte_time = 0.5
[packets]
bytes = 100
minimum = 20
acknowledged = ACKNOWLEDGED
"""


@pytest.mark.parametrize(
    ("technique", "acknowledged", "length", "hops", "seconds"),
    [
        ("circuit", "true", 8, 1, 3 + 10 + 10),
        ("circuit", "true", 250, 2, 2 * (3 + 20 + 50) + 3 + 20 + 25),
        ("circuit", "false", 250, 2, 3 + 20 + 125),
        ("store-and-forward", "true", 250, 2, 2 * (3 + 2 * 60) + 3 + 2 * 35),
        ("store-and-forward", "false", 250, 3, 3 + 4 * 60 + 35),
        ("store-and-forward", "false", 100, 3, 3 + 3 * 60),
    ],
)
def test_packets(tmp_path: Path, technique: str, acknowledged: str, length: int, hops: int, seconds: float) -> None:
    path = tmp_path / "p.toml"
    path.write_text(PACKETS.replace("TECHNIQUE", technique).replace("ACKNOWLEDGED", acknowledged))
    assert predict(machine_costs(path), "echo", [length], [hops])["seconds"].item() == pytest.approx(seconds)
    with pytest.raises(FitError, match="the machine file of p gives no cost of echo-host; simulate it instead"):
        predict(machine_costs(path), "echo-host", [8])


@pytest.mark.parametrize("text", ["", "name = ", 'name = "x"\n[switching]\n', "\x00"])
def test_what_is_no_machine_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(FitError, match=r"bad.toml: expected a machine file: "):
        machine_costs(path)
