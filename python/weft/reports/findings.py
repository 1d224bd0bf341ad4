"""What a report found, in sentences made from its samples: the machine, what a message costs, where that stops paying,
and what is odd."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import polars as pl

from weft import units
from weft.model import grain
from weft.reports.content import Content, Subject

SHORT, LONG = 8, 1 << 20
"""Lengths that sentences are about, bytes; the nearest that were measured."""
FALLING = 0.9
"""A longer message that takes less than this share of a shorter one's time is odd."""
STOLEN = 0.01
"""A hypervisor that takes more than this share of a launch is worth a sentence."""
LATE = 0.05
"""So is this share of iterations of more than three times their median."""


def findings(content: Content) -> list[str]:
    """The sentences, of what was measured; of described machines alone where nothing was."""
    if not content.own:
        return list(_described(content.subjects))
    sentences: list[str] = []
    for subject in content.own:
        sentences += [*_machine(subject), *_messages(subject), *_grain(subject), *_collectives(subject)]
        sentences += _against(subject, content.subjects)
        sentences += _odd(subject)
    return sentences


def _described(subjects: Sequence[Subject]) -> Iterator[str]:
    known = {subject.label: time for subject in subjects if (time := _shortest(subject)) is not None}
    if len(known) > 1:
        fast, slow = min(known, key=lambda label: known[label][1]), max(known, key=lambda label: known[label][1])
        yield (
            f"Of {len(known)} machines {fast} has the fastest short messages ({units.length(known[fast][0])} in "
            f"{units.seconds(known[fast][1])}) and {slow} the slowest ({units.length(known[slow][0])} in "
            f"{units.seconds(known[slow][1])})."
        )
    else:
        for subject in subjects:
            yield from _messages(subject)


def _shortest(subject: Subject) -> tuple[int, float] | None:
    echo = subject.echo()
    return None if echo.is_empty() else (int(echo["bytes"][0]), float(echo["seconds"][0]))


def _machine(subject: Subject) -> Iterator[str]:
    """What the machine is, as far as the samples say."""
    host, cores, numa = (_only(subject, name) for name in ("host", "cores", "numa_nodes"))
    parts = [_only(subject, "processor")]
    if cores:
        parts.append(f"{cores} core{_plural(cores)} may be used")
    if numa:
        parts.append(f"{numa} NUMA node{_plural(numa)}")
    parts.append(_only(subject, "system"))
    known = ", ".join(part for part in parts if part)
    if known:
        yield f"{subject.label}{f', started on {host}' if host else ''}: {known}."
    library = _only(subject, "library").replace(" Version: ", " ")
    if library:
        ranks = int(str(subject.table["ranks"].max()))
        yield f"Messages are sent by {library} between at most {ranks} ranks."


def _only(subject: Subject, name: str) -> str:
    if name not in subject.table.columns:
        return ""
    return "; ".join(str(value) for value in subject.table[name].drop_nulls().unique(maintain_order=True))


def _plural(count: str) -> str:
    return "" if count == "1" else "s"


def _messages(subject: Subject) -> Iterator[str]:
    """What a message costs, and how long it has to be."""
    echo = subject.echo()
    if echo.is_empty():
        return
    short, long = _nearest(echo, SHORT), _nearest(echo, LONG)
    text = f"A message of {units.length(short['bytes'])} takes {units.seconds(short['seconds'])}{_known(short)}"
    if long["bytes"] > short["bytes"]:
        text += f", one of {units.length(long['bytes'])} {units.seconds(long['seconds'])}{_known(long)}"
        text += f", which is {units.rate(long['bytes'] / long['seconds'])}"
    yield f"{text}."
    if subject.fit is None:
        return
    curve = subject.fit.echo
    half = curve.half_bandwidth
    if half is not None:
        yield (
            f"Shorter than {_rounded(half)} a message gets less than half of the rate of long ones: several short ones "
            "are better sent as one."
        )
    changes = [piece.up_to for piece in curve.pieces if piece.up_to is not None]
    if changes:
        where = listed([units.length(length) for length in changes])
        yield f"The protocol changes at {where}: there a byte more can cost more, or less, than the line before says."


