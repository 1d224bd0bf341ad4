"""Blocks of code on pages, and how they are run: in their order, in one folder, as a reader would who follows the page.

A block of `sh` or `console` is run line by line in a shell, one of `python` in one interpreter for the page. One with a
title (```` ```toml title="lab.toml" ````) is written to the file of that name. In the line before a block stands, where
it needs saying:

- `<!-- not run: REASON -->`: the block is shown only;
- `<!-- fails: 2 -->`: its last command ends with this exit code;
- `<!-- run with: --budget 0 -->`: what is added to each command that measures, so that a test is short.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from floors import ROOT

DOCS = ROOT / "docs"

_BLOCK = re.compile(
    r"(?:^[ ]*<!-- (?P<what>not run|fails|run with): (?P<how>.*?) -->\n\n?)?"
    r"^(?P<margin>[ ]*)```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^[ ]*```$",
    re.MULTILINE | re.DOTALL,
)
SHELL, PYTHON = ("sh", "console"), "python"
MEASURES = ("weft measure ", "weft suite", "weft study", "weft calibrate")
"""How commands begin that take as long as they are given."""


@dataclass(frozen=True)
class Block:
    """One block: its language, text, title and what the line before it says."""

    language: str
    text: str
    line: int
    title: str = ""
    why_not: str = ""
    exit_code: int = 0
    more: str = ""

    @property
    def is_run(self) -> bool:
        return not self.why_not and (bool(self.title) or self.language in (*SHELL, PYTHON))

    def commands(self) -> list[str]:
        """The commands of a shell block, without prompts, output and comments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [stripped for line in lines if (stripped := re.sub(r"(^|\s+)#\s.*$", "", line).strip())]


def blocks(text: str) -> list[Block]:
    """All blocks of a page's text, in their order."""
    found = []
    for match in _BLOCK.finditer(text):
        margin = len(match["margin"])
        inner = "".join(line[margin:] if line.strip() else line for line in match["text"].splitlines(keepends=True))
        what, how = match["what"], match["how"] or ""
        found.append(
            Block(
                match["language"],
                inner,
                text.count("\n", 0, match.start("language")) + 1,
                match["title"] or "",
                why_not=how if what == "not run" else "",
                exit_code=int(how) if what == "fails" else 0,
                more=how if what == "run with" else "",
            )
        )
    return found


def run_command(command: str, block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a shell, with this environment's programs first."""
    words = f"{command} {block.more}" if block.more and command.startswith(MEASURES) else command
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", words],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
