"""The reference of FGHC: the built-in operations from their catalogue, the rest in words."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.manual.markdown import code, table

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "crates" / "fghc" / "src" / "builtins.rs"
PROGRAM = ROOT / "programs" / "fghc" / "primes.fghc"

INTRODUCTION = """# FGHC

Flat GHC is a concurrent logic language; as KL1, it was the language of the Multi-PSI. A program is a set of clauses.
Goals are reduced in any order, as soon as the values that they wait for are known. Programs contain no explicit message
passing: a variable shared by two goals is the channel between them. This page lists the forms and operations that weft
supports; another page explains [what programs are charged on described machines](../fghc-machines.md).

```sh
weft fghc check programs/fghc/primes.fghc
weft fghc run programs/fghc/primes.fghc -n 2
weft fghc run programs/fghc/primes.fghc -n 2 --on multi-psi-v1 --stats table
```

## A program

```prolog
{program}
```

A clause is `Head :- Guard | Body.`; without a guard, the bar is omitted. A goal commits to a clause when its arguments
match the head and its guard holds, without binding any variable of the goal; until then it waits. After that the goals
of the body run concurrently.

| form | meaning |
|---|---|
| `:- module m.` and `:- public p/1.` | the name of the module, and the predicates that other modules may call |
| `X = Y` | unification; in a body it may bind |
| `X := Y + 1` | integer arithmetic; `X $:= Y + 1.0` in floating point |
| `X > Y`, `=<`, `=:=`, `=\\=` | comparisons in guards |
| `add(X, Y, Z)`, `modulo(X, Y, Z)`, `less_than(X, Y)`, … | the same by the names of KLIC |
| `io:outstream([print(X), nl])` | a stream to standard output; further modules are `unix`, `klicio` and `merge` |
| `otherwise.` | clauses after it are tried only if the goal can commit to none before it |
| `alternatively.` | clauses after it are tried after those before it |
| `Goal@node(N)` | run the goal on PE N, counted from 0 |
| `Goal@@P` | the same with the PE numbering of the Multi-PSI's programs, with `alloc(P)` |

`weft fghc check FILE` reports errors and suspicious code, with the line and the nearest name;
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
        "## Signs of arguments\n\n`+` waits until the argument is bound; `#` waits until it is bound as deeply as the "
        "operation looks; `-` is unified with a result; `?` is passed on as it is.\n"
    )
    for kind, entries in catalogues().items():
        title = _TITLES.get(kind, f"Operations: {kind}")
        rows = [
            (code(f"{name}({', '.join(signs)})") if signs else code(name), meaning) for name, signs, meaning in entries
        ]
        parts.append(f"## {title}\n\n{table(['operation', 'what it does'], rows)}")
    return "\n".join(parts)
