"""A fit as a machine file."""

from __future__ import annotations

import datetime
import math
import re
from typing import TYPE_CHECKING

from weft.model.curve import Curve, FitError, Piece

if TYPE_CHECKING:
    from weft.model.cache import Cache
    from weft.model.ends import Ends
    from weft.model.fitting import Fit
    from weft.model.loggp import LogGP

_ASSUMED = "assumed: an echo does not show it"

_LINKS = 2
"""Links of a message over the switch that stands for a network of one distance: to the switch, and from it."""


def machine_text(fit: Fit, name: str, origin: str, date: str | None = None, *, alternative: Fit | None = None) -> str:
    """A machine file with the figures of a fit.

    What was not measured is assumed, and its source says so. Where the samples do not tell the overheads apart
    (`Fit.loggp`), a startup is half the sender's and half the receiver's, and the latency is that of the hops alone. A
    byte time is the link's, or with store-and-forward switching as much of it as every hop costs, and the rest half the
    sender's and half the receiver's; sends are buffered. Samples over one distance know no topology: the machine is a
    crossbar with a node for each rank. Samples over several are taken to be of the smallest hypercube that has such
    distances.

    Parameters
    ----------
    fit
        The fit.
    name
        Short name of the machine, as on the command line: letters, digits, `-`, `_` and `.`.
    origin
        The file of samples, for the sources.
    date
        When it was fitted, as 2026-01-31; default: today.
    alternative
        A fit of the same messages that estimates other times: the machine file has its costs too, and whoever reads it
        chooses.

    Returns
    -------
    str
        TOML text.

    Raises
    ------
    FitError
        If the name is not one, or the two fits do not say that they estimate different times.

    Examples
    --------
    >>> import weft
    >>> fitted = weft.fit(weft.simulate("ipsc860", "echo", bytes="8:8K"))
    >>> weft.Machine.parse(machine_text(fitted, "mine", "a simulated run"), "mine.toml")
    <weft machine mine: ipsc860 (simulated), 2 nodes>
    """
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name) or name.endswith(".toml"):
        raise FitError(
            f"a machine's name has letters, digits, '-', '_' and '.' and no .toml at its end, found {name!r}"
        )
    _refuse_alike(fit, alternative)
    date = date or datetime.date.today().isoformat()
    source = f"fitted from {origin} on {date}"
    curve = fit.echo
    lines = [
        f"name = {_text(name)}",
        f"title = {_text(f'{fit.machine} ({fit.source})')}",
        f"year = {int(date[:4])}",
        f"description = {_text(_description(fit))}",
        *([] if fit.estimand is None else [f"estimand = {_text(fit.estimand)}"]),
        "",
        *_topology(fit),
        "",
        *_switching(curve, source),
    ]
    lines += _costs_of_messages(fit, source)
    if alternative is not None:
        lines += ["", "[alternative]", f"estimand = {_text(alternative.estimand or '')}"]
        lines += _costs_of_messages(alternative, source, "alternative.")
    return "\n".join(lines) + "\n"


def _refuse_alike(fit: Fit, alternative: Fit | None) -> None:
    if alternative is not None and (
        None in (fit.estimand, alternative.estimand) or fit.estimand == alternative.estimand
    ):
        raise FitError(
            f"the two fits of a machine file estimate different times and say so, found {fit.estimand!r} and "
            f"{alternative.estimand!r}"
        )


def _costs_of_messages(fit: Fit, source: str, within: str = "") -> list[str]:
    """The tables that an estimand has: protocols, self-messages, and the host where it was measured."""
    source = source if fit.estimand is None else f"{source}: {fit.estimand} times"
    lines: list[str] = []
    known = fit.loggp
    ends = known.ends if known is not None and known.ends else ((),) * len(fit.echo.pieces)
    for piece, of_piece in zip(fit.echo.pieces, ends, strict=True):
        for one in of_piece or (None,):
            lines += ["", f"[[{within}protocols]]", *_protocol(piece, source, known, one)]
    if known is not None and known.cache is not None and not within:
        lines += ["", "[cache]", *_cache(known.cache, source)]
    lines += ["", f"[{within}self_message]", *_own(fit, source)]
    if "echo-host" in fit.lines:
        lines += ["", f"[{within}host]", *_copy(fit.lines["echo-host"], source)]
    return lines


