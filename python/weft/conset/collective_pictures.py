"""Pictures of a compiled collective: a tree by levels below its root, a round as a matrix of senders and receivers."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from weft import units
from weft._core import UsageError
from weft.conset import drawing
from weft.conset.collective_drawing import member_names, noun, one_way, ranks_below

Content = dict[str, Any]

Level = list[tuple[int, int | None, int]]
"""Ranks side by side in a tree: of each its number, that of the rank above it, and the links between both."""

DRAWN_RANKS = 1024
"""Ranks of a tree that are drawn, and of a round; nobody tells more of them apart."""

DRAWN_LEVELS = 64
"""Levels of a tree that are drawn: a ring of ranks is a tree with one rank on each."""

_LABELLED = 24
"""Of so many leaves, bytes and links are written at every transfer; of more they are said where a pointer rests."""

_MARGIN = 84.0
"""What the labels of levels or ranks take at the left, in pixels."""


def count(schedule: Content) -> int:
    """How many pictures there are: trees of all stages in the order of the file, or rounds."""
    if schedule.get("exchange") is not None:
        return len(schedule["exchange"]["rounds"])
    return sum(len(stage["trees"]) for stage in schedule["stages"])


def svg(schedule: Content, number: int) -> str:
    """A tree or a round as a picture that stands by itself.

    Parameters
    ----------
    schedule
        A compiled collective's file as Python has it.
    number
        Of the tree, counted over all stages in the order of the file, or of the round; from 0.

    Raises
    ------
    UsageError
        If there is none of this number.

    Examples
    --------
    >>> import json
    >>> from weft.conset import collectives
    >>> compiled = collectives.compile("broadcast", "hgx-h100", "1M", method="throughput")
    >>> svg(json.loads(compiled.schedule.to_json()), 0)[:4]
    '<svg'
    """
    what = "round" if schedule.get("exchange") is not None else noun(schedule)
    known = count(schedule)
    if number >= known:
        numbers = f"{what}s 0 to {known - 1}" if known else "none"
        raise UsageError(f"there is no {what} {number}: the collective has {numbers}")
    return picture(schedule, number, drawing.STYLE + _STYLE)


_STYLE = """.right{text-anchor:end}.send{fill:#0072b2}.receive{fill:#d55e00}
.edge{fill:none;stroke:#565c66}.small{font-size:9px}"""
"""Beside that of all drawings, for what is in no page."""


def picture(schedule: Content, number: int, style: str = "") -> str:
    """A tree or a round as SVG; `style` for one that is in no page."""
    if schedule.get("exchange") is not None:
        return _round(schedule, number, style)
    for stage in schedule["stages"]:
        if number < len(stage["trees"]):
            names = member_names(schedule["fabric"])
            return _tree(stage["trees"][number], stage["operation"], names, noun(schedule), style)
        number -= len(stage["trees"])
    raise ValueError(f"no tree or path {number}")


def _framed(width: float, height: float, said: str, parts: Sequence[str], style: str) -> str:
    said = html.escape(said)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing whole" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{said}"><title>{said}</title>'
        + (f"<style>{style}</style>" if style else "")
        + "".join(parts)
        + "</svg>"
    )


def levels(tree: Content, operation: str) -> list[Level]:
    """The ranks of a tree by level: rank, the one above it, links between them; the root's level first.

    Ranks of one level are in the order of those above them, so that no two lines of a drawing cross.

    Examples
    --------
    >>> levels({"root": 2, "transfers": [[2, 0, [5]], [2, 1, [5, 7]], [0, 3, [1]]]}, "copy")
    [[(2, None, 0)], [(0, 2, 1), (1, 2, 2)], [(3, 0, 1)]]
    """
    below = ranks_below(tree, operation)
    known: list[Level] = []
    level: Level = [(tree["root"], None, 0)]
    # A file that was not verified may name a rank twice.
    seen: set[int] = set()
    while level:
        known.append(level)
        seen.update(rank for rank, _, _ in level)
        following = {far: (far, rank, links) for rank, _, _ in level for far, links in below[rank] if far not in seen}
        level = list(following.values())
    return known


def _drawn_levels(known: list[Level]) -> list[Level]:
    """The first levels and ranks, no more than are drawn."""
    drawn: list[Level] = []
    left = DRAWN_RANKS
    for level in known[:DRAWN_LEVELS]:
        if left <= 0:
            break
        drawn.append(level[:left])
        left -= len(level)
    return drawn


def _columns(drawn: list[Level]) -> dict[int, float]:
    """Where each rank is from left to right, counted in leaves: others are above what is below them."""
    below: dict[int, list[int]] = defaultdict(list)
    for level in drawn[1:]:
        for rank, above, _ in level:
            below[above if above is not None else -1].append(rank)
    leaves = 0
    columns: dict[int, float] = {}
    left = [(drawn[0][0][0], False)]
    while left:
        rank, is_done = left.pop()
        if is_done:
            columns[rank] = (columns[below[rank][0]] + columns[below[rank][-1]]) / 2
        elif below[rank]:
            left.append((rank, True))
            left += [(each, False) for each in reversed(below[rank])]
        else:
            columns[rank] = float(leaves)
            leaves += 1
    return columns


def _tree(tree: Content, operation: str, names: Sequence[str], what_it_is: str, style: str) -> str:
    known = levels(tree, operation)
    drawn = _drawn_levels(known)
    columns = _columns(drawn)
    leaves = round(max(columns.values())) + 1
    is_labelled = leaves <= _LABELLED
    step = 92.0 if is_labelled else 24.0
    height = 66.0 if len(drawn) <= 16 else 40.0
    length = units.length(tree["bytes"])
    at = {
        rank: (_MARGIN + step * (columns[rank] + 0.5), 24 + height * number)
        for number, level in enumerate(drawn)
        for rank, _, _ in level
    }
    parts = list(_edges(drawn, at, operation, length, names, is_labelled))
    for number, level in enumerate(known[: len(drawn)]):
        y = 24 + height * number + 4
        switches = sum(not names[member].isdecimal() for member, _, _ in level)
        of_level = [
            f"{count:,} {what}{'' if count == 1 else suffix}"
            for count, what, suffix in ((len(level) - switches, "rank", "s"), (switches, "switch", "es"))
            if count
        ]
        label = "root" if number == 0 else ", ".join(of_level)
        parts.append(f'<text x="8" y="{y:.0f}" class="left">{label}</text>')
    for rank, (x, y) in at.items():
        # A circle is too small for the name of a switch, which is in the titles of the lines to it.
        label = names[rank] if names[rank].isdecimal() else "S"
        parts.append(f'<circle class="node" cx="{x:.1f}" cy="{y:.0f}" r="11"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 3:.0f}" font-size="9" class="number">{label}</text>')
    bottom = 24 + height * (len(drawn) - 1) + 24
    members = len(one_way(tree, operation)) + 1
    more = members - len(at)
    if more > 0:
        parts.append(f'<text x="8" y="{bottom + 12:.0f}" class="left">and {more:,} more ranks</text>')
        bottom += 20
    ranks = sum(names[rank].isdecimal() for level in known for rank, _, _ in level)
    what = {"copy": "copied from", "reduce": "reduced to"}.get(operation, "reduced to and copied from")
    size = f"{ranks:,} ranks on {len(known):,} levels"
    said = f"{what_it_is.capitalize()} of {size}, {length} {what} {_called(names, tree['root'])}"
    return _framed(_MARGIN + step * leaves + (60 if is_labelled else 12), bottom, said, parts, style)


def _called(names: Sequence[str], member: int) -> str:
    return f"rank {member}" if names[member].isdecimal() else names[member]


def _edges(
    drawn: list[Level],
    at: dict[int, tuple[float, float]],
    operation: str,
    length: str,
    names: Sequence[str],
    is_labelled: bool,
) -> Iterator[str]:
    """The transfers, with an arrow's head in the middle of each that says which of both ends sends."""
    for level in drawn[1:]:
        for rank, above, links in level:
            if above is None:
                continue
            (x1, y1), (x2, y2) = at[above], at[rank]
            is_upward = operation == "reduce"
            sender, receiver = (rank, above) if is_upward else (above, rank)
            ends = html.escape(f"{names[sender]} to {names[receiver]}")
            hops = f"{links} link{'' if links == 1 else 's'}"
            point = -4.0 if is_upward else 4.0
            middle = (y1 + y2) / 2
            path = f"M{x1:.1f} {y1:.0f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.0f}"
            # Just before the lower rank, where no two lines of siblings are together.
            head = y2 - 16
            arrow = f"M{x2 - 4:.1f} {head - point:.1f}L{x2:.1f} {head + point:.1f}L{x2 + 4:.1f} {head - point:.1f}"
            yield f'<path class="edge" d="{path}{arrow}"><title>{ends}: {length}, {hops}</title></path>'
            if is_labelled:
                # On the side that the line does not come from.
                look, aside = ("right", -8) if x1 > x2 else ("left", 8)
                yield f'<text x="{x2 + aside:.1f}" y="{head + 2:.0f}" class="{look} small">{length}, {hops}</text>'


def messages(schedule: Content, number: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Of a round, for each sender and receiver how many bytes and how many messages.

    Examples
    --------
    >>> rounds = [{"operation": "copy", "messages": [[0, 0, 8], [0, 8, 4]]}]
    >>> messages({"exchange": {"routes": [[1, 2, [0]]], "rounds": rounds}}, 0)
    {(1, 2): (12, 2)}
    """
    exchange = schedule["exchange"]
    known: dict[tuple[int, int], tuple[int, int]] = {}
    for route, _, length in exchange["rounds"][number]["messages"]:
        sender, receiver, _ = exchange["routes"][route]
        so_far, already = known.get((sender, receiver), (0, 0))
        known[sender, receiver] = (so_far + length, already + 1)
    return known


def _round(schedule: Content, number: int, style: str) -> str:
    """Senders down, receivers to the right; a square is darker the more bytes it stands for."""
    step = schedule["exchange"]["rounds"][number]
    sent = messages(schedule, number)
    ranks = len(schedule["fabric"]["ranks"])
    shown = min(ranks, DRAWN_RANKS)
    size = max(4.0, min(26.0, 640.0 / shown))
    left, top = 52.0, 44.0
    extent = size * shown
    most = max((length for length, _ in sent.values()), default=1) or 1
    parts = [f'<rect class="frame" fill="none" stroke="#8a919c" x="{left}" y="{top}" width="{extent:.1f}" '
             f'height="{extent:.1f}"/>']  # fmt: skip
    look = "send" if step["operation"] == "copy" else "receive"
    parts += _squares(sent, shown, size, (left, top), look, most)
    every = max(1, -(-shown // max(1, int(extent // 28))))
    for rank in range(0, shown, every):
        at = size * (rank + 0.5)
        parts.append(f'<text x="{left + at:.1f}" y="{top - 6:.0f}" class="small">{rank}</text>')
        parts.append(f'<text x="{left - 6:.0f}" y="{top + at + 3:.1f}" class="right small">{rank}</text>')
    parts.append(f'<text x="{left}" y="14" class="left">receivers to the right, senders downwards</text>')
    bottom = top + extent + 12
    if ranks > shown:
        parts.append(f'<text x="{left}" y="{bottom + 8:.0f}" class="left">and {ranks - shown:,} more ranks</text>')
        bottom += 20
    many = f"{len(step['messages']):,} messages"
    said = f"Round {number}, {step['operation']}: {many}, at most {units.length(most)} from one rank to another"
    return _framed(max(left + extent + 16, 320), bottom, said, parts, style)


def _squares(
    sent: dict[tuple[int, int], tuple[int, int]],
    shown: int,
    size: float,
    corner: tuple[float, float],
    look: str,
    most: int,
) -> Iterator[str]:
    """A square for each pair; where there are many, those of one shade are one path."""
    left, top = corner
    inner = size * 0.86
    shades: dict[float, list[str]] = {}
    for (sender, receiver), (length, count) in sorted(sent.items()):
        if sender >= shown or receiver >= shown:
            continue
        x, y = left + size * receiver + size * 0.07, top + size * sender + size * 0.07
        opacity = drawing.shade(max(length, 1), most)
        if len(sent) <= drawing.TITLED:
            many = "" if count == 1 else f" in {count:,} messages"
            yield (
                f'<rect class="{look}" opacity="{opacity}" x="{x:.1f}" y="{y:.1f}" width="{inner:.1f}" '
                f'height="{inner:.1f}"><title>{sender} to {receiver}: {units.length(length)}{many}</title></rect>'
            )
        else:
            shades.setdefault(opacity, []).append(f"M{x:.1f} {y:.1f}h{inner:.1f}v{inner:.1f}h-{inner:.1f}z")
    for opacity, paths in sorted(shades.items()):
        yield f'<path class="square {look}" opacity="{opacity}" d="{"".join(paths)}"/>'
