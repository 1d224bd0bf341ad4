"""Ranks within nodes: how far apart they are, bindings that are wrong, and what is slow between them."""

import itertools
import json
import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benches.health import ranks as planting
from weft import UsageError
from weft.health import diagnose, pair_times, summary, tables
from weft.health.bindings import Binding, Distance, Level, Rank, distance, wrong
from weft.health.running import Plan
from weft.health.within import within

CORES, CACHE, NUMA, SOCKET = 32, 4, 8, 16
"""Cores of a node, and of a cache, a NUMA node and a socket in it; every core has threads `core` and `core + 32`."""


def text(processors, cores=CORES):
    parts = {"cpu": 1, "core": 1, "l3": CACHE, "numa": NUMA, "socket": SOCKET}
    numbers = {
        name: sorted({processor if name == "cpu" else processor % cores // size * (size if name == "l3" else 1)
                      for processor in processors})
        for name, size in parts.items()
    }  # fmt: skip
    return " ".join(f"{name}={','.join(map(str, each))}" for name, each in numbers.items()) + f" of={cores}"


def ranks(*bound, node="n1", first=0):
    return [Rank(first + number, node, Binding.parse(text(processors))) for number, processors in enumerate(bound)]


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        ([3], [3], "same processor"),
        ([3], [35], "same core"),
        ([3], [2], "same L3 cache"),
        ([3], [4], "same NUMA node"),
        ([3], [8], "same socket"),
        ([3], [16], "other socket"),
        ([3, 35], [3, 35], "same core, cores vary"),
        (range(4), range(4), "same L3 cache, cores vary"),
        (range(32), range(32), "same node, cores vary"),
        (range(16), range(16, 32), "other socket"),
    ],
)
def test_distances_are_those_of_the_smallest_common_part(one, other, name):
    bindings = [Binding.parse(text(processors)) for processors in (one, other)]
    assert distance(*bindings).name == distance(*reversed(bindings)).name == name


sets = st.sets(st.integers(0, 2 * CORES - 1), min_size=1, max_size=6)


