"""The reference of the Python packages: which names each page documents; mkdocstrings writes the docstrings."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

from scripts.manual.markdown import code, fenced, table

INTRODUCTION = """# Python

The names that `import weft` provides, and the packages below it. Names are imported when they are first used, so the
import itself is fast. Every description states shapes, units and errors, and has an example that runs. Times are in
seconds and lengths in bytes everywhere.

"""

_CORE = "weft._core"
_GATHERING = ("weft.arrays",)
"""Modules whose names are all of other packages, which document them."""


@functools.cache
def packages() -> dict[str, list[str]]:
    """The packages that have a page, each with the names that it offers; the extension module counts as one."""
    import weft

    found: dict[str, list[str]] = {}
    for module in pkgutil.iter_modules(weft.__path__, "weft."):
        if (module.ispkg or module.name in _GATHERING) and (
            names := getattr(importlib.import_module(module.name), "__all__", None)
        ):
            found[module.name] = sorted(names, key=str.lower)
    for name in weft.__all__:
        if not name.startswith("_") and not isinstance(getattr(weft, name), ModuleType):
            names = found.setdefault(home(name), [])
            if name not in names:
                names.append(name)
    return {name: found[name] for name in sorted(found)}


def home(name: str) -> str:
    """The package that a name of `weft` is documented with."""
    import weft

    module = str(getattr(weft, name).__module__)
    # Classes of the extension module call themselves by their public name.
    return _CORE if module in ("weft", "builtins") or module.startswith(_CORE) else ".".join(module.split(".")[:2])


def file_of(package: str) -> str:
    """The page of a package, in the folder of all of them."""
    return f"{package.removeprefix('weft.').strip('_')}.md"


def value_of(package: str, name: str) -> Any:
    """What a package offers by a name; a function may be called as the module that it is in."""
    import weft

    offered = name in weft.__all__ and home(name) == package
    return getattr(weft, name) if offered else getattr(importlib.import_module(package), name)


def identifier(package: str, name: str) -> str:
    """Where a name is defined, as mkdocstrings finds it without following imports."""
    value = value_of(package, name)
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if package == _CORE:
        return f"{_CORE}.{name}"
    if isinstance(value, ModuleType) or not isinstance(module, str) or not module.startswith("weft"):
        return f"{package}.{name}"
    return f"{module}.{qualified}" if qualified else f"{package}.{name}"


def public(package: str, name: str) -> str:
    """What someone types for a name."""
    import weft

    return f"weft.{name}" if name in weft.__all__ else f"{package}.{name}"


def page() -> str:
    """The overview: every name of `weft`, and the packages."""
    import weft

    rows = []
    for name in sorted(set(weft.__all__) - {"__version__"}, key=str.lower):
        value = getattr(weft, name)
        package = value.__name__ if isinstance(value, ModuleType) else home(name)
        anchor = "" if isinstance(value, ModuleType) else f"#{identifier(package, name)}"
        rows.append((f"[`weft.{name}`]({file_of(package)}{anchor})", first_sentence(value)))
    listed = [(f"[`{name}`]({file_of(name)})", first_sentence(module)) for name in packages()
              if (module := importlib.import_module(name)) and name != _CORE]  # fmt: skip
    return INTRODUCTION + table(["name", "what it is"], rows) + "\n## Packages\n\n" + table(["package", "for"], listed)


def first_sentence(value: Any) -> str:
    """The first paragraph of a docstring."""
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def pages() -> dict[str, str]:
    """The overview and the page of every package, by their files."""
    return {
        "index.md": page(),
        **{file_of(package): package_page(package, names) for package, names in packages().items()},
    }


def gathered(package: str, name: str) -> tuple[str, str]:
    """A row of a module whose names are of other packages: a link to where the name is documented."""
    value = value_of(package, name)
    place = f"{value.__module__}.{value.__qualname__}"
    page = file_of(".".join(value.__module__.split(".")[:2]))
    return f"[`{package}.{name}`]({page}#{place})", first_sentence(value)


def package_page(package: str, names: list[str]) -> str:
    """One page: what the package is for, and the names that it offers."""
    module = importlib.import_module(package)
    title = "Machines, schedules, errors" if package == _CORE else f"`{package}`"
    text = (
        "Classes of the extension module; they are imported from `weft`."
        if package == _CORE
        else fenced(inspect.getdoc(module) or "")
    )
    parts = [f"# {title}\n\n{text}\n"]
    if package in _GATHERING:
        return "\n".join([*parts, table(["name", "what it is"], [gathered(package, name) for name in names])])
    for name in names:
        if isinstance(value_of(package, name), ModuleType):
            continue
        parts.append(
            f"::: {identifier(package, name)}\n    options:\n      heading: {code(public(package, name))[1:-1]}\n"
        )
    return "\n".join(parts)