def _description(fit: Fit) -> str:
    notes = "".join(f" {note[0].upper()}{note[1:]}." for note in fit.notes)
    return f"Fitted to {fit.source} samples of {fit.machine}.{notes}"


def _topology(fit: Fit) -> list[str]:
    ranks = max(2, fit.ranks or 2)
    if len(fit.echo.hops) == 1:
        source = "assumed: one distance was measured, so a switch that joins all ranks"
        return ["[topology]", f"source = {_text(source)}", 'kind = "crossbar"', f"nodes = {ranks}"]
    dimension = max(fit.echo.hops[-1], math.ceil(math.log2(ranks)))
    source = f"assumed: the smallest hypercube with {ranks} ranks and {fit.echo.hops[-1]} hops"
    return ["[topology]", f"source = {_text(source)}", 'kind = "hypercube"', f"dimension = {dimension}"]


def _switching(curve: Curve, source: str) -> list[str]:
    if curve.switching == "unknown":
        technique, source = "cut-through", "assumed: one distance was measured"
    elif curve.switching == "circuit":
        technique, source = "circuit", f"{source}: hops cost no byte time; cut-through and wormhole would fit as well"
    else:
        technique = curve.switching
    return ["[switching]", f"source = {_text(source)}", f"technique = {_text(technique)}"]


def _overheads(piece: Piece, known: LogGP | None, source: str) -> tuple[tuple[float, float], str, float, str]:
    """What each end takes, where that is from, and the same of the time of a hop.

    Where the ends were measured with short messages, what longer ones take beyond the latency is shared as theirs is.
    """
    hop = None if piece.hop_time is None else piece.hop_time.value
    unknown = "unknown, part of the overheads: one distance was measured"
    if known is None:
        half = max(0.0, piece.startup.value - (hop or 0.0)) / 2.0
        return (half, half), f"{source}; half of the startup on each side is assumed", hop or 0.0, (
            unknown if hop is None else source
        )  # fmt: skip
    between = known.latency.value if hop is None else hop
    whole = max(0.0, piece.startup.value - between)
    link = between / _LINKS if hop is None else hop
    share = known.send_overhead.value / (known.send_overhead.value + known.receive_overhead.value)
    said = f"{source}: the startup without the latency, divided as fan-out and fan-in of {known.bytes} bytes are"
    latency = f"{source}: half of the latency, an echo without both overheads" if hop is None else source
    return (share * whole, (1.0 - share) * whole), said, link, latency


def _measured_ends(piece: Piece, ends: Ends, source: str) -> list[str]:
    """The costs of a protocol whose ends were measured apart.

    Where the time of a hop is known, the ends have the rest, shared as they were measured; and likewise of a byte.
    """
    parts = f"{source}: sends that nothing held up, delayed receives and streams, which together are the echo"
    lines = []
    for key, index, whole, hop in (
        ("overhead", 0, piece.startup.value, piece.hop_time),
        ("byte_time", 1, piece.byte_time.value, piece.hop_byte_time),
    ):
        link = ends.between[index] if hop is None else hop.value
        of_ends = ends.send[index] + ends.receive[index]
        share = 1.0 if hop is None or of_ends == 0.0 else max(0.0, whole - link) / of_ends
        lines += [
            _figure(f"send_{key}", _number(share * ends.send[index]), parts, source),
            _figure(f"receive_{key}", _number(share * ends.receive[index]), parts, source),
            _link(index, link, parts, source)
            if hop is None
            else _figure(_OF_LINK[index], _number(link), source, source),
        ]
    return lines


