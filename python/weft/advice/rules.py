"""Rules: which forms do the same. What they cost on a machine decides between them; no rule knows a machine.

They are the pairs of section 4 of Wu and Shu 1989, each read in both directions, with the forms of section 3 that they
refer to (NEWS store, clustering and distributing patterns), and the sorted send.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from weft.advice import forms
from weft.advice.forms import Form
from weft.data_parallel.operation import MAX_COLLISIONS
from weft.pvar import Record
from weft.pvar.facts import Facts

Alternatives = Callable[[Record], Iterator[Form]]


@dataclass(frozen=True)
class Rule:
    """A rule.

    Attributes
    ----------
    name
        Which forms it is about.
    guideline
        The item of section 4 of Wu and Shu 1989 that pairs them.
    alternatives
        Other forms of a recorded operation; nothing where the rule is not about it.
    """

    name: str
    guideline: str
    alternatives: Alternatives


def _single(record: Record) -> Iterator[Form]:
    """One element: over the busses or through the router."""
    if record.kind in ("fetch_single", "store_single"):
        yield Form("read and write", "d[i] = s[j]", (forms.read(record), forms.write(record)))


def _fetch_or_store(record: Record) -> Iterator[Form]:
    """Who knows the address: who gets, or who gives."""
    if record.facts is None:
        return
    if record.kind == "fetch":
        yield Form(
            "general store",
            "weft.pvar.send(x, address)",
            (forms.store(record, record.facts),),
            condition="every processor can tell who wants its element",
        )
    if record.kind == "store":
        yield Form(
            "general fetch",
            "weft.pvar.get(x, address)",
            (forms.get(record, record.facts),),
            condition="every processor can tell whose element it wants",
        )


def _modes(record: Record) -> Iterator[Form]:
    """Multiple broadcast in three modes."""
    if record.kind != "multiple_broadcast" or record.facts is None:
        return
    for mode, name in forms.MODES.items():
        if mode != record.mode and (mode != "allowed" or record.facts.most <= MAX_COLLISIONS):
            other = dataclasses.replace(record, mode=mode)
            condition = {
                "allowed": f"never more than {MAX_COLLISIONS} processors fetch from one",
                "backward": "there is memory for the ways back",
            }
            yield Form(name, forms.code_of(other), (other,), condition=condition.get(mode, ""))


def _spread(record: Record) -> Iterator[Form]:
    """Multiple broadcast along an axis of the grid, or a spread."""
    if record.kind == "multiple_broadcast" and record.facts is not None and record.facts.line is not None:
        axis, index = record.facts.line
        yield Form("spread", f"weft.pvar.spread(x, axis={axis}, index={index})", (forms.spread(record, axis),))
    if record.kind == "spread" and record.axis is not None and record.shape[record.axis] > 1:
        others = record.size // record.shape[record.axis]
        facts = Facts(
            record.size, others, record.shape[record.axis], "clustering", False, None, False, (record.axis, 0)
        )
        yield Form(
            "multiple broadcast",
            'weft.pvar.get(x, address, collisions="backward")',
            (forms.get(record, facts, "backward"),),
            condition="there is memory for the ways back",
        )


def _news(record: Record) -> Iterator[Form]:
    """Over the grid or through the router, by distance; over the grid by fetching or by storing."""
    if record.kind in ("fetch", "store") and record.facts is not None and record.facts.shift is not None:
        axis, distance = record.facts.shift
        by = distance if record.kind == "fetch" else -distance
        boundary = "" if record.facts.around else ", boundary=0"
        yield Form("NEWS fetch", f"weft.pvar.shift(x, {by}, axis={axis}{boundary})", (forms.shift(record, axis, by),))
    if record.kind in ("news_fetch", "news_store") and record.axis is not None and record.hops:
        facts = Facts(record.selected, record.selected, 1, "clustering", False, (record.axis, record.hops), True, None)
        yield Form("general store", "weft.pvar.send(x, address)", (forms.store(record, facts),))
        yield Form("general fetch", "weft.pvar.get(x, address)", (forms.get(record, facts),))
        if record.kind == "news_store":
            yield Form(
                "NEWS fetch",
                f"weft.pvar.shift(x, -distance, axis={record.axis})",
                (forms.shift(record, record.axis, -record.hops),),
            )
        else:
            yield Form(
                "NEWS store",
                f'weft.pvar.shift(x, -distance, axis={record.axis}, form="store")',
                (forms.shift(record, record.axis, -record.hops, "store"),),
            )


def _sorted(record: Record) -> Iterator[Form]:
    """Many messages to one processor, or one: sorted by where they go, combined by a scan, and the last one sent."""
    if record.kind != "multiple_reduction" or record.facts is None:
        return
    operator = record.name.removeprefix("send ")
    if operator not in ("add", "max", "min", "and", "or", "logand", "logior"):
        return
    facts = record.facts
    one_each = dataclasses.replace(facts, messages=facts.targets, most=1, ascending=True)
    last = dataclasses.replace(forms.store(record, one_each), selected=min(facts.targets, record.size))
    combined = (forms.scan(record, operator), forms.select(record), last)
    code = f"weft.pvar.send(weft.pvar.scan(x, {operator!r}, segments=first), address) where last"
    if facts.ascending:
        yield Form("scan and send", code, combined)
        return
    moved = dataclasses.replace(facts, targets=facts.messages, most=1, pattern="distributing")
    permuted = forms.store(record, moved)
    yield Form(
        "sorted send",
        f"x = weft.pvar.send(x, place); {code}",
        (permuted, *combined),
        once=_sorting(record, permuted),
        condition="addresses stay the same, so that they are sorted once (programs/radix_sort.py)",
    )


def _sorting(record: Record, moved: Record) -> tuple[Record, ...]:
    """The operations of a radix sort of the addresses: for each bit a scan, a reduction, few sums and a send."""
    assert record.facts is not None
    bits = max(1, math.ceil(math.log2(max(2, record.facts.targets))))
    plain = dataclasses.replace(moved, selected=record.size, bits=32, dtype="int32")
    sums = forms.scan(dataclasses.replace(plain, dtype="int32"), "add")
    total = Record("reduce add", "reduce_sum", 32, record.shape, record.size, record.file, record.line, dtype="int32")
    adds = dataclasses.replace(total, name="add", kind="add")
    return (sums, total, adds, adds, adds, adds, forms.select(plain), plain) * bits


def _scattered(record: Record) -> Iterator[Form]:
    """Single processors of groups next to each other, or scattered."""
    if record.kind not in ("multiple_reduction", "multiple_broadcast") or record.facts is None:
        return
    if record.facts.targets < 2:
        return
    if record.facts.pattern == "clustering":
        other = forms.patterned(record, pattern="distributing")
        yield Form("scattered destinations", "address = group * (size // groups)", (other,), condition=_NUMBERED)
    else:
        other = forms.patterned(record, pattern="clustering")
        yield Form("clustered destinations", "address = group", (other,), condition=_NUMBERED)


_NUMBERED = "the groups can be numbered otherwise"

RULES = (
    Rule("single fetch or read and write", "(1)", _single),
    Rule("fetch or store", "(2)", _fetch_or_store),
    Rule("three modes of multiple broadcast", "(3)", _modes),
    Rule("multiple broadcast or spread", "(3)", _spread),
    Rule("clustered or scattered destinations", "(3)", _scattered),
    Rule("many sends or one sorted send", "(3)", _sorted),
    Rule("general communication or NEWS", "(4)", _news),
)
"""All rules."""
