"""Calls everything that `weft._core` exports with awkward arguments: a script, so that what ends it ends only it.

    python awkward_calls.py SEED CALLS LOG

What is called is read from the module itself. Where `EXAMPLES` has arguments that work, one or more of them are
replaced, so that calls get past the first check. Each call is written to LOG before it is made: its last line is what
ended the process, if something did. Exceptions that `except Exception` would not catch are printed, and make the exit
code 1.
"""

from __future__ import annotations

import inspect
import os
import random
import resource
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from weft import _core

MEMORY = 8 << 30
"""Bytes of address space: what asks for more must say so, not abort."""

FEW = 40_000
"""Elements of an array that is worked on while other threads of Python run."""

NEVER = frozenset({"__init_subclass__", "__subclasshook__", "__reduce__", "__reduce_ex__", "__class__", "__sizeof__"})
"""Of every object, not weft's."""


def awkward() -> list[Any]:
    """Arguments that no function is made for, and some that a few are."""
    numbers = [0, 1, -1, 2, 3, 7, 63, 64, 10**6, 2**31, 2**32, 2**62, 2**63 - 1, 2**64 - 1, 2**64, -(2**63), 10**30]
    floats = [0.0, -0.0, 1.5, -3.25, float("inf"), float("-inf"), float("nan"), 1e308]
    words = [
        "",
        "add",
        "copy",
        "max",
        "no such thing",
        "x" * 10_000,
        "\0",
        "ü\u2028",
        "{}",
        "[]",
        "null",
        "-1",
        '{"a":1}',
    ]
    lists: list[Any] = [
        [],
        [0],
        [1],
        [-1],
        [2**62, 2**62],
        [10**6] * 3,
        [None],
        [1.5],
        ["add"],
        [[1]],
        (),
        (0, 0),
        [3] * 40,
    ]
    kinds = "?bhilBHILfdFDeUOS"
    arrays: list[Any] = [np.zeros(n, kind) for kind in kinds for n in (0, 1, 5)]
    arrays += [np.zeros((4, 5)), np.zeros((4, 5), order="F"), np.arange(24.0)[::-2], np.broadcast_to(np.zeros(1), 6)]
    arrays += [
        np.zeros(()),
        np.full(7, np.nan),
        np.full(5, 2**62),
        np.full(5, -1),
        np.zeros((0, 3)),
        np.zeros((1,) * 20),
    ]
    arrays += [
        np.frombuffer(bytes(40), np.int64),
        np.frombuffer(bytes(41), np.uint8)[1:].view(np.float64),
        np.zeros(3, ">i8"),
    ]
    others: list[Any] = [None, True, False, b"", b"abc", bytearray(8), object(), type, print, {}, {1: 2}, {1}, 1j, ...]
    others += [np.dtype(float), np.dtype("V5"), np.float64(2), memoryview(bytes(8)), range(3), slice(None)]
    return [*numbers, *floats, *words, *lists, *arrays, *others]


def _storage(*ghosts: tuple[int, int]) -> tuple[int, list[int], int, list[tuple[int, int]]]:
    """Of an array of 6 by 5 doubles in one block with these ghosts."""
    around = ghosts or ((0, 0), (0, 0))
    row = 8 * (5 + sum(around[1]))
    return 8, [row, 8], around[0][0] * row + around[1][0] * 8, list(around)


def _blocks() -> Any:
    return _core.Blocks([6, 5], 1, [], [], [], None)


def _memory(ghosts: int = 0) -> Any:
    return _core.Memory(np.zeros((6 + 2 * ghosts, 5 + 2 * ghosts)))


def _exchange() -> Any:
    made = _core.ArrayExchange(
        _core.Ranks.alone(), _blocks(), [_storage(), _storage()], [(0, 1, 0, 1, "circular", b"")], [], 0, 7
    )
    made.begin([_memory(), _memory()])
    return made


def _exchange_request() -> Any:
    return _core.ExchangeRequest(_core.ConnectionSet(4, [(0, 1, 5), (2, 3, 1)]))


_POINTS = [([0, 0], 0.5), ([0, 1], 0.25), ([-1, 0], 0.25)]


def _stencil(steps: int = 1) -> Any:
    return _core.StencilPlan([6, 5], False, _POINTS, [None, 0.0], 1, steps, 1)


def _distributed() -> list[Any]:
    reach, circular = [(1, 0), (0, 1)], [True, False]
    return [
        _core.Ranks.alone(),
        _blocks(),
        _storage(),
        0,
        False,
        _POINTS,
        [],
        [None, 0.0],
        reach,
        circular,
        1,
        1,
        1,
        0,
        7,
    ]


def _shifts() -> Any:
    return _core.ShiftPlan([6, 5], np.dtype(float), [(0, 1, None, 0), (1, -2, bytes(8), 0), (0, 2, np.ones(5), 0)])


def _plane() -> Any:
    return np.arange(30.0).reshape(6, 5)


