"""Faults planted in virtual time, and what `weft health` says of them."""

import json
import re
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from weft import Machine, UsageError
from weft.health import diagnose
from weft.health.running import Plan, culprit, normal_of, simulate, trials_of


def found(machine, faults, nodes, seed=0, by_trials=True):
    described = Machine.find(machine)
    times, _ = simulate(described.with_faults(faults), nodes, seed=seed)
    normal, _ = simulate(described, nodes, seed=seed)
    trial = trials_of(described, times, Plan(), seed) if by_trials else None
    diagnosis = diagnose(times, expected=normal, machine=described, trial=trial)
    return sorted(finding.suspect.name for finding in diagnosis.findings)


@pytest.mark.parametrize("seed", range(3))
def test_slow_nodes_are_named_under_noise(seed):
    nodes = sorted(np.random.default_rng(seed).choice(16, 2, replace=False).tolist())
    faults = [f"node:{node}=0.8" for node in nodes]
    assert found("ipsc860", [*faults, "noise=0.05"], 16, 10 * seed) == sorted(f"node {node}" for node in nodes)


def test_a_slow_cable_of_a_hypercube_is_named():
    assert found("ipsc860", ["link:0-4=0.5", "noise=0.05"], 16) == ["the cable between node 0 and node 4"]


def test_what_a_slow_cable_of_a_torus_holds_up_is_not_named_beside_it():
    faults = ["link:1-2=0.5", "noise=0.05"]
    assert found("tpu-v4", faults, 32, 1) == ["the cable between node 1 and node 2"]
    assert len(found("tpu-v4", faults, 32, 1, by_trials=False)) > 1, "which medians of pairs alone do not see"


def test_one_direction_of_a_cable_is_named():
    assert found("ipsc860", ["link:0>4=0.5"], 16) == ["the link from node 0 to node 4"]


def test_noise_alone_is_nothing():
    assert found("ipsc860", ["noise=0.05"], 16) == []


def test_the_same_seed_gives_the_same_noise():
    noisy = Machine.find("ipsc860").with_faults(["noise=0.1"])
    plan = Plan(lengths=(8,), launches=1)
    first, again, other = (simulate(noisy, 4, plan, seed=seed)[0].logs for seed in (1, 1, 2))
    assert np.array_equal(first, again, equal_nan=True)
    assert not np.array_equal(first, other, equal_nan=True)


def test_exit_codes_and_formats(command):
    quick = "--on ipsc860 --ranks 8 --launches 1 --quiet"
    code, out, _ = command(f"health {quick}")
    assert code == 0
    assert out.startswith("healthy: 8 nodes, 1 launch")
    code, out, _ = command(f"health {quick} --fault node:3=0.7 --format json")
    report = json.loads(out)
    assert (code, report["verdict"], report["exit_code"]) == (3, "slow", 3)
    assert {each["name"] for each in report["findings"] if each["kind"] != "collective"} == {"node 3"}
    slow = {each["name"]: each["slowdown"] for each in report["findings"] if each["kind"] == "collective"}
    assert slow.keys() <= {f"allreduce of {length} over 8 ranks" for length in ("8 B", "256 KiB")}
    # No transfer is slowed by more than the node's 1 / 0.7.
    assert slow
    assert all(1.05 < factor < 1 / 0.7 + 1e-9 for factor in slow.values())
    assert {each["benchmark"] for each in report["collectives"]} == {"barrier", "allreduce"}
    code, out, _ = command(f"health {quick} --fault node:3=0.1 --format prometheus")
    assert code == 4
    assert 'weft_health_status{machine="ipsc860"} 4' in out.splitlines()
    code, out, _ = command(f"health {quick} --fault node:3=0.7 --format csv")
    assert code == 3
    assert set(pl.read_csv(out.encode()).filter(pl.col("kind") != "collective")["name"]) == {"node 3"}


def test_samples_and_baselines(command, tmp_path):
    quick = "--on ipsc860 --ranks 8 --launches 2 --quiet"
    assert command(f"health {quick} -o normal.parquet")[0] == 0
    assert command(f"health {quick} --fault node:5=0.7 -o slow.csv --html page.html")[0] == 3
    code, out, _ = command("health --samples slow.csv --baseline normal.parquet --quiet")
    assert code == 3
    assert "node 5 is slow" in out
    page = (tmp_path / "page.html").read_text()
    assert "node 5 is slow" in page
    assert page.count("<svg") == 2
    code, _, err = command("health --samples slow.csv --baseline absent.parquet")
    assert code != 0
    assert "absent.parquet" in err


