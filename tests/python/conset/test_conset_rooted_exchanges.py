"""Broadcast and reduce by rounds of messages: what the verifier accepts, and what it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benches.conset import oracles
from weft._core import CollectiveSchedule, UsageError
from weft.conset import collectives

ROOT = 3


def compiled(collective: str, ranks: int = 8) -> dict[str, Any]:
    schedule = collectives.compile(collective, "rail-h100", "1M", root=ROOT, nodes=range(ranks)).schedule
    content: dict[str, Any] = json.loads(schedule.to_json())
    assert content["exchange"], schedule.form
    return content


def verify(content: dict[str, Any]) -> None:
    CollectiveSchedule.parse(json.dumps(content), "changed.json").verify()


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
@pytest.mark.parametrize("ranks", [8, 9, 16, 17])
def test_the_root_gives_or_gets_everything(collective: str, ranks: int) -> None:
    content = compiled(collective, ranks)
    assert oracles.wrong_data(content) is None
    verify(content)


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_the_cut_has_to_part_the_root_from_somebody(collective: str) -> None:
    content = compiled(collective)
    fabric = content["fabric"]
    inside = set(content["exchange"]["bound"]["cut"])
    content["exchange"]["bound"]["cut"] = sorted(set(range(len(fabric["vertices"]))) - inside)
    with pytest.raises(UsageError, match=f"the buffer of a {collective} need not leave its cut"):
        verify(content)


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_another_root_has_not_what_it_should(collective: str) -> None:
    content = compiled(collective)
    content["root"] = 0
    assert oracles.wrong_data(content) is not None
    with pytest.raises(UsageError):
        verify(content)


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
@pytest.mark.parametrize("number", [0, -1])
def test_every_message_is_needed(collective: str, number: int) -> None:
    content = compiled(collective)
    content["exchange"]["rounds"][number]["messages"].pop()
    assert oracles.wrong_data(content) is not None
    with pytest.raises(UsageError, match=r"rank \d.*(has|sends|lacks|summand|part)"):
        verify(content)
