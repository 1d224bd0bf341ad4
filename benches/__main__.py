"""The command line: lists the benchmarks, or runs one."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence

USAGE = "python -m benches [NAME [OPTION]…], from the root of the repository; NAME --help shows the options of one"


def main(words: Sequence[str]) -> int:
    """List the benchmarks, or run the one that the first word names; the exit code."""
    from benches.catalogue import benchmarks, listing

    if not words or words[0] in ("-h", "--help"):
        print(f"{USAGE}\n\n{listing()}")
        return 0
    name, *options = words
    if name not in benchmarks():
        near = difflib.get_close_matches(name, benchmarks(), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        print(f"error: there is no benchmark {name!r}{hint} `python -m benches` lists them", file=sys.stderr)
        return 2
    return benchmarks()[name].main(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
