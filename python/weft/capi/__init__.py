"""The interface for programs in C, C++ and Fortran: where its header, module and library are.

>>> import weft, pathlib
>>> sorted(path.name for path in pathlib.Path(weft.get_include()).iterdir())
['weft.f90', 'weft.h', 'weft.hpp']

The header documents the calls; `weft config --cflags --libs` prints what a compiler is given.
"""

from __future__ import annotations

from pathlib import Path

from weft._core import RunError

_HERE = Path(__file__).resolve().parent

LIBRARY = "libweft.so"
"""The shared library's name."""


def get_include() -> str:
    """The folder with `weft.h`, `weft.hpp` (C++) and `weft.f90` (a Fortran module, to be compiled with the program).

    >>> import weft, pathlib
    >>> (pathlib.Path(weft.get_include()) / "weft.h").is_file()
    True
    """
    return str(_HERE / "include")


def get_lib() -> str:
    """The folder with the shared library.

    Raises
    ------
    RunError
        If this installation has none.

    Examples
    --------
    >>> import weft, pathlib
    >>> (pathlib.Path(weft.get_lib()) / "libweft.so").is_file()
    True
    """
    folder = _HERE / "lib"
    if not (folder / LIBRARY).is_file():
        raise RunError(f"this installation of weft has no {LIBRARY}: build it in a checkout with make setup")
    return str(folder)


def cflags() -> list[str]:
    """What a C or C++ compiler is given to find the header."""
    return [f"-I{get_include()}"]


def fflags() -> list[str]:
    """What a Fortran compiler is given: the module's source, before the program's.

    An object of it is not delivered, as each compiler has a form of its own for modules.
    """
    return [str(Path(get_include()) / "weft.f90")]


def libs() -> list[str]:
    """What a linker is given, so that the program finds the library where it is now."""
    folder = get_lib()
    return [f"-L{folder}", "-lweft", f"-Wl,-rpath,{folder}"]


__all__ = ["LIBRARY", "cflags", "fflags", "get_include", "get_lib", "libs"]