def listed(words: Sequence[str]) -> str:
    """Words as people list them."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "nothing"


def _nearest(echo: pl.DataFrame, length: int) -> dict[str, float]:
    """The row of the length that is nearest, by ratio."""
    away = (pl.col("bytes").log() - pl.lit(float(length)).log()).abs()
    return echo.sort(away).row(0, named=True)


def _known(row: dict[str, float]) -> str:
    half = row["half_width"]
    return f" (±{half:.{0 if half >= 0.01 else 1}%})" if row["launches"] > 1 else ""


def _rounded(length: float) -> str:
    """A length with two digits: more are not known."""
    return units.length(float(f"{length:.2g}")) if length < 1024 else units.length(round(length))


def _grain(subject: Subject) -> Iterator[str]:
    transfer = subject.transfer()
    if transfer is None or not subject.multiply:
        return
    wanted = grain.grain(transfer, subject.multiply, 0.2)
    yield (
        f"A message of 8 B costs as much as {units.count(transfer / subject.multiply)} multiplications: a program that "
        f"may spend 20% of its time on messages has to do {units.count(wanted)} of them between two."
    )


def _collectives(subject: Subject) -> Iterator[str]:
    """The costliest and the cheapest collective against a message of the same length."""
    message = _shortest(subject)
    if message is None:
        return
    length, seconds = message
    ratios: dict[str, tuple[float, int]] = {}
    for name in ("barrier", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"):
        points = subject.points(name)
        if name != "barrier":
            points = points.filter(pl.col("bytes") == length)
        if not points.is_empty():
            row = points.sort("ranks").row(-1, named=True)
            ratios[name] = row["seconds"] / seconds, row["ranks"]
    if ratios:
        name = max(ratios, key=lambda one: ratios[one][0])
        ratio, ranks = ratios[name]
        yield (
            f"The costliest collective of {units.length(length)} is {name}: on {ranks} ranks it takes "
            f"{units.digits(ratio, 2)} times a message."
        )


def _against(subject: Subject, subjects: Sequence[Subject]) -> Iterator[str]:
    """The slowest and the fastest of the others."""
    own = subject.transfer()
    others = {one.label: time for one in subjects if not one.own and (time := one.transfer()) is not None}
    if own is None or not others:
        return
    parts = []
    slow, fast = max(others, key=lambda one: others[one]), min(others, key=lambda one: others[one])
    for label in dict.fromkeys((slow, fast)):
        ratio = others[label] / own
        words = f"{units.digits(ratio, 2)} times as long" if ratio >= 1 else f"{units.share(ratio)} of that"
        parts.append(f"{units.seconds(others[label])} on {label}, {words}")
    yield f"The same 8 B take {'; '.join(parts)}."


def _odd(subject: Subject) -> Iterator[str]:
    """What a reader should look at twice."""
    for row, after in _falls(subject.echo()):
        yield (
            f"Odd: a message of {units.length(after['bytes'])} takes {units.seconds(after['seconds'])}, which is less "
            f"than one of {units.length(row['bytes'])} ({units.seconds(row['seconds'])})."
        )
    stolen = _greatest(subject, "stolen")
    if stolen > STOLEN:
        yield f"Odd: a hypervisor took up to {units.share(stolen)} of the processors' time from a launch."
    late = _greatest(subject, "share_above_3x")
    if late > LATE:
        yield f"Odd: up to {units.share(late)} of a point's iterations took more than three times their median."


def _greatest(subject: Subject, name: str) -> float:
    if name not in subject.table.columns:
        return 0.0
    return float(str(subject.table[name].max() or 0.0))


def _falls(echo: pl.DataFrame) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Where a longer message takes less time than a shorter one, beyond both intervals; the largest fall."""
    rows = echo.sort("bytes").iter_rows(named=True)
    known = list(rows)
    falls = [
        (before, after)
        for before, after in itertools.pairwise(known)
        if after["seconds"] < FALLING * before["seconds"] and after["seconds_high"] < before["seconds_low"]
    ]
    return sorted(falls, key=lambda pair: pair[1]["seconds"] / pair[0]["seconds"])[:1]


GLOSSARY = (
    ("startup", "the time of a message without content (Hockney's t0, LogGP's L + 2 o; alpha)"),
    ("byte time", "what a further byte of a long message costs: inverse bandwidth (LogGP's G; beta)"),
    ("half the rate at", "the shortest message that has half the rate of long ones (Hockney's n1/2)"),
    ("hop", "one link of a route"),
    ("launch", "one start of processes; launches differ more than repetitions within one"),
    ("converged", "the interval of the median over launches is as narrow as was asked for"),
    ("grain", "multiplications between two messages"),
    ("held out", "a length that a fit was not made from, to see how well it predicts"),
    ("ghosts", "copies of neighbours' elements around a block of an array"),
)
"""Words of a report."""
