"""The functions that commands read with, without the commands around them, and what programs hand over as text.

Each takes the path of an input; commands read some inputs as a whole.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft._core import Machine


def read_machine(path: str) -> None:
    from weft import _core, catalogue

    machine = catalogue.machine(path)
    machine.to_json()
    again = _core.Machine.parse(machine.to_toml(), "written again")
    if catalogue.passes_messages(again):
        _core.simulate(again, '{"benchmark": "echo", "bytes": [0, 1000], "iterations": 2}')


def read_samples(path: str) -> None:
    from weft import samples

    samples.summarise(samples.read(path))


def read_pattern(path: str) -> None:
    from weft.conset import pattern

    pattern(path, _torus(), parts=4)


def read_partition(path: str) -> None:
    from weft.conset import pattern

    pattern(Path(path).parent / "matrix.mtx", _torus(), parts=4, partition=path)


def read_schedule(path: str) -> None:
    from weft.conset import compiling, drawing

    drawing.text(json.loads(compiling.read(path).to_json()))


def read_unverified(path: str) -> None:
    from weft.conset import compiling, schedule_page

    schedule_page.page(json.loads(compiling.read(path, verified=False).to_json()))


def read_costs(path: str) -> None:
    from weft.estimation import costs_file

    costs_file.read(path).to_toml()


def read_program(path: str) -> None:
    from weft import fghc

    fghc.check(path)


@functools.cache
def _torus() -> Machine:
    from weft import _core, catalogue

    described = catalogue.machine("iwarp64").to_toml()
    small = described.replace("extents = [8, 8]", "extents = [4, 4]").replace("nodes = 64", "nodes = 16")
    return _core.Machine.parse(small, "torus")


def _text(path: str) -> str:
    """Text as callers have it: what is no UTF-8 cannot come this way."""
    return Path(path).read_bytes().decode("utf-8", "replace")


def check_request(path: str) -> None:
    from weft import _core

    _core.check_request(_text(path))


def simulate(path: str) -> None:
    from weft import _core, catalogue

    _core.simulate(catalogue.machine("ipsc1"), _limited(_text(path)))


def run_node(path: str) -> None:
    """Only what is refused: what runs takes its time."""
    from weft import _core

    _core.run_node("no such benchmark", _text(path))


def simulate_exchange(path: str) -> None:
    from weft import _core, catalogue

    request = _core.ExchangeRequest.from_json(_limited(_text(path)))
    _core.simulate_exchange(catalogue.machine("iwarp64"), request)


def exchange_threads(path: str) -> None:
    from weft import _core

    # Ranks are threads of this process: a few show what many would.
    request = _parsed(_text(path))
    connections = request.get("set") if isinstance(request, dict) else None
    ranks = connections.get("nodes") if isinstance(connections, dict) else 0
    if not isinstance(ranks, int) or ranks <= 16:
        _core.exchange_threads(_core.ExchangeRequest.from_json(_limited(_text(path))))


def fghc_check(path: str) -> None:
    from weft import _core

    _core.fghc_check(_text(path))


def fghc_explain(path: str) -> None:
    from weft import _core

    _core.fghc_explain(_text(path))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _limited(text: str) -> str:
    """The same with few repetitions: a request may well ask for hours of work."""
    request = _parsed(text)
    if not isinstance(request, dict):
        return text
    for key, most in (("iterations", 20), ("warmup", 20), ("extent", 64), ("window", 64), ("ranks", 64)):
        if isinstance(request.get(key), int) and not isinstance(request[key], bool) and request[key] > most:
            request[key] = most
    if isinstance(request.get("bytes"), list):
        small = [each for each in request["bytes"] if not isinstance(each, int) or not 10**6 < each < 10**18]
        request["bytes"] = small[:4]
    return json.dumps(request)
