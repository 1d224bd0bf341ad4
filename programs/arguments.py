"""What programs with parallel variables take on the command line alike, and how they end."""

from __future__ import annotations

import argparse


def parser(description: str, size: int, of: str, seed: str | None = None) -> argparse.ArgumentParser:
    """A parser of --size (of what), --machine and, where `seed` says of what, --seed."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--size", type=int, default=size, help=f"{of} (default {size})")
    made.add_argument("--machine", default="here", help="whose virtual processors (default here)")
    if seed is not None:
        made.add_argument("--seed", type=int, default=1, help=f"seed of {seed} (default 1)")
    return made


def verdict(passed: bool, wanted: str) -> int:
    """Says whether a check passed, or what it wanted; the code that the program ends with."""
    print("passed" if passed else f"FAILED: {wanted}")
    return 0 if passed else 1
