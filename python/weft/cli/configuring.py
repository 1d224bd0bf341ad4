"""The command that tells compilers where weft is."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from weft.cli import teaching

_EXAMPLES = """
cc program.c $(weft config --cflags --libs)  # a program in C
c++ -std=c++17 program.cpp $(weft config --cflags --libs)  # in C++, with weft.hpp
gfortran $(weft config --fflags) program.f90 $(weft config --libs)  # in Fortran, with the module weft
"""


def add_to(app: typer.Typer) -> None:
    """Add it to the command line."""
    app.command("config", cls=teaching.command(_EXAMPLES))(config)


def config(
    cflags: Annotated[bool, typer.Option("--cflags", help="Compiler flags that find weft.h and weft.hpp.")] = False,
    fflags: Annotated[
        bool, typer.Option("--fflags", help="The source of the Fortran module; compile it before the program.")
    ] = False,
    libs: Annotated[
        bool, typer.Option("--libs", help="Linker flags that find the library, also when the program runs.")
    ] = False,
) -> None:
    """Print the compiler flags for C, C++ and Fortran programs that use weft's shift plans and halo exchanges.

    Without an option it prints where the header and the library are, on a line each.
    """
    from weft import capi

    if not (cflags or fflags or libs):
        typer.echo(capi.get_include())
        typer.echo(capi.get_lib())
        return
    words = [*(capi.cflags() if cflags else []), *(capi.fflags() if fflags else []), *(capi.libs() if libs else [])]
    typer.echo(shlex.join(words))
