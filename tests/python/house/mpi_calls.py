"""Functions of MPI that programs in virtual time have: docs/calls-of-mpi.md. Running this file writes the page."""

from __future__ import annotations

import re

from floors import ROOT

CRATE = ROOT / "crates" / "virtual-mpi" / "src"
PAGE = ROOT / "docs" / "calls-of-mpi.md"


def functions() -> dict[str, bool]:
    """Every function of the table, and whether it is there; as crates/virtual-mpi/build.rs decides."""
    text = "\n".join(file.read_text() for file in sorted((CRATE / "api").glob("*.rs")))
    there = set(re.findall(r"^pub fn (\w+)\(", text, re.MULTILINE))
    for plan in re.findall(r"^pub\(crate\) fn (\w+)_plan\(", text, re.MULTILINE):
        there |= {plan, f"i{plan}", f"{plan}_init"}
    names = re.findall(r"^(\w+)\(", (CRATE / "functions.txt").read_text(), re.MULTILINE)
    conversions = ("_c2f", "_f2c", "_fromint", "_toint")
    return {name: name.lower() in there or name.endswith(conversions) for name in names}


def page() -> str:
    """The page."""
    known = functions()
    there = [name for name, is_there in known.items() if is_there]
    missing = [name for name, is_there in known.items() if not is_there]
    return (
        "# Calls of MPI in virtual time\n\n"
        "Made from the table of functions by `tests/python/house/mpi_calls.py`. Functions with large counts (`_c`)\n"
        "and of the profiling interface (`PMPI_`) are there where their function is. What is not supported raises\n"
        "`MPI_ERR_UNSUPPORTED_OPERATION` and names itself.\n\n"
        f"## There ({len(there)})\n\n{_list(there)}\n## Not supported ({len(missing)})\n\n{_list(missing)}"
    )


def _list(names: list[str]) -> str:
    return "".join(f"- `MPI_{name}`\n" for name in names)


if __name__ == "__main__":
    PAGE.write_text(page())
