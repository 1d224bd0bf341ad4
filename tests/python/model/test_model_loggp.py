"""LogGP's parameters: of described machines, whose overheads are known, and of noise with known medians."""

import tomllib

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import weft
from weft.launch.request import benchmarks
from weft.model.curve import Estimate
from weft.model.loggp import OWN_RECEIVES, OWN_WINDOW, PARTS


def all_samples(machine, **columns):
    names = ("fan-out", "fan-in", "bandwidth")
    parts = [weft.simulate(machine, "echo", bytes="8:8K"), *(weft.simulate(machine, name, bytes=8) for name in names)]
    return pl.concat(parts, how="diagonal").with_columns(**{name: pl.lit(value) for name, value in columns.items()})


def described(machine, key):
    value = tomllib.loads(machine.to_toml())["protocols"][0].get(key, 0.0)
    return value["value"] if isinstance(value, dict) else value


@pytest.mark.parametrize("name", ["ipsc860", "ipsc2", "ncube6400", "frontera"])
def test_overheads_and_latency_are_those_of_the_machine(name):
    machine = weft.machine(name)
    samples = all_samples(name)
    known = weft.fit(samples).loggp
    for end, found in (("send", known.send_overhead), ("receive", known.receive_overhead)):
        own = described(machine, f"{end}_overhead") + 8 * described(machine, f"{end}_byte_time")
        assert found.value == pytest.approx(own, rel=0.015)
    echo = samples.filter(benchmark="echo", bytes=8)["seconds"].item()
    rest = echo - known.send_overhead.value - known.receive_overhead.value
    assert known.latency.value == pytest.approx(rest, abs=0.06 * echo)
    assert known.latency.value <= rest
    assert known.gap.value >= max(known.send_overhead.value, known.receive_overhead.value)


@pytest.mark.parametrize("name", ["ipsc2", "ncube6400", "frontera"])
def test_a_fitted_file_simulates_streams_and_fans_within_a_tenth(name):
    fitted = weft.fit(all_samples(name))
    text = fitted.to_machine("mine", "a run")
    mine = weft.Machine.parse(text, "mine.toml")
    for benchmark, neighbours in (("bandwidth", None), ("fan-out", [1]), ("fan-in", [1])):
        options = {"bytes": 8} if neighbours is None else {"bytes": 8, "neighbours": neighbours}
        own, other = (weft.simulate(one, benchmark, **options)["seconds"].median() for one in (name, mine))
        assert other == pytest.approx(own, rel=0.1)
    assert "divided as fan-out and fan-in of 8 bytes are" in text


def test_unequal_ends_are_told_apart_in_the_file():
    samples = made(o_s=2e-6, o_r=3e-6, launches=1, noise=0.0)
    fitted = weft.fit(samples)
    protocol = tomllib.loads(fitted.to_machine("mine", "a run"))["protocols"][0]
    figures = [protocol[key]["value"] for key in ("send_overhead", "receive_overhead", "hop_time")]
    # A message crosses two links of the switch.
    assert figures == pytest.approx([2e-6, 3e-6, 0.5e-6], rel=0.01)


@pytest.mark.parametrize("parts", [("fan-out", "fan-in"), ("send-overhead", "receive-overhead")])
def test_a_fitted_file_simulates_the_echo_it_was_fitted_to(parts):
    lengths = [8 << k for k in range(11)]
    samples = [weft.simulate("frontera", name, bytes=8) for name in ("bandwidth", "fan-out", "fan-in")]
    samples += [
        weft.simulate("frontera", name, bytes=lengths) for name in ("echo", "send-overhead", "receive-overhead")
    ]
    samples = pl.concat(samples, how="diagonal").filter(pl.col("benchmark").is_in(["echo", *parts]))
    mine = weft.Machine.parse(weft.fit(samples).to_machine("mine", "a run"), "mine.toml")
    own, other = (
        weft.simulate(one, "echo", ranks=2, bytes=lengths)["seconds"].to_numpy() for one in ("frontera", mine)
    )
    assert other == pytest.approx(own, rel=0.03)


def test_lengths_at_which_something_else_holds_streams_up_are_named():
    lengths = [8 << k for k in range(11)]
    names = ("echo", "send-overhead", "receive-overhead", "bandwidth")
    samples = pl.concat([weft.simulate("frontera", name, ranks=2, bytes=lengths) for name in names], how="diagonal")
    assert not any("holds them up" in note for note in weft.fit(samples).notes)
    # Short ones, and no long ones: of a cache it would be the other way round.
    slow = (pl.col("benchmark") == "bandwidth") & pl.col("bytes").is_between(1024, 4096)
    slower = samples.with_columns(seconds=pl.when(slow).then(pl.col("seconds") * 3).otherwise(pl.col("seconds")))
    fitted = weft.fit(slower)
    (note,) = [note for note in fitted.notes if "holds them up" in note]
    assert "streams of messages of 1024, 2048, 4096 bytes take up to " in note
    assert "simulated streams are faster" in note
    assert fitted.loggp.cache is None


