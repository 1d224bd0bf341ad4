"""The page of a compiled collective: its figures against sums of the test's own, what is drawn, what is left out."""

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

import weft
from accessibility import browser, serious
from weft import UsageError
from weft._core import CollectiveSchedule
from weft.conset import collective_loads, collective_page, collective_pictures, collectives

SPACE = "{http://www.w3.org/2000/svg}"


def of(schedule):
    return json.loads(schedule.to_json())


@pytest.fixture(scope="module")
def allgather():
    return weft.conset.compile("allgather", on="hgx-h100", bytes="1M", method="throughput").schedule


@pytest.fixture(scope="module")
def exchange():
    return weft.conset.compile("allreduce", on="hgx-h100", bytes="1K").schedule


@pytest.fixture(scope="module")
def rails():
    return weft.conset.compile("allreduce", on="rail-h100", bytes="64M", method="throughput").schedule


@pytest.fixture(scope="module")
def star(tmp_path_factory):
    """Six ranks at the first of them, whose links are busy both ways at once."""
    links = [
        {"from": "node 0", "to": f"node {n}", "bandwidth": 1e9, "latency": 1e-6, "duplex": True} for n in range(1, 6)
    ]
    path = tmp_path_factory.mktemp("star") / "star.json"
    path.write_text(json.dumps({"name": "star", "nodes": 6, "message_seconds": 1e-6, "links": links}))
    return collectives.compile("allreduce", path, "1M", method="throughput").schedule


def rows(page, section):
    """The cells of the table of a section, with the figures that stand behind them."""
    text = page[page.index(f'<section id="{section}">') :]
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    cells = re.compile(r'<td[^>]*?(?:data-value="([^"]*)")?>([^<]*)')
    return [
        [float(value) if value else words for value, words in cells.findall(row)]
        for row in re.findall(r"<tr>(.*?)</tr>", body)
    ]


def carried(content):
    """Bytes of each link, walked from end to end by names and not by the numbers that the schedule has."""
    links = content["fabric"]["links"]
    sent = Counter()
    for stage in content["stages"]:
        for tree in stage["trees"]:
            for transfer in tree["transfers"]:
                for link in transfer[2]:
                    sent[links[link]["from"], links[link]["to"]] += tree["bytes"]
    for step in content.get("exchange", {}).get("rounds", []):
        for message in step["messages"]:
            for link in content["exchange"]["routes"][message[0]][2]:
                sent[links[link]["from"], links[link]["to"]] += message[2]
    return sent


@pytest.mark.parametrize("name", ["allgather", "exchange", "rails", "star"])
def test_bytes_of_links_are_those_that_transfers_add_up_to(name, request):
    schedule = request.getfixturevalue(name)
    content = of(schedule)
    names = content["fabric"]["vertices"]
    expected = Counter({(names[a], names[b]): length for (a, b), length in carried(content).items()})
    shown = rows(collective_page.page(schedule), "links")
    total = Counter()
    for row in shown:
        total[row[1], row[2]] += int(row[3])
        bandwidth = content["fabric"]["links"][int(row[0])]["bandwidth"]
        assert row[4] == pytest.approx(row[3] / bandwidth, rel=1e-4)
        assert row[5] == pytest.approx(row[4] / schedule.predicted_seconds, rel=1e-4)
    listed = dict(total)
    assert {pair: pytest.approx(expected[pair], rel=1e-5) for pair in listed} == listed
    assert len(listed) == min(len(expected), collective_page.LISTED)
    assert [row[4] for row in shown] == sorted((row[4] for row in shown), reverse=True)


@pytest.mark.parametrize("root", [0, 5])
def test_what_goes_out_of_the_root_of_a_broadcast_is_what_limits_it(root):
    schedule = weft.conset.compile("broadcast", on="hgx-h100", bytes="1M", root=root, method="throughput").schedule
    (cut,) = collective_loads.cuts(of(schedule))
    content = of(schedule)
    (link,) = (content["fabric"]["links"][number] for number in cut.links)
    names = content["fabric"]["vertices"]
    ends = {True: link["to"], False: link["from"]}
    assert list(cut.vertices) == [names[ends[cut.is_inward]]]
    assert cut.seconds == pytest.approx((1 << 20) / cut.bandwidth)
    assert f"root {root}" in collective_page.page(schedule)


