"""The page of a compiled collective: how good it is and what limits it, its trees or rounds, what its links carry."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weft import units
from weft.conset import collective_loads, collective_pictures, drawing
from weft.conset.collective_drawing import member_names, noun, one_way
from weft.conset.collective_loads import Cut, Load
from weft.conset.schedule_page import EQUAL, LISTED
from weft.inputs import quoted
from weft.pages import document as pages
from weft.pages.document import Cell, Column, Document, Row, Section, Table, count_cell, listed_words

if TYPE_CHECKING:
    from weft._core import CollectiveSchedule

Content = dict[str, Any]

DRAWN_PICTURES = 64
"""Trees or rounds that one page draws at most."""

DRAWN_TRANSFERS = 8192
"""Transfers of all trees that it draws together; the first tree of a stage is drawn however many it has."""

DRAWN_MESSAGES = 1 << 16
"""Messages of all rounds that it draws together, which take less of a file; the first round is drawn in any case."""

BARS = 32
"""Links that the drawing of the busiest has."""

_NAMED = 4
"""Vertices and links of a cut that are named; of more it is said how many there are."""

_WORDS = (
    ("cut", "a set of vertices and the links between it and the rest; their bandwidth together limits what crosses"),
    ("copy", "a rank keeps what it receives and passes it on"),
    ("reduce", "a rank combines what it receives with its own, by adding, say, and passes the result on"),
    ("rank", "a process that takes part; ranks are numbered from 0"),
    ("switch", "a vertex of the network that passes data on and is no rank"),
)
_BY_CUT = (
    "certified bound",
    "what no schedule can do better than: a set of vertices that all this data has to cross the edge of",
)
_OF_PATHS = (
    (
        "certified bound",
        "what no schedule can do better than: what all bytes pay on cheapest paths, by prices of links",
    ),
    ("path", "the transfers that bring one range of bytes from its sender to the rank that it is for"),
    ("merged", "all that goes from one rank to another, over whatever paths, is one message"),
)
_OF_TREES = (
    _BY_CUT,
    ("tree", "the transfers that bring one range of bytes from its root to all ranks, or from all ranks to it"),
    ("merged", "all that goes from one rank to another, over whatever trees, is one message"),
)
_OF_ROUNDS = (
    _BY_CUT,
    ("round", "messages that do not wait for each other; each carries what its sender had before the round"),
)


def page(schedule: CollectiveSchedule) -> str:
    """A compiled collective as one HTML page.

    Parameters
    ----------
    schedule
        What :func:`weft.conset.collectives.compile` made, or :func:`weft.conset.collectives.read` has read.

    Raises
    ------
    UsageError
        If what makes pages is not installed.

    Examples
    --------
    >>> from weft.conset import collectives
    >>> page(collectives.compile("allgather", "hgx-h100", "1M").schedule)[:15]
    '<!doctype html>'
    """
    pages.check_pages("the page of a collective")
    content = json.loads(schedule.to_json())
    loads, cuts = collective_loads.loads(content), collective_loads.cuts(content)
    prices = collective_loads.prices(content)
    is_exchange = content.get("exchange") is not None
    words = _OF_ROUNDS if is_exchange else _OF_PATHS if noun(content) == "path" else _OF_TREES
    return pages.render(
        Document(
            title=f"{schedule.collective} on {quoted(schedule.machine)}",
            lead=_lead(schedule),
            findings=list(_findings(schedule, content, loads, cuts)),
            key=_key(schedule, loads),
            sections=[
                _rounds(content) if is_exchange else _trees(content),
                _links(schedule, loads),
                _priced(content, prices) if prices else _bounds(content, cuts),
            ],
            glossary=[*_WORDS, *words],
            scripts=[_SCRIPT],
        )
    )


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _lead(schedule: CollectiveSchedule) -> str:
    root = "" if schedule.root is None else f", root {schedule.root}"
    return (
        f"A compiled collective: {units.length(schedule.bytes)} among {_plural(schedule.ranks, 'rank')}{root}, "
        f"{schedule.form}."
    )


def _findings(
    schedule: CollectiveSchedule, content: Content, loads: Sequence[Load], cuts: Sequence[Cut]
) -> Iterator[str]:
    """How good the schedule is and why it is no better, in sentences."""
    predicted, bound = schedule.predicted_seconds, schedule.bound_seconds
    parts = _plural(schedule.rounds, "round") if "exchange" in content else _plural(schedule.trees, noun(content))
    yield (
        f"{units.length(schedule.bytes)} in {parts} and {_plural(schedule.messages, 'message')}, predicted to take "
        f"{units.seconds(predicted)}."
    )
    what = "No schedule"
    if any(cut.others for cut in cuts):
        what = "No schedule that sends elements and sums of them each on its own"
    elif len(cuts) > 1:
        what = "No schedule of these stages"
    if predicted > 0 and predicted <= bound * (1 + EQUAL):
        yield f"Provably optimal: {what[0].lower()}{what[1:]} takes less time, by the certified bound."
    elif predicted > 0:
        yield (
            f"{what} takes less than {units.seconds(bound)}, by bandwidth alone; the prediction, which has latencies "
            f"and the overheads of messages too, is {units.digits(predicted / bound)} times that."
        )
    if schedule.efficiency >= 1 - EQUAL:
        yield "For long buffers it is optimal: it reaches the highest bandwidth that the network allows."
    else:
        yield (
            f"For long buffers it reaches {units.share(schedule.efficiency)} of the highest bandwidth that the network "
            "allows."
        )
    yield from map(_limit, cuts)
    busiest = loads[0] if loads else None
    if busiest is not None and busiest.bytes and predicted > 0:
        yield (
            f"The busiest link, {_link(busiest)}, carries {units.length(busiest.bytes)} and is busy for "
            f"{units.share(busiest.seconds / predicted)} of the predicted time."
        )


def _limit(cut: Cut) -> str:
    """What limits a stage, and by which links."""
    what = {"copy": "Copying", "reduce": "Reducing"}.get(cut.operation, "Any form of it")
    side = "into" if cut.is_inward else "out of"
    sets = f"each of {cut.others + 1:,} sets, the first of which is " if cut.others else ""
    return (
        f"{what} is limited by what goes {side} {sets}{_vertices(cut.vertices)}: over "
        f"{_plural(len(cut.links), 'link')} of together {units.rate(cut.bandwidth)}."
    )


def _vertices(names: Sequence[str]) -> str:
    shown = ", ".join(quoted(name) for name in names[:_NAMED])
    return shown + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")


def _link(load: Load) -> str:
    return f"{quoted(load.source)} to {quoted(load.destination)}"


def _key(schedule: CollectiveSchedule, loads: Sequence[Load]) -> list[Mapping[str, str]]:
    optimum = schedule.bytes / schedule.bound_seconds if schedule.bound_seconds > 0 else None
    reached = None if optimum is None else optimum * schedule.efficiency
    used = sum(1 for load in loads if load.bytes)
    entries = [
        ("Predicted", units.seconds(schedule.predicted_seconds), schedule.form),
        ("Certified bound", units.seconds(schedule.bound_seconds), "by bandwidth alone"),
        ("Bandwidth", units.rate(reached), "of the buffer, if it is long"),
        ("Of the optimum", units.share(schedule.efficiency), f"of {units.rate(optimum)}"),
        ("Links in use", f"{used:,}", f"of {len(loads):,}"),
    ]
    return [{"name": name, "value": value, "more": more} for name, value, more in entries]


def _drawn(sizes: Sequence[int], pictures: int, budget: int) -> int:
    """How many of the pictures are drawn, the first ones, by what each of them has."""
    count = 0
    for size in sizes[:pictures]:
        budget -= size
        if count and budget < 0:
            break
        count += 1
    return count


def _chosen(content: Content, labels: Sequence[tuple[int, str, str]], what: str) -> str:
    """A chooser and the pictures, of which one is shown; `labels` has number, group of choices and name of each."""
    options, group = [], None
    for number, of, label in labels:
        if of != group:
            options.append(f'{"</optgroup>" if group is not None else ""}<optgroup label="{html.escape(of)}">')
            group = of
        options.append(f'<option value="{number}">{html.escape(label)}</option>')
    chooser = (
        f'<div class="chooser"><button type="button" id="before">Previous {what}</button>'
        f'<label>{what} <select id="choice">{"".join(options)}</optgroup></select></label>'
        f'<button type="button" id="after">Next {what}</button></div>'
    )
    pictures = "".join(
        f'<div class="phase scroll" id="phase-{number}" tabindex="0" role="group" aria-label="{html.escape(label)}"'
        f"{' hidden' * (position > 0)}>{collective_pictures.picture(content, number)}</div>"
        for position, (number, _, label) in enumerate(labels)
    )
    return chooser + pictures


_SCRIPT = """"use strict";
(() => {
  const choice = document.getElementById("choice");
  if (!choice) return;
  const show = (number) => {
    choice.selectedIndex = number;
    document.querySelectorAll(".phase").forEach((one) => { one.hidden = one.id !== `phase-${choice.value}`; });
    // Wide trees are scrolled to their root, the first of their circles.
    const open = document.getElementById(`phase-${choice.value}`);
    const root = open.querySelector("circle");
    if (root) open.scrollLeft = root.cx.baseVal.value - open.clientWidth / 2;
    document.getElementById("before").disabled = choice.selectedIndex === 0;
    document.getElementById("after").disabled = choice.selectedIndex === choice.length - 1;
  };
  choice.addEventListener("change", () => show(choice.selectedIndex));
  document.getElementById("before").addEventListener("click", () => show(choice.selectedIndex - 1));
  document.getElementById("after").addEventListener("click", () => show(choice.selectedIndex + 1));
  show(0);
})();"""


def _rest(drawn: int, known: int, what: str) -> list[str]:
    """What is said of pictures that are not drawn."""
    if drawn == known:
        return []
    return [
        f"{drawn:,} of {known:,} {what}s are drawn; weft show --format svg --phase N draws {what} N, of 0 to "
        f"{known - 1:,}."
    ]


def _trees(content: Content) -> Section:
    trees = [
        (index, stage["operation"], tree) for index, stage in enumerate(content["stages"]) for tree in stage["trees"]
    ]
    what = noun(content)
    explained = (
        "Each path brings one range of bytes from its sender at the top to the rank that it is for. "
        if what == "path"
        else "Each tree brings one range of bytes from its root at the top to all ranks below, or from these to the "
        "root. Of trees that reduce and copy at the same time the copies are drawn; their sums come to the same root. "
    )
    section = Section(
        f"{what}s",
        f"{what.capitalize()}s",
        f"{explained}Circles are ranks, arrows point to the receiver, and each transfer crosses as many links of the "
        "network as it says, or says where a pointer rests on it.",
    )
    if not trees:
        section.text = "There is nothing to transfer."
        return section
    # Every stage has its share, so that both of an allreduce are seen.
    names = member_names(content["fabric"])
    labels = list(_labels_of_trees(content["stages"], names))
    section.html = _chosen(content, labels, what)
    section.notes += _rest(len(labels), len(trees), what)
    section.tables.append(_table_of_trees(trees, names, what))
    return section


def _labels_of_trees(stages: Sequence[Content], names: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Number, stage and name of each tree that is drawn."""
    first = 0
    for index, stage in enumerate(stages):
        sizes = [len(one_way(tree, stage["operation"])) + 1 for tree in stage["trees"]]
        drawn = _drawn(sizes, DRAWN_PICTURES // len(stages), DRAWN_TRANSFERS // len(stages))
        for number, tree in enumerate(stage["trees"][:drawn], start=first):
            what = f"{units.length(tree['bytes'])} from byte {tree['start']:,}"
            yield number, f"stage {index}: {stage['operation']}", f"{number}, root {names[tree['root']]}: {what}"
        first += len(stage["trees"])


def _table_of_trees(trees: Sequence[tuple[int, str, Content]], names: Sequence[str], what: str) -> Table:
    columns = [
        Column(what), Column("stage", text=True), Column("root"), Column("first byte"), Column("bytes"),
        Column("members"), Column("levels"), Column("most links of a transfer"),
    ]  # fmt: skip
    rows = []
    for number, (index, operation, tree) in enumerate(trees[:LISTED]):
        hops = max((len(links) for _, _, links in tree["transfers"]), default=0)
        depth = len(collective_pictures.levels(tree, operation))
        figures = [tree["start"], tree["bytes"], len(one_way(tree, operation)) + 1, depth, hops]
        name = names[tree["root"]]
        root = count_cell(tree["root"]) if name.isdecimal() else Cell(name)
        cells = [count_cell(number), Cell(f"{index}: {operation}"), root]
        rows.append(Row([*cells, *map(count_cell, figures)]))
    return Table(columns, rows, folded=f"Every {what} ({listed_words(len(rows), len(trees))})")


def _rounds(content: Content) -> Section:
    rounds = content["exchange"]["rounds"]
    section = Section(
        "rounds",
        "Rounds",
        "Who sends to whom in each round: senders are rows, receivers are columns, and a square is darker the more "
        "bytes it stands for, as a share of the most in its round.",
    )
    if not rounds:
        section.text = "There is nothing to exchange."
        return section
    drawn = _drawn([len(step["messages"]) for step in rounds], DRAWN_PICTURES, DRAWN_MESSAGES)
    labels = [
        (number, "rounds", f"{number}: {step['operation']}, {_plural(len(step['messages']), 'message')}")
        for number, step in enumerate(rounds[:drawn])
    ]
    section.html = _chosen(content, labels, "round")
    section.notes += _rest(drawn, len(rounds), "round")
    columns = [
        Column("round"), Column("what", text=True), Column("messages"), Column("pairs of ranks"), Column("bytes"),
        Column("shortest message"), Column("longest message"),
    ]  # fmt: skip
    rows = []
    for number, step in enumerate(rounds[:LISTED]):
        lengths = [length for _, _, length in step["messages"]]
        pairs = len(collective_pictures.messages(content, number))
        figures = [sum(lengths), min(lengths, default=0), max(lengths, default=0)]
        rows.append(
            Row(
                [
                    count_cell(number),
                    Cell(step["operation"]),
                    count_cell(len(lengths)),
                    count_cell(pairs),
                    *map(count_cell, figures),
                ]
            )
        )
    section.tables.append(Table(columns, rows, folded=f"Every round ({listed_words(len(rows), len(rounds))})"))
    return section


def _links(schedule: CollectiveSchedule, loads: Sequence[Load]) -> Section:
    section = Section(
        "links",
        "Links",
        "What each link carries in its direction, over all stages or rounds, and the share of the predicted time that "
        "it takes for that at its bandwidth; those that are busy longest first.",
    )
    predicted = schedule.predicted_seconds
    used = [load for load in loads if load.bytes]
    if not used or predicted <= 0:
        return section
    section.html = _bars(used[:BARS], predicted)
    if len(used) > BARS:
        section.notes.append(f"The {BARS} busiest of {len(used):,} links that carry anything are drawn.")
    if len(used) < len(loads):
        section.notes.append(f"{_plural(len(loads) - len(used), 'link')} of {len(loads):,} carry nothing.")
    columns = [
        Column("link"), Column("from", text=True), Column("to", text=True), Column("bytes"), Column("busy for"),
        Column("of the predicted time"),
    ]  # fmt: skip
    rows = [
        Row(
            [
                count_cell(load.link), Cell(quoted(load.source)), Cell(quoted(load.destination)),
                count_cell(load.bytes),
                Cell(units.seconds(load.seconds), value=load.seconds),
                Cell(units.share(load.seconds / predicted), value=load.seconds / predicted),
            ]
        )
        for load in used[:LISTED]
    ]  # fmt: skip
    section.tables.append(
        Table(columns, rows, folded=f"Every link that is used ({listed_words(len(rows), len(used))})")
    )
    return section


def _bars(loads: Sequence[Load], predicted: float) -> str:
    """A bar for each link: the share of the predicted time that it is busy."""
    left, width, step = 220.0, 460.0, 20.0
    bottom = 26 + step * len(loads)
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + width * share
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="22" y2="{bottom:.0f}"/>')
        parts.append(f'<text x="{x:.1f}" y="14">{share:.0%}</text>')
    for number, load in enumerate(loads):
        y = 26 + step * number
        share = load.seconds / predicted
        name = html.escape(_link(load))
        parts.append(
            f'<rect class="send" x="{left}" y="{y:.0f}" width="{width * min(share, 1.0):.1f}" '
            f'height="{step * 0.7:.0f}">'
            f"<title>{name}: {units.length(load.bytes)}, {units.share(share)}</title></rect>"
        )
        short = name if len(_link(load)) <= 36 else html.escape(_link(load)[:35]) + "…"
        parts.append(f'<text x="{left - 8}" y="{y + 11:.0f}" class="right">{short}</text>')
        parts.append(
            f'<text x="{left + width + 12}" y="{y + 11:.0f}" class="left">{units.length(load.bytes)}, '
            f"{units.share(share)}</text>"
        )
    said = f"Share of the predicted time that each of the {len(loads)} busiest links is busy"
    return drawing.scrolled(left + width + 150, bottom + 6, said, parts)


def _priced(content: Content, prices: Sequence[tuple[int, float]]) -> Section:
    """The prices that certify the bound of an all-to-all."""
    section = Section(
        "bounds",
        "Certified bound",
        "Links have prices, and every byte pays no less than what the cheapest path to its rank costs. What all bytes "
        "pay, divided by what all links earn in a second, is the time that no schedule goes below; weft verify counts "
        "it again from the file. The links that earn most of it are full.",
    )
    fabric = content["fabric"]
    rows = []
    for number, share in prices[:LISTED]:
        link = fabric["links"][number]
        ends = [Cell(quoted(fabric["vertices"][link[end]])) for end in ("from", "to")]
        speed = Cell(units.rate(link["bandwidth"]), value=link["bandwidth"])
        rows.append(Row([count_cell(number), *ends, speed, Cell(units.share(share), value=share)]))
    columns = [
        Column("link"), Column("from", text=True), Column("to", text=True), Column("bandwidth"),
        Column("of the bound"),
    ]  # fmt: skip
    folded = f"Every link with a price ({listed_words(len(rows), len(prices))})"
    section.tables.append(Table(columns, rows, folded=folded))
    return section


def _bounds(content: Content, cuts: Sequence[Cut]) -> Section:
    section = Section(
        "bounds",
        "Certified bounds",
        "All data of the ranks on one side of a cut has to cross its links. Their bandwidth together is what no "
        "schedule goes beyond, and is counted again from the file by weft verify.",
    )
    names = content["fabric"]["vertices"]
    rows = []
    for cut in cuts:
        ends = [content["fabric"]["links"][number] for number in cut.links[:_NAMED]]
        links = ", ".join(f"{quoted(names[link['from']])} to {quoted(names[link['to']])}" for link in ends)
        more = f" and {len(cut.links) - _NAMED:,} more" if len(cut.links) > _NAMED else ""
        side = "into" if cut.is_inward else "out of"
        named = [Cell(cut.operation), Cell(f"{side} {_vertices(cut.vertices)}"), Cell(links + more)]
        rates = [Cell(units.rate(rate), value=rate) for rate in (cut.bandwidth, cut.rate)]
        rows.append(Row([*named, *rates, Cell(units.seconds(cut.seconds), value=cut.seconds)]))
    columns = [
        Column("what", text=True), Column("into or out of", text=True, wrap=True),
        Column("links across it", text=True, wrap=True), Column("their bandwidth"), Column("a root at most"),
        Column("takes at least"),
    ]  # fmt: skip
    section.tables.append(Table(columns, rows))
    return section
