"""Mutations of inputs: of bytes, of lines and numbers in text, and of trees where a format is one."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Sequence
from typing import Any

MAX_BYTES = 1 << 18

NUMBERS = [
    "0", "-1", "1", "2", "3", "7", "255", "256", "65535", "65536", "4294967295", "4294967296", "9007199254740993",
    "9223372036854775807", "9223372036854775808", "18446744073709551615", "1000000000000", "16777216", "16777217",
    "1e308", "1e309", "-1e308", "5e-324", "0.1", "1e-12", "inf", "-inf", "nan", "NaN", "Infinity", "1_000", "0x10",
    "9" * 400, "9" * 5000, "1" + "0" * 30, "٣", "1,5", "",
]  # fmt: skip
"""Numbers that break readers: ends of integer types, what is not finite, and what is no number."""

TEXTS = [
    "", " ", "\x00", "\x1b[2J\x1b]0;x\x07", "\u202e", "\u2028", "\ufeff", "<!--", "</script><script>", "\\", '"', "'",
    "../..", "é" * 3, "\ud7ff", "x" * 100, "y" * 20000, "%s%n{0}", "[bold red]", "None", "true", "\r\n", "\t",
]  # fmt: skip
"""Texts that move terminals, end scripts, or are longer than a message may be."""

DEEP = ["[" * 100, "[" * 100_000, "(" * 5000, '{"a":' * 3000, "[[" * 500 + "]]" * 500, "a." * 2000]
"""Nesting deeper than a recursive reader goes."""

_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def mutated(text: bytes, random: random.Random, words: Sequence[str], others: Sequence[bytes]) -> bytes:
    """One input made of another by one to six mutations."""
    mutant = text
    tree = _tree(text) if random.random() < 0.6 else None
    if tree is not None:
        try:
            for _ in range(random.randint(1, 4)):
                tree = _changed(tree, random, words) if isinstance(tree, dict | list) else _value(random, words)
            mutant = json.dumps(tree, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
        except RecursionError:
            mutant = text
        if mutant is not text and random.random() < 0.8:
            return mutant[:MAX_BYTES]
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        mutant = random.choice(_OF_TEXT)(mutant, random, words, others)
    return mutant[:MAX_BYTES]


def _tree(text: bytes) -> Any:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict | list) else None


def _changed(tree: Any, random: random.Random, words: Sequence[str]) -> Any:
    """A tree with one node replaced, left out, repeated or nested."""
    tree = copy.deepcopy(tree)
    nodes: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack and len(nodes) < 5000:
        node = stack.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in keys:
            nodes.append((node, key))
            if isinstance(node[key], dict | list):
                stack.append(node[key])
    if not nodes:
        return _value(random, words)
    node, key = random.choice(nodes)
    choice = random.randrange(6)
    if choice == 0:
        del node[key]
    elif choice == 1 and isinstance(node, dict):
        node[random.choice([*words, "x", str(key) + "s"])] = node.pop(key)
    elif choice == 2 and isinstance(node, list):
        node[key:key] = [copy.deepcopy(node[key])] * random.choice((1, 2, 100))
    elif choice == 3:
        other, there = random.choice(nodes)
        node[key] = copy.deepcopy(other[there]) if len(str(other)) < 20000 else None
    else:
        node[key] = _value(random, words)
    return tree


def _value(random: random.Random, words: Sequence[str]) -> Any:
    simple: list[Any] = [None, True, False, [], {}, "", 0, -1, 1, 2.5, 1e308, -1e-300, float("inf"), float("nan")]
    simple += [2**31, 2**32, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**30]
    kind = random.randrange(6)
    if kind == 0:
        return random.choice(TEXTS)
    if kind == 1 and words:
        return random.choice(words)
    if kind == 2:
        nested: Any = random.choice(simple)
        for _ in range(random.choice((1, 2, 50, 400))):
            nested = [nested] if random.random() < 0.5 else {"a": nested}
        return nested
    return random.choice(simple)


def _flip(text: bytes, random: random.Random, words: Sequence[str], others: Sequence[bytes]) -> bytes:
    flipped = bytearray(text or b"\0")
    for _ in range(random.choice((1, 1, 2, 8))):
        flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
    return bytes(flipped)


def _cut(text: bytes, random: random.Random, words: Sequence[str], others: Sequence[bytes]) -> bytes:
    begin = random.randrange(len(text) + 1)
    return text[:begin] + text[begin + random.choice((1, 2, 8, 64, len(text))) :]


def _repeat(text: bytes, random: random.Random, words: Sequence[str], others: Sequence[bytes]) -> bytes:
    begin = random.randrange(len(text) + 1)
    piece = text[begin : begin + random.choice((1, 4, 40))]
    return text[:begin] + piece * random.choice((2, 10, 1000)) + text[begin:]


def _insert(text: bytes, random: random.Random, words: Sequence[str], others: Sequence[bytes]) -> bytes:
    token = random.choice([*NUMBERS, *TEXTS, *words, *words, random.choice(DEEP)])
    begin = random.randrange(len(text) + 1)
    return text[:begin] + token.encode("utf-8", "surrogatepass") + text[begin:]


def _number(text: bytes, random: random.Random, words: Sequence[str], others: Sequence[bytes]) -> bytes:
    numbers = list(_NUMBER.finditer(text[:100_000]))
    if not numbers:
        return _insert(text, random, words, others)
    number = random.choice(numbers)
    return text[: number.start()] + random.choice(NUMBERS).encode() + text[number.end() :]


def _word(text: bytes, random: random.Random, words: Sequence[str], others: Sequence[bytes]) -> bytes:
    tokens = list(re.finditer(rb"\w+|\"[^\"\n]*\"", text[:100_000]))
    if not tokens:
        return _insert(text, random, words, others)
    old = random.choice(tokens)
    new = random.choice([*words, *TEXTS, *NUMBERS]).encode("utf-8", "surrogatepass")
    return text[: old.start()] + new + text[old.end() :]


def _lines(text: bytes, random: random.Random, words: Sequence[str], others: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    choice, at = random.randrange(4), random.randrange(len(lines))
    if choice == 0:
        del lines[at]
    elif choice == 1:
        lines[at:at] = [lines[at]] * random.choice((1, 2, 200))
    elif choice == 2:
        other = random.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines.insert(at, random.choice([*words, *TEXTS, *NUMBERS]).encode("utf-8", "surrogatepass"))
    return b"\n".join(lines)


def _splice(text: bytes, random: random.Random, words: Sequence[str], others: Sequence[bytes]) -> bytes:
    other = random.choice(others) if others else text
    return text[: random.randrange(len(text) + 1)] + other[random.randrange(len(other) + 1) :]


_OF_TEXT = [_flip, _cut, _repeat, _insert, _number, _number, _number, _word, _word, _lines, _splice]
