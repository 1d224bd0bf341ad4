"""Names that sources define: of Rust by a tolerant tokenizer, of Python from its syntax tree."""

from __future__ import annotations

import ast
import re

_NOISE = re.compile(
    r"//[^\n]*"
    r"|/\*.*?\*/"
    r'|b?r(?P<hashes>#*)".*?"(?P=hashes)'
    r'|b?"(?:\\.|[^"\\])*"'
    r"|b?'(?:\\[^']+|[^'\\])'",
    re.DOTALL,
)
_DEFINED = (
    re.compile(r"\b(?:fn|struct|enum|union|trait|type|mod|macro_rules!)\s+(\w+)"),
    re.compile(r"\b(?:const|static)\s+(?:mut\s+)?(\w+)\s*:"),
    # Fields and parameters.
    re.compile(r"(?:^|[{(,|])\s*(?:pub(?:\([^)]*\))?\s+|mut\s+|ref\s+)*(\w+)\s*:(?!:)", re.MULTILINE),
    # Variants, at the beginning of their lines.
    re.compile(r"^\s+([A-Z]\w*)\s*(?:\([^()]*\)|\{[^{}]*\})?(?:\s*=\s*[^,\n]+)?,$", re.MULTILINE),
)
_PATTERNS = (
    re.compile(r"\blet\s+(.+?)(?:=|;|\belse\b)", re.DOTALL),
    re.compile(r"\bfor\s+(.+?)\s+in\b"),
    re.compile(r"(?:[(,=]|\bmove)\s*\|([^|\n]*)\|"),
)
_BOUND = re.compile(r"(?<![\w:.'])([a-z_]\w*)\b(?!\s*(?:::|[({!]))")
_KEYWORDS = frozenset({"mut", "ref", "box", "self", "super", "crate", "dyn", "impl", "as", "_"})


def in_rust(text: str) -> set[str]:
    """Functions, types, modules, constants, fields, parameters, variants and bindings.

    Tolerant: fields of struct expressions and variants that are only used count too, which are named as they are
    defined.
    """
    code = _NOISE.sub(" ", text)
    names = {name for pattern in _DEFINED for name in pattern.findall(code)}
    for pattern in _PATTERNS:
        for bound in pattern.findall(code):
            # A type after a colon names nothing new.
            names.update(_BOUND.findall(re.sub(r":(?!:)[^,|)]*", "", bound)))
    return names - _KEYWORDS


def in_python(text: str) -> set[str]:
    """Functions, classes, parameters, and what is assigned to: variables, attributes, names of imports."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.alias) and node.asname:
            names.add(node.asname)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def snake(name: str) -> str:
    """An identifier in snake case, with an underscore before and after: `SendRoom` is `_send_room_`."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return f"_{split.lower().strip('_')}_"
