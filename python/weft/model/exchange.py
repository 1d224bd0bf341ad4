"""The time of messages that a rank exchanges with its neighbours, and how much of it can be hidden."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.model.curve import FitError
from weft.model.fitting import Fit
from weft.model.prediction import DescribedMachine, predict

QUEUED = 2.0 - math.sqrt(2.0)
"""The share of its time that a channel is in use when messages stand in line for channels at both ends, and those
behind a message that waits wait too (M. Karol, M. Hluchyj, S. Morgan, "Input versus output queueing on a space-division
packet switch", IEEE Transactions on Communications 35 (1987) 1347-1356: random destinations, many nodes)."""


@dataclass(frozen=True)
class ExchangeTimes:
    """What messages with as many neighbours cost a rank, which gets as much as it sends.

    Attributes
    ----------
    machine
        The machine's name.
    occupied
        Seconds that they occupy the processor: software at both ends. No computation hides them.
    travelling
        Seconds that they are on their way, which computation hides.
    queued
        The same where messages to several neighbours wait for each other (`QUEUED`).
    longest
        Seconds of the longest message by itself.
    """

    machine: str
    occupied: float
    travelling: float
    queued: float
    longest: float


def message_times(model: Fit | DescribedMachine, messages: Sequence[int]) -> tuple[str, list[float]]:
    """The machine's name, and what each of some messages between two ranks takes by itself, in seconds."""
    times = predict(model, "echo", sorted(set(messages)))
    of = dict(times.select("bytes", "seconds").iter_rows())
    each = [of[length] for length in messages]
    if min(each) <= 0.0:
        raise FitError(f"the model has messages of {min(messages)} bytes take no time")
    return times["machine"][0], each


def exchange_times(model: Fit | DescribedMachine, messages: Sequence[int]) -> ExchangeTimes:
    """What a rank's messages cost, for a message of every length in `messages` out and one in.

    A machine file says what a message takes of the processors at both ends, and whether one message at a time moves
    between the network and a node's memory (`memory_channels = 1`: Dunigan 1991, section 4.4). Then messages out and
    messages in take turns; otherwise those of several links travel side by side, and the longest decides (the last term
    of equation 1 of George, Brickner, Johnsson 1994); a node of a tree or a crossbar has one link. That is least: each
    message needs the channels of both its nodes at one time, and with several neighbours that are not paired off some
    channels stand idle; `queued` says how long it may take then. Samples say neither: of a fit, all of a message's time
    can be hidden, and messages are taken to travel one after the other.

    Raises
    ------
    FitError
        If the model knows nothing of messages between two ranks.
    """
    name, each = message_times(model, messages)
    if isinstance(model, Fit):
        return ExchangeTimes(name, 0.0, sum(each), sum(each), max(each))
    described = tomllib.loads(model.to_toml())
    occupied = [_overhead(described["protocols"], length) for length in messages]
    wires = [max(0.0, seconds - busy) for seconds, busy in zip(each, occupied, strict=True)]
    channels = _value(described.get("node", {}).get("memory_channels"), None)
    travelling = max(*wires, sum(wires) / _links(described["topology"]))
    if channels is not None:
        travelling = max(travelling, 2.0 * sum(wires) / channels)
    is_in_line = channels is not None and len(messages) > 1
    queued = travelling / QUEUED if is_in_line else travelling
    return ExchangeTimes(name, sum(occupied), travelling, queued, max(each))


def copy_time(model: Fit | DescribedMachine) -> float:
    """Seconds of a byte that a node copies; 0 where nobody says."""
    if isinstance(model, Fit):
        return 0.0
    return float(_value(tomllib.loads(model.to_toml()).get("operations", {}).get("copy_byte"), 0.0))


def _links(topology: dict[str, Any]) -> int:
    """Links over which a node sends at one time."""
    match topology["kind"]:
        case "hypercube":
            return max(1, int(_value(topology["dimension"], 1)))
        case "torus" | "mesh":
            return 2 * len(_value(topology["extents"], [1]))
        case _:
            return 1


def _overhead(protocols: Sequence[dict[str, Any]], length: int) -> float:
    """Seconds of both ends' processors for a message, by the first protocol that reaches so far."""

    def figure(protocol: dict[str, Any], name: str) -> float:
        return float(_value(protocol.get(name), 0.0))

    def reaches(protocol: dict[str, Any]) -> bool:
        limit = _value(protocol.get("up_to"), None)
        return limit is None or length <= limit

    chosen = next((protocol for protocol in protocols if reaches(protocol)), protocols[-1])
    starts = figure(chosen, "send_overhead") + figure(chosen, "receive_overhead")
    return starts + length * (figure(chosen, "send_byte_time") + figure(chosen, "receive_byte_time"))


def _value(figure: Any, default: Any) -> Any:
    """A figure of a machine file, which may be a table with its source."""
    if isinstance(figure, dict):
        figure = figure.get("value")
    return default if figure is None else figure


__all__ = ["QUEUED", "ExchangeTimes", "copy_time", "exchange_times", "message_times"]
