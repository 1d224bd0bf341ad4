"""The reference of FGHC: the built-in operations from their catalogue, the rest in words."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.manual.markdown import code, table

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "crates" / "fghc" / "src" / "builtins.rs"
PROGRAM = ROOT / "programs" / "fghc" / "primes.fghc"

INTRODUCTION = """# FGHC

Flat GHC is a concurrent logic language, the one in which the Multi-PSI was programmed (as KL1). A program is a set of
clauses; goals are reduced in any order, as soon as what they wait for is known. Message passing is not written: a
variable that two goals share is the channel between them. This page lists what the language has here; [what programs
are charged on described machines](../fghc-machines.md) is a page of its own.

```sh
weft fghc check programs/fghc/primes.fghc
weft fghc run programs/fghc/primes.fghc -n 2
weft fghc run programs/fghc/primes.fghc -n 2 --on multi-psi-v1 --stats table
```

## A program

```prolog
{program}
```

A clause is `Head :- Guard | Body.`; without a guard the bar is left out. A goal commits to a clause when its arguments
match the head and its guard holds, without binding any variable of the goal; until then it waits. After that the goals
of the body run concurrently.

| form | meaning |
|---|---|
| `:- module m.` and `:- public p/1.` | the name of the module, and what others may call |
| `X = Y` | unification; in a body it may bind |
| `X := Y + 1` | integer arithmetic; `X $:= Y + 1.0` in floating point |
| `X > Y`, `=<`, `=:=`, `=\\=` | comparisons in guards |
| `otherwise.` | clauses after it are tried when none before can be committed to |
| `alternatively.` | clauses after it are tried after those before it |
| `Goal@node(N)` | run the goal on PE N, counted from 0 |
| `Goal@@P` | the same as the Multi-PSI's programs number PEs, with `alloc(P)` |

`weft fghc check FILE` finds what is wrong and what is suspicious, with the line and the nearest name;
`weft fghc explain FILE` shows how the engine sees the program: where goals are dispatched, and where they wait.

"""


def catalogues() -> dict[str, list[tuple[str, str, str]]]:
    """The catalogues of operations, each entry its name, the signs of its arguments, and what it does."""
    text = CATALOGUE.read_text()
    found = {}
    for block in re.finditer(r"^catalogue! \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        kind = re.search(r"^ *(\w+);$", block[1], re.MULTILINE)
        entries = re.findall(
            r'^ *\w+ = "((?:[^"\\]|\\.)+)"\s+b"([^"]*)"\s+"((?:[^"\\]|\\.)*)",$', block[1], re.MULTILINE
        )
        if kind:
            found[kind[1]] = [(name.replace("\\\\", "\\"), signs, text) for name, signs, text in entries]
    return found


_TITLES = {"GuardBuiltin": "Operations of guards", "BodyBuiltin": "Operations of bodies"}


def page() -> str:
    """The page."""
    parts = [INTRODUCTION.replace("{program}", PROGRAM.read_text().strip())]
    parts.append(
        "## Signs of arguments\n\n`+` waits until the argument is bound; `#` waits until it is bound as far as the "
        "operation looks; `-` is unified with a result; `?` is passed on as it is.\n"
    )
    for kind, entries in catalogues().items():
        title = _TITLES.get(kind, f"Operations: {kind}")
        rows = [
            (code(f"{name}({', '.join(signs)})") if signs else code(name), meaning) for name, signs, meaning in entries
        ]
        parts.append(f"## {title}\n\n{table(['operation', 'what it does'], rows)}")
    return "\n".join(parts)
