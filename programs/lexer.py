"""The tokens of a program's text, all at once: an automaton's states by a scan of compositions.

    python programs/lexer.py [--size 3000] [--machine here] [--seed 1]

A processor has a character, which maps each state of the automaton to another. Composing maps is associative, so that
a scan says in which state every character leaves it (Hillis and Steele, Comm. ACM 29, 1986). Checked with a regular
expression. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import re
import sys

import arguments
import numpy as np

from weft import pvar

BLANK, NAME, NUMBER, TEXT, ESCAPED, CLOSED, COMMENT, SYMBOL = STATES = range(8)
BITS = 3
PIECES = (
    *(' "a text"', ' "with \\" and # in it"', " # no (code) here\n", "\n", "  ", "(", ")", "((", ")", "+", "==", "\\"),
    *(" value", " x1", "_name", " 42", " 0x1F", "7", ' ""', '"', "#", "\\n"),
)
TOKEN = re.compile(
    r'(?P<comment>#[^\n]*)|(?P<text>"(?:\\.|[^"\\])*(?:"|\\?\Z))|(?P<name>[A-Za-z_]\w*)|(?P<number>\d\w*)|(?P<symbol>\S)',
    re.DOTALL | re.ASCII,
)
KINDS = {"name": NAME, "number": NUMBER, "text": TEXT, "comment": COMMENT, "symbol": SYMBOL}


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Pieces of a program, mostly such that quotes have an end."""
    often = np.array([3, 3, 2, 2, 4, 2, 2, 1, 2, 3, 2, 0.05, 5, 5, 3, 4, 3, 4, 1, 0.05, 0.2, 0.1])
    chosen = np.random.default_rng(seed).choice(len(PIECES), size, p=often / often.sum())
    return np.frombuffer("".join(PIECES[one] for one in chosen)[:size].encode(), np.uint8)


def maps() -> np.ndarray:
    """For each character the states that it leads to from all states, in one number."""
    into = np.full((256, len(STATES)), SYMBOL)
    for code in range(128):
        letter, digit = chr(code).isalpha() or chr(code) == "_", chr(code).isdigit()
        into[code] = NAME if letter else NUMBER if digit else BLANK if chr(code).isspace() else SYMBOL
        if letter or digit:
            into[code, [NAME, NUMBER]] = NAME, NUMBER
    into[ord('"')], into[ord("#")] = TEXT, COMMENT
    into[:, [TEXT, ESCAPED]], into[:, COMMENT] = TEXT, COMMENT
    into[ord('"'), TEXT], into[ord("\\"), TEXT], into[ord("\n"), COMMENT] = CLOSED, ESCAPED, BLANK
    return np.asarray(np.sum(into << BITS * np.array(STATES), axis=1), np.uint32)


def compose(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The map that does what both do, one after the other."""
    result = np.zeros_like(first)
    for state in STATES:
        between = first >> np.uint32(BITS * state) & np.uint32(7)
        result |= (second >> np.uint32(BITS) * between & np.uint32(7)) << np.uint32(BITS * state)
    return result


def solve(text: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where tokens begin, their kinds and lengths; how deep parentheses are nested, at most and in the end."""
    vp, characters = pvar.VPSet(len(text), machine=machine), pvar.VPSet(256, machine=machine)
    character = vp.array(text, copy=True)
    identity = sum(state << BITS * state for state in STATES)
    then = pvar.Combiner(compose, identity=identity, name="compose")
    state = (pvar.scan(pvar.get(characters.array(maps()), character), then) & 7).astype(np.int8)
    before = pvar.shift(state, -1, boundary=BLANK)
    goes_on = (state == before) & (state != SYMBOL)
    within = (before == TEXT) | (before == ESCAPED)
    begins = (state != BLANK) & ~goes_on & ~within
    number = pvar.scan(begins.astype(np.int32), "add") - 1
    tokens = pvar.VPSet(int(pvar.reduce(begins, "count")), machine=machine)
    with vp.where(begins):
        start, kind = pvar.send(vp.address(), number, vp=tokens), pvar.send(state, number, vp=tokens)
    with vp.where(state != BLANK):
        length = pvar.send(1, number, combine="add", vp=tokens)
    symbol = state == SYMBOL
    opens, closes = symbol & (character == ord("(")), symbol & (character == ord(")"))
    depth = pvar.scan(opens.astype(np.int32) - closes.astype(np.int32), "add")
    return start.numpy(), kind.numpy(), length.numpy(), np.array([max(0, depth.max()), depth[len(text) - 1]])


def expected(text: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same by a regular expression for all tokens."""
    tokens = list(TOKEN.finditer(text.tobytes().decode()))
    depth, depths = 0, [0]
    for token in tokens:
        if token.lastgroup == "symbol":
            depth += (token.group() == "(") - (token.group() == ")")
        depths.append(depth)
    kinds = [KINDS[str(token.lastgroup)] for token in tokens]
    lengths = [token.end() - token.start() for token in tokens]
    starts = [token.start() for token in tokens]
    return np.array(starts), np.array(kinds), np.array(lengths), np.array([max(depths), depth])


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "characters", "the text")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one character")
    text = problem(chosen.size, chosen.seed)
    answer = solve(text, chosen.machine)
    print(f"{len(answer[0])} tokens, {(answer[1] == NAME).sum()} of which are names; nested {answer[3][0]} deep")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(text), strict=True))
    return arguments.verdict(right, "tokens must be those of a regular expression")


if __name__ == "__main__":
    sys.exit(main())