@pytest.mark.parametrize(("collective", "stages"), [("reduce", 1), ("reduce-scatter", 1), ("allreduce", 2)])
def test_the_links_of_a_cut_give_the_bound_that_the_file_has(collective, stages):
    schedule = weft.conset.compile(collective, on="hgx-h100", bytes="1M", method="throughput").schedule
    cuts = collective_loads.cuts(of(schedule))
    assert len(cuts) == stages
    for cut, (operation, _, _, bound, vertices) in zip(cuts, schedule.stages, strict=True):
        assert (cut.operation, sorted(cut.vertices)) == (operation, sorted(vertices))
        assert cut.rate == bound
        # One port limits: seven roots' data go through it, or that of the one root there is.
        assert cut.bandwidth == pytest.approx(cut.rate * (1 if collective == "reduce" else 7))


def test_the_findings_say_what_it_reaches_and_what_limits_it(allgather, exchange):
    page = collective_page.page(allgather)
    assert "For long buffers it is optimal" in page
    assert "Copying is limited by what goes into node 0: over 1 link of together 450 GB/s." in page
    page = collective_page.page(exchange)
    # Three times the buffer leaves every rank, 2 * 7 / 8 times has to.
    assert "For long buffers it reaches 58.3% of the highest bandwidth" in page
    assert "1 KiB in 3 rounds and 24 messages" in page
    limit = "what goes out of each of 8 sets, the first of which is node 0: over 8 links of together 3.60 TB/s."
    assert f"Any form of it is limited by {limit}" in page
    assert "No schedule that sends elements and sums of them each on its own takes less than" in page
    (cut,) = collective_loads.cuts(of(exchange))
    assert (cut.others, cut.seconds) == (7, pytest.approx(2 * 7 * exchange.bytes / cut.bandwidth))


def test_a_tree_has_every_rank_below_the_one_that_it_gets_from(allgather):
    content = of(allgather)
    for number, tree in enumerate(content["stages"][0]["trees"]):
        picture = ElementTree.fromstring(collective_pictures.svg(content, number))
        heights = dict(
            zip(
                (text.text for text in picture.iter(f"{SPACE}text") if text.get("class") == "number"),
                (float(circle.get("cy")) for circle in picture.iter(f"{SPACE}circle")),
                strict=True,
            )
        )
        assert set(heights) == {str(rank) for rank in range(8)}
        assert min(heights, key=heights.get) == str(tree["root"])
        titles = {title.text for title in picture.iter(f"{SPACE}title")}
        for sender, receiver, links in tree["transfers"]:
            assert heights[str(sender)] < heights[str(receiver)]
            assert f"{sender} to {receiver}: 128 KiB, {len(links)} links" in titles


def test_a_tree_both_ways_is_drawn_with_its_copies_and_every_rank_once(star):
    content = of(star)
    text = collective_pictures.svg(content, 0)
    assert "reduced to and copied from rank 0" in text
    assert text.count("<circle") == 6
    page = collective_page.page(star)
    assert "Any form of it is limited by what goes out of node 1" in page
    (row,) = rows(page, "trees")
    assert [row[2], row[4], row[5], row[6]] == pytest.approx([0, 1 << 20, 6, 2], rel=1e-5)


def test_of_a_reduction_the_root_is_at_the_top_and_arrows_go_up():
    content = of(weft.conset.compile("reduce", on="hgx-h100", bytes="1M", root=3, method="throughput").schedule)
    tree = content["stages"][0]["trees"][0]
    known = collective_pictures.levels(tree, "reduce")
    assert known[0] == [(3, None, 0)]
    assert sum(map(len, known)) == 8
    above = {rank: parent for level in known[1:] for rank, parent, _ in level}
    assert above == {sender: receiver for sender, receiver, _ in tree["transfers"]}
    assert "reduced to rank 3" in collective_pictures.svg(content, 0)