@given(sets, sets)
def test_a_distance_is_as_far_as_the_processors_can_be(one, other):
    def level(a, b):
        if a == b:
            return Level.PROCESSOR
        a, b = a % CORES, b % CORES
        sizes = ((Level.CORE, 1), (Level.CACHE, CACHE), (Level.NUMA, NUMA), (Level.SOCKET, SOCKET))
        return next((level for level, size in sizes if a // size == b // size), Level.NODE)

    levels = {level(a, b) for a, b in itertools.product(one, other)}
    inner = {level(a, b) for each in (one, other) for a, b in itertools.combinations(each, 2)}
    known = distance(Binding.parse(text(one)), Binding.parse(text(other)))
    assert known.level == max(levels | inner)
    # A rank that may run in two parts of a level is far from one that shares a part with it by chance only.
    if not known.varies:
        assert levels == {known.level}


def test_what_is_not_known_of_a_part_is_passed_over():
    binding = Binding.parse("cpu=1 core=1 of=4")
    assert distance(binding, Binding.parse("cpu=2 core=2 of=4")) == Distance(Level.NODE, False)
    assert binding.within(Level.SOCKET) is None


@pytest.mark.parametrize("broken", ["", "cpu", "core=1", "cpu=x", "cpu=1-x of=3", "cpu=1 of=many"])
def test_what_is_no_binding_is_named(broken):
    with pytest.raises(UsageError, match="binding"):
        Binding.parse(broken)


@pytest.mark.parametrize(
    ("bound", "kinds", "sentence"),
    [
        (([0], [1], [2]), [], ""),
        (([0], [1], [1]), ["shared"], "ranks 1 and 2 on node n1 are bound to the same processor, 1"),
        (([1], [1], [1]), ["shared"], "ranks 0, 1 and 2 on node n1 are bound to the same processor, 1"),
        (([0, 1], [0, 1], [0, 1], [5, 6]), ["shared"],
         "ranks 0, 1 and 2 on node n1 share the processors 0-1, of which there are 2 for 3 ranks"),
        (([0], [0], [0, 1, 2]), ["shared", "unbound"], "ranks 0 and 1 on node n1 are bound to the same processor, 0"),
        (([0], [32], [1]), ["siblings"],
         "ranks 0 and 1 on node n1 share core 0, on its hardware threads 0,32, where the node has 32 cores for 3 "
         "ranks"),
        (([0], [1], [2], range(32)), ["unbound"],
         "rank 3 on node n1 is not bound as most ranks are: it may run on the processors 0-31, they on 1 each"),
        ((range(32),) * 4, [], ""),
        ((range(16), range(16, 32)), [], ""),
    ],
)  # fmt: skip
def test_wrong_bindings_are_named(bound, kinds, sentence):
    results = wrong(ranks(*bound))
    assert [each.kind for each in results] == kinds
    if sentence:
        assert results[0].text == sentence


def test_hardware_threads_are_no_fault_where_there_are_more_ranks_than_cores():
    assert wrong(ranks(*([processor] for processor in range(2 * CORES)))) == []


def test_a_node_that_is_bound_in_another_manner_is_named():
    spread, packed = ([0], [16]), ([0], [1])
    nodes = [ranks(*(packed if node == 2 else spread), node=f"n{node}", first=2 * node) for node in range(4)]
    assert [each.text for each in wrong(itertools.chain(*nodes))] == [
        "node n2 binds its 2 ranks otherwise than 3 other nodes: 1 processor a rank over 1 NUMA node and 1 socket, "
        "they 1 processor a rank over 2 NUMA nodes and 2 sockets"
    ]
    # Which processors a batch system gave is no manner.
    shifted = [ranks([node], [16 + node], node=f"n{node}", first=2 * node) for node in range(4)]
    assert wrong(itertools.chain(*shifted)) == []


COST = {"same L3 cache": 2e-7, "same NUMA node": 3e-7, "same socket": 4e-7, "other socket": 8e-7}


def samples(bound, nodes=1, slow=lambda i, j: 1.0, noise=0.03, launches=3, seed=0):
    """Pairs of ranks that are bound alike on each of some nodes, without contention."""
    random = np.random.default_rng(seed)
    per, rows = len(bound), []
    bindings = [text(processors) for processors in bound]
    for launch, size, (i, j) in itertools.product(
        range(launches), (8, 65536), itertools.permutations(range(per * nodes), 2)
    ):
        same = i // per == j // per
        apart = distance(*(Binding.parse(bindings[rank % per]) for rank in (i, j))).name if same else ""
        seconds = COST.get(apart, 2e-6) * (1 if size == 8 else 60) * slow(i, j) * np.exp(random.normal(0, noise))
        ends = {"sender": i, "receiver": j}
        names = {f"{end}_node": f"n{rank // per}" for end, rank in ends.items()}
        where = {f"{end}_binding": bindings[rank % per] for end, rank in ends.items()}
        rows.append({"benchmark": "pairs", "source": "measured", "machine": "here", "repetition": launch, "bytes": size,
                     "seconds": seconds, **ends, **names, **where})  # fmt: skip
    return pl.DataFrame(rows)


EIGHT = [[0], [1], [4], [5], [16], [17], [20], [21]]


def names(judged):
    return {finding.suspect.name for finding in judged.findings}


def test_noise_alone_is_nothing_and_classes_have_their_times():
    judged = within(samples(EIGHT, 2))
    assert judged.findings == [] == judged.wrong
    medians = {each.name: each.seconds for each in judged.classes if each.bytes == 8}
    assert medians.keys() == {"same L3 cache", "same NUMA node", "other socket"}
    for name, seconds in medians.items():
        assert seconds == pytest.approx(COST[name], rel=0.05)
    assert sum(each.pairs for each in judged.classes if each.bytes == 8) == 2 * 8 * 7


@pytest.mark.parametrize(
    ("slow", "name"),
    [
        (lambda i, j: 1.3 if 5 in (i, j) else 1.0, "rank 5 on node n0"),
        (lambda i, j: 1.3 if i == 5 else 1.0, "rank 5 on node n0 as a sender"),
        (lambda i, j: 1.3 if i // 8 == j // 8 == 1 and i // 4 != j // 4 else 1.0,
         "what joins sockets 0 and 1 of node n1"),
        (lambda i, j: 1.3 if i // 8 == j // 8 == 2 else 1.0, "what is within node n2"),
        (lambda i, j: 1.5 if (i, j) == (1, 6) else 1.0, "messages from rank 1 to rank 6 on node n0 (other socket)"),
        (lambda i, j: 1.5 if {i, j} == {0, 2} else 1.0, "the pair of ranks 0 and 2 on node n0 (same NUMA node)"),
    ],
)  # fmt: skip
def test_what_is_slow_for_its_class_is_named(slow, name):
    assert names(within(samples(EIGHT, 3, slow))) == {name}


def test_a_class_that_is_slow_everywhere_shows_beside_a_baseline_only():
    def slow(i, j):
        return 1.3 if i // 8 == j // 8 and i // 4 != j // 4 else 1.0

    measured = samples(EIGHT, 3, slow, seed=1)
    assert within(measured).findings == []
    # Half of the pairs are of the class, so that the median over all of them is between.
    (name,) = names(within(measured, expected=samples(EIGHT, 3, seed=2)))
    assert name == "every pair of the class 'other socket'"
    whole = within(samples(EIGHT, 3, lambda i, j: 1.3, seed=1), expected=samples(EIGHT, 3, seed=2))
    assert [length for length, factor in whole.slow_lengths(0.05).items() if factor > 1.25] == [8, 65536]
    assert whole.findings == []


def test_a_baseline_of_other_ranks_is_one_of_classes():
    other = [[0], [5], [16], [17]]
    measured = samples(EIGHT, 2, lambda i, j: 1.3 if 5 in (i, j) else 1.0, seed=1)
    assert names(within(measured, expected=samples(other, 4, seed=2))) == {"rank 5 on node n0"}


def test_samples_that_do_not_say_where_ranks_run_say_nothing():
    table = samples(EIGHT)
    assert within(table.drop("sender_binding")) is None
    unknown = table.with_columns(pl.lit(None, pl.String).alias(f"{end}_binding") for end in ("sender", "receiver"))
    assert within(unknown) is None
    alone = within(samples([[0]], 4))
    assert (alone.times, alone.findings, alone.classes) == (None, [], [])


def test_a_diagnosis_says_all_of_it():
    table = samples([[0], [1], [4], [4]], 4, lambda i, j: 5.0 if 9 in (i, j) else 1.0)
    diagnosis = diagnose(pair_times(table), within=within(table))
    assert diagnosis.verdict.name == "BROKEN"
    said = "\n".join(summary(diagnosis))
    assert "ranks 2 and 3 on node n0 are bound to the same processor, 4" in said
    assert "rank 9 on node n2 is slow: messages take" in said
    kinds = set(tables.rows(diagnosis)["kind"])
    assert {"shared", "rank"} <= kinds
    content = json.loads(tables.to_json(diagnosis, "here"))["within_nodes"]
    assert content["wrong_bindings"][0]["ranks"] == [2, 3]
    assert {each["name"] for each in content["classes"]} == {"same processor", "same L3 cache", "same NUMA node"}
    lines = tables.to_prometheus(diagnosis, "here").splitlines()
    assert 'weft_health_wrong_bindings{machine="here"} 4' in lines
    assert any(
        line.startswith('weft_health_within_node_seconds{machine="here",distance="same processor"') for line in lines
    )
    page = tables.to_html(diagnosis, "here")
    assert re.search(r"rank 8 to rank 9, same L3 cache: [45]\.", page)
    assert "p same processor, l same L3 cache, n same NUMA node" in page
    drawn = tables.heat_maps_of_ranks(diagnosis).splitlines()
    # Nodes of which something is said come first, and all say the same here: the rows of the first two.
    assert [line.split()[1] for line in drawn if re.match(r" *\d", line)][:4] == ["lnn", "l", "nn", "nnp"]


@pytest.mark.parametrize("seed", [1, 2])
def test_planted_faults_are_found_in_virtual_time(seed):
    total = planting.scored(0.8, 0.05, 4, seed, Plan())
    assert total.planted >= 4
    assert total.recall >= 0.8
    assert total.precision >= 0.8


def test_a_machine_file_with_processors_is_judged_by_rank(command):
    machine = str(planting.MACHINE)
    code, out, _ = command(
        f"health --on {machine} --ranks 32 --launches 2 --fault node:5=0.6 -o slow.csv --html p.html"
    )
    assert code == 3
    assert "rank 5 on node 0 is slow" in out
    assert "within nodes, other socket: 8 B" in out
    assert "lll" in out
    assert "rank 5 to rank 6, same L3 cache: 1." in Path("p.html").read_text()
    # The samples say as much as the run did, and a healthy run is what is normal.
    code, out, _ = command(f"health --on {machine} --ranks 32 --launches 2 --quiet -o normal.csv")
    assert (code, out.splitlines()[0].split(":")[0]) == (0, "healthy")
    code, out, _ = command("health --samples slow.csv --baseline normal.csv --format csv")
    assert code == 3
    assert "rank 5 on node 0" in pl.read_csv(out.encode())["name"].to_list()
    code, out, _ = command(f"health --samples normal.csv --baseline {machine} --quiet")
    assert (code, out.splitlines()[0].split(":")[0]) == (0, "healthy")


def test_machines_whose_computers_are_too_few_or_too_large_are_refused(command, tmp_path):
    content = planting.MACHINE.read_text()
    (tmp_path / "small.toml").write_text(content.replace("children = [4, 2, 2, 4]", "children = [4, 2, 2, 1]"))
    assert command(f"health --on {planting.MACHINE} --ranks 32 --launches 1 -o two.csv --quiet")[0] == 0
    code, _, err = command("health --samples two.csv --baseline small.toml")
    assert code == 2
    assert "the machine has 1 computer, and 2 were measured" in " ".join(err.split())
    (tmp_path / "odd.toml").write_text(content.replace("sockets = 2", "sockets = 3"))
    code, _, err = command("health --on odd.toml")
    assert code == 2
    assert "to divide the 64 nodes of the topology" in " ".join(err.split())


def test_a_broken_binding_in_samples_is_named(command, tmp_path):
    table = samples(EIGHT[:2], 2).with_columns(sender_binding=pl.lit("socket=1"), receiver_binding=pl.lit("x"))
    table.with_columns(ranks=pl.lit(4), hops=pl.lit(None, pl.Int64)).write_csv(tmp_path / "broken.csv")
    code, _, err = command("health --samples broken.csv")
    assert code == 2
    assert "binding" in err


@pytest.mark.mpi
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="binds processes as Linux does")
def test_ranks_that_a_launcher_binds_to_one_processor_are_named_here(command):
    before = os.sched_getaffinity(0)
    processor = min(before)
    os.sched_setaffinity(0, {processor})
    try:
        code, out, _ = command("health --ranks 2 --each rank --launches 1 --seconds 0.001 --bytes 8 -o here.csv")
    finally:
        os.sched_setaffinity(0, before)
    assert code == 3
    assert re.search(rf"ranks 0 and 1 on node \S+ are bound to the same processor, {processor}$", out, re.MULTILINE)
    table = pl.read_csv("here.csv").filter(pl.col("benchmark") == "pairs")
    bindings = set(table["sender_binding"])
    assert len(bindings) == 1
    assert Binding.parse(*bindings).processors == {processor}
