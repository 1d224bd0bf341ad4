"""What a benchmark declares: its name, what it is about, what it needs, how long it takes."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from benches.recording import Report


class SkippedError(Exception):
    """A benchmark cannot run here; the message says what it lacks."""


@dataclass(frozen=True)
class Need:
    """Something that a benchmark uses besides weft.

    Attributes
    ----------
    name
        A package of Python by its import, or a program in PATH.
    kind
        Which of the two.
    required
        Whether the benchmark is skipped without it; else only a baseline is left out.
    hint
        What installs it, where its name does not say so.
    """

    name: str
    kind: Literal["package", "program"]
    required: bool = False
    hint: str = ""

    @property
    def is_there(self) -> bool:
        """Whether this machine has it."""
        if self.kind == "program":
            return shutil.which(self.name) is not None
        return importlib.util.find_spec(self.name) is not None

    @property
    def missing(self) -> str:
        """What a message says where it is missing."""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.name} is not installed{hint}"


@dataclass(frozen=True)
class Benchmark:
    """One benchmark or campaign.

    Attributes
    ----------
    name
        As the command line and the records have it.
    summary
        One line.
    duration
        How long it takes with its default options, in words.
    run
        Measures; its figures, samples and notes go into the report. The module's docstring is the help.
    options
        Adds options of its own to a parser.
    check
        Refuses options that make no sense, with the parser's `error`.
    needs
        What it uses besides weft.
    """

    name: str
    summary: str
    duration: str
    run: Callable[[argparse.Namespace, Report], None]
    options: Callable[[argparse.ArgumentParser], None]
    check: Callable[[argparse.ArgumentParser, argparse.Namespace], None] | None = None
    needs: tuple[Need, ...] = ()

    @property
    def module(self) -> str:
        """The module that has it."""
        return self.run.__module__

    def parser(self) -> argparse.ArgumentParser:
        """The parser of its options and of those that all benchmarks have."""
        parser = argparse.ArgumentParser(
            prog=f"python -m benches {self.name}",
            description=sys.modules[self.module].__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.options(parser)
        common = parser.add_argument_group("record")
        common.add_argument(
            "--record", metavar="FILE", help=f"where to write (default benches/records/DATE-{self.name}.json)"
        )
        common.add_argument("--no-record", action="store_true", help="print only")
        return parser

    def main(self, words: Sequence[str]) -> int:
        """Run it with options; 1 where a figure misses its target or the benchmark calls itself failed."""
        parser = self.parser()
        chosen = parser.parse_args(words)
        if self.check is not None:
            self.check(parser, chosen)
        absent = [need for need in self.needs if not need.is_there]
        if required := [need.missing for need in absent if need.required]:
            print(f"skipped: {self.name}: {'; '.join(required)}", file=sys.stderr)
            return 0
        for need in absent:
            print(f"left out: {need.missing}", file=sys.stderr)
        report = Report(self.name, ["python", "-m", "benches", self.name, *words])
        try:
            self.run(chosen, report)
        except SkippedError as skipped:
            print(f"skipped: {self.name}: {skipped}", file=sys.stderr)
            return 0
        if not chosen.no_record:
            print(f"record: {report.write(chosen.record)}")
        return int(report.failed)


@functools.cache
def has_package(name: str) -> bool:
    """Whether a package of Python is installed; baselines that are not are left out."""
    return importlib.util.find_spec(name) is not None


def rounds_option(parser: argparse.ArgumentParser, default: int) -> None:
    """The option `--rounds`, which most benchmarks have."""
    parser.add_argument("--rounds", type=positive, default=default, help=f"rounds (default {default})")


def awkward_option(parser: argparse.ArgumentParser) -> None:
    """The option `--awkward` of benchmarks of arrays."""
    parser.add_argument(
        "--awkward", action="store_true", help="also extents n-1, n+1 and 2^k+1, the largest such below n-1"
    )


def positive(text: str) -> int:
    """A positive integer of a command line."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected an integer of at least 1, found {number}")
    return number


def numbers(text: str) -> list[int]:
    """Positive integers, comma-separated."""
    return [positive(part) for part in text.split(",") if part]
