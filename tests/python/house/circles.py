"""Which files of a crate need each other in circles: a graph of files by the paths that they name.

Paths of `use` declarations and of expressions are followed to the file that they lead to; a name that a module has from
another module is followed there. Tests within a file do not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

Module = tuple[str, ...]

_COMMENT = re.compile(r"//[^\n]*")
_TESTS = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:pub )?mod \w+ *\{")
_ELSEWHERE = re.compile(r'#\[path = "([^"]+)"\]\s*(?:pub )?mod (\w+);')
_USE = re.compile(r"\buse\s+([^;]+);")
_PATH = re.compile(r"(?<![\w:])((?:crate|super|self)(?:::\w+)+)")


def circles(source: Path) -> list[list[Module]]:
    """Sets of files below a crate's `src` that reach each other, without those of a parent and its own children."""
    files = {_module(source, path): _without_tests(path.read_text()) for path in sorted(source.rglob("*.rs"))}
    for path in sorted(source.rglob("*.rs")):
        for elsewhere, name in _ELSEWHERE.findall(path.read_text()):
            files[(*_module(source, path), name)] = _without_tests((path.parent / elsewhere).read_text())
    graph = {module: set(_needs(module, files)) - {module} for module in files}
    return [found for found in _components(graph) if len(found) > 1 and not _is_family(found)]


def _module(source: Path, path: Path) -> Module:
    parts = path.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts


def _without_tests(text: str) -> str:
    text = _COMMENT.sub("", text)
    tests = _TESTS.search(text)
    return text[: tests.start()] if tests else text


def _is_family(modules: list[Module]) -> bool:
    parent = min(modules, key=len)
    return bool(parent) and all(module[: len(parent)] == parent for module in modules)


def _needs(module: Module, files: dict[Module, str]) -> Iterator[Module]:
    text = files[module]
    paths = [path for tree in _USE.findall(text) for path in _expanded(tree)]
    paths += [path.split("::") for path in _PATH.findall(_USE.sub("", text))]
    for path in paths:
        if path and path[0] in ("crate", "super", "self"):
            yield from _target(_absolute(module, path), files)


def _absolute(module: Module, path: list[str]) -> Module:
    base, rest = list(module), list(path)
    if rest[0] == "crate":
        return tuple(rest[1:])
    if rest[0] == "self":
        return (*module, *rest[1:])
    while rest and rest[0] == "super":
        base, rest = base[:-1], rest[1:]
    return (*base, *rest)


def _target(path: Module, files: dict[Module, str], depth: int = 0) -> Iterator[Module]:
    """The file that a path leads to: the deepest module of it, or where that has the name from."""
    for length in range(len(path), -1, -1):
        if path[:length] in files:
            break
    else:
        return
    module = path[:length]
    if length < len(path) and depth < 4:
        for tree in _USE.findall(files[module]):
            for used in _expanded(tree):
                if used and used[-1] == path[length]:
                    local = used if used[0] in ("crate", "super", "self") else ["self", *used]
                    further = _absolute(module, local)
                    if any(further[:end] in files for end in range(len(module) + 1, len(further) + 1)) or local == used:
                        yield from _target(further, files, depth + 1)
                        return
    yield module


def _expanded(tree: str) -> list[list[str]]:
    """`a::{b, c::d}` as the paths `a::b` and `a::c::d`."""
    tree = tree.strip()
    if "{" not in tree:
        return [[part.strip().split(" as ")[0] for part in tree.split("::")]]
    prefix, inner = tree.split("{", 1)
    first = [part.strip() for part in prefix.split("::") if part.strip()]
    return [[*first, *path] for part in _parts(inner[: inner.rfind("}")]) for path in _expanded(part)]


def _parts(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    if text[start:].strip():
        yield text[start:]


def _components(graph: dict[Module, set[Module]]) -> list[list[Module]]:
    """Strongly connected components (Tarjan 1972)."""
    index: dict[Module, int] = {}
    low: dict[Module, int] = defaultdict(int)
    stack: list[Module] = []
    found: list[list[Module]] = []

    def visit(node: Module) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = []
            while not component or component[-1] != node:
                component.append(stack.pop())
            found.append(sorted(component))

    for node in graph:
        if node not in index:
            visit(node)
    return found
