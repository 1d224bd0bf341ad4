"""What each rank has for itself in one interpreter: its main module, modules beside its script, random numbers."""

from __future__ import annotations

import ctypes
import importlib
import importlib.abc
import importlib.machinery
import os
import random
import site
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import weft
from weft.hosting.ending import own_beginning, own_end

if TYPE_CHECKING:
    from weft.hosting.loops import Loops

__all__ = ["Modules"]


_NONE = -1
"""The current rank before there is one."""


class InMemory(NamedTuple):
    """State of `Modules` at addresses that stay: the library of MPI reads it, and sets the current rank."""

    differ_in_main: ctypes.c_bool
    current: ctypes.c_int64
    mains: ctypes.Array[ctypes.c_void_p]


class Modules(importlib.abc.MetaPathFinder):
    """Modules of the program, of which every rank has its own; packages of the environment are shared.

    Parameters
    ----------
    folder
        Where the script lies: what is imported from there is each rank's own, but for an environment that lies there.
    ranks
        How many ranks there are.
    """

    def __init__(self, folder: Path, ranks: int) -> None:
        self._folder = os.path.realpath(folder)
        # An environment often lies in the folder of the program that it is for. One around the folder does not count.
        self._shared = [path for path in _environment() if _is_within(path, self._folder) and path != self._folder]
        self._own: list[dict[str, ModuleType]] = [{} for _ in range(ranks)]
        self._mains: list[ModuleType] = [sys.modules["__main__"]] * ranks
        self._current = ctypes.c_int64(_NONE)
        self._names: set[str] = set()
        self._has_numpy = self._has_mpi4py = False
        self._loops: Loops | None = None
        self._differ_in_main = ctypes.c_bool(False)
        self._main_addresses = (ctypes.c_void_p * ranks)(*map(id, self._mains))

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Note which modules are the program's own: those in the script's folder, and mpi4py's that keep state."""
        # The module may be one of those that ranks differ in, or numpy, which is divided when it is there.
        self._differ_in_main.value = False
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None:
            return None
        if self.is_beside(spec.origin) or name == _STATEFUL or name.startswith(f"{_STATEFUL}."):
            self._names.add(name)
        return None

    def is_beside(self, origin: str) -> bool:
        """Whether a file lies in the script's folder, and in no environment there."""
        path = os.path.realpath(origin)
        return _is_within(path, self._folder) and not any(_is_within(path, shared) for shared in self._shared)

    def add_main(self, rank: int, main: ModuleType) -> None:
        """Set the main module of a rank."""
        self._mains[rank] = main
        self._main_addresses[rank] = id(main)

    def enter(self, rank: int) -> None:
        """Put the modules of a rank into the place of those of the rank before."""
        before = self.current
        if before == rank:
            return
        has_numpy = "numpy" in sys.modules
        if not self._has_numpy and has_numpy:
            self._divide_numpy()
        if not self._has_mpi4py:
            self._has_mpi4py = own_end()
            if self._has_mpi4py:
                own_beginning()
        if self._names:
            self._exchange(before, rank)
        if self._loops is None and "asyncio.events" in sys.modules:
            from weft.hosting.loops import Loops

            self._loops = Loops()
        if self._loops is not None:
            self._loops.exchange(before, rank)
        self._current.value = rank
        sys.modules["__main__"] = self._mains[rank]
        differ_in_main = self._has_mpi4py and not self._names and has_numpy == self._has_numpy
        self._differ_in_main.value = differ_in_main and self._loops is None

    def _exchange(self, before: int | None, rank: int) -> None:
        """Take the modules of one rank out, and put those of another in."""
        modules = sys.modules
        if before is not None:
            own = self._own[before]
            for name in self._names & modules.keys():
                own[name] = modules.pop(name)
        modules.update(self._own[rank])

    @property
    def current(self) -> int | None:
        """The rank that runs."""
        return None if self._current.value == _NONE else self._current.value

    @property
    def in_memory(self) -> InMemory:
        """What the library needs to do what `enter` does where ranks differ in their main module alone."""
        return InMemory(self._differ_in_main, self._current, self._main_addresses)

    def install(self) -> None:
        """Begin to note imports, and give each rank random numbers of its own."""
        sys.meta_path.insert(0, self)
        _divide(random, random.Random, self._rank)

    def _rank(self) -> int:
        return self.current or 0

    def _divide_numpy(self) -> None:
        """Give each rank a generator of numpy's own, once a rank has loaded it."""
        # It is loaded where it is first asked for, which may be too late to divide it.
        numpy_random: Any = importlib.import_module("numpy.random")
        self._has_numpy = True
        _divide(numpy_random, numpy_random.RandomState, self._rank, _PLAIN)


def _environment() -> list[str]:
    """Folders of the modules that all ranks share: Python's own, those of installed packages, and weft."""
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages(), *weft.__path__]
    return [os.path.realpath(folder) for folder in folders]


def _is_within(path: str, folder: str) -> bool:
    """Whether a path is that of a folder or of something in it."""
    return path == folder or path.startswith(os.path.join(folder, ""))


_STATEFUL = "mpi4py.util"
"""A package whose modules programs change, as if they were theirs alone: sizes of messages, how objects are pickled."""

_PLAIN = {"seed": "seed", "ranf": "random_sample", "sample": "random_sample"}
"""Functions of `numpy.random` that are no methods of its generator, and the methods that they call."""


def _divide(
    module: Any, kind: Callable[[], Any], rank: Callable[[], int], plain: Mapping[str, str] | None = None
) -> None:
    """Replace a module's functions, which share one generator, by ones that take the generator of their rank."""
    shared = next(
        function.__self__
        for function in vars(module).values()
        if isinstance(getattr(function, "__self__", None), kind)  # type: ignore[arg-type]
    )
    # Functions that rank 0 has imported by name before this have the shared one: it is rank 0's.
    generators: dict[int, Any] = {0: shared}

    def generator() -> Any:
        number = rank()
        if number not in generators:
            generators[number] = kind()
        return generators[number]

    def bound(name: str) -> Callable[..., Any]:
        def function(*arguments: Any, **named: Any) -> Any:
            return getattr(generator(), name)(*arguments, **named)

        function.__name__ = name
        return function

    for name, function in list(vars(module).items()):
        if getattr(function, "__self__", None) is shared:
            setattr(module, name, bound(function.__name__))
    for name, method in (plain or {}).items():
        setattr(module, name, bound(method))
