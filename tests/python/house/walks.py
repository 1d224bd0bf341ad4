"""The walks of docs/ARCHITECTURE.md: tables of steps, each a function, the step that calls it, and what it does."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from floors import PAGE, ROOT

EXTENSION = ROOT / "crates" / "weft-py" / "src"
PACKAGE = ROOT / "python" / "weft"

_WALK = re.compile(r"<!-- walk: (?P<name>\w+) -->\n(?P<rows>(?:\|.*\n)+)")
_ROW = re.compile(
    r"\| (?P<number>\d+) \| `(?P<path>[^`]+)` \| `(?P<function>[^`]+)` \| (?P<caller>\d*) \| (?P<about>.+?) \|"
)


@dataclass(frozen=True)
class Step:
    """One line of a walk."""

    number: int
    path: Path
    function: str
    """Name, or `Type::name` where the name alone says too little."""
    caller: int | None
    """The number of the step that calls this one; None where the reader's own program or command does."""

    @property
    def name(self) -> str:
        return self.function.rpartition("::")[2]

    @property
    def python_name(self) -> str:
        """What Python calls a function of the extension module."""
        return "__new__" if self.name == "new" else self.name

    @property
    def is_python(self) -> bool:
        return self.path.suffix == ".py"

    @property
    def is_extension(self) -> bool:
        return EXTENSION in self.path.parents

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}: {self.function}"


def walks(page: str) -> dict[str, list[Step]]:
    """The steps of every walk of a page.

    Raises
    ------
    ValueError
        If a line of a walk is no step, or its number is not that of its place.
    """
    found = {}
    for walk in _WALK.finditer(page):
        lines = walk["rows"].splitlines()[2:]
        steps = []
        for number, line in enumerate(lines, 1):
            row = _ROW.fullmatch(line)
            if row is None or int(row["number"]) != number:
                raise ValueError(f"the walk {walk['name']}: no step {number}: {line}")
            caller = int(row["caller"]) if row["caller"] else None
            steps.append(Step(number, ROOT / row["path"], row["function"], caller))
        found[walk["name"]] = steps
    return found


def read_walks() -> dict[str, list[Step]]:
    """The walks of the architecture page."""
    return walks(PAGE.read_text())


def definitions(step: Step) -> list[str]:
    """The source of every function of this name in the step's file, with its signature."""
    text = step.path.read_text()
    if step.is_python:
        nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
        return [ast.get_source_segment(text, node) or "" for node in nodes if node.name == step.name]
    return rust_functions(text, step.name)


def rust_functions(text: str, name: str) -> list[str]:
    """The source of every function of this name, without comments: from `fn` to the brace that ends it.

    A function ends at a closing brace with the indentation of its first line, as rustfmt writes it.
    """
    code = re.sub(r"//[^\n]*", "", text)
    pattern = re.compile(
        rf"^(?P<indent>[ ]*)(?:pub(?:\([^)]*\))? )?(?:async |const |unsafe )*fn {name}\b(?:\[[^\]]*\]|[^{{;\[])*"
        r"(?:;$|\{[^\n]*\}$|\{.*?^(?P=indent)\})",
        re.MULTILINE | re.DOTALL,
    )
    return [found.group(0) for found in pattern.finditer(code)]


def calls(body: str, step: Step) -> bool:
    """Whether the source of a function calls the function of a step, by its name; a method also by its receiver."""
    name = re.escape(step.python_name if step.is_extension and "def " in body else step.name)
    owner = step.function.rpartition("::")[0]
    generic = r"(?:::<[^>]*>)?\("
    if owner:
        return re.search(rf"\b{owner}(?:::<[^>]*>)?::{name}{generic}|\.{name}{generic}", body) is not None
    # The function's own signature is no call.
    return re.search(rf"(?<!fn )(?<!def )\b{name}{generic}", body) is not None