@pytest.mark.parametrize("number", range(3))
def test_a_round_has_a_square_for_each_pair_in_its_row_and_column(exchange, number):
    content = of(exchange)
    picture = ElementTree.fromstring(collective_pictures.svg(content, number))
    frame, *squares = picture.iter(f"{SPACE}rect")
    size = float(frame.get("width")) / 8
    cells = {
        (
            int((float(square.get("y")) - float(frame.get("y"))) // size),
            int((float(square.get("x")) - float(frame.get("x"))) // size),
        )
        for square in squares
    }
    step = content["exchange"]["rounds"][number]
    assert cells == {tuple(content["exchange"]["routes"][route][:2]) for route, _, _ in step["messages"]}
    assert {square.get("class") for square in squares} == {"receive" if step["operation"] == "reduce" else "send"}


def test_pictures_are_numbered_over_all_stages_and_others_are_refused(exchange):
    content = of(weft.conset.compile("allreduce", on="hgx-h100", bytes="1M", method="throughput").schedule)
    assert collective_pictures.count(content) == 16
    assert "reduced to" in collective_pictures.svg(content, 7)
    assert "copied from" in collective_pictures.svg(content, 8)
    with pytest.raises(UsageError, match="there is no tree 16: the collective has trees 0 to 15"):
        collective_pictures.svg(content, 16)
    with pytest.raises(UsageError, match="there is no round 3: the collective has rounds 0 to 2"):
        collective_pictures.svg(of(exchange), 3)


def test_of_256_ranks_some_trees_of_both_stages_are_drawn_and_the_rest_is_said(rails):
    page = collective_page.page(rails)
    assert len(page) < 8 << 20
    numbers = [int(number) for number in re.findall(r'<option value="(\d+)"', page)]
    assert {number < 256 for number in numbers} == {True, False}
    assert len(numbers) == page.count('<div class="phase scroll"')
    assert f"{len(numbers)} of {rails.trees} trees are drawn; weft show --format svg --phase N draws tree N" in page
    assert "Every tree (512)" in page


def test_a_chain_longer_than_is_drawn_says_how_many_ranks_are_missing():
    chain = [[rank, rank + 1, [rank]] for rank in range(199)]
    tree = {"root": 0, "weight": 1, "start": 0, "bytes": 8, "transfers": chain}
    content = {"fabric": {"ranks": list(range(200))}, "stages": [{"operation": "copy", "trees": [tree]}]}
    picture = ElementTree.fromstring(collective_pictures.svg(content, 0))
    drawn = len(list(picture.iter(f"{SPACE}circle")))
    assert drawn == collective_pictures.DRAWN_LEVELS
    assert f"and {200 - drawn} more ranks" in {text.text for text in picture.iter(f"{SPACE}text")}


def alone():
    """A broadcast among one rank, whom nobody sends anything; the compiler refuses it, a file may have it."""
    content = of(weft.conset.compile("broadcast", on="hgx-h100", bytes="1M", method="throughput").schedule)
    content["fabric"]["ranks"] = [0]
    for tree in content["stages"][0]["trees"]:
        tree["transfers"] = []
    return CollectiveSchedule.parse(json.dumps(content), "alone")


def test_one_rank_is_a_circle_and_no_link_is_drawn():
    page = collective_page.page(alone())
    assert page.count("<circle") == 1
    assert '<section id="links">' not in page


def test_names_of_a_graph_stay_text(tmp_path):
    names = ["<b>a</b>", "b & c", '"d"', "</script>"]
    links = [
        {"from": names[n], "to": names[(n + 1) % 4], "bandwidth": 1e9, "latency": 1e-6, "duplex": True}
        for n in range(4)
    ]
    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps({"name": "<i>&", "nodes": names, "forwards": True, "links": links}))
    schedule = collectives.compile("allgather", graph, "1M").schedule
    page = collective_page.page(schedule)
    assert "<b>a" not in page
    assert "<i>&" not in page
    assert "&lt;b&gt;a&lt;/b&gt; to b &amp; c" in page
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert all(ElementTree.fromstring(picture).tag.endswith("svg") for picture in pictures)
    assert page.count("</script>") == page.count("<script>")


@pytest.mark.browser
@pytest.mark.parametrize("name", ["allgather", "exchange"])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_keeps_people_from_a_collective(name, dark, request, tmp_path):
    path = tmp_path / "collective.html"
    path.write_text(collective_page.page(request.getfixturevalue(name)))
    assert serious(path, tmp_path, dark=dark) == []


@pytest.mark.browser
def test_a_browser_steps_through_the_trees(allgather, tmp_path):
    path = tmp_path / "collective.html"
    step = '<script>document.getElementById("after").click();</script></body>'
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", collective_page.page(allgather))
    path.write_text(text.replace("</body>", step))
    words = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
             "--dump-dom", path.as_uri()]  # fmt: skip
    dom = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    hidden = [("hidden" in tag) for tag in re.findall(r'<div class="phase scroll"[^>]*>', dom)]
    assert hidden == [True, False, *[True] * 6]