def _cache(cache: Cache, source: str) -> list[str]:
    """What streams of long messages take more than either of their ends by itself."""
    said = f"{source}: streams that take longer than either end, the more bytes they have posted at one time"
    return [
        f"source = {_text(said)}",
        f"bytes = {cache.bytes}",
        f"all_missed_bytes = {cache.all_missed_bytes}",
        f"miss_byte_time = {_number(cache.miss_byte_time)}",
    ]


_OF_LINK = ("hop_time", "byte_time")

_ROUNDED = 1e-13
"""Seconds, of a message or a byte of one: what is shorter is rounding, a tenth of what the simulator counts in."""


def _link(index: int, whole: float, parts: str, source: str) -> str:
    """What the way takes, as a figure of one of a switch's links: both are crossed, and a byte is on both at once."""
    if index == 0:
        return _figure(_OF_LINK[index], _number(whole / _LINKS), f"{parts}; half of it for each link", source)
    return _figure(_OF_LINK[index], _number(whole), parts, source)


def _protocol(piece: Piece, source: str, known: LogGP | None, ends: Ends | None) -> list[str]:
    (send, receive), halved, hop, of_hop = _overheads(piece, known, source)
    link = piece.hop_byte_time.value if piece.hop_byte_time is not None else 0.0
    lines = [f"source = {_text(source)}"]
    up_to, change = (piece.up_to, piece.change) if ends is None else (ends.up_to, ends.change)
    if up_to is not None:
        changes = "" if change is None else f"; somewhere from {change[0]} to {change[1] - 1} bytes"
        lines.append(_figure("up_to", str(up_to), source + changes, source))
    if ends is not None:
        return [*lines, *_measured_ends(piece, ends, source), _figure("completion", '"buffered"', _ASSUMED, source)]
    lines += [
        _figure(f"{side}_overhead", _number(value), halved, source)
        for side, value in (("send", send), ("receive", receive))
    ]
    if link > 0.0:
        copy = max(0.0, piece.byte_time.value - link) / 2.0
        rest = f"{source}: what no hop takes; half of it on each side is assumed"
        lines += [_figure(f"{side}_byte_time", _number(copy), rest, source) for side in ("send", "receive")]
    lines.append(_figure("hop_time", _number(hop), of_hop, source))
    lines.append(_figure("byte_time", _number(link if link > 0.0 else piece.byte_time.value), source, source))
    lines.append(_figure("completion", '"buffered"', _ASSUMED, source))
    return lines


def _own(fit: Fit, source: str) -> list[str]:
    """Self-messages, which every machine file has."""
    if "echo-self" in fit.lines:
        return _copy(fit.lines["echo-self"], source)
    assumed = "assumed to cost as much as between nodes: no samples of echo-self"
    startup, byte_time = fit.startup.value, fit.byte_time.value
    return [f"source = {_text(assumed)}", *_costs(startup, byte_time)]


def _copy(line: Curve, source: str) -> list[str]:
    (piece,) = line.pieces
    if line.freedom:
        source += f"; one line through all lengths, standard deviation {line.deviation:.1%}"
    return [f"source = {_text(source)}", *_costs(piece.startup.value, piece.byte_time.value)]


def _costs(startup: float, byte_time: float) -> list[str]:
    return [f"startup = {_number(startup)}", f"byte_time = {_number(byte_time)}"]


def _figure(key: str, value: str, source: str, inherited: str) -> str:
    """The line of a figure, with a source of its own where it differs from the table's."""
    if source == inherited:
        return f"{key} = {value}"
    return f"{key} = {{ value = {value}, source = {_text(source)} }}"


def _number(value: float) -> str:
    """Seven significant digits, as a TOML float.

    What the difference of two equal times leaves is 0: readers of machine files refuse times that no machine can take.
    """
    text = f"{0.0 if abs(value) < _ROUNDED else value:.7g}"
    return text if any(c in text for c in ".e") else f"{text}.0"


def _text(value: str) -> str:
    """A TOML basic string."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