def test_a_switch_of_two_nodes_says_what_pairs_of_more_take():
    """As a fit of two ranks has it: a file of two nodes, and four like them are healthy beside it."""
    whole = Machine.find("hgx-h100")
    two = Machine.parse(re.sub(r"(?s)(\[topology\].*?nodes = )8", r"\g<1>2", whole.to_toml()), "two.toml")
    assert (whole.nodes, two.nodes) == (8, 2)
    times, _ = simulate(whole, 4, Plan(lengths=(8, 65_536), launches=1))
    assert np.allclose(normal_of(two, times).logs, times.logs, rtol=0, atol=0.01, equal_nan=True)
    assert not diagnose(times, expected=normal_of(two, times)).slow_lengths()
    slower = replace(times, logs=times.logs + np.log(1.5))
    assert list(diagnose(slower, expected=normal_of(two, times)).slow_lengths()) == [8, 65_536]


def test_faults_come_from_files_too(command, tmp_path):
    (tmp_path / "faults.txt").write_text("# planted\nnode:1=0.5\n\nlink:0-2=0.5  # and this\n")
    code, out, _ = command("health --on ipsc860 --ranks 8 --launches 1 --quiet --fault faults.txt")
    assert code == 3
    assert "node 1 is slow" in out


def test_history_tells_since_when(command):
    pytest.importorskip("ruptures")
    quick = "health --on ipsc860 --ranks 4 --launches 1 --bytes 8 --quiet --watch history.parquet"
    for count in range(1, 4):
        code, _, err = command(quick.replace("--quiet ", ""))
        assert code == 0
        assert f"{count} checks in history.parquet" in " ".join(err.split())
    for _ in range(3):
        assert command(f"{quick} --fault node:2=0.5")[0] == 3
    _, _, err = command(f"{quick} --fault node:2=0.5")
    assert "messages with node 2 take longer" in " ".join(err.split())
    assert "messages with node 1 take" not in " ".join(err.split())
    code, _, err = command("health --on ipsc2 --ranks 4 --launches 1 --bytes 8 --quiet --watch history.parquet")
    assert code == 2
    assert "history.parquet is the history of ipsc860; each machine has its own" in err.replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--on ipsc860 --ranks 1", "the health of 1 node: pairs need two nodes or more"),
        ("--fault node:1=0.5", "--fault is planted in a described machine"),
        ("--on ipsc860 --ranks 8 --fault node:500=0.5", "fault 'node:500=0.5': there are nodes 0 to 127"),
        ("--on ipsc860 --ranks 8 --fault slow", "fault 'slow': a fault is node:NUMBER=SPEED"),
        ("--hosts a,b,a", "--hosts names a twice"),
        ("--hosts a", "the health of 1 rank"),
        ("--hosts a,,b", "--hosts: a name is empty"),
        ("--hosts a,b --ranks 3", "--ranks 3 on 2 hosts"),
    ],
)
def test_what_cannot_be_is_explained(command, words, message):
    code, _, err = command(f"health {words}")
    assert code == 2
    assert message in " ".join(err.split())


def test_measure_takes_faults(command):
    lines = {}
    for name, fault in (("normal", ""), ("slow", "--fault node:1=0.5")):
        code, out, _ = command(f"measure pairs --on ipsc860 --ranks 4 --bytes 8 --format csv {fault}")
        assert code == 0
        lines[name] = pl.read_csv(out.encode()).select("sender", "receiver", "seconds")
    both = lines["normal"].join(lines["slow"], on=["sender", "receiver"])
    with_node = both.with_columns(ratio=pl.col("seconds_right") / pl.col("seconds"))
    slow = (pl.col("sender") == 1) | (pl.col("receiver") == 1)
    assert with_node.filter(slow)["ratio"].min() > 1.3
    assert with_node.filter(~slow)["ratio"].median() == pytest.approx(1.0, abs=0.05)


def test_hosts_are_found_in_messages():
    assert culprit("rank 2 is stopped", ["a", "b", "c"]) == "c"
    assert culprit("host b.cluster: connection refused", ["a", "b.cluster"]) == "b.cluster"
    assert culprit("a and b", ["a", "b"]) is None


@pytest.mark.mpi
@pytest.mark.usefixtures("native")
def test_a_host_that_is_not_there_is_named_and_the_rest_measured(command):
    code, out, err = command(
        "health --hosts localhost,no-such-host.invalid,127.0.0.1 --launches 1 --each rank --seconds 0.001 --quiet"
    )
    assert code == 4, err
    assert out.startswith("broken: 2 nodes")
    assert "node no-such-host.invalid is lost: no computer has this name" in out
    code, _, err = command("health --hosts localhost,no-such-host.invalid")
    assert code == 1
    assert "no computer is called no-such-host.invalid" in " ".join(err.split())


