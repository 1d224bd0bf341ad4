"""What is told from the times of pairs: matrices with known effects, and what must not be found."""

import numpy as np
import polars as pl
import pytest

from weft import UsageError
from weft.health import diagnose, pair_times, summary
from weft.health.diagnosis import Verdict
from weft.health.expectation import inferred_groups
from weft.health.inference import findings, misplaced, slow_pairs
from weft.health.pairs import PairTimes
from weft.health.suspects import Suspect, distinct, of_groups, of_nodes

NODES = 16
NAMES = tuple(f"n{node}" for node in range(NODES))


def times(values, launches=3, noise=0.05, seed=1):
    """Pair times with these logarithms and noise; the diagonal is empty."""
    generator = np.random.default_rng(seed)
    logs = np.asarray(values) + generator.normal(0.0, noise, (launches, *np.shape(values)))
    logs[..., np.arange(NODES), np.arange(NODES)] = np.nan
    return PairTimes(NAMES, (8, 262_144), logs, {}, tuple(range(launches)))


def flat():
    return np.zeros((2, NODES, NODES))


def names(diagnosis):
    return sorted(finding.suspect.name for finding in diagnosis.findings)


def test_noise_alone_is_healthy():
    for noise in (0.05, 0.2):
        for seed in range(10):
            diagnosis = diagnose(times(flat(), noise=noise, seed=seed), expected=times(flat(), noise=0.0))
            assert diagnosis.verdict is Verdict.HEALTHY, (noise, seed, summary(diagnosis))


def test_slow_nodes_are_named_with_their_factors():
    values = flat()
    for node in (3, 9):
        values[:, node, :] = values[:, :, node] = np.log(1.25)
    diagnosis = diagnose(times(values), expected=times(flat(), noise=0.0))
    assert names(diagnosis) == ["node n3", "node n9"]
    assert all(finding.slowdown == pytest.approx(1.25, rel=0.03) for finding in diagnosis.findings)
    assert diagnosis.verdict is Verdict.SLOW
    assert "confidence above 99.9%" in summary(diagnosis)[1]


def test_directions_are_told_apart():
    values = flat()
    values[1, 4, :] += np.log(1.5)
    values[1, :, 7] += np.log(1.5)
    diagnosis = diagnose(times(values), expected=times(flat(), noise=0.0))
    assert names(diagnosis) == ["node n4 as a sender", "node n7 as a receiver"]


def test_a_pair_is_named_where_its_nodes_are_well():
    values = flat()
    values[1, 2, 5] += np.log(2.0)
    values[1, 5, 2] += np.log(2.0)
    values[1, 8, 1] += np.log(3.0)
    diagnosis = diagnose(times(values), expected=times(flat(), noise=0.0))
    assert names(diagnosis) == ["messages from n8 to n1", "the pair n2 and n5"]


def test_groups_are_inferred_and_their_uplinks_named():
    near = np.zeros((NODES, NODES))
    groups = np.arange(NODES) // 4
    near[groups[:, None] != groups] = np.log(1.3)
    values = np.stack([near, near])
    assert (inferred_groups(times(values, 1, 0.02).logs[0]) == groups).all()
    values[1][(groups == 2)[:, None] ^ (groups == 2)] += np.log(1.6)
    diagnosis = diagnose(times(values, noise=0.02))
    assert names(diagnosis) == ["the uplinks of the group of 4 nodes with n8"]
    assert any("4 groups, of 4, 4, 4, 4 nodes" in note for note in diagnosis.notes)


def test_no_groups_are_inferred_from_noise():
    for seed in range(10):
        assert not inferred_groups(times(flat(), 1, 0.1, seed).logs[0]).any()


def test_a_node_that_does_not_answer_is_named_and_the_rest_judged():
    measured = times(flat())
    measured.logs[..., 6, :] = measured.logs[..., :, 6] = np.nan
    measured.logs[:, 1, 2, :] += np.log(1.5)
    measured.logs[:, 1, :, 2] += np.log(1.5)
    diagnosis = diagnose(measured)
    assert diagnosis.lost == [("n6", "nothing was measured of it")]
    assert diagnosis.verdict is Verdict.BROKEN
    assert names(diagnosis) == ["node n2"]


