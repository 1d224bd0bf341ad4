"""Ranks of a program in this process: one greenlet each, and the hub in which the simulator runs.

A rank that waits in a call of MPI switches to the hub; the simulator, which the hub has called, switches to the rank
that can go on. The library of `weft.hosting.library` does both by calling what it is handed here.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import greenlet

from weft import files
from weft.hosting.library import load
from weft.hosting.modules import Modules

__all__ = ["Blocked", "Hub", "Report"]


class _Direct(ctypes.Structure):
    """How ranks are switched to that differ in their main module alone; the fields are those of `Direct` there."""

    _fields_ = (
        ("is_enough", ctypes.POINTER(ctypes.c_bool)),
        ("current", ctypes.POINTER(ctypes.c_int64)),
        ("switch", ctypes.POINTER(ctypes.c_void_p)),
        ("set_item", ctypes.c_void_p),
        ("modules", ctypes.c_void_p),
        ("main", ctypes.c_void_p),
        ("mains", ctypes.POINTER(ctypes.c_void_p)),
    )


class _Interface(ctypes.Structure):
    """What `weft_run` is handed; the fields are those of `Interface` in crates/virtual-mpi/src/hosting.rs."""

    _fields_ = (
        ("ensure", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("call", ctypes.c_void_p),
        ("hold", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
        ("park", ctypes.c_void_p),
        ("resume", ctypes.POINTER(ctypes.c_void_p)),
        ("direct", _Direct),
        ("abort", ctypes.c_void_p),
        ("report", ctypes.c_void_p),
        ("announce", ctypes.c_void_p),
    )


_ABORT = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_char_p)
_REPORT = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_ANNOUNCE = ctypes.CFUNCTYPE(None, ctypes.c_uint64)


@dataclass(frozen=True)
class Blocked:
    """A rank that cannot go on: its number, the call of MPI that it is in, and where in its program that is."""

    rank: int
    call: str
    where: str


@dataclass
class Report:
    """What a run came to: times in seconds of virtual time, or why it failed."""

    makespan: float = 0.0
    finished: list[float] = field(default_factory=list)
    messages: int = 0
    error: str | None = None
    unreceived: list[tuple[int, int, int, int]] = field(default_factory=list)
    unreceived_count: int = 0
    mismatched: list[tuple[int, int, str, int]] = field(default_factory=list)
    mismatched_count: int = 0
    unfreed: dict[str, dict[str, Any]] = field(default_factory=dict)
    remarks: dict[str, dict[str, Any]] = field(default_factory=dict)
    trace_error: str | None = None
    blocked: list[Blocked] = field(default_factory=list)


class Hub:
    """Runs one program a rank.

    Parameters
    ----------
    programs
        One callable a rank; it is called once, on a stack of its own.
    modules
        What each rank has for itself, which is put in whenever the rank goes on.
    fail
        Called with rank, exit code and message when a rank ends the whole run; must not return.
    """

    def __init__(
        self,
        programs: Sequence[Callable[[], None]],
        modules: Modules,
        fail: Callable[[int, int, str], None],
    ) -> None:
        self._library = load()
        self._modules = modules
        self._fail = fail
        self._ranks = [greenlet.greenlet(self._program(rank, program)) for rank, program in enumerate(programs)]
        self._report: dict[str, Any] = {}

    def _program(self, rank: int, program: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                program()
            except BaseException:  # Nothing may pass through the frames of the library.
                traceback.print_exc()
                self._fail(rank, 1, "")
            self._library.weft_finished(rank)

        return run

    def _resume(self, rank: int) -> Callable[[], Any]:
        switch, enter = self._ranks[rank].switch, self._modules.enter

        def resume() -> None:
            enter(rank)
            switch()

        return resume

    def run(
        self,
        machine: str,
        path: str,
        *,
        nodes: list[int] | None = None,
        compute: float | None = None,
        trace: tuple[str, str] | None = None,
    ) -> Report:
        """Run the programs on the machine whose file has this text; returns when all have come to their end.

        `trace` is the file that a timeline is written to, and what it is called in messages.
        """
        request = {
            "machine": machine,
            "path": path,
            "ranks": len(self._ranks),
            "nodes": nodes,
            "compute": compute,
            "trace": trace[0] if trace else None,
        }
        park = greenlet.getcurrent().switch
        resumes = [self._resume(rank) for rank in range(len(self._ranks))]
        switches = [rank.switch for rank in self._ranks]
        differ_in_main, current, mains = self._modules.in_memory
        name = sys.intern("__main__")
        direct = _Direct(
            is_enough=ctypes.pointer(differ_in_main),
            current=ctypes.pointer(current),
            switch=_addresses(switches),
            set_item=_address(ctypes.pythonapi.PyDict_SetItem),
            modules=id(sys.modules),
            main=id(name),
            mains=_pointers(mains),
        )
        abort = _ABORT(lambda rank, code, message: self._fail(rank, code, message.decode(errors="replace")))
        receive = _REPORT(lambda text: self._report.update(json.loads(text)))
        announce = _ANNOUNCE(files.warning_of_large(trace[1] if trace else ""))
        interface = _Interface(
            ensure=_address(ctypes.pythonapi.PyGILState_Ensure),
            release=_address(ctypes.pythonapi.PyGILState_Release),
            call=_address(ctypes.pythonapi.PyObject_CallNoArgs),
            hold=_address(ctypes.pythonapi.Py_IncRef),
            free=_address(ctypes.pythonapi.Py_DecRef),
            park=id(park),
            resume=_addresses(resumes),
            direct=direct,
            abort=_address(abort),
            report=_address(receive),
            announce=_address(announce),
        )
        self._library.weft_run(json.dumps(request).encode(), ctypes.byref(interface))
        blocked = [Blocked(rank, call, self._where(rank)) for rank, call in self._report.pop("blocked")]
        return Report(**self._report, blocked=blocked)

    def _where(self, rank: int) -> str:
        """File and line of the innermost frame of a rank's program that is no frame of weft's."""
        frame = self._ranks[rank].gr_frame
        own = os.path.dirname(__file__)
        while frame is not None and frame.f_code.co_filename.startswith(own):
            frame = frame.f_back
        return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def _addresses(objects: Sequence[object]) -> Any:
    """The addresses of objects, which must be kept as long as these are used."""
    return _pointers((ctypes.c_void_p * len(objects))(*map(id, objects)))


def _pointers(array: Any) -> Any:
    return ctypes.cast(array, ctypes.POINTER(ctypes.c_void_p))


def flush() -> None:
    """Write what programs have printed."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