@pytest.mark.mpi
@pytest.mark.usefixtures("native")
def test_ranks_of_this_computer(command):
    code, _, err = command("health --ranks 2 --launches 1 --seconds 0.001 --bytes 8")
    assert code == 2
    assert "take each rank for a node with --each rank" in " ".join(err.split())
    code, out, err = command("health --ranks 3 --launches 1 --seconds 0.001 --each rank --format json -o here.csv")
    assert json.loads(out)["nodes"] == ["rank 0", "rank 1", "rank 2"], err
    samples = pl.read_csv("here.csv").filter(pl.col("benchmark") == "pairs")
    assert sorted(samples.select("sender", "receiver", "bytes").rows()) == sorted(
        (i, j, length) for i in range(3) for j in range(3) if i != j for length in (8, 262_144)
    )
    assert samples["sender_node"].n_unique() == 1


def test_links_are_those_of_the_machine():
    machine = Machine.find("frontera")
    ends = [machine.link_ends(link) for link in machine.route(0, 50)]
    assert (ends[0][0], ends[-1][1], len(ends)) == ("0", "50", 4)
    with pytest.raises(UsageError, match="frontera has 8008 nodes"):
        machine.route(0, 9000)


def test_a_machine_file_says_what_is_normal(command, tmp_path):
    quick = "--on ipsc860 --ranks 8 --launches 2 --quiet"
    assert command(f"health {quick} -o normal.parquet")[0] == 0
    assert command(f"health {quick} --fault node:5=0.7 -o slow.parquet")[0] == 3
    assert command("health --samples normal.parquet --baseline ipsc860 --quiet")[0] == 0
    code, out, _ = command("health --samples slow.parquet --baseline ipsc860 --quiet")
    assert code == 3
    assert "node 5 is slow" in out
    code, out, _ = command("health --samples normal.parquet --baseline ncube6400 --quiet --format json")
    assert code == 0, "a slower machine is no reason to complain"
    code, out, _ = command("health --samples normal.parquet --baseline frontera --quiet")
    assert code in (3, 4)
    assert "all pairs together take" in out
    code, _, err = command("health --samples normal.parquet --baseline ipsc961")
    assert code == 2
    assert 'unknown machine "ipsc961"' in err


def test_a_fit_of_two_ranks_says_what_is_normal_behind_one_switch(command, tmp_path):
    assert command("measure echo --on frontera --ranks 2 --bytes 8:256K -o echo.csv")[0] == 0
    assert command("fit echo.csv -o here.toml")[0] == 0
    assert command("health --on frontera --ranks 8 --launches 2 --quiet -o normal.parquet")[0] == 0
    code, out, err = command("health --samples normal.parquet --baseline here.toml --quiet")
    assert code in (0, 3), err
    assert "node" not in "".join(line for line in out.splitlines()[1:] if "is slow" in line)


@pytest.mark.mpi
@pytest.mark.usefixtures("native")
def test_what_was_measured_survives_a_kill(command, tmp_path):
    words = "health --ranks 2 --each rank --launches 12 --bytes 8 --seconds 0.001 --quiet -o pairs.csv"
    journal = tmp_path / "pairs.csv.journal"
    with subprocess.Popen(
        [sys.executable, "-m", "weft.cli.main", *words.split()], cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as begun:
        for _ in range(600):
            if journal.exists() and journal.read_text().count("\n") > 2:
                break
            time.sleep(0.05)
        begun.kill()
    kept = journal.read_text().count("\n") - 1
    assert 1 < kept < 12
    code, _, err = command(words)
    assert code == 2
    assert f"has {kept} records of an unfinished run" in " ".join(err.split())
    assert command(f"{words} --resume")[0] == 0
    assert pl.read_csv(tmp_path / "pairs.csv")["repetition"].n_unique() == 12
    assert not journal.exists()


TAPERED = """
name = "tapered"
title = "A fat tree with half as many links up as down"
topology = { kind = "fat-tree", children = [32, 8, 4], parents = [1, 16, 8], source = "test" }
switching = { technique = "cut-through", source = "test" }
[[protocols]]
send_overhead = 1e-6
receive_overhead = 1e-6
hop_time = 0.1e-6
byte_time = 2e-11
completion = "rendezvous"
source = "test"
[node]
memory_bytes = 549755813888
source = "test"
[self_message]
startup = 0.2e-6
byte_time = 1e-10
source = "test"
"""


def test_a_slow_link_is_judged_by_what_crosses_it_and_not_by_what_waits_for_that():
    described = Machine.parse(TAPERED, "tapered.toml")
    faulty, _ = simulate(described.with_faults(["link:s0>s32=0.4", "noise=0.05"]), 64)
    normal, _ = simulate(described, 64)
    diagnosis = diagnose(faulty, expected=normal, machine=described, trial=trials_of(described, faulty, Plan(), 0))
    (finding,) = diagnosis.findings
    assert finding.suspect.fault in ("link:s0>s32", "link:s32>s1")
    ratios = np.exp(np.mean(faulty.logs - normal.logs, axis=0)).reshape(2, -1)[1, finding.suspect.cells]
    assert finding.slowdown == pytest.approx(np.median(ratios), rel=0.05)
    assert finding.slowdown > 1.5