def _machine() -> Any:
    return _core.Machine.find("ipsc860")


EXAMPLES: dict[str, Callable[[], list[Any]]] = {
    "ExchangeRequest": lambda: [_core.ConnectionSet(4, [(0, 1, 5), (2, 3, 1)]), None],
    "simulate_exchange": lambda: [_core.Machine.find("iwarp64"), _exchange_request()],
    "exchange_threads": lambda: [_exchange_request()],
    "array_elementwise": lambda: ["add", (np.ones(FEW), np.ones(FEW)), np.zeros(FEW), np.ones(FEW, bool), 2],
    "array_reduce": lambda: [np.ones(FEW), "add", np.ones(FEW, bool), 2],
    "array_scan": lambda: [_plane(), _plane(), "add", 1, np.ones((6, 5), bool), np.ones((6, 5), bool), False, True, 2],
    "array_spread": lambda: [_plane(), np.zeros((6, 5)), 1, 2, np.ones((6, 5), bool), 2],
    "array_gather": lambda: [np.ones(FEW), np.arange(FEW), np.zeros(FEW), np.ones(FEW, bool), 2, True],
    "array_send": lambda: [
        np.ones(FEW),
        np.arange(FEW),
        np.zeros(FEW),
        "add",
        np.ones(FEW, bool),
        2,
        _core.SendWorkspace(1 << 16),
        True,
    ],
    "array_send_workspace_bytes": lambda: [np.ones(FEW), np.ones(FEW), 2],
    "SendWorkspace": lambda: [4096],
    "Memory": lambda: [np.zeros((6, 5))],
    "Blocks": lambda: [[6, 5], 4, [1.0, 2.0], [], ["news", None], [2, 2]],
    "Blocks.coordinates": lambda: [0],
    "Blocks.rank_of": lambda: [[0, 0]],
    "Blocks.local_shape": lambda: [0],
    "Blocks.start": lambda: [0],
    "Blocks.owner": lambda: [[5, 4]],
    "Blocks.element": lambda: [0, [5, 4]],
    "Blocks.neighbour": lambda: [0, 1, 1, True],
    "Ranks.agree": lambda: [None, 5, 7, "a call"],
    "Ranks.scatter": lambda: [_blocks(), 0, (_memory(), [40, 8]), _storage(), _memory()],
    "Ranks.gather": lambda: [_blocks(), 0, (_memory(), [40, 8]), _storage(), _memory()],
    "Ranks.broadcast": lambda: [0, _memory()],
    "Ranks.exchange": lambda: [[b"abc"], 5],
    "ArrayExchange": lambda: [
        _core.Ranks.alone(),
        _blocks(),
        [_storage(), _storage()],
        [(0, 1, 0, 1, "value", bytes(8))],
        [],
        0,
        7,
    ],
    "ArrayExchange.begin": lambda: [[_memory(), _memory()]],
    "ArrayExchange.read_boundaries": lambda: [[]],
    "DistributedStencil": _distributed,
    "DistributedStencil.run": lambda: [_memory(), (_memory(), _memory()), _memory(), 0, 3],
    "DistributedStencil.layout": lambda: [_storage((1, 1), (2, 0))],
    "stencil_ghosts": lambda: [_core.Blocks([6, 5], 4, [], [], [], None), 3, 0, [(1, 0), (0, 1)], [True, False]],
    "ShiftPlan": lambda: [[6, 5], np.dtype(float), [(0, 1, None, 0), (1, 2, np.ones(6), 0)], 2, False],
    "ShiftPlan.__call__": lambda: [_plane()],
    "ShiftPlan.bind": lambda: [_plane()],
    "StencilPlan": lambda: [[6, 5], False, [([0, 1], 0.5), ([1, 0], np.ones((6, 5)))], [None, np.ones(6)], 1, 3, 2, 2],
    "StencilPlan.apply": lambda: [_plane(), np.zeros((6, 5))],
    "StencilPlan.bind": lambda: [_plane(), np.zeros((6, 5))],
    "Machine.find": lambda: ["ipsc860"],
    "simulate": lambda: [_machine(), '{"benchmark":"echo","bytes":[8],"hops":[1]}'],
    "check_request": lambda: ['{"benchmark":"echo","bytes":[8],"hops":[1]}'],
    "halo_messages": lambda: [[16, 16], 4],
    "stencil_work": lambda: [[16, 16], 4],
    "node_work": lambda: ["stream", "copy", 64],
}
"""Arguments that work, by the name of what takes them."""

STEPS = {"DistributedStencil.run": 4}
"""Arguments that say how often something is done, which takes as long as it is asked to."""

MAX_STEPS = 1000

