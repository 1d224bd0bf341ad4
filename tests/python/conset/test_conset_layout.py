"""Where vertices are drawn: trees by levels, dragonflies by groups, nothing on top of another."""

import itertools
import json
import math

import numpy as np
import pytest

import weft
from weft.conset import drawing, layout

TREES = [
    {"kind": "fat-tree", "children": [32, 8], "parents": [1, 32]},
    {"kind": "fat-tree", "children": [4, 4, 4], "parents": [1, 4, 4]},
    {"kind": "fat-tree", "children": [3, 5], "parents": [2, 1]},
    {"kind": "fat-tree", "children": [1], "parents": [1]},
    {"kind": "crossbar", "nodes": 8},
    {"kind": "crossbar", "nodes": 1},
    {"kind": "crossbar", "nodes": 131},
]
DRAGONFLIES = [
    {"kind": "dragonfly", "groups": groups, "routers_per_group": routers, "nodes_per_router": nodes}
    for groups, routers, nodes in [(9, 4, 2), (1, 1, 1), (2, 1, 3), (33, 8, 4)]
]
OTHERS = [
    {"kind": "torus", "extents": [4, 4, 4]},
    {"kind": "mesh", "extents": [7]},
    {"kind": "hypercube", "dimension": 5},
    {"kind": "hypercube", "dimension": 0},
]


def numbers(topology):
    """The switches of a fat tree by level, counted as the topology's definition has them: w above, m below each."""
    children, parents = topology.get("children", [topology.get("nodes")]), topology.get("parents", [1])
    sizes = [math.prod(children)]
    for level, width in enumerate(itertools.accumulate(parents, lambda a, b: a * b), start=1):
        sizes.append(math.prod(children[level:]) * width)
    return sizes


@pytest.mark.parametrize("topology", TREES + DRAGONFLIES + OTHERS, ids=str)
def test_no_vertex_hides_another(topology):
    drawn = layout.layout(topology, layout.vertices(topology))
    assert len(drawn.points) == layout.vertices(topology)
    points = np.array(drawn.points)
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1)) + 100 * np.eye(len(points))
    assert apart.min() >= 18, "circles have a radius of 9"
    assert points.min() >= 9


@pytest.mark.parametrize("topology", TREES, ids=str)
def test_each_level_of_switches_is_a_line_above_the_last(topology):
    sizes = numbers(topology)
    drawn = layout.layout(topology, sum(sizes))
    ends = list(itertools.accumulate(sizes))
    highest = min(y for _, y in drawn.points[: sizes[0]])
    for begin, end in itertools.pairwise(ends):
        (height,) = {y for _, y in drawn.points[begin:end]}
        assert height < highest
        highest = height
    assert len(drawn.labels) == len(sizes)


def test_links_of_a_fat_tree_join_neighbouring_levels_and_a_leaf_is_above_its_nodes():
    content = json.loads(weft.conset.compile("random:2", "rail-h100", effort=0, method="phases").to_json())
    points = drawing.positions(content).points
    heights = sorted({y for _, y in points[256:]})
    level = [0] * 256 + [len(heights) - heights.index(y) for _, y in points[256:]]
    routes = [transfer["route"] for phase in content["phases"] for transfer in phase["connections"]]
    assert routes
    for route in routes:
        assert all(abs(level[a] - level[b]) == 1 for a, b in itertools.pairwise(route))
        of_leaf = [points[node][0] for node in range(route[0] // 32 * 32, route[0] // 32 * 32 + 32)]
        assert points[route[1]][0] == pytest.approx((min(of_leaf) + max(of_leaf)) / 2)


def test_a_leaf_switch_of_nodes_with_two_is_within_its_block():
    drawn = layout.layout({"kind": "fat-tree", "children": [3, 5], "parents": [2, 1]}, 15 + 10 + 2)
    for switch in range(10):
        x = drawn.points[15 + switch][0]
        block = switch // 2
        left, right = drawn.points[3 * block][0], drawn.points[3 * block + 2][0]
        assert left - 24 < x < right + 24


def test_groups_are_named_in_their_middle():
    drawn = layout.layout(DRAGONFLIES[0], layout.vertices(DRAGONFLIES[0]))
    assert [text for _, text in drawn.labels] == [f"group {number}" for number in range(9)]
    for group, ((x, _), _) in enumerate(drawn.labels):
        routers = drawn.points[72 + 4 * group : 72 + 4 * group + 4]
        assert x == pytest.approx(sum(point[0] for point in routers) / 4)


def test_other_numbers_of_vertices_than_the_topology_has_are_drawn_on_circles():
    drawn = layout.layout({"kind": "fat-tree", "children": [4, 2], "parents": [1, 2]}, 20)
    assert len(drawn.points) == 20
    assert not drawn.labels
