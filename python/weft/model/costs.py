"""The time of messages on an idle machine by the figures of its file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.model.curve import FitError


@dataclass(frozen=True)
class Protocol:
    """Costs of messages up to a length, as in a machine file; s and s/B."""

    up_to: int | None
    send_overhead: float
    receive_overhead: float
    send_byte_time: float
    receive_byte_time: float
    hop_time: float
    byte_time: float

    def ends(self, length: int) -> float:
        """Seconds of both processors."""
        copies = (self.send_byte_time + self.receive_byte_time) * length
        return self.send_overhead + self.receive_overhead + copies

    def link(self, length: int) -> float:
        """Seconds of a packet on one link."""
        return self.hop_time + self.byte_time * length


@dataclass(frozen=True)
class Packets:
    """How long messages are cut: bytes of a full packet and of the shortest, and whether each is acknowledged."""

    bytes: int
    minimum: int
    acknowledged: bool


@dataclass(frozen=True)
class MachineCosts:
    """What a machine file says of one message on an idle machine.

    Attributes
    ----------
    name
        Short name of the machine.
    store_and_forward
        Whether every hop receives a packet before it passes it on.
    protocols
        By ascending `up_to`; the last has none.
    packets
        How messages are cut; None if they are not.
    own, host
        Startup and byte time of messages to oneself and to the host, if the file has them.
    """

    name: str
    store_and_forward: bool
    protocols: tuple[Protocol, ...]
    packets: Packets | None
    own: tuple[float, float] | None
    host: tuple[float, float] | None

    def seconds(self, benchmark: str, length: int, hops: int | None) -> float:
        """Seconds of a one-way message of `echo`, `echo-self` or `echo-host`, `hops` links away (default 1).

        Raises
        ------
        FitError
            If the file has no costs of that benchmark, or a message to another node would cross no link.
        """
        if benchmark == "echo":
            return self._message(length, 1 if hops is None else hops)
        line = {"echo-self": self.own, "echo-host": self.host}.get(benchmark)
        if line is None:
            raise FitError(f"the machine file of {self.name} gives no cost of {benchmark}; simulate it instead")
        return line[0] + line[1] * length

    def _message(self, length: int, hops: int) -> float:
        """The formula of the machine description, packets included (`Machine::message_time` of the core)."""
        if hops < 1:
            raise FitError(f"a message between nodes crosses at least 1 link, and {hops} were asked for; see echo-self")
        protocol = next(p for p in self.protocols if p.up_to is None or length <= p.up_to)
        if self.packets is None:
            return protocol.ends(length) + self._path(protocol, length, hops)
        full = max(0, length - 1) // self.packets.bytes
        last = max(length - full * self.packets.bytes, self.packets.minimum)
        if self.packets.acknowledged:
            # Each packet waits for the one before: it costs what a message costs.
            times = [protocol.ends(n) + self._path(protocol, n, hops) for n in (self.packets.bytes, last)]
            return full * times[0] + times[1]
        sent = full * self.packets.bytes + last
        if self.store_and_forward and full:
            # Packets follow each other over the links.
            path = (full + hops - 1) * protocol.link(self.packets.bytes) + protocol.link(last)
        else:
            path = self._path(protocol, sent, hops)
        return protocol.ends(sent) + path

    def _path(self, protocol: Protocol, length: int, hops: int) -> float:
        if self.store_and_forward:
            return hops * protocol.link(length)
        return hops * protocol.hop_time + protocol.byte_time * length


def machine_costs(path: str | os.PathLike[str]) -> MachineCosts:
    """Read the costs of messages from a machine file.

    The file is taken to be valid: the loader of the machine catalogue is what checks it in full.

    Parameters
    ----------
    path
        A `.toml` machine file.

    Raises
    ------
    FitError
        If the file is no machine file.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
        return MachineCosts(
            str(text["name"]),
            _value(text["switching"]["technique"]) == "store-and-forward",
            tuple(_protocol(p) for p in text["protocols"]),
            _packets(text.get("packets")),
            _line(text.get("self_message")),
            _line(text.get("host")),
        )
    except (KeyError, TypeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FitError(f"{path}: expected a machine file: {type(error).__name__}: {error}") from None


def _protocol(table: Mapping[str, Any]) -> Protocol:
    def figure(key: str) -> float:
        return float(_value(table.get(key, 0.0)))

    up_to = table.get("up_to")
    return Protocol(
        None if up_to is None else int(_value(up_to)),
        figure("send_overhead"),
        figure("receive_overhead"),
        figure("send_byte_time"),
        figure("receive_byte_time"),
        figure("hop_time"),
        figure("byte_time"),
    )


def _packets(table: Mapping[str, Any] | None) -> Packets | None:
    if table is None:
        return None
    return Packets(int(_value(table["bytes"])), int(_value(table["minimum"])), bool(_value(table["acknowledged"])))


def _line(table: Mapping[str, Any] | None) -> tuple[float, float] | None:
    return None if table is None else (float(_value(table["startup"])), float(_value(table["byte_time"])))


def _value(figure: Any) -> Any:
    """A figure with or without its source."""
    return figure["value"] if isinstance(figure, Mapping) else figure