INSTANCES: dict[str, Callable[[], Any]] = {
    "Blocks": lambda: _core.Blocks([6, 5], 4, [], [], [], None),
    "Ranks": _core.Ranks.alone,
    "ArrayExchange": _exchange,
    "DistributedStencil": lambda: _core.DistributedStencil(*_distributed()),
    "ShiftPlan": _shifts,
    "BoundShifts": lambda: _shifts().bind(_plane()),
    "StencilPlan": _stencil,
    "BoundStencil": lambda: _stencil(4).bind(_plane(), np.zeros((6, 5))),
    "MpiDiagnosis": _core.MpiDiagnosis,
    "Machine": _machine,
    "Memory": _memory,
    "SendWorkspace": lambda: _core.SendWorkspace(100),
}
"""An object of each class that can be made without more than this module."""


def exported() -> list[tuple[str, Callable[[], Callable[..., Any]]]]:
    """The name of everything that can be called, and how to come by it."""
    found: list[tuple[str, Callable[[], Callable[..., Any]]]] = []
    for name, value in sorted(vars(_core).items()):
        if isinstance(value, type) and issubclass(value, BaseException):
            continue
        if isinstance(value, types.BuiltinFunctionType):
            found.append((name, lambda value=value: value))
        elif isinstance(value, type):
            found.append((name, lambda value=value: value))
            found += _members(name, value)
    return found


def _members(name: str, kind: type) -> list[tuple[str, Callable[[], Callable[..., Any]]]]:
    found: list[tuple[str, Callable[[], Callable[..., Any]]]] = []
    for member, value in sorted(vars(kind).items()):
        if member in NEVER or (member.startswith("__") and member != "__call__"):
            continue
        full = f"{name}.{member}"
        if isinstance(value, staticmethod):
            found.append((full, lambda kind=kind, member=member: getattr(kind, member)))
        elif name not in INSTANCES:
            continue
        elif inspect.isdatadescriptor(value):
            found.append((full, lambda name=name, member=member: lambda: getattr(INSTANCES[name](), member)))
        else:
            found.append((full, lambda name=name, member=member: getattr(INSTANCES[name](), member)))
    return found


def parameters(callable_: Callable[..., Any]) -> int:
    """How many arguments it takes; a few where it does not say."""
    try:
        return len(inspect.signature(callable_).parameters)
    except (TypeError, ValueError):
        return 4


def arguments(name: str, callable_: Callable[..., Any], chance: random.Random, values: list[Any]) -> list[Any]:
    """Some: those that work with a few replaced, or any."""
    example = EXAMPLES.get(name)
    if example is not None and chance.random() < 0.9:
        given = example()
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            if given:
                given[chance.randrange(len(given))] = _value(chance, values, given)
        steps = STEPS.get(name)
        if steps is not None and isinstance(given[steps], int):
            given[steps] = min(given[steps], MAX_STEPS)
        return given
    return [chance.choice(values) for _ in range(chance.choice((parameters(callable_), chance.randrange(6))))]


def _value(chance: random.Random, values: list[Any], given: list[Any]) -> Any:
    """An awkward value, another of the arguments, or a list in which one entry is awkward."""
    kind = chance.random()
    if kind < 0.7:
        return chance.choice(values)
    if kind < 0.8:
        return chance.choice(given)
    nested = chance.choice(given)
    if isinstance(nested, list | tuple) and nested:
        changed = list(nested)
        place = chance.randrange(len(changed))
        inner = changed[place]
        if isinstance(inner, list | tuple) and inner and chance.random() < 0.7:
            inner = list(inner)
            inner[chance.randrange(len(inner))] = chance.choice(values)
            changed[place] = tuple(inner) if isinstance(changed[place], tuple) else inner
        else:
            changed[place] = chance.choice(values)
        return tuple(changed) if isinstance(nested, tuple) else changed
    return chance.choice(values)


def _shown(value: Any) -> str:
    try:
        return repr(value)[:200].replace("\n", " ")
    except Exception as error:
        return f"<{type(value).__name__}: {error}>"


def main(seed: int, calls: int, log: str) -> int:
    """Makes so many calls of each; the exit code."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    bad, defects, made, raised = 0, set(), 0, 0
    with open(log, "w", encoding="utf-8", errors="replace") as out:
        for name, find in exported():
            chance = random.Random(f"{seed} {name}")
            values = awkward()
            for _ in range(calls):
                try:
                    callable_ = find()
                    given = arguments(name, callable_, chance, values)
                    out.write(f"{name}({', '.join(map(_shown, given))})\n")
                    out.flush()
                    made += 1
                    callable_(*given)
                except _core.DefectError as error:
                    defects.add((name, str(error).split(":")[0][:100]))
                    raised += 1
                except Exception:
                    raised += 1
                except BaseException as error:
                    print(f"{name}: {type(error).__mro__}: {error}")
                    bad += 1
        out.write("done\n")
    for name, message in sorted(defects):
        print(f"defect: {name}: {message}")
    print(f"{made} calls of {len(exported())} names, {raised} raised, {bad} not an Exception, {len(defects)} defects")
    return 1 if bad else 0


if __name__ == "__main__":
    # Whatever is asked for, no MPI is started.
    os.environ["WEFT_MPI_LIBRARY"] = "/no/such/library"
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