def test_swapped_nodes_are_named():
    line = np.abs(np.subtract.outer(np.arange(NODES), np.arange(NODES))) * 0.2
    order = np.arange(NODES)
    order[[2, 11]] = order[[11, 2]]
    swapped = line[order][:, order]
    diagnosis = diagnose(times(np.stack([swapped, swapped])), expected=times(np.stack([line, line]), noise=0.0))
    assert diagnosis.misplaced == [("n2", "n11")]
    assert misplaced(line, line, 0.05) == []


def test_all_pairs_slower_than_the_baseline():
    diagnosis = diagnose(times(flat() + np.log(1.4)), expected=times(flat(), noise=0.0))
    assert list(diagnosis.slow_lengths()) == [8, 262_144]
    assert diagnosis.verdict is Verdict.SLOW
    assert not diagnosis.findings


def test_what_takes_four_times_as_long_is_broken():
    values = flat()
    values[1, 4, :] = values[1, :, 4] = np.log(5.0)
    assert diagnose(times(values)).verdict is Verdict.BROKEN


def test_a_part_of_a_suspect_is_not_the_suspect():
    values = flat()[:1]
    values[0, 3, :6] += 0.5
    values[0, np.arange(NODES), np.arange(NODES)] = np.nan
    suspects = distinct([*of_nodes(NAMES), *of_groups(NAMES, np.zeros(NODES, np.int64))])
    assert findings(values, suspects, 0.05) == []
    assert len(slow_pairs(values, values, [], NAMES, 0.05)) == 5


def table(rows, **columns):
    head = {"source": "measured", "machine": "here", "benchmark": "pairs", "bytes": 8, "repetition": 0, **columns}
    return pl.DataFrame(
        [{"sender": i, "receiver": j, "sender_node": a, "receiver_node": b, "seconds": 1e-6} for i, j, a, b in rows]
    ).with_columns(**{name: pl.lit(value) for name, value in head.items()})


def test_what_is_no_cluster_is_explained():
    with pytest.raises(UsageError, match="all ranks are on the node a, .* --each rank"):
        pair_times(table([(0, 1, "a", "a"), (1, 0, "a", "a")]))
    assert pair_times(table([(0, 1, "a", "a"), (1, 0, "a", "a")]), each_rank=True).names == ("rank 0", "rank 1")
    with pytest.raises(UsageError, match="x.csv: no samples of the benchmark 'pairs'"):
        pair_times(table([(0, 1, "a", "b")], benchmark="echo"), origin="x.csv")
    two = pl.concat([table([(0, 1, "a", "b")]), table([(0, 1, "a", "b")], machine="there")])
    with pytest.raises(UsageError, match=r"pairs of 2 machines, here \(measured\), there \(measured\)"):
        pair_times(two)
    moved = pl.concat([table([(0, 1, "a", "b")]), table([(0, 1, "a", "c")], repetition=1)])
    with pytest.raises(UsageError, match="the nodes b and c were never measured with each other"):
        pair_times(moved)


def test_a_baseline_of_other_nodes_is_refused():
    other = pair_times(table([(0, 1, "a", "b"), (1, 0, "b", "a")]))
    mine = pair_times(table([(0, 1, "a", "c"), (1, 0, "c", "a")]))
    with pytest.raises(UsageError, match="monday.csv has no node c; compare with a baseline of the same nodes"):
        diagnose(mine, expected=other, origin="monday.csv")
    longer = pair_times(table([(0, 1, "a", "c"), (1, 0, "c", "a")], bytes=1024))
    with pytest.raises(UsageError, match="has no messages of 8 bytes"):
        diagnose(mine, expected=longer)


def test_several_ranks_of_a_node_are_one_node():
    nodes = ["a", "a", "b", "b"]
    pairs = [(i, j, nodes[i], nodes[j]) for i in range(4) for j in range(4) if i != j]
    measured = pair_times(table(pairs))
    assert measured.names == ("a", "b")
    assert measured.within["a"] == pytest.approx(np.log(1e-6))
    assert any("2 nodes" in note for note in diagnose(measured).notes)


def test_what_cannot_be_told_apart_is_named_once():
    """A node's only cable delays the node's own pairs, whether it is slow or dead, and is one thing to look at."""
    node = next(of_nodes(NAMES))
    cable = [Suspect(kind, "the cable between n0 and switch 0", node.cells) for kind in ("link", "cable", "detour")]
    (kept,) = distinct([node, *cable])
    assert (kept.name, kept.others) == (node.name, ("the cable between n0 and switch 0",))