def test_no_end_takes_longer_than_the_message():
    lengths = [8 << k for k in range(11)]
    names = ("echo", "send-overhead", "receive-overhead")
    samples = pl.concat([weft.simulate("frontera", name, ranks=2, bytes=lengths) for name in names], how="diagonal")
    # Receives of many messages that wait in memory beyond the caches, which an echo never sees.
    waiting = (pl.col("benchmark") == "receive-overhead") & (pl.col("bytes") >= 1024)

    def fitted(factor):
        seconds = pl.when(waiting).then(pl.col("seconds") * factor).otherwise(pl.col("seconds"))
        return weft.fit(samples.with_columns(seconds=seconds)).loggp.ends[-1][-1]

    # How much longer than the message they take makes no difference.
    slow, slower = fitted(4), fitted(8)
    assert slower.receive == pytest.approx(slow.receive, rel=1e-6)
    assert slow.receive[1] > fitted(1).receive[1]


TWO_RANKS = """
name = "own"
title = "own"
[topology]
source = "made"
kind = "crossbar"
nodes = 2
[switching]
source = "made"
technique = "cut-through"
[self_message]
source = "made"
startup = 1e-6
byte_time = 1e-9
"""


def protocol(send, receive, way=0.0, copies=(0.0, 0.0), up_to=None):
    """A protocol of a machine file: overheads and the way in us, the times of a byte at both ends in ns."""
    return f"""
[[protocols]]
source = "made"
{"" if up_to is None else f"up_to = {up_to}"}
send_overhead = {send:.6f}e-6
receive_overhead = {receive:.6f}e-6
send_byte_time = {copies[0]:.6f}e-9
receive_byte_time = {copies[1]:.6f}e-9
hop_time = {way / 2:.6f}e-6
byte_time = 0.02e-9
completion = "buffered"
"""


def fitted_to_parts(machine, lengths):
    """What the parts of its messages say of a machine, and the machine of that file."""
    parts = [weft.simulate(machine, name, ranks=2, bytes=lengths) for name in ("echo", *PARTS)]
    fitted = weft.fit(pl.concat(parts, how="diagonal"))
    return fitted, weft.Machine.parse(fitted.to_machine("again", "a run"), "again.toml")


def assert_the_same_windows(machine, again, lengths, windows=(1, 3, 16)):
    for window in windows:
        for name in ("bandwidth", "multi-pair"):
            own, other = (
                weft.simulate(one, name, ranks=2, bytes=lengths, window=window)["seconds"].to_numpy()
                for one in (machine, again)
            )
            assert other == pytest.approx(own, rel=0.1), (name, window)


@pytest.mark.parametrize(("holds", "none_from"), [(1 << 19, 3 << 19), (1 << 18, 1 << 18), (300_000, 2_000_000)])
def test_a_cache_comes_back_from_streams_of_one_window(holds, none_from):
    text = TWO_RANKS + protocol(0.3, 0.5, copies=(0.0, 0.04))
    text += f"""
[cache]
source = "made"
bytes = {holds}
all_missed_bytes = {none_from}
miss_byte_time = 0.06e-9
"""
    machine = weft.Machine.parse(text, "own.toml")
    fitted, again = fitted_to_parts(machine, [8 << k for k in range(15)])
    found = fitted.loggp.cache
    assert found.miss_byte_time == pytest.approx(0.06e-9, rel=0.15)
    assert found.bytes == pytest.approx(holds, rel=0.5)
    assert any("as where a cache holds" in note for note in fitted.notes)
    assert "[cache]" in again.to_toml()
    assert_the_same_windows(machine, again, [8, 3000, 20_000, 60_000, 120_000], (1, 4, 12, 32, 48))


def test_no_cache_is_found_where_there_is_none():
    machine = weft.Machine.parse(TWO_RANKS + protocol(0.3, 0.5, copies=(0.0, 0.04)), "own.toml")
    fitted, again = fitted_to_parts(machine, [8 << k for k in range(15)])
    assert fitted.loggp.cache is None
    assert "[cache]" not in again.to_toml()


