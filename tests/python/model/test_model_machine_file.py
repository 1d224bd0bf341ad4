"""A fit as a machine file gives back the times it was fitted to."""

import tomllib
from pathlib import Path

import polars as pl
import pytest
from made_samples import make_samples

import weft
from weft.model import Fit, FitError, fit, predict


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
    costs = weft.machine(path)
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


def test_a_machine_of_the_catalogue_predicts() -> None:
    machine = weft.machine("ipsc860")
    table = predict(machine, "echo", [8, 1024], [2])
    assert table["seconds"].to_list() == [machine.message_time(length, 2) for length in (8, 1024)]
    assert predict(machine, "echo-self", [8])["seconds"].item() == machine.self_time(8)
    assert predict(machine, "echo-host", [8])["seconds"].item() == machine.host_time(8)


def test_what_a_machine_file_does_not_say_is_refused() -> None:
    with pytest.raises(FitError, match="the machine file of tpu-v4 gives no cost of echo-host; simulate it instead"):
        predict(weft.machine("tpu-v4"), "echo-host", [8])
    with pytest.raises(FitError, match="crosses at least 1 link, and 0 were asked for; see echo-self"):
        predict(weft.machine("tpu-v4"), "echo", [8], [0])