def test_ends_that_change_where_the_echo_does_not_have_a_protocol_of_their_own():
    """From 5,000 bytes on the receiver copies what the sender has copied before: an echo takes as long."""
    text = TWO_RANKS + protocol(1.2, 0.3, copies=(0.0, 0.04), up_to=4999) + protocol(0.3, 1.2, copies=(0.0, 0.04))
    machine = weft.Machine.parse(text, "own.toml")
    fitted, again = fitted_to_parts(machine, [8 << k for k in range(14)])
    (ends,) = fitted.loggp.ends
    assert [one.up_to for one in ends] == [8191, None]
    assert ends[0].change == (4097, 8192)
    limits = [table.get("up_to") for table in tomllib.loads(again.to_toml())["protocols"]]
    assert [limits[0]["value"], *limits[1:]] == [8191, None]
    assert "somewhere from 4097 to 8191 bytes" in limits[0]["source"]
    assert_the_same_windows(machine, again, [8, 3000, 4096, 8192, 60_000])


ENDS = st.floats(0.1, 5.0)


@settings(max_examples=8, deadline=None, phases=(Phase.generate,))
@given(send=ENDS, receive=ENDS, way=st.floats(0.0, 3.0), copies=st.tuples(st.floats(0.05, 1.0), st.floats(0.05, 1.0)))
def test_a_machine_of_two_ranks_comes_back_from_its_parts(send, receive, way, copies):
    """Whatever its ends take, a machine that is fitted to its own parts has the same windows."""
    machine = weft.Machine.parse(TWO_RANKS + protocol(send, receive, way, copies), "own.toml")
    _, again = fitted_to_parts(machine, [8 << k for k in range(0, 14, 2)])
    assert_the_same_windows(machine, again, [8, 3000, 60_000])


def made(o_s, o_r, launches, noise, seed=0):
    """An echo of o_s + o_r + 1 us + 1 ns a byte, and fans whose batches end with 4 us for all neighbours."""
    generator = np.random.default_rng(seed)
    rows = [("echo", None, n, o_s + o_r + 1e-6 + 1e-9 * n) for n in (1, *(8 << k for k in range(12)))]
    rows += [(name, k, 8, o + 4e-6 / k) for name, o in (("fan-out", o_s), ("fan-in", o_r)) for k in (1, 2, 4, 6)]
    table = [
        (name, k, n, launch, seconds * np.exp(noise * generator.standard_normal()))
        for name, k, n, seconds in rows
        for launch in range(launches)
    ]
    head = {"source": "measured", "machine": "m", "ranks": 7, "hops": 1}
    columns = {"benchmark": str, "neighbours": int, "bytes": int, "repetition": int, "seconds": float}
    frame = pl.DataFrame(table, schema=columns, orient="row")
    return frame.with_columns(**{name: pl.lit(value) for name, value in head.items()})


def test_intervals_cover_known_parameters_under_noise():
    inside = []
    for seed in range(40):
        known = weft.fit(made(2e-6, 3e-6, 20, 0.03, seed), most_pieces=1).loggp
        truth = ((known.send_overhead, 2e-6), (known.receive_overhead, 3e-6), (known.latency, 1e-6))
        inside += [one.low <= value <= one.high for one, value in truth]
    assert np.mean(inside) >= 0.93 - 2 * 0.02


@pytest.mark.parametrize("left_out", ["fan-out", "fan-in"])
def test_without_both_fans_nothing_is_told_apart(left_out):
    samples = all_samples("ipsc860").filter(pl.col("benchmark") != left_out)
    assert weft.fit(samples).loggp is None


def test_a_single_neighbour_shows_no_overhead():
    samples = all_samples("ipsc860").filter(pl.col("neighbours").fill_null(1) == 1)
    assert weft.fit(samples).loggp is None


def test_the_command_prints_them(command, tmp_path):
    all_samples("ipsc860").write_csv("mine.csv")
    code, out, err = command("fit mine.csv -o mine.toml")
    assert code == 0, err
    assert "LogGP with 8 B: o_s 30.7 us" in " ".join(out.split()).replace("\u03bc", "u").replace("\u00b5", "u")
    assert (tmp_path / "mine.toml").exists()


def test_estimates_of_no_spread_have_no_width():
    known = weft.fit(all_samples("ipsc860")).loggp
    assert isinstance(known.gap, Estimate)
    assert known.gap.low == known.gap.value == known.gap.high


def test_the_window_of_samples_that_name_none_is_the_benchmarks_own():
    assert benchmarks()["bandwidth"].takes["window"].default == (OWN_WINDOW,)
    assert benchmarks()["receive-overhead"].takes["window"].default == (OWN_RECEIVES,)
